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


def unreached(touched: frozenset[str], kept: Mapping[str, Sequence[Record]]) -> Iterator[str]:
    """A sentence where benchmarks were counted that call nothing of what the change touches."""
    counted = {test: [record for record in records if record.counts] for test, records in kept.items()}
    idle = [test for test, records in counted.items() if records and not touched & _called(records)]
    if touched and idle:
        names = few(sorted(map(short_name, touched)), MOST)
        yield f"{few(idle, MOST)}: no call of what the change touches ({names}) was counted, so that this says nothing of the change"


def _called(records: Sequence[Record]) -> frozenset[str]:
    """The functions that counted rounds called; a local function stands for the one that it lies in as well."""
    names = {name for record in records for work in rounds(record).values() for name in work.functions}
    return frozenset(names | {outermost(name) for name in names})


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None
