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


def digits(value: float) -> str:
    """About four significant digits with thousands separated; integers stay integers."""
    size = abs(value)
    if size >= 999.5 or value == int(value):
        return f"{value:,.0f}"
    if size < 0.0005:
        return f"{value:.3g}"
    places = 1 if size >= 99.95 else 2 if size >= 9.995 else 3 if size >= 0.9995 else 3 - math.floor(math.log10(size))
    return f"{value:.{places}f}"
