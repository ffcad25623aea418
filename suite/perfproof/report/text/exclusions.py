"""What could not be judged and what does not count, with the reasons. It is never folded away, and equal reasons are listed once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfproof.analysis.stats.number_format import count, folded
from perfproof.analysis.trials.invalidation import ONLY_COUNTED
from perfproof.model.verdicts.judged import Judged
from perfproof.report.base import formatting
from perfproof.report.base.page_model import TrialView
from perfproof.report.text import sentences

REPLACED = "its block was measured again"
"""The reason that a valid trial does not count."""


def unjudged(rows: Sequence[Judged], trials: Sequence[TrialView]) -> tuple[str, ...]:
    """What could not be judged and why, and every trial that does not count. It is never empty when something is wrong."""
    open_ = [row for row in rows if row.verdict in ("untestable", "inconclusive")]
    reasons = [f"{_which(group)}: {_open(group[0])}" for group in sentences.alike(open_, _open)]
    if not any(row.verdict and row.primary for row in rows):
        reasons.insert(0, "no primary metric was judged")
    return (*reasons, *spoilt(trials))


def spoilt(trials: Sequence[TrialView]) -> Iterable[str]:
    """The trials that do not count, by arm, status and reason, with their blocks; reasons that differ only in numbers are one line.

    Valid trials whose block was measured again are one line at the end. A trial that was counted first is left out once it was timed.
    """
    timed = {(trial.block, trial.arm) for trial in trials if trial.reason != ONLY_COUNTED}
    trials = [trial for trial in trials if trial.reason != ONLY_COUNTED or (trial.block, trial.arm) not in timed]
    replaced = [trial.block for trial in trials if not trial.ok and trial.reason == REPLACED]
    amiss = [trial for trial in trials if not trial.ok and trial.reason != REPLACED]
    one_for = folded(trial.reason for trial in amiss)
    groups: dict[tuple[str, str, str], list[int]] = {}
    for trial in amiss:
        groups.setdefault((trial.arm, trial.status, one_for[trial.reason]), []).append(trial.block)
    for (arm, status, reason), blocks in groups.items():
        yield f"{count(len(blocks), 'trial')} of {arm} {status} ({_blocks(blocks)}): {reason or 'no reason was given'}"
    if replaced:
        yield f"{count(len(replaced), 'trial')} not counted, as the block was measured again ({_blocks(replaced)})"


def _blocks(numbers: Sequence[int]) -> str:
    return f"block {shortened(', '.join(map(str, dict.fromkeys(numbers))))}"


def _which(rows: Sequence[Judged]) -> str:
    """The names of the comparisons that share a reason."""
    return sentences.who(rows, name_candidate=True) if len(rows) > 1 else f"{formatting.label(rows[0].metric)} ({rows[0].candidate})"


def _open(row: Judged) -> str:
    return f"{row.verdict}; {formatting.reason(row)}"


def shortened(listed: str, most: int = 80) -> str:
    return listed if len(listed) <= most else f"{listed[:most].rpartition(',')[0]}, …"
