"""The window at which base units are scaled: seconds to µs, bytes to MiB, fractions to per cent.

Nothing else in the suite scales a number. Figures keep about four digits that mean something; counts are exact.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

THIN = "\u202f"
"""Narrow no-break space, between a number and its unit."""
MINUS = "\u2212"
NONE = "\u2013"
"""What stands where there is no number."""

_STEPS = {
    "s": ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s")),
    "B": ((1.0, "B"), (2.0**10, "KiB"), (2.0**20, "MiB"), (2.0**30, "GiB"), (2.0**40, "TiB")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A unit as shown: base value divided by `factor`, followed by `name` ("" for plain counts)."""

    factor: float
    name: str

    def number(self, value: float) -> str:
        return digits(value / self.factor)

    def text(self, value: float | None) -> str:
        if value is None or not math.isfinite(value):
            return NONE
        return f"{self.number(value)}{THIN}{self.name}" if self.name else self.number(value)


def scale(values: Iterable[float], unit: str) -> Scale:
    """The scale in which the largest of the values reads best."""
    steps = _STEPS.get(unit)
    if steps is None:
        return Scale(factor=1.0, name="" if unit == "1" else unit)
    top = max((abs(value) for value in values if math.isfinite(value)), default=1.0)
    fitting = [step for step in steps if step[0] <= top] or [steps[0] if top else steps[-1 if unit == "s" else 0]]
    return Scale(factor=fitting[-1][0], name=fitting[-1][1])


def pair(first: float | None, second: float | None, unit: str) -> tuple[str, str]:
    """Two values to be compared by eye: one scale for both unless they are two orders of magnitude apart."""
    known = [abs(value) for value in (first, second) if value is not None and math.isfinite(value)]
    if len(known) == 2 and min(known) * 100 >= max(known):
        shared = scale(known, unit)
        return shared.text(first), shared.text(second)
    return quantity(first, unit), quantity(second, unit)


def quantity(value: float | None, unit: str) -> str:
    """One value with its unit, "412.1 µs"."""
    return NONE if value is None else scale([value], unit).text(value)


def digits(value: float) -> str:
    """About four significant digits with thousands separated; whole numbers stay whole."""
    size = abs(value)
    if size >= 999.5 or value == int(value):
        return signed_minus(f"{value:,.0f}")
    if size < 0.0005:
        return signed_minus(f"{value:.3g}")
    places = 1 if size >= 99.95 else 2 if size >= 9.995 else 3 if size >= 0.9995 else 3 - math.floor(math.log10(size))
    return signed_minus(f"{value:.{places}f}")


def rough(value: float | None, unit: str) -> str:
    """A reading to three digits with its unit, "0.38", "2,571 MHz"."""
    if value is None or not math.isfinite(value):
        return NONE
    fitting = scale([value], unit)
    scaled = value / fitting.factor
    text = f"{scaled:,.0f}" if abs(scaled) >= 100 else f"{scaled:.3g}"
    return signed_minus(f"{text}{THIN}{fitting.name}" if fitting.name else text)


def exact(value: float) -> str:
    """A count as it is, thousands separated; not rounded."""
    return signed_minus(f"{int(value):,}" if value == int(value) else f"{value:,}")


MOST = 9.0
"""A change from which per cent are no more than a size: tenfold."""


def percent(fraction: float, places: int, plus: bool = True) -> str:
    """Without the sign for per cent: "+31.2", "−4.0"; from a tenfold on a multiple, "× 13.7"."""
    if math.isfinite(fraction) and fraction >= MOST:
        return factor(fraction)
    text = f"{100 * fraction:{'+' if plus else ''},.{places}f}"
    return signed_minus(text.lstrip("+-") if float(text.replace(",", "")) == 0 else text)


def places_for(effect: float) -> int:
    """Decimals that a change in per cent deserves: more near nothing and near −100 %, none beyond a doubling."""
    if abs(effect) < 0.01 or 1 + effect < 0.05:
        return 2
    return 0 if effect >= 1 else 1


def factor(effect: float) -> str:
    """How many times, for changes that per cent tell badly ("÷ 112", "× 3.4"); "" below a doubling or above a halving."""
    ratio = 1 + effect
    if ratio <= 0 or 0.5 < ratio < 2:
        return ""
    return f"÷{THIN}{_three(1 / ratio)}" if ratio < 1 else f"×{THIN}{_three(ratio)}"


def _three(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """Time spent, for people: "38 s", "4 min 10 s", "2 h 5 min"."""
    whole = round(seconds)
    if whole < 1:
        return f"{digits(seconds)}{THIN}s"
    minutes, rest = divmod(whole, 60)
    hours, left = divmod(minutes, 60)
    if hours:
        return f"{hours}{THIN}h {left}{THIN}min"
    return f"{minutes}{THIN}min {rest}{THIN}s" if minutes else f"{rest}{THIN}s"


def signed_minus(text: str) -> str:
    return text.replace("-", MINUS)


_HYPHEN = re.compile(r"(?<![\w.\-])-(?=\d[\d.,]*\s(?:%|points?\b))")
"""A hyphen that stands for a minus: before per cent or points; not that of a name, a date or an exit code."""


def with_minus(sentence: str) -> str:
    """A sentence with one minus sign throughout: reasons are written for plain terminals too, with hyphens before numbers."""
    return _HYPHEN.sub(MINUS, sentence)
