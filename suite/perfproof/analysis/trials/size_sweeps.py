"""Sweeps: the metrics of a scenario that were measured at several sizes of one parameter, and their growth in words.

The metrics' names show the swept parameter (`round_time@output_length=16000`); they come from the workload's cases, so nothing has to be
declared. Nothing here gates: each size is judged by itself; growth shows what to expect beyond the largest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perfproof.analysis.stats.samples import typical
from perfproof.analysis.stats.scaling import Growth, counted_growth, growth, slope_difference
from perfproof.analysis.trials.counted_rounds import totals
from perfproof.analysis.trials.paired_trials import counts, fine, latest, unequal_blocks
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import METRICS, is_count, is_timed

CASE = re.compile(r"([^@]+)@([A-Za-z_]\w*)=(\d+(?:\.\d+)?)")
WHICH = (fine, counts)
"""Which trials count: of times, and of exact counts."""
Costs = Mapping[int, Sequence[float]]
"""One arm's costs by block, in the order of the sizes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """One metric over the sizes of one parameter, in every arm that measured them all; the baseline is the first arm.

    `costs` are geometric means over the trials that count, one value per size. `growths` is None for an arm with only one such trial.
    `claims` compare each candidate's growth with the baseline's, each with the candidate's name.
    """

    metric: str
    parameter: str
    sizes: tuple[float, ...]
    exact: bool
    arms: tuple[str, ...]
    costs: tuple[tuple[float, ...], ...]
    growths: tuple[Growth | None, ...]
    claims: tuple[tuple[str, str], ...]

    @property
    def size(self) -> str:
        """The parameter for people."""
        return self.parameter.replace("_", " ")


def sweeps(arms: Sequence[str], records: Sequence[Record]) -> list[Sweep]:
    """Every sweep of a scenario's records over two sizes or more, `arms` with the baseline first; sweeps that an arm lacks are left out.

    Trials that do not count (failed, invalid but for exact counts, of a block whose arms did unequal work) are in none. Source: `scaling`.
    """
    trials = latest(records)
    unequal = {which: unequal_blocks(trials, which) for which in WHICH}
    timed, counted = ([_Left.of(trial) for trial in trials if which(trial) and trial.block not in unequal[which]] for which in WHICH)
    swept = ((base, parameter, sizes) for (base, parameter), sizes in _swept(counted).items() if len(sizes) > 1)
    found = (_sweep(base, parameter, sizes, arms, counted if _exact(base) else timed) for base, parameter, sizes in swept)
    return [sweep for sweep in found if sweep]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Left:
    """What a trial left of all metrics."""

    arm: str
    block: int
    values: Mapping[str, float]

    @classmethod
    def of(cls, trial: Record) -> _Left:
        return cls(arm=trial.arm, block=trial.block, values={**trial.measurements, **trial.witnesses, **totals(trial)})


def _exact(metric: str) -> bool:
    return metric in METRICS and not is_timed(metric)


def _swept(trials: Iterable[_Left]) -> dict[tuple[str, str], dict[float, str]]:
    """Metrics by base name and swept parameter: size to the metric's full name."""
    found: dict[tuple[str, str], dict[float, str]] = {}
    for name in dict.fromkeys(name for trial in trials for name in trial.values):
        match = CASE.fullmatch(name)
        if match and float(match[3]) > 0:
            found.setdefault((match[1], match[2]), {})[float(match[3])] = name
    return found


def _sweep(metric: str, parameter: str, by_size: Mapping[float, str], arms: Sequence[str], trials: Sequence[_Left]) -> Sweep | None:
    sizes = tuple(sorted(by_size))
    exact = _exact(metric)
    costs = {arm: _costs([by_size[size] for size in sizes], arm, trials, exact) for arm in arms}
    if not all(costs.values()) or (exact and any(len(set(map(tuple, mine.values()))) > 1 for mine in costs.values())):
        return None  # an arm lacks it, or a count that differs between trials, which its own verdict tells
    if is_count(metric) and not any(any(values) for mine in costs.values() for values in mine.values()):
        return None  # the host did none of it at any size
    size = parameter.replace("_", " ")
    growths = {arm: _growth(sizes, own, exact, arm, size) for arm, own in costs.items()}
    baseline = arms[0]
    claims = ((arm, _claim(sizes, baseline, costs[baseline], costs[arm], growths[baseline], growths[arm])) for arm in arms[1:])
    return Sweep(
        metric=metric,
        parameter=parameter,
        sizes=sizes,
        exact=exact,
        arms=tuple(arms),
        costs=tuple(tuple(typical(column) for column in zip(*own.values(), strict=True)) for own in costs.values()),
        growths=tuple(growths.values()),
        claims=tuple((arm, claim) for arm, claim in claims if claim),
    )


def _costs(names: Sequence[str], arm: str, trials: Iterable[_Left], exact: bool) -> dict[int, list[float]]:
    """The costs of the trials that have them all: for counts any number from 0, for times only such as have a logarithm."""
    found = {}
    for trial in trials:
        if trial.arm == arm:
            values = [float(trial.values.get(name, math.nan)) for name in names]
            if all(math.isfinite(value) and (value > 0 or (exact and value == 0)) for value in values):
                found[trial.block] = values
    return found


def _growth(sizes: Sequence[float], costs: Costs, exact: bool, arm: str, size: str) -> Growth | None:
    values = list(costs.values())
    if exact:
        return counted_growth(sizes, values[0], of=arm, size=size)
    return growth(sizes, values, of=arm, size=size) if len(values) > 1 else None


def _claim(sizes: Sequence[float], baseline: str, before: Costs, after: Costs, first: Growth | None, second: Growth | None) -> str:
    """The candidate's growth against the baseline's, "" where either is not known."""
    if first is None or second is None:
        return ""
    words = f"{_times(second)}, {baseline} {_times(first)}"
    shared = sorted(before.keys() & after.keys())
    if second.interval is None or len(shared) < 2:
        return words
    lower, (low, high) = slope_difference(sizes, np.array([before[b] for b in shared]), np.array([after[b] for b in shared]))
    return f"{words}: exponent {_signed(lower)} [{_signed(low)}, {_signed(high)}]"


def _times(growth: Growth) -> str:
    """The shape, with the factor of the cost from the smallest to the largest size, if there is one."""
    return f"{growth.shape} (× {growth.factor:.3g})" if math.isfinite(growth.factor) and growth.factor != 1 else growth.shape


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")
