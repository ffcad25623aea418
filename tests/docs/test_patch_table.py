"""docs/patches.md: what was measured of each patch, by model runner and release, from the records; where nothing was, why."""

from __future__ import annotations

import json
import os
import re
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tomllib

from perfproof.patches.guard import Patch
from perfproof.run.checks.catalog import patches

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "patches.md"
SAID = tomllib.loads((ROOT / "docs" / "patches" / "by_runner.toml").read_text(encoding="utf-8"))
BEGIN, END = "<!-- from docs/patches/by_runner.toml and results -->", "<!-- end of runners -->"
RELEASES: list[str] = SAID["releases"]
REASONS: Mapping[str, Mapping[str, str]] = SAID["reasons"]
ROWS: list[Mapping[str, Any]] = SAID["row"]
MOST_NAMED = 3
V2 = "vllm.v1.worker.gpu."
"""Where Model Runner V2 lies: a benchmark has no runner, so the place of what a patch replaces says which runner it belongs to."""


@dataclass(frozen=True)
class Trial:
    """Of a trial that counts: the scenario, the release, the runner ("" if none took part) and its arm's patches."""

    scenario: str
    release: str
    runner: str
    patches: frozenset[str]


def trials() -> frozenset[Trial]:
    """All trials of the committed records that count."""
    found = set()
    for file in sorted((ROOT / "results").rglob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            attested = record.get("attestation")
            if record.get("status") != "ok" or not isinstance(attested, dict) or not isinstance(record.get("definition"), dict):
                continue
            arm = record["definition"]["arms"].get(record["arm"], {})
            names = frozenset(name for name in arm.get("patches") or () if isinstance(name, str))
            release = re.match(r"[\d.]+", attested.get("vllm_version") or "")
            found.add(Trial(record["scenario"], release.group() if release else "", attested.get("runner") or "", names))
    return frozenset(found)


def home(patch: Patch) -> str:
    return "V2" if patch.targets[0].module.startswith(V2) else "V1"


def measured(row: Mapping[str, Any], release: str, of: frozenset[Trial]) -> list[str]:
    """The scenarios that measured one of the row's patches with that release under the row's runner."""
    own, known = set(row["patches"]), patches()
    found = {
        trial.scenario
        for trial in of
        if trial.release == release and own & trial.patches and (trial.runner or home(known[min(own & trial.patches)])) == row["runner"]
    }
    return sorted(found)


def letters() -> Mapping[str, str]:
    return dict(zip(REASONS, string.ascii_lowercase, strict=False))


def cell(row: Mapping[str, Any], release: str, of: frozenset[Trial]) -> str:
    if names := measured(row, release, of):
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        return "measured: " + ", ".join(f"`{name}`" for name in names[:MOST_NAMED]) + more
    key = row["cells"].get(release)
    if key is None:
        return "not run yet"
    shown = REASONS[key].get("shown_by", "")
    ran = any(trial.scenario == shown and trial.release == release for trial in of)
    return f"{REASONS[key]['short']} ({letters()[key]})" + (f": `{shown}`" if ran else "")


def lines(of: frozenset[Trial]) -> Iterator[str]:
    yield "| what | patches | runner | " + " | ".join(RELEASES) + " |"
    yield "| --- " * (3 + len(RELEASES)) + "|"
    for row in ROWS:
        names = ", ".join(f"`{name}`" for name in row["patches"])
        yield f"| {row['what']} | {names} | {row['runner']} | " + " | ".join(cell(row, release, of) for release in RELEASES) + " |"
    yield ""
    for key, letter in letters().items():
        shown = REASONS[key].get("shown_by", "")
        ran = ", ".join(sorted({trial.release for trial in of if trial.scenario == shown}))
        showing = f" Measured by `{shown}` on {ran}." if ran else f" `{shown}` is to show it; it has not run yet."
        yield f"- *{letter}*: {REASONS[key]['say']}" + (showing if shown else "")


@pytest.fixture(scope="module")
def counted() -> frozenset[Trial]:
    return trials()


def test_the_table_is_what_the_records_and_reasons_say(counted: frozenset[Trial]) -> None:
    """Every cell is made of the records or of a reason; `PERFPROOF_GOLDEN=write` makes the table again."""
    made = "\n".join([BEGIN, "", *lines(counted), "", END])
    text = PAGE.read_text(encoding="utf-8")
    kept = re.search(f"{re.escape(BEGIN)}.*?{re.escape(END)}", text, flags=re.S)
    assert kept, f"{PAGE} has no table of runners"
    if os.environ.get("PERFPROOF_GOLDEN") == "write":
        PAGE.write_text(text.replace(kept[0], made), encoding="utf-8")
        return
    assert kept[0] == made, f"{PAGE} is stale; PERFPROOF_GOLDEN=write makes its table again"


def test_no_cell_is_empty_and_no_reason_stands_where_something_was_measured(counted: frozenset[Trial]) -> None:
    """A cell without records and reason is *not run yet*: then a scenario would fill it, on a release that its patch holds for."""
    known = patches()
    for row in ROWS:
        for release in RELEASES:
            names, key = measured(row, release, counted), row["cells"].get(release)
            where = f"{row['what']}, {row['runner']}, {release}"
            assert not (names and key), f"{where}: measured by {names}, so the reason {key!r} has to go"
            if not names and key is None:
                assert any(release in known[name].holds for name in row["patches"]), f"{where}: neither measured nor a reason"
                assert [file for file in (ROOT / "scenarios").glob("*.yaml") if any(name in file.read_text() for name in row["patches"])]


def test_every_patch_has_a_row_for_each_runner_and_every_reason_is_used() -> None:
    """Patches that change vLLM's speed, but for those made for perfproof itself and for releases before the table's, are in the table."""
    told = {(name, row["runner"]) for row in ROWS for name in row["patches"]}
    wanted = {name for name, patch in patches().items() if patch.origin != "the suite's own" and (set(patch.holds) & set(RELEASES))}
    assert {(name, runner) for name in wanted for runner in ("V1", "V2")} <= told
    assert {key for row in ROWS for key in row["cells"].values()} == set(REASONS)
    scenarios = {file.stem for file in (ROOT / "scenarios").glob("*.yaml")}
    assert {reason["shown_by"] for reason in REASONS.values() if "shown_by" in reason} <= scenarios
