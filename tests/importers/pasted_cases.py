"""The comparisons of `tests/data/pasted`, and what the reader must say of each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from perfproof.importers import pasted_text
from perfproof.importers.pasted_text import refusals
from perfproof.importers.pasted_text.context.readings import Paste

FOLDER = Path(__file__).parents[1] / "data" / "pasted"
_PAIR = re.compile(
    r"^(?P<words>.*)\|\s*(?P<before>-?[\d.]+) -> (?P<after>-?[\d.]+)\s*\|\s*(?P<better>lower|higher|\?)(?:\s*\|\s*(?P<candidate>.+))?$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """One pair: the words that its section and metric must have, its numbers, its direction ("?" for any), its candidate ("" for any)."""

    words: tuple[str, ...]
    before: float
    after: float
    better: str
    candidate: str


def cases() -> Iterator[Any]:
    """Every comparison, with the file it stands in."""
    for file in sorted(FOLDER.glob("*.yaml")):
        for case in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            yield {"file": file.stem, **case}


def expected(text: str) -> Expected:
    """A pair as the files write it."""
    found = _PAIR.match(text)
    assert found, text
    return Expected(
        words=tuple(word for part in found["words"].split("|") for word in part.split()),
        before=float(found["before"]),
        after=float(found["after"]),
        better=found["better"],
        candidate=found["candidate"] or "",
    )


Row = tuple[str, str, str, float, float, str | None]
"""Section and metric, baseline, candidate, before, after, better."""


def rows(found: Paste) -> list[Row]:
    """All pairs of a paste, scores too."""
    numbers = [(f"{one.section} {one.label}", one.baseline, one.candidate, one.before, one.after, one.better) for one in found.pairs]
    scores = [
        (f"{one.section} {one.before.name}", one.before.side, one.after.side, one.before.value, one.after.value, one.before.better)
        for one in found.scores
    ]
    return [*numbers, *scores]  # type: ignore[list-item]


def close(one: float, other: float) -> bool:
    """Whether two numbers are the same but for how they were written."""
    return abs(one - other) <= 1e-6 * max(abs(one), abs(other), 1e-12)


def faults(case: Any) -> list[str]:
    """What is wrong with how a case was read, each fault beginning with its kind: reversed, lost, wrong, invented."""
    found = pasted_text.parse(case["text"])
    refused = refusals.why(found)
    wanted = [expected(text) for text in [*case.get("pairs", []), *case.get("scores", [])]]
    if "refused" in case:
        told = " ".join(refused).casefold()
        missing = [word for word in case["refused"] if word.casefold() not in told]
        return [f"invented: {row}" for row in rows(found)] or ([] if refused and not missing else [f"wrong: refused with {refused}"])
    if refused:
        return [f"wrong: refused with {refused}"]
    left = rows(found)
    problems = list(_unpaired(wanted, left, found))
    also = [word.casefold() for word in case.get("also", [])]
    problems += [f"invented: {row}" for row in left if not any(word in row[0].casefold() for word in also)]
    problems += [
        f"lost: {word} is not named as left out in {found.left_out}" for word in case.get("left_out", []) if not _named(word, found)
    ]
    return problems + list(_sides(case, found))


def _unpaired(wanted: Sequence[Expected], left: list[Row], found: Paste) -> Iterator[str]:
    for pair in wanted:
        label = [row for row in left if all(word.casefold() in row[0].casefold() for word in pair.words)]
        label = [row for row in label if not pair.candidate or row[2] == pair.candidate] or label
        match = next((row for row in label if close(row[3], pair.before) and close(row[4], pair.after)), None)
        if match is None:
            turned = next((row for row in label if close(row[4], pair.before) and close(row[3], pair.after)), None)
            told = any(all(word.casefold() in text.casefold() for word in pair.words) for text in (*found.left_out, *found.faults))
            yield f"{'reversed' if turned and pair.before != pair.after else 'wrong' if label or told else 'lost'}: {pair} in {label}"
            if turned:
                left.remove(turned)
            continue
        left.remove(match)
        if pair.better not in ("?", match[5]):
            yield f"{'reversed' if match[5] else 'wrong'}: {pair} has the direction {match[5]}"


def _named(word: str, found: Paste) -> bool:
    return any(word.casefold() in text.casefold() for text in (*found.left_out, *found.faults))


def _sides(case: Any, found: Paste) -> Iterator[str]:
    for row in rows(found):
        if "baseline" in case and row[1].casefold() != str(case["baseline"]).casefold():
            yield f"wrong: baseline {row[1]!r}, not {case['baseline']!r}"
            break
        if "candidates" in case and row[2].casefold() not in [str(each).casefold() for each in case["candidates"]]:
            yield f"wrong: candidate {row[2]!r}, not {case['candidates']!r}"
            break
    if bool(found.guessed) != case.get("guessed", False):
        yield f"wrong: guessed is {found.guessed!r}"
    if "runs" in case and any(list(pair.runs) != case["runs"] for pair in found.pairs):
        yield f"wrong: runs {[pair.runs for pair in found.pairs]}, not {case['runs']}"
