"""What trials counted of the host's work: their rounds by case, their totals, and the rounds of two arms block by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfproof.analysis.stats import number_format
from perfproof.analysis.trials.paired_trials import counts, unequal_blocks
from perfproof.model.records.count_lines import round_of
from perfproof.model.records.counts import METRICS, PhaseWork, numbers_of
from perfproof.model.records.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedPairs:
    """The rounds of one case of the baseline and of a candidate, a pair a block. `broken` says why nothing can be said of it, `lacking`
    which trials counted nothing; both are "" where all is well."""

    pairs: tuple[tuple[PhaseWork, PhaseWork], ...]
    broken: str
    lacking: str


def rounds(trial: Record) -> dict[str, PhaseWork]:
    """The counted round of each case of a trial.

    Source: none, decoding.
    """
    return {case: round_of(table, f"counts.{case}") for case, table in trial.counts.items()}


def totals(trial: Record) -> dict[str, float]:
    """The metrics of a trial's counted rounds, without what two rounds of it did not agree on.

    Source: none, sums of exact counts.
    """
    found = {}
    for case, work in rounds(trial).items():
        for metric in METRICS:
            numbers = numbers_of(work, metric)
            found[named(metric, case)] = float(sum(number for name, number in numbers.items() if name not in work.odd))
    return found


def named(metric: str, case: str) -> str:
    """The metric's name with its case.

    Source: none, bookkeeping.
    """
    return f"{metric}@{case}" if case else metric


def counted_pairs(baseline: str, candidate: str, trials: Sequence[Record], case: str) -> CountedPairs:
    """The rounds of a case in the blocks in which both arms counted it; a busy machine does not spoil them. `trials` are each there once.

    Source: `paired_trials.counts`.
    """
    arms = (baseline, candidate)
    mine = [trial for trial in trials if trial.arm in arms]
    lost = next((trial for trial in mine if trial.status in ("failed", "unattested")), None)
    unequal = unequal_blocks(mine, counts)
    broken = f"block {lost.block}, arm {lost.arm}: {lost.reason}" if lost else next(iter(unequal.values()), "")
    counted = {(trial.arm, trial.block): trial for trial in mine if counts(trial)}
    there = {key: rounds(trial)[case] for key, trial in counted.items() if case in trial.counts}
    blocks = sorted({block for _, block in there})
    return CountedPairs(
        pairs=tuple((there[baseline, block], there[candidate, block]) for block in blocks if all((arm, block) in there for arm in arms)),
        broken=broken,
        lacking="; ".join(filter(None, (_lacking(arm, counted, there) for arm in arms))),
    )


def _lacking(arm: str, counted: Mapping[tuple[str, int], Record], there: Mapping[tuple[str, int], PhaseWork]) -> str:
    gone = [block for name, block in counted if name == arm and (name, block) not in there]
    return f"{arm} counted nothing in {number_format.count(len(gone), 'trial')} (the first: block {min(gone)})" if gone else ""
