"""Detectors of steps: this suite's, and two others by their own code. Otava runs where it is installed.

`make validate` installs `ruptures`, and `apache-otava` without its dependencies, of which its detector needs none.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import ruptures
from ruptures.base import BaseCost

from perfproof.analysis.steps import find
from perfproof.analysis.steps.deviation_partition import costs
from perfproof.analysis.steps.rank_scan import LEAST
from perfproof.model.scenarios.scenario import DEFAULT_MARGIN
from perfproof.validation.simulated.noise import Floats

NEAR = 3
"""The largest distance in points between a found step and the true one."""

Found = list[tuple[int, str]]
Detector = Callable[[Floats], Found]


def perfproof(values: Floats) -> Found:
    """The steps that this suite finds, as places and directions."""
    return [(one.index, one.direction) for one in find(list(values[:, None]), floor=DEFAULT_MARGIN, kind="timed").changes]


def otava(values: Floats, pvalue: float) -> Found:
    """Apache Otava by its own code, at a p-value and the same floor; it is given a list, for of an array it forgets its windows."""
    analysis = importlib.import_module("otava.analysis")
    found, _ = analysis.compute_change_points(values.tolist(), max_pvalue=pvalue, min_magnitude=DEFAULT_MARGIN)
    return [(int(one.index), "rise" if one.stats.mean_2 > one.stats.mean_1 else "fall") for one in found]


class AbsoluteDeviations(BaseCost):  # type: ignore[misc]
    """The cost l1 of ruptures, of all stretches at once: a look-up instead of a sort."""

    model = "l1 by table"
    min_size = LEAST

    def fit(self, signal: Floats) -> AbsoluteDeviations:
        """Fills the table; `signal` has shape (n,)."""
        self.signal = signal.reshape(-1, 1)
        self.table = costs(signal)
        return self

    def error(self, start: int, end: int) -> float:
        """The cost of the stretch [start, end)."""
        return float(self.table[start, end])


def pelt(values: Floats, price: float) -> Found:
    """`ruptures.Pelt` on l1 with segments of 5 points or more, priced in deviations (by the MAD) times log n, and the same floor."""
    scale = 1.4826 * float(np.median(np.abs(values - np.median(values))))
    if values.size < 10 or not scale:
        return []
    search = ruptures.Pelt(custom_cost=AbsoluteDeviations(), min_size=5, jump=1).fit(values / scale)
    bounds = [0, *search.predict(pen=price * math.log(values.size))]
    levels = [float(np.median(values[start:end])) for start, end in pairwise(bounds)]
    changes = [(bounds[i], levels[i] / levels[i - 1] - 1) for i in range(1, len(levels))]
    return [(place, "rise" if change > 0 else "fall") for place, change in changes if abs(change) >= DEFAULT_MARGIN]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A tool: as people use it (`usual` says how it is set), and its settings from the most sensitive to the least."""

    name: str
    usual: str
    default: Detector
    settings: Sequence[tuple[str, Detector]]


def hit(found: Found, place: int, near: int = NEAR) -> bool:
    """Whether a rise at this place, or as near as said, is among the steps found."""
    return any(abs(at - place) <= near and way == "rise" for at, way in found)


OTAVA = Family(
    name="Apache Otava alone",
    usual="p .001",
    default=partial(otava, pvalue=0.001),
    settings=[(f"p 1e-{power}", partial(otava, pvalue=10.0**-power)) for power in (3, 4, 5, 6, 7, 8, 10)],
)
PELT = Family(
    name="ruptures alone",
    usual="3 log n",
    default=partial(pelt, price=3),
    settings=[(f"{price} log n", partial(pelt, price=price)) for price in (3, 4, 5, 6, 8, 12)],
)
