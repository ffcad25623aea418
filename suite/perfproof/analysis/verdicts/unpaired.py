"""Two arms that were not measured in turns: numbers on their lines do not make pairs, so there is no verdict.

The difference of the two sides is shown all the same, and beside it the difference that the drift within the sides alone would make:
anything that warmed up, filled up or was shared meanwhile looks like a change.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import scipy

from perfproof.analysis.stats import number_format
from perfproof.analysis.stats.samples import Floats, Scale
from perfproof.model.verdicts.judged import Judged, Outcome

REMEDY = "if they were measured in turns, use --interleaved, or give each line its time in a column `time`"
DRIFT = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One line of a table: the compared `value` (above 0; a share where differences are compared), and its time, None if unknown."""

    block: str
    arm: str
    value: float
    at: float | None


def as_sides(line: Judged, seen: Sequence[Seen], interleaved: bool) -> Judged:
    """The line unchanged, unless its arms were evidently not measured in turns; then *inconclusive*, with the difference of both sides and
    the effect that drift could have had.

    `seen` are all lines of its metric in their order; `interleaved` says that this is not the order of measuring. Times take precedence.

    Source: `_difference`.
    """
    how = apart([one for one in seen if one.arm in (line.baseline, line.candidate)], line, interleaved)
    timed = all(one.at is not None for one in seen)
    places = list(enumerate(sorted(seen, key=lambda one: one.at or 0.0) if timed else seen))
    own = [(place, one) for place, one in places if one.arm in (line.baseline, line.candidate)]
    if not how:
        return line if interleaved and not timed else _unshifted(line, own, timed)
    remedy = REMEDY if not timed else "measure them in turns"
    return two_sides(line, own, f"{how}, so the blocks are no pairs and a drift looks like a change", remedy)


def two_sides(line: Judged, own: Placed, how: str, remedy: str) -> Judged:
    """The line as *inconclusive*: the difference of its two sides, `how` they were measured, what a drift within them would by itself have
    made of it, and the remedy. Two runs of a side are needed for an interval.

    Source: `_difference`.
    """
    scale: Scale = "difference" if line.in_points else "log"
    change, span, drift = _difference(own, line, 1 - (line.level or 0.98), scale)
    effect, interval = _shown(change, scale), (_shown(span[0], scale), _shown(span[1], scale)) if span else None
    words = f"{number_format.change(effect, scale)}, but {how}"
    if drift:
        made = number_format.span((_shown(drift[0], scale), _shown(drift[1], scale)), scale)
        words = f"{words}: the drift within the two sides alone would have made {made}"
    reason = f"{words}; {remedy}"
    return replace(line, verdict=Outcome.INCONCLUSIVE, effect=effect, interval=interval, mde=None, reason=reason, warnings=())


Placed = Sequence[tuple[int, Seen]]
"""Lines with their places among all that were measured."""


def _unshifted(line: Judged, own: Placed, timed: bool) -> Judged:
    """The line unchanged, unless one arm is first in every block and the drift within the sides made the verdict or hid another one.

    Source: `_drift`.
    """
    first = {one.block: one.arm for _, one in reversed(own)}
    if len(set(first.values())) > 1 or line.effect is None or line.interval is None:
        return line
    scale: Scale = "difference" if line.in_points else "log"
    change, _, drift = _difference(own, line, 0.02, scale)
    if drift is None or drift[0] * drift[1] <= 0 or not _made(line, change, drift, scale):
        return line
    made = number_format.span((_shown(drift[0], scale), _shown(drift[1], scale)), scale)
    words = (
        f"{number_format.change(line.effect, scale)}, but {own[0][1].arm} comes first in every block, and the drift within the two sides"
    )
    remedy = "measure the arms in changing order" + ("" if timed else ", or use --interleaved if these lines were only sorted")
    reason = f"{words} alone would have made {made}; {remedy}"
    return replace(line, verdict=Outcome.INCONCLUSIVE, mde=None, reason=reason)


def _made(line: Judged, change: float, drift: tuple[float, float], scale: Scale) -> bool:
    """Whether a verdict would be another without the drift."""
    margin = line.margin or 0.0
    margin = margin if scale == "difference" else math.log1p(margin)
    if line.verdict in (Outcome.REGRESSED, Outcome.IMPROVED):
        sign = math.copysign(1.0, change)
        return min(sign * (change - end) for end in drift) < margin
    if line.verdict is Outcome.EQUIVALENT and line.interval is not None:
        ends = line.interval if scale == "difference" else tuple(math.log1p(end) for end in line.interval)
        return max(abs(end - sum(drift) / 2) for end in ends) > margin
    return False


def apart(own: Sequence[Seen], line: Judged, interleaved: bool) -> str:
    """The evidence that two arms were not measured in turns, in words; "" where they were, or where there is no evidence.

    With times: blocks that overlap. Without: far fewer turns than blocks, as in a table of one arm first and then the other; any other
    order says nothing about when lines were measured. Source: none, the meaning of a block.
    """
    if all(one.at is not None for one in own):
        together = _blocks_apart(own)
        if together is not None:
            return "" if together else "their times show that the arms were not measured in turns (a block began before another had ended)"
    if interleaved:
        return ""
    turns = 1 + sum(before.arm != after.arm for before, after in pairwise(own))
    if turns > len(own) // 4:
        return ""
    first, last = (line.baseline, line.candidate) if own[0].arm == line.baseline else (line.candidate, line.baseline)
    return (
        f"all of {first} stands before {last}" if turns == 2 else f"{first} and {last} stand in batches ({turns} turns in {len(own)} lines)"
    )


def _blocks_apart(own: Sequence[Seen]) -> bool | None:
    """Whether each block ended before the next began; None where times are too coarse to say."""
    moments: dict[str, list[float]] = {}
    for one in own:
        moments.setdefault(one.block, []).append(one.at or 0.0)
    spans = sorted((min(each), max(each)) for each in moments.values())
    if any(after[0] < before[1] for before, after in pairwise(spans)):
        return False
    return True if all(after[0] > before[1] for before, after in pairwise(spans)) else None


def _difference(
    own: Placed, line: Judged, error: float, scale: Scale
) -> tuple[float, tuple[float, float] | None, tuple[float, float] | None]:
    """The difference of the sides' means, its interval, and the effect of the drift within them, on the scale of differences or logarithms.

    Source: Welch, Biometrika 34, 1947; least squares with one slope and two levels.
    """
    places = np.array([float(place) for place, _ in own])
    values = np.array([one.value if scale == "difference" else math.log(one.value) for _, one in own])
    sides = [np.array([one.arm == arm for _, one in own]) for arm in (line.baseline, line.candidate)]
    (before, after), (early, late) = ([each[side] for side in sides] for each in (values, places))
    change = float(after.mean() - before.mean())
    if min(before.size, after.size) < 2:
        return change, None, None
    return change, _welch(before, after, error), _drift([before, after], [early, late])


def _welch(before: Floats, after: Floats, error: float) -> tuple[float, float]:
    change = float(after.mean() - before.mean())
    parts = [float(side.var(ddof=1)) / side.size for side in (before, after)]
    spread = math.sqrt(sum(parts))
    freedom = sum(parts) ** 2 / sum(part**2 / (side.size - 1) for part, side in zip(parts, (before, after), strict=True)) if spread else 1.0
    half = spread * _quantile(error / 2, freedom)
    return change - half, change + half


def _quantile(error: float, freedom: float) -> float:
    """Student's t that is exceeded with this probability."""
    return -float(scipy.special.stdtrit(freedom, error))


def _drift(values: Sequence[Floats], places: Sequence[Floats]) -> tuple[float, float] | None:
    """The effect of the common slope within the sides over the distance of their middles, at 95 %; None without enough lines."""
    apart_by = float(places[1].mean() - places[0].mean())
    x, y = (np.concatenate([side - side.mean() for side in each]) for each in (places, values))
    freedom, width = x.size - 3, float(x @ x)
    if freedom < 1 or width == 0:
        return None
    slope = float(x @ y) / width
    half = math.sqrt(float(((y - slope * x) ** 2).sum()) / freedom / width) * _quantile((1 - DRIFT) / 2, freedom)
    ends = sorted(((slope - half) * apart_by, (slope + half) * apart_by))
    return ends[0], ends[1]


def _shown(change: float, scale: Scale) -> float:
    if scale == "difference":
        return change
    return math.expm1(change) if change < 700 else math.inf


def explain(line: Judged) -> Iterator[str]:
    """The reasoning in sentences, each with its number.

    Source: `_difference`.
    """
    scale: Scale = "difference" if line.in_points else "log"
    yield f"{line.candidate} against {line.baseline}: {number_format.count(line.blocks, 'block')} that are not pairs."
    if line.interval is not None and line.level is not None:
        yield (
            f"Taken as two sides, their difference has the {number_format.level(line.level)} interval "
            f"{number_format.span(line.interval, scale)} (Welch)."
        )
    yield f"So the verdict is {Outcome.INCONCLUSIVE.value}: {line.reason}."
