"""The warnings of a scenario: those of its comparisons, then those of its trials, each once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from perfproof.analysis.stats.number_format import folded, shape
from perfproof.model.base.untrusted import line
from perfproof.model.records.record import Record
from perfproof.model.verdicts.judged import Judged
from perfproof.report.base import formatting
from perfproof.report.extract.record_views import NAME
from perfproof.report.text import caveats, sentences

REACH = "these blocks could only have detected "
"""How a warning begins that stands beside the answer already, as the effect that could have been detected."""


def every(rows: Sequence[Judged], records: Sequence[Record], borne: Sequence[str]) -> tuple[str, ...]:
    """Every warning once: those of the comparisons, then those of the trials with their number; none that `borne` already holds.

    A warning of some comparisons names them. A warning of trials is not repeated for the comparisons made from them. Warnings that differ
    only in numbers are one, with the range.
    """
    one_for = folded(formatting.sentence(warning) for record in records for warning in record.warnings)
    counts = Counter(sentence for record in records for sentence in {one_for[formatting.sentence(warning)] for warning in record.warnings})
    known = {shape(sentence) for sentence in one_for}
    pairs = [
        (row, each)
        for row in rows
        for each in row.warnings
        if shape(each) not in known and not each.startswith(REACH) and not caveats.tells(borne, row, each)
    ]
    timed = sum(row.verdict is not None and not row.exact for row in rows)
    saying: dict[str, list[Judged]] = {}
    for row, warning in pairs:
        saying.setdefault(warning, []).append(row)
    several = len({row.candidate for row in rows}) > 1
    lines = [warning if len(sources) >= timed else f"{sentences.who(sources, several)}: {warning}" for warning, sources in saying.items()]
    trials = (f"{warning} (in {_where(warning, count, one_for, records)})" for warning, count in counts.items())
    return tuple(dict.fromkeys([*lines, *trials]))


def _where(warning: str, count: int, one_for: Mapping[str, str], records: Sequence[Record]) -> str:
    """The trials that gave a warning: "all 12 trials", "all 6 trials of a, none of the other arm", "4 of 12 trials: 3 of a, 1 of b"."""
    of_arm = Counter(line(r.arm, NAME) for r in records if any(one_for[formatting.sentence(each)] == warning for each in r.warnings))
    if count == len(records):
        return f"all {count} trials" if count > 1 else "the only trial"
    if len(of_arm) > 1:
        return f"{count} of {len(records)} trials: {', '.join(f'{number} of {arm}' for arm, number in of_arm.items())}"
    arm = next(iter(of_arm))
    own = sum(line(r.arm, NAME) == arm for r in records)
    others = len({r.arm for r in records}) - 1
    rest = f", none of the other arm{'s' if others > 1 else ''}" if others else ""
    return f"{'all' if count == own else f'{count} of the'} {own} trials of {arm}{rest}"
