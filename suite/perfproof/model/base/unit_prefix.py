"""Scales base units for display: seconds to µs, bytes to MiB, in reasons and on pages.

Nothing else in the suite scales a number. Figures keep about four significant digits. Signs and spaces are plain here; pages have their
own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

_STEPS = {
    "s": ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s")),
    "B": ((1.0, "B"), (2.0**10, "KiB"), (2.0**20, "MiB"), (2.0**30, "GiB"), (2.0**40, "TiB")),
}


def fitting(values: Iterable[float], unit: str) -> tuple[float, str]:
    """The divisor of base values, and the name of the resulting unit ("" for plain counts), chosen for the largest value."""
    steps = _STEPS.get(unit)
    if steps is None:
        return 1.0, "" if unit == "1" else unit
    top = max((abs(value) for value in values if math.isfinite(value)), default=1.0)
    fitting_steps = [step for step in steps if step[0] <= top] or [steps[0] if top else steps[-1 if unit == "s" else 0]]
    return fitting_steps[-1]


NEARLY_GONE = 0.05
"""The share that is left from which a change has two decimals at least: 0.5 % left and 0.05 % left are not the same."""
MOST_PLACES = 8
"""The most decimals of a change in per cent."""


def places(fraction: float, usual: int) -> int:
    """The decimals of a change in per cent: `usual`, two near −100 %, and as many as it takes where something is left at all, so that
    only what is gone reads as −100 %."""
    found = max(usual, 2) if 0 < 1 + fraction < NEARLY_GONE else usual
    while found < MOST_PLACES and fraction > -1 and round(100 * fraction, found) <= -100:
        found += 1
    return found


def places_apart(low: float, high: float, usual: int) -> int:
    """The decimals at which the ends of an interval, in per cent, do not read as one number."""
    found = max(places(low, usual), places(high, usual)) if min(low, high) < NEARLY_GONE - 1 else usual
    while found < MOST_PLACES // 2 and low != high and f"{100 * low:.{found}f}" == f"{100 * high:.{found}f}":
        found += 1
    return found


def digits(value: float) -> str:
    """About four significant digits with thousands separated; integers stay integers."""
    size = abs(value)
    if size >= 999.5 or value == int(value):
        return f"{value:,.0f}"
    if size < 0.0005:
        return f"{value:.3g}"
    places = 1 if size >= 99.95 else 2 if size >= 9.995 else 3 if size >= 0.9995 else 3 - math.floor(math.log10(size))
    return f"{value:.{places}f}"
