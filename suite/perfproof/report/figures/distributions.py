"""Distributions within trials and costs by size, small enough to draw: quantiles of each trial's raw values, and costs by size.

For illustration only. A trial gives one number to the statistics, however many rounds or requests it had.
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
"""The index of the median in `LEVELS`."""
MOST_TRIALS = 16
MOST_SPREADS = 4
FEWEST = 8
"""The most trials drawn of an arm, the most distributions of a scenario, and the fewest raw values of one."""


def spreads(arms: Sequence[str], records: Sequence[Record]) -> Iterable[SpreadView]:
    """The distributions within valid trials, for every kind of raw time with enough values. Answers are not times."""
    valid = [record for record in records if record.status == "ok" and not _answers(record)]
    names = [name for name in dict.fromkeys(name for record in valid for name in record.raw) if _enough(name, valid)]
    for name in names[:MOST_SPREADS]:
        curves = tuple(tuple(quantiles(values) for values in _chosen(name, arm, valid)) for arm in arms)
        yield SpreadView(name=line(name), unit=formatting.unit_of(name)[0] if name in METRICS else "s", curves=curves)


def _answers(record: Record) -> bool:
    """Whether a trial collected answers: its raw values are scores, digests and tokens, which have no useful distribution."""
    kind = kind_in(record.definition)
    return kind is not None and kind.of_answers


def _enough(name: str, records: Sequence[Record]) -> bool:
    return any(len(record.raw.get(name, ())) >= FEWEST for record in records)


def middle(trials: Sequence[Sequence[float]]) -> Sequence[float]:
    """The quantiles of the middle trial by median; the slower of the two for an even number of trials. Empty if there is none."""
    return sorted(trials, key=lambda curve: curve[MIDDLE])[len(trials) // 2] if trials else ()


def _chosen(name: str, arm: str, records: Sequence[Record]) -> list[Sequence[float]]:
    values = [record.raw[name] for record in records if line(record.arm) == arm and len(record.raw.get(name, ())) >= FEWEST]
    return values[:: max(1, math.ceil(len(values) / MOST_TRIALS))]


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
    """Metrics and exact counts measured at several sizes of one parameter: the cost at each size, and its growth in words."""
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
                growth.words if growth else f"{arm}: only one trial, so its growth is not known"
                for arm, growth in zip(sweep.arms, sweep.growths, strict=True)
            ),
            claims=tuple(f"{f'{arm} ' if several else ''}{claim}" for arm, claim in sweep.claims),
        )
