"""Observations become a paired sample: for one metric, one value of each of two arms in every block.

A block counts only whole. A block that does not count is kept as `Lost`, with its kind and its reason:

- `pending`: a trial of the block has not run yet;
- `invalid`: a rule fixed before the run excluded the whole block; it is counted, shown, and measured again;
- `failed`, `unattested`, `unequal`, `absent`: a trial crashed, could not prove what it ran, did other work than its partner, or left no
  usable value. These are final: the verdict is *untestable*, however good the other blocks are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import fmean, geometric_mean
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfproof.model.scenarios.metrics import Better

Scale = Literal["log", "difference"]
Floats = NDArray[np.float64]


class Status(StrEnum):
    """The status of a trial or a block."""

    OK = "ok"
    PENDING = "pending"
    INVALID = "invalid"
    FAILED = "failed"
    UNATTESTED = "unattested"
    UNEQUAL = "unequal"
    ABSENT = "absent"


BEYOND_REPAIR = frozenset({Status.FAILED, Status.UNATTESTED, Status.UNEQUAL, Status.ABSENT})
SEVERITY = (Status.FAILED, Status.UNATTESTED, Status.UNEQUAL, Status.ABSENT, Status.INVALID, Status.PENDING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The value of one metric in one trial; `value` is in the metric's base unit, and None where the trial left none."""

    block: int
    arm: str
    value: float | None
    status: Status
    reason: str
    position: int
    """Place of the arm in its block, from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A block that does not count, and why; `arm` is "" where it is not one arm's alone."""

    block: int
    arm: str
    status: Status
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairedSample:
    """One metric of two arms: `baseline`, `candidate`, `blocks` and `candidate_first` are arrays of the n whole blocks, by block."""

    metric: str
    unit: str
    better: Better
    scale: Scale
    baseline: Floats
    candidate: Floats
    blocks: NDArray[np.int64]
    candidate_first: NDArray[np.bool_]
    lost: tuple[Lost, ...]

    @property
    def n(self) -> int:
        """Whole blocks."""
        return int(self.blocks.size)

    @property
    def x(self) -> Floats:
        """The n values that are judged: s log(candidate/baseline), or s (candidate - baseline) on the difference scale; > 0 is worse."""
        sign = 1.0 if self.better == "lower" else -1.0
        if self.scale == "difference":
            return sign * (self.candidate - self.baseline)
        return sign * (np.log(self.candidate) - np.log(self.baseline))

    @property
    def broken(self) -> tuple[Lost, ...]:
        """The final losses, which make the verdict untestable."""
        return tuple(loss for loss in self.lost if loss.status in BEYOND_REPAIR)

    def count(self, status: Status) -> int:
        """Blocks lost with this status."""
        return sum(loss.status is status for loss in self.lost)


def usable(value: float | None, scale: Scale) -> str:
    """Why a value cannot be judged, or an empty string; the log scale takes only positive finite numbers.

    Source: none, the domain of the logarithm.
    """
    if value is None:
        return "no value"
    if not math.isfinite(value):
        return f"the value {value} is not a finite number"
    if scale == "log" and value <= 0:
        return f"the value {value:g} is not positive, and has no logarithm"
    return ""


def pair(
    observations: Iterable[Observation],
    *,
    baseline: str,
    candidate: str,
    metric: str,
    unit: str,
    better: Better,
    scale: Scale = "log",
) -> PairedSample:
    """Pairs the observations of two arms by block; those of other arms are ignored.

    Give each trial once (the last one, if it was repeated). Of two trials of one block and arm the last one counts, unless an earlier one
    is a final loss: a later trial never hides a failed one.
    Source: none, bookkeeping.
    """
    trials = _by_block(observations, (baseline, candidate))
    whole: list[tuple[int, float, float, bool]] = []
    lost: list[Lost] = []
    for number in sorted(trials):
        loss = _loss(number, trials[number], (baseline, candidate), scale)
        if loss is not None:
            lost.append(loss)
            continue
        first, second = trials[number][baseline], trials[number][candidate]
        if first.value is not None and second.value is not None:
            whole.append((number, first.value, second.value, second.position < first.position))
    return PairedSample(
        metric=metric,
        unit=unit,
        better=better,
        scale=scale,
        baseline=np.array([row[1] for row in whole], dtype=float),
        candidate=np.array([row[2] for row in whole], dtype=float),
        blocks=np.array([row[0] for row in whole], dtype=np.int64),
        candidate_first=np.array([row[3] for row in whole], dtype=bool),
        lost=tuple(lost),
    )


def _by_block(observations: Iterable[Observation], arms: Sequence[str]) -> dict[int, dict[str, Observation]]:
    """The trial of each of the arms that counts, in every block that has any."""
    trials: dict[int, dict[str, Observation]] = {}
    for seen in observations:
        if seen.arm in arms:
            block = trials.setdefault(seen.block, {})
            earlier = block.get(seen.arm)
            if earlier is None or earlier.status not in BEYOND_REPAIR:
                block[seen.arm] = seen
    return trials


def _loss(block: int, trials: Mapping[str, Observation], arms: Sequence[str], scale: Scale) -> Lost | None:
    """The worst reason why a block does not count, or None."""
    reasons: list[Lost] = []
    for arm in arms:
        trial = trials.get(arm)
        status, reason = Status.PENDING, "the trial has not run"
        if trial is not None:
            status, reason = trial.status, trial.reason
            unusable = usable(trial.value, scale) if status is Status.OK else ""
            if unusable:
                status, reason = Status.ABSENT, unusable
        if status is not Status.OK:
            reasons.append(Lost(block=block, arm=arm, status=status, reason=reason))
    worst = min(reasons, key=lambda loss: SEVERITY.index(loss.status), default=None)
    shared = worst is not None and worst.status is Status.INVALID and sum(loss.status is Status.INVALID for loss in reasons) > 1
    return replace(worst, arm="") if worst is not None and shared else worst


def pair_arrays(
    baseline: ArrayLike,
    candidate: ArrayLike,
    *,
    metric: str = "value",
    unit: str = "",
    better: Better = "lower",
    scale: Scale = "log",
    candidate_first: ArrayLike | None = None,
) -> PairedSample:
    """A paired sample from two arrays of shape (n,), one value per block; a value that cannot be judged makes its block *absent*.

    Blocks are numbered from 1.

    Raises ValueError where the shapes differ.
    Source: none, bookkeeping.
    """
    first, second = np.asarray(baseline, dtype=float), np.asarray(candidate, dtype=float)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"two arrays of one value a block are needed, not shapes {first.shape} and {second.shape}")
    numbers = np.arange(1, first.size + 1)
    ahead = np.zeros(first.size, dtype=bool) if candidate_first is None else np.asarray(candidate_first, dtype=bool)
    good = np.isfinite(first) & np.isfinite(second)
    if scale == "log":
        good &= (first > 0) & (second > 0)
    return PairedSample(
        metric=metric,
        unit=unit,
        better=better,
        scale=scale,
        baseline=first[good],
        candidate=second[good],
        blocks=numbers[good],
        candidate_first=ahead[good],
        lost=tuple(_absent(int(numbers[i]), float(first[i]), float(second[i]), scale) for i in np.flatnonzero(~good)),
    )


def _absent(block: int, baseline: float, candidate: float, scale: Scale) -> Lost:
    """The loss of a block in which one of the two values cannot be judged."""
    odd = usable(baseline, scale)
    return Lost(block=block, arm="baseline" if odd else "candidate", status=Status.ABSENT, reason=odd or usable(candidate, scale))


def typical(values: Sequence[float]) -> float:
    """The typical value of an arm: the geometric mean, so that the ratio of two arms is the effect.

    The plain mean where a value is not positive. Source: `statistics` of the standard library.
    """
    if min(values) == max(values):
        return values[0]
    return fmean(values) if min(values) <= 0 else geometric_mean(values)
