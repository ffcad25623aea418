"""What lies within trials and along sizes, made small enough to draw: quantiles of each trial's raw values, and costs by size.

For the eye only. Nothing here is judged: a trial gives one number to the statistics, however many rounds or requests it had.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from suite.analysis.growth import growth
from suite.model.metrics import METRICS
from suite.model.record import Record
from suite.report import words
from suite.report.facts import typical
from suite.report.nouns import GrowthView, SpreadView
from suite.report.untrusted import line

LEVELS = tuple(k / 40 for k in range(41))
"""The shares at which each trial's distribution is kept."""
MIDDLE = len(LEVELS) // 2
"""The place of the median among them."""
MOST_TRIALS = 16
MOST_SPREADS = 4
FEWEST = 8
"""Trials of an arm that are drawn, distributions of a scenario, and raw values that make one."""
_CASE = re.compile(r"([^@]+)@([A-Za-z_]\w*)=([0-9.]+)")


def spreads(arms: Sequence[str], records: Sequence[Record]) -> Iterable[SpreadView]:
    """The distributions within valid trials, of every kind of raw value that has enough of them."""
    valid = [record for record in records if record.status == "ok"]
    names = [name for name in dict.fromkeys(name for record in valid for name in record.raw) if _enough(name, valid)]
    for name in names[:MOST_SPREADS]:
        curves = tuple(tuple(quantiles(values) for values in _chosen(name, arm, valid)) for arm in arms)
        yield SpreadView(name=line(name), unit=words.unit_of(name)[0] if name in METRICS else "s", curves=curves)


def _enough(name: str, records: Sequence[Record]) -> bool:
    return any(len(record.raw.get(name, ())) >= FEWEST for record in records)


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
    for (base, parameter), sizes in _swept(records).items():
        known = sorted(sizes)
        if len(known) < 2:
            continue
        costs = {arm: _costs([sizes[size] for size in known], arm, records) for arm in arms}
        if all(costs.values()):
            unit, better = words.unit_of(base)
            name, by = words.label(line(base)), line(parameter).replace("_", " ")
            told = tuple(_told(arm, known, costs[arm], by) for arm in arms)
            means = tuple(tuple(typical(column) for column in zip(*costs[arm], strict=True)) for arm in arms)
            yield GrowthView(name=name, parameter=by, unit=unit, better=better, sizes=tuple(known), costs=means, words=told)


def _swept(records: Sequence[Record]) -> dict[tuple[str, str], dict[float, str]]:
    """Metrics by name and swept parameter: size to the metric's full name."""
    found: dict[tuple[str, str], dict[float, str]] = {}
    for name in dict.fromkeys(name for record in records for name in (*record.measurements, *record.witnesses)):
        match = _CASE.fullmatch(name)
        if match and match[3].count(".") < 2 and float(match[3]) > 0:
            found.setdefault((match[1], match[2]), {})[float(match[3])] = name
    return found


def _costs(names: Sequence[str], arm: str, records: Sequence[Record]) -> list[list[float]]:
    """One list of costs a valid trial that has them all, each positive."""
    rows = []
    for record in records:
        if record.status == "ok" and line(record.arm) == arm:
            values = [record.measurements.get(name, record.witnesses.get(name, 0.0)) for name in names]
            if all(math.isfinite(value) and value > 0 for value in values):
                rows.append([float(value) for value in values])
    return rows


def _told(arm: str, sizes: Sequence[float], costs: list[list[float]], parameter: str) -> str:
    if len(costs) < 2:
        return f"{arm}: one trial alone, no growth told"
    return growth(sizes, costs, of=arm, size=parameter).words
