"""docs/blame.md: what was found on vLLM's releases, and on planted pairs, as the records in results/blame have it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from perfproof.analysis.stats.number_format import duration
from perfproof.changes.blame.blame_words import change

ROOT = Path(__file__).resolve().parents[2]
PAGE, RECORDS = ROOT / "docs" / "blame.md", ROOT / "results" / "blame"
PARTS = 4
"""Guilty units of a row, at most."""


def of_releases() -> Iterator[str]:
    """A row for each question that was asked of two releases."""
    yield "| scenario | from | to | what changed | the functions behind it | known as | mixtures | took | with the diff back |"
    yield "| --- | --- | --- | --- | --- | --- | ---: | ---: | --- |"
    for file in sorted(RECORDS.glob("*/blame.json")):
        one = json.loads(file.read_text())
        good, bad = (word.partition("==")[2] for word in (one["good"], one["bad"]))
        if "+" in bad or not bad:
            continue
        said = change(one["metric"], *one["values"]).partition(": ")
        known = "; ".join(dict.fromkeys(entry["known_as"] for entry in one["guilty"] if entry["known_as"])) or "–"
        cells = (
            f"`{one['scenario']}`",
            good,
            bad,
            f"{said[0].replace('_', ' ')}: {said[2]}",
            guilty(one),
            known,
            str(one["tried"]),
            duration(one["seconds"] / 60),
            one["answer"].partition(":")[0],
        )
        yield f"| {' | '.join(cells)} |"


def of_packages() -> Iterator[str]:
    """A row for each question whose change does not lie in vLLM's Python: what was installed beside which vLLM, and what that said."""
    yield "| scenario | the good build | what differs in the bad one | what changed | tried | the packages behind it | took |"
    yield "| --- | --- | --- | --- | --- | --- | ---: |"
    for file in sorted(RECORDS.glob("*/blame.json")):
        one = json.loads(file.read_text())
        if not (packages := one.get("packages")):
            continue
        said = change(one["metric"], *one["values"]).partition(": ")
        behind = [f"{', '.join(each['packages'])}: {100 * each['share']:.3g} %" for each in packages["guilty"]]
        beside = "the good build beside the bad one's" if packages["side"] == "forth" else "the bad build beside the good one's"
        cells = (
            f"`{one['scenario']}`",
            one["good"],
            "; ".join(one["elsewhere"]),
            f"{said[0].replace('_', ' ')}: {said[2]}",
            f"{beside} {', '.join(packages['packages'])}",
            "; ".join(behind) or packages["why"] or "none",
            duration(one["seconds"] / 60),
        )
        yield f"| {' | '.join(cells)} |"


def guilty(one: Mapping[str, Any]) -> str:
    """The guilty units with their shares, the largest first; those that act together have one share."""
    shown = []
    for entry in one["guilty"]:
        lines = entry["hunks"] or ([entry["lines"]] if entry["lines"] else [])
        where = ", ".join(f"{first}" if first == last else f"{first} to {last}" for first, last in lines[:3])
        with_others = " (together)" if entry["together"] else ""
        share = f"{100 * entry['share']:.3g} %" if entry["share"] is not None else "needed"
        shown.append(f"`{entry['function'] or entry['file']}` {share}{with_others}, lines {where}")
    more = [f"and {len(shown) - PARTS} more"] if len(shown) > PARTS else []
    return "; ".join([*shown[:PARTS], *more])


def planted(lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A row for each kind of pair."""
    yield "| guilty | pairs | units that differ | found | innocent units named | mixtures, median (most) | unresolved | minutes, median |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for kind in dict.fromkeys(line["kind"] for line in lines):
        own = [line for line in lines if line["kind"] == kind]
        tried = [line["tried"] for line in own]
        cells = [
            kind,
            str(len(own)),
            f"{min(line['units'] for line in own)} to {max(line['units'] for line in own)}",
            str(sum(line["found"] for line in own)),
            str(sum(len(line["innocent"]) for line in own)),
            f"{median(tried):g} ({max(tried)})",
            str(sum(line["unresolved"] for line in own)),
            f"{median(line['seconds'] for line in own) / 60:.2g}",
        ]
        yield f"| {' | '.join(cells)} |"


def planted_times(lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A row for each pair of which no count shows the change."""
    heads = [
        "vLLM",
        "on",
        "guilty",
        "units that differ",
        "change of the round",
        "found",
        "named, with shares of the change",
        "innocent units named",
    ]
    yield f"| {' | '.join([*heads, 'mixtures', 'unresolved', 'minutes', 'load'])} |"
    yield "| --- | --- | --- | ---: | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for line in lines:
        ends = [f" [{100 * one[0]:.3g}, {100 * one[1]:.3g}]" if one else "" for one in line["intervals"]]
        shares = [f"{100 * share:.3g} %{end}" if share is not None else "needed" for share, end in zip(line["shares"], ends, strict=True)]
        named = [" and ".join(f"`{unit.partition(':')[2]}`" for unit in units) for units in line["named"]]
        usable, there = line["cores"]
        cells = [
            line["vllm"],
            f"{usable} cores" if usable == there else f"{usable} of {there} cores",
            line["kind"],
            str(line["units"]),
            "–" if line["change"] is None else f"{100 * line['change']:+.1f} %",
            "yes" if line["found"] else "no",
            "; ".join(f"{who} {share}" for who, share in zip(named, shares, strict=True)) or "nobody",
            str(len(line["innocent"])),
            str(line["tried"]),
            str(line["unresolved"]),
            f"{line['seconds'] / 60:.2g}",
            f"{line['load']:.1f}",
        ]
        yield f"| {' | '.join(cells)} |"


def written(name: str, lines: Iterator[str]) -> None:
    """The page's part of that name is these lines; `PERFPROOF_GOLDEN=write` makes it so."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    made, text = "\n".join([begin, "", *lines, "", end]), PAGE.read_text(encoding="utf-8")
    kept = re.search(f"{re.escape(begin)}.*?{re.escape(end)}", text, flags=re.S)
    assert kept, f"{PAGE} has no part {begin}"
    if os.environ.get("PERFPROOF_GOLDEN") == "write":
        PAGE.write_text(text.replace(kept[0], made), encoding="utf-8")
        return
    assert kept[0] == made, f"{PAGE} is stale; PERFPROOF_GOLDEN=write makes it again"


def test_the_table_of_releases_is_what_the_records_say() -> None:
    """Each question with its answer; its diff back lies beside its record."""
    written("releases", of_releases())
    for file in RECORDS.glob("*/blame.json"):
        assert (file.parent / "back.diff").is_file() is (json.loads(file.read_text())["diff_back"] is not None)


def test_the_table_of_packages_is_what_the_records_say() -> None:
    """Environments that differ in packages, or compiled code, alone."""
    written("packages", of_packages())


def test_the_table_of_planted_pairs_is_what_the_records_say() -> None:
    """A row a kind; nobody innocent is named in any pair."""
    lines = [json.loads(line) for line in (RECORDS / "planted.jsonl").read_text().splitlines()]
    written("planted, by counts", planted(lines))
    assert [line["innocent"] for line in lines if line["innocent"]] == []


def test_the_table_of_pairs_by_times_is_what_the_records_say() -> None:
    """A row a pair, those that were missed too; nobody innocent is named in any."""
    lines = [json.loads(line) for line in (RECORDS / "planted_times.jsonl").read_text().splitlines()]
    written("planted, by times", planted_times(lines))
    assert [line["innocent"] for line in lines if line["innocent"]] == []
