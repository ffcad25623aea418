"""Numbers as a page shows them: scaled values with units, fractions as per cent, exact counts, with typographic signs and spaces."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from perfproof.model.base import unit_prefix

THIN = "\u202f"
"""Narrow no-break space, between a number and its unit."""
MINUS = "\u2212"
NONE = "\u2013"
"""Shown where there is no number."""


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
    """The scale that suits the largest of the values best."""
    factor, name = unit_prefix.fitting(values, unit)
    return Scale(factor=factor, name=name)


def pair(first: float | None, second: float | None, unit: str) -> tuple[str, str]:
    """Two values for comparison by eye: in one scale unless they are two orders of magnitude apart."""
    known = [abs(value) for value in (first, second) if value is not None and math.isfinite(value)]
    if len(known) == 2 and min(known) * 100 >= max(known):
        shared = scale(known, unit)
        return shared.text(first), shared.text(second)
    return quantity(first, unit), quantity(second, unit)


def quantity(value: float | None, unit: str) -> str:
    """One value with its unit, "412.1 µs"."""
    return NONE if value is None else scale([value], unit).text(value)


def digits(value: float) -> str:
    """A number with about four significant digits and separated thousands; whole numbers stay whole."""
    return signed_minus(unit_prefix.digits(value))


def rough(value: float | None, unit: str) -> str:
    """A reading to three digits with its unit, "0.38", "2,571 MHz"."""
    if value is None or not math.isfinite(value):
        return NONE
    fitting = scale([value], unit)
    scaled = value / fitting.factor
    text = f"{scaled:,.0f}" if abs(scaled) >= 100 else f"{scaled:.3g}"
    return signed_minus(f"{text}{THIN}{fitting.name}" if fitting.name else text)


def exact(value: float) -> str:
    """A count with separated thousands, not rounded unless it is a mean of counts and no whole number."""
    if value == int(value):
        return signed_minus(f"{int(value):,}")
    return signed_minus(f"{value:,.2f}".rstrip("0").rstrip(".") if abs(value) >= 1000 else f"{value:.7g}")


MOST = 9.0
"""The change from which a multiple replaces per cent: tenfold."""


def percent(fraction: float, places: int, plus: bool = True) -> str:
    """A fraction as per cent without the sign for per cent: "+31.2", "−4.0"; from tenfold on as a multiple, "× 13.7"."""
    if math.isfinite(fraction) and fraction >= MOST:
        return factor(fraction)
    text = f"{100 * fraction:{'+' if plus else ''},.{places}f}"
    return signed_minus(text.lstrip("+-") if float(text.replace(",", "")) == 0 else text)


def percents(low: float, high: float, places: int) -> tuple[str, str]:
    """The two ends of an interval; both as multiples where the upper end is one and the lower end is a doubling or more."""
    if math.isfinite(high) and high >= MOST and low >= 1:
        return factor(low), factor(high)
    places = unit_prefix.places_apart(low, high, places) if math.isfinite(high) and high < MOST else places
    return percent(low, places), percent(high, places)


def points(number: str) -> str:
    """A formatted number of percentage points: "−0.23 points", "1 point"."""
    return f"{number}{THIN}point{'' if number.lstrip('+' + MINUS) == '1' else 's'}"


def places_for(effect: float) -> int:
    """The decimals of a change in per cent: more near zero and near −100 %, none beyond a doubling."""
    return unit_prefix.places(effect, 2 if abs(effect) < 0.01 else 0 if effect >= 1 or effect == -1 else 1)


def factor(effect: float) -> str:
    """A large change as a factor ("÷ 112", "× 3.4"); "" between a halving and a doubling."""
    ratio = 1 + effect
    if ratio <= 0 or 0.5 < ratio < 2:
        return ""
    return f"÷{THIN}{_three(1 / ratio)}" if ratio < 1 else f"×{THIN}{_three(ratio)}"


def _three(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """A duration for people: "38 s", "4 min 10 s", "2 h 5 min"."""
    whole = round(seconds)
    if whole < 1:
        return f"{digits(seconds)}{THIN}s"
    minutes, rest = divmod(whole, 60)
    hours, left = divmod(minutes, 60)
    if hours:
        return f"{hours}{THIN}h {left}{THIN}min"
    return f"{minutes}{THIN}min {rest}{THIN}s" if minutes else f"{rest}{THIN}s"


def sortable(value: float | None) -> str:
    """A number in the form by which the page's script sorts; "" where there is none."""
    if value is None or math.isnan(value):
        return ""
    return repr(float(value)).replace("inf", "Infinity")


def signed_minus(text: str) -> str:
    return text.replace("-", MINUS)


_HYPHEN = re.compile(r"(?<![\w.\-])-(?=\d[\d.,]*\s(?:%|points?\b))|(?<![^\s(\[])-(?=\d[\d,]*\.\d+(?![\w.]))")
"""A hyphen that means minus: before per cent or points, and before a free-standing decimal. Names, options, dates and exit codes keep
theirs."""


def with_minus(sentence: str) -> str:
    """A sentence with typographic minus signs: reasons are written for plain terminals, with hyphens before numbers."""
    return _HYPHEN.sub(MINUS, sentence)
