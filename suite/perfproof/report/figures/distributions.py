"""What lies within trials and along sizes, made small enough to draw: quantiles of each trial's raw values, and costs by size.

For the eye only. Nothing here is judged: a trial gives one number to the statistics, however many rounds or requests it had.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence

from perfproof.analysis.trials.size_sweeps import sweeps
from perfproof.model.base.untrusted import line
from perfproof.model.kinds import kind_in
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import METRICS
from perfproof.report.base import formatting
from perfproof.report.base.page_model import GrowthView, SpreadView

LEVELS = tuple(k / 40 for k in range(41))
"""The shares at which each trial's distribution is kept."""
MIDDLE = len(LEVELS) // 2
"""The place of the median among them."""
MOST_TRIALS = 16
MOST_SPREADS = 4
FEWEST = 8
"""Trials of an arm that are drawn, distributions of a scenario, and raw values that make one."""


def spreads(arms: Sequence[str], records: Sequence[Record]) -> Iterable[SpreadView]:
    """The distributions within valid trials, of every kind of raw time that has enough of them; answers are no times."""
    valid = [record for record in records if record.status == "ok" and not _answers(record)]
    names = [name for name in dict.fromkeys(name for record in valid for name in record.raw) if _enough(name, valid)]
    for name in names[:MOST_SPREADS]:
        curves = tuple(tuple(quantiles(values) for values in _chosen(name, arm, valid)) for arm in arms)
        yield SpreadView(name=line(name), unit=formatting.unit_of(name)[0] if name in METRICS else "s", curves=curves)


def _answers(record: Record) -> bool:
    """Whether a trial was asked for answers: what it keeps raw are scores, digests and tokens, which have no distribution worth drawing."""
    kind = kind_in(record.definition)
    return kind is not None and kind.of_answers


def _enough(name: str, records: Sequence[Record]) -> bool:
    return any(len(record.raw.get(name, ())) >= FEWEST for record in records)


def middle(trials: Sequence[Sequence[float]]) -> Sequence[float]:
    """The quantiles of the trial whose median is the middle one; of an even number of trials the slower of the two. Empty if none."""
    return sorted(trials, key=lambda curve: curve[MIDDLE])[len(trials) // 2] if trials else ()


def _chosen(name: str, arm: str, records: Sequence[Record]) -> list[Sequence[float]]:
    found = [record.raw[name] for record in records if line(record.arm) == arm and len(record.raw.get(name, ())) >= FEWEST]
    return found[:: max(1, math.ceil(len(found) / MOST_TRIALS))]


def quantiles(values: Sequence[float]) -> tuple[float, ...]:
    """The values at `LEVELS`, by linear interpolation between order statistics."""
    ordered = sorted(values)
    places = (level * (len(ordered) - 1) for level in LEVELS)
    return tuple(_between(ordered, place) for place in places)


def _between(ordered: Sequence[float], place: float) -> float:
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def growths(arms: Sequence[str], records: Sequence[Record]) -> Iterable[GrowthView]:
    """Metrics and witnesses that were measured at several sizes of one parameter: the cost at each size, and its growth in words."""
    for sweep in sweeps(arms, [dataclasses.replace(record, arm=line(record.arm)) for record in records]):
        unit, better = formatting.unit_of(sweep.metric)
        several = len(sweep.arms) > 2
        yield GrowthView(
            metric=line(sweep.metric),
            name=formatting.label(line(sweep.metric)),
            parameter=line(sweep.size),
            unit=unit,
            better=better,
            sizes=sweep.sizes,
            costs=sweep.costs,
            words=tuple(
                growth.words if growth else f"{arm}: one trial alone, no growth told"
                for arm, growth in zip(sweep.arms, sweep.growths, strict=True)
            ),
            claims=tuple(f"{f'{arm} ' if several else ''}{claim}" for arm, claim in sweep.claims),
        )
