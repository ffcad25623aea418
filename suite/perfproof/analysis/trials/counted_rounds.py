"""What trials counted of the host's work: their rounds by case, their totals, and the rounds of two arms block by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perfproof.analysis.stats import number_format
from perfproof.analysis.trials.paired_trials import counts, unequal_blocks
from perfproof.model.records.count_lines import round_of
from perfproof.model.records.counts import METRICS, Metric, PhaseWork, function_of, numbers_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import is_count

COUNTED: tuple[Metric, ...] = tuple(metric for metric in METRICS if is_count(metric))
"""What of a round is a metric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedPairs:
    """The rounds of one case of the baseline and of a candidate, a pair a block. `broken` says why nothing can be said of it, `lacking`
    which trials counted nothing; both are "" where all is well. `at` are parameters that were smaller than in timed rounds."""

    pairs: tuple[tuple[PhaseWork, PhaseWork], ...]
    broken: str
    lacking: str
    at: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Round:
    """A counted round, and what must be the same of rounds that are compared: how large it was, what counted it, in which Python."""

    work: PhaseWork
    at: Mapping[str, Any]
    counter: object
    python: str

    @classmethod
    def of(cls, trial: Record, case: str) -> _Round:
        table = trial.counts[case]
        at, python = table.get("at"), trial.attestation.python if trial.attestation else str(trial.environment.get("python", ""))
        return cls(
            work=round_of(table, f"counts.{case}"),
            at=at if isinstance(at, dict) else {},
            counter=table.get("counter"),
            python=".".join(python.split(".")[:2]),
        )

    def unlike(self, other: _Round) -> str:
        """Why the two can't be compared; "" where they can."""
        if self.python != other.python:
            return f"counts of Python {self.python} and {other.python} are not compared: an instruction of one is none of the other"
        if self.at != other.at:
            return f"rounds of different sizes were counted ({sized(self.at)}, and {sized(other.at)})"
        return "" if self.counter == other.counter else "what counted the trials changed between them: measure into another results folder"


def sized(at: Mapping[str, Any]) -> str:
    """The parameters of a counted round that were smaller than those of timed ones, in words.

    Source: none, bookkeeping.
    """
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in at.items()) or "as timed"


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
        odd = {function_of(name) for name in work.odd}
        for metric in COUNTED:
            numbers = numbers_of(work, metric)
            found[named(metric, case)] = float(sum(number for name, number in numbers.items() if name not in odd))
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
    both = [trial for trial in trials if trial.arm in arms]
    lost = next((trial for trial in both if trial.status in ("failed", "unattested")), None)
    unequal = unequal_blocks(both, counts)
    broken = f"block {lost.block}, arm {lost.arm}: {lost.reason}" if lost else next(iter(unequal.values()), "")
    counted = {(trial.arm, trial.block): trial for trial in both if counts(trial)}
    there = {key: _Round.of(trial, case) for key, trial in counted.items() if case in trial.counts}
    blocks = sorted({block for _, block in there})
    pairs = [(there[baseline, block], there[candidate, block]) for block in blocks if all((arm, block) in there for arm in arms)]
    unlike = (pairs[0][0].unlike(one) for pair in pairs for one in pair)
    return CountedPairs(
        pairs=tuple((first.work, second.work) for first, second in pairs),
        broken=broken or next(filter(None, unlike), ""),
        lacking="; ".join(filter(None, (_lacking(arm, counted, there) for arm in arms))),
        at=pairs[0][0].at if pairs else {},
    )


def _lacking(arm: str, counted: Mapping[tuple[str, int], Record], there: Mapping[tuple[str, int], object]) -> str:
    gone = [block for name, block in counted if name == arm and (name, block) not in there]
    return f"{arm} counted nothing in {number_format.count(len(gone), 'trial')} (the first: block {min(gone)})" if gone else ""
