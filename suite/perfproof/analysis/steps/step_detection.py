"""The steps of one series: proposed by two detectors that must agree, tested against autocorrelated noise, and put into words."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from perfproof.analysis.stats import number_format
from perfproof.analysis.stats.samples import Floats
from perfproof.analysis.steps import count_steps, deviation_partition, level_test, rank_scan
from perfproof.analysis.steps.level_test import Levels
from perfproof.model.history.step import Direction
from perfproof.model.scenarios.scenario import COUNT_MARGIN

FALSE_ALARMS = 0.01
"""The share of quiet series, of any length, that may show a step."""
PLAUSIBLE = 0.5
"""Proposals that chance produces more often than this are dropped early."""
STRETCH = 100
"""The most points on each side of a split in its test."""
PLACED = 10
"""The most points by which a plausible split may move to fit best."""
LEVEL = 0.95
TOO_SHORT = f"a step of a timed series needs at least {rank_scan.LEAST} points before it and {rank_scan.LEAST} from it on"

LIKE_COUNTS = "whole numbers that mostly repeat were judged as measured: if they are exact counts, --kind witness makes every change a step"

WHOLE = 2.0**53
"""Up to here every whole number has a float of its own."""
INEXACT = f"counts beyond {WHOLE:,.0f} are rounded: a change of one of them may not be seen"

Kind = Literal["auto", "timed", "witness", "count"]
EXACT: Mapping[str, float] = {"witness": 0.0, "count": COUNT_MARGIN}
"""The kinds that have no noise, with the smallest relative change that is a step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A step at the group `index` (from 0): `Step` without the names that the caller has for its points."""

    index: int
    direction: Direction
    before: float
    after: float
    effect: float | None
    interval: tuple[float, float] | None
    confidence: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The changes of a series, whether its values were taken as exact counts, and warnings."""

    changes: tuple[Change, ...]
    exact: bool
    warnings: tuple[str, ...]


def find(groups: Sequence[Floats], *, floor: float, kind: Kind = "auto", unit: str = "") -> Changes:
    """The steps of a series of groups, each the measurements of one build, shape (m,) with m > 0 and finite.

    `floor` is the smallest relative change that counts in a timed series, a fraction; `unit` is that of the values, "" where it is not
    known. "auto" is "timed" with a hint where numbers look like counts (`count_steps.looks_exact`); only the user knows whether they are.
    Source: `rank_scan` and `deviation_partition` propose, `level_test` tests; see there.
    """
    if kind in EXACT and not all((group == group[0]).all() for group in groups):
        found = find(groups, floor=floor, kind="timed", unit=unit)
        warning = "counts differ among measurements of one build: not exact, judged as a timed series"
        return Changes(changes=found.changes, exact=False, warnings=(warning, *found.warnings))
    values = np.array([float(np.median(group)) for group in groups])
    if kind in EXACT:
        places = count_steps.changes(values, EXACT[kind])
        rounded = (INEXACT,) if (np.abs(values) >= WHOLE).any() else ()
        return Changes(changes=tuple(_counted(values, index, unit) for index in places), exact=True, warnings=rounded)
    alike = (LIKE_COUNTS,) if kind == "auto" and count_steps.looks_exact(groups) else ()
    return Changes(changes=tuple(_timed(values, floor, unit)), exact=False, warnings=(*_too_short(values.size), *alike))


def between(before: Sequence[Floats], after: Sequence[Floats], *, floor: float, kind: Kind, unit: str = "") -> Change | None:
    """The change between two runs of groups with a known border; None where there is none, or too few points.

    Source: `level_test`, at this split alone.
    """
    values = np.array([float(np.median(group)) for group in (*before, *after)])
    split = len(before)
    if kind in EXACT:
        return _counted(values, split, unit) if split in count_steps.changes(values, EXACT[kind]) else None
    if min(split, values.size - split) < rank_scan.LEAST:
        return None
    ratio = bool((values > 0).all())
    found = _fit(np.log(values) if ratio else values, 0, split, values.size, {})
    return _change(values, found, ratio, unit) if found.chance <= FALSE_ALARMS and _matters(values, found, floor) else None


def _too_short(points: int) -> tuple[str, ...]:
    return () if points >= 2 * rank_scan.LEAST else (f"{number_format.count(points, 'point')}: {TOO_SHORT}",)


def _counted(values: Floats, index: int, unit: str) -> Change:
    before, after = float(values[index - 1]), float(values[index])
    effect = _relative(before, after)
    relative = f" ({number_format.percent(effect)})" if effect is not None else ""
    return Change(
        index=index,
        direction="rise" if after > before else "fall",
        before=before,
        after=after,
        effect=effect,
        interval=(effect, effect) if effect is not None else None,
        confidence=1.0,
        reason=f"an exact count: {number_format.counted(before, unit)} before, {number_format.counted(after, unit)} from here on{relative}",
    )


def _relative(before: float, after: float) -> float | None:
    return (after - before) / abs(before) if before else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Split:
    """A split with its tested stretch, values[start:end], and the result; `chance` is that over the whole series."""

    at: int
    start: int
    end: int
    levels: Levels
    chance: float


def _timed(values: Floats, floor: float, unit: str) -> list[Change]:
    """The changes: splits proposed, filtered, agreed on by both detectors, filtered again with the least magnitude, and told where they are
    between the right points."""
    ratio = bool((values > 0).all())
    y = np.log(values) if ratio else values
    plausible = _weeded(y, _placed(y, rank_scan.proposals(y), deviation_partition.NEAR), lambda split: split.chance <= PLAUSIBLE)
    likely = _weeded(y, _placed(y, [split.at for split in plausible], PLACED), lambda split: split.chance <= FALSE_ALARMS)
    agreed = _simpler(y, _agreed(y, likely))
    kept = _weeded(y, agreed, lambda split: split.chance <= FALSE_ALARMS and _matters(values, split, floor))
    return [_change(values, split, ratio, unit) for split in kept if _in_place(y, split)]


def _placed(y: Floats, splits: Sequence[int], reach: int) -> list[int]:
    """Each split moved to where two levels fit best, within `reach` points: ranks alone place a small step badly."""
    placed: list[int] = []
    bounds = [0, *splits, y.size]
    for i, split in enumerate(splits):
        least = max(max(bounds[i], placed[-1] if placed else 0) + rank_scan.LEAST, split - reach)
        most = min(bounds[i + 2] - rank_scan.LEAST, split + reach)
        start, end = max(bounds[i], split - STRETCH), min(bounds[i + 2], split + STRETCH)
        placed += sorted(range(least, most + 1), key=lambda at: _left(y, start, at, end))[:1]
    return placed


def _weeded(y: Floats, splits: Sequence[int], holds: Callable[[_Split], bool]) -> list[_Split]:
    """Drops the weakest split that does not hold and fits its neighbours again, until all hold.

    Source: backward elimination, as in the merging of Fleming et al. (ICPE 2023).
    """
    fits: dict[tuple[int, int, int], _Split] = {}
    kept = list(splits)
    while kept:
        bounds = [0, *kept, y.size]
        tried = [_fit(y, bounds[i], at, bounds[i + 2], fits) for i, at in enumerate(kept)]
        wanting = [split for split in tried if not holds(split)]
        if not wanting:
            return tried
        kept.remove(min(wanting, key=lambda split: split.levels.ratio).at)
    return []


def _fit(y: Floats, start: int, at: int, end: int, fits: dict[tuple[int, int, int], _Split]) -> _Split:
    start, end = max(start, at - STRETCH), min(end, at + STRETCH)
    if (start, at, end) not in fits:
        found = level_test.two_levels(y[start:end], at - start)
        chance = min(1.0, found.chance * max(1.0, y.size / (end - start)))
        fits[start, at, end] = _Split(at=at, start=start, end=end, levels=found, chance=chance)
    return fits[start, at, end]


def _agreed(y: Floats, splits: Sequence[_Split]) -> list[int]:
    """The splits that the partition has too, at its places, each at least `rank_scan.LEAST` points after the one before."""
    kept: list[int] = []
    for split in splits:
        scale = max(split.levels.sd, 1e-9 * (1 + float(np.abs(y[split.start : split.end]).max())))
        wander = math.sqrt((1 + split.levels.rho) / (1 - split.levels.rho))
        place = deviation_partition.agreed(y[split.start : split.end], split.at - split.start, scale * wander)
        if place is not None and split.start + place - (kept[-1] if kept else 0) >= rank_scan.LEAST:
            kept.append(split.start + place)
    return kept


def _simpler(y: Floats, splits: Sequence[int]) -> list[int]:
    """Merges two splits that are so close that they displaced each other, if one alone leaves no larger deviations than both.

    Source: none, bookkeeping; deviations are absolute, from the medians of the levels.
    """
    kept = list(splits)
    for one, other in itertools.pairwise(splits):
        if one not in kept or other - one >= 2 * rank_scan.LEAST:
            continue
        start, end = max((at for at in kept if at < one), default=0), min((at for at in kept if at > other), default=y.size)
        free = range(max(start + rank_scan.LEAST, one - rank_scan.LEAST), min(end - rank_scan.LEAST, other + rank_scan.LEAST) + 1)
        best = min(free, key=lambda at: _left(y, start, at, end))
        if _left(y, start, best, end) <= _left(y, start, one, other, end):
            kept.remove(one)
            kept[kept.index(other)] = best
    return kept


def _left(y: Floats, *bounds: int) -> float:
    """What the levels between these bounds leave unexplained."""
    return sum(float(np.abs(y[start:end] - np.median(y[start:end])).sum()) for start, end in itertools.pairwise(bounds))


def _sides(values: Floats, split: _Split) -> tuple[float, float]:
    return float(np.median(values[split.start : split.at])), float(np.median(values[split.at : split.end]))


def _matters(values: Floats, split: _Split, floor: float) -> bool:
    """Whether the change is at least the floor, whichever side it is taken from."""
    before, after = _sides(values, split)
    if before > 0 and after > 0:
        return abs(math.log(after / before)) >= math.log1p(floor)
    return abs(after - before) >= floor * max(abs(before), abs(after))


def _in_place(y: Floats, split: _Split) -> bool:
    """Whether both points beside the split may be of their own level: one that has fewer than `rank_scan.LEAST` points so far pushes its
    split among those of the other, and the build named there has nothing of the change.

    Source: none; noise as wide as in `level_test.draw_in`.
    """
    wide = level_test.DRAWN_IN * split.levels.sd
    before, after = float(np.median(y[split.start : split.at])), float(np.median(y[split.at : split.end]))
    last, first = float(y[split.at - 1]), float(y[split.at])
    return not any(abs(one - own) > wide >= abs(one - other) for one, own, other in ((last, before, after), (first, after, before)))


def _change(values: Floats, split: _Split, ratio: bool, unit: str) -> Change:
    before, after = _sides(values, split)
    effect = _relative(before, after)
    low, high = split.levels.interval(LEVEL)
    shift = math.log(after / before) if ratio else after - before
    bounds = [shift + bound - split.levels.shift for bound in (low, high)]
    if ratio:
        bounds = [math.expm1(bound) for bound in bounds]
    elif before:
        bounds = [bound / abs(before) for bound in bounds]
    counts = f"{split.at - split.start} points before, {split.end - split.at} from here on"
    relative = f"{number_format.percent(effect)}, " if effect is not None else ""
    return Change(
        index=split.at,
        direction="rise" if after > before else "fall",
        before=before,
        after=after,
        effect=effect,
        interval=(bounds[0], bounds[1]) if effect is not None else None,
        confidence=1 - split.chance,
        reason=(
            f"{relative}{number_format.quantity(before, unit)} to {number_format.quantity(after, unit)} (medians of {counts}); seen "
            f"by ranks and by partition; "
            f"noise {_noise(split, ratio, unit)}, autocorrelation {split.levels.rho:.2f}: chance would show it in {_odds(split.chance)}"
        ),
    )


def _noise(split: _Split, ratio: bool, unit: str) -> str:
    return number_format.percent(split.levels.sd, signed=False) if ratio else number_format.quantity(split.levels.sd, unit)


def _odds(chance: float) -> str:
    return "fewer than one series in a million" if chance < 1e-6 else f"{chance * 1e6:,.0f} series of a million"
