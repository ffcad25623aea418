"""What was counted of the benchmarks, in words: how much work each does on both sides, and whether the change ran in it at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from perfproof.analysis.trials.counted_rounds import rounds
from perfproof.changes import selection_rules
from perfproof.model.base.errors import BadInput
from perfproof.model.base.name_lists import few
from perfproof.model.records.counts import outermost, short_name
from perfproof.model.records.record import Record
from perfproof.model.verdicts.judged import OUTCOMES, Judged
from perfproof.pytest_plugin.worktrees import Change, import_name

MOST = 5
"""Names in a sentence."""


def told(counts: Sequence[Judged]) -> str:
    """The worst of a benchmark's counts in a clause; "" where nothing was counted."""
    if not counts:
        return ""
    worst = min(counts, key=lambda row: OUTCOMES.index(row.verdict) if row.verdict else len(OUTCOMES))
    if worst.verdict == "identical":
        return "counted, identical to the last instruction and call"
    return f"counted, {'untestable: ' if worst.verdict == 'untestable' else ''}{worst.reason}"


def touched_functions(change: Change, base: Path) -> frozenset[str]:
    """The functions (`module:Qual.name`) in which the working tree differs from the base's checkout."""
    found: set[str] = set()
    for file in change.files:
        module, texts = import_name(change.root, file) or import_name(base, file), [_text(tree / file) for tree in (base, change.root)]
        if not module:
            continue
        try:
            names = selection_rules.touched(file, *texts).names
        except BadInput:
            continue  # no Python: its import fails by itself
        found |= {f"{module}:{name}" for name in names or () if name not in (selection_rules.TOP, selection_rules.IMPORTS)}
    return frozenset(found)


def on_change(touched: frozenset[str], kept: Mapping[str, Sequence[Record]]) -> Iterator[str]:
    """Sentences on what the counted benchmarks called of the change: which functions in how many of them, which ones in none, and which
    benchmarks call nothing of it."""
    counted = {test: _called(own) for test, records in kept.items() if (own := [record for record in records if record.counts])}
    if not touched or not counted:
        return
    by = {name: sum(name in seen for seen in counted.values()) for name in sorted(touched)}
    if reached := [f"{short_name(name)} (by {number} of {len(counted)} benchmarks)" for name, number in by.items() if number]:
        yield f"what the change touches was called: {few(reached, MOST)}"
    if never := [short_name(name) for name, number in by.items() if not number]:
        yield f"no counted benchmark calls {few(never, MOST)}, which the change touches too: nothing is said of it"
    if idle := [test for test, seen in counted.items() if not touched & seen]:
        names = few(sorted(map(short_name, touched)), MOST)
        yield f"{few(idle, MOST)}: no call of what the change touches ({names}) was counted, so that this says nothing of the change"


def _called(records: Sequence[Record]) -> frozenset[str]:
    """The functions that counted rounds called; a local function stands for the one that it lies in as well."""
    names = {name for record in records for work in rounds(record).values() for name in work.functions}
    return frozenset(names | {outermost(name) for name in names})


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None
