"""Numbers as text: one form for a change, an interval, a level and a duration, in every reason and explanation."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from perfproof.analysis.stats.samples import Scale
from perfproof.model.base.unit_prefix import digits, fitting, places, places_apart

TENFOLD = 9.0
"""The change from which a multiple replaces per cent."""
FARTHEST = 100.0
"""The studentised residual from which the text only says that it is large."""
_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?!\w|\.\d)")
"""A number by itself: not within a name or a version."""
_RANGE = re.compile(rf"{_NUMBER.pattern}(?: to {_NUMBER.pattern})?")


def percent(fraction: float, signed: bool = True) -> str:
    """A fraction as per cent with three figures: 0.0412 is "+4.12 %"; from tenfold on a multiple, "× 13.7"; an infinite one is
    "unbounded"."""
    if fraction in (float("inf"), float("-inf")):
        return "unbounded"
    if fraction >= TENFOLD:
        return f"× {1 + fraction:,.0f}" if fraction >= 99.5 else f"× {1 + fraction:.3g}"
    return f"{fraction * 100:{'+' if signed else ''}.{_places(fraction)}f} %"


def _places(fraction: float) -> int:
    size = abs(fraction) * 100
    return places(fraction, 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 0.1 or size == 0 else 3)


def change(fraction: float, scale: Scale) -> str:
    """A relative change in per cent, or on the difference scale a difference in percentage points."""
    return percent(fraction) if scale == "log" else percent(fraction)[:-1] + "points"


def size(fraction: float, scale: Scale) -> str:
    """The size of a change, without sign; a doubling or more as a multiple: "a change of 41.6 %", "a change of × 8.92"."""
    if scale == "log" and 1 <= fraction < TENFOLD:
        return f"× {1 + fraction:.3g}"
    return percent(fraction, signed=False) if scale == "log" else percent(fraction, signed=False)[:-1] + "points"


def far(residual: float) -> str:
    """The distance of a studentised residual from the others; beyond `FARTHEST` the others' spread is no useful measure."""
    if abs(residual) > FARTHEST:
        return "far away from the other blocks, which hardly differ among themselves"
    return f"{abs(residual):.1f} times their spread away from the other blocks"


def span(interval: tuple[float, float], scale: Scale) -> str:
    """An interval of changes, low to high, with decimals that tell its ends apart; both ends as multiples where the upper one is and the
    lower one is a doubling or more."""
    if scale == "log" and interval[1] >= TENFOLD and interval[0] >= 1:
        return f"{size(interval[0], scale)} to {size(interval[1], scale)}"
    ends = [change(end, scale) for end in interval]
    if ends[0] == ends[1] and interval[0] != interval[1]:
        found = places_apart(*interval, _places(interval[0]))
        ends = [f"{end * 100:+.{found}f} {'%' if scale == 'log' else 'points'}" for end in interval]
    return " to ".join(ends)


def level(confidence: float) -> str:
    """A confidence level with as many figures as it needs: 0.995 is "99.5 %", 0.999167 is "99.92 %"."""
    return f"{confidence * 100:.2f}".rstrip("0").rstrip(".") + " %"


def quantity(value: float, unit: str) -> str:
    """A measured value with its unit, scaled: "4.130 ms", "96.23 tok/s"; where the unit is not known, six figures of the number."""
    if not unit:
        return f"{value:.6g}"
    factor, name = fitting([value], unit)
    return f"{digits(value / factor)} {name}".rstrip()


def counted(value: float, unit: str) -> str:
    """An exact count with its unit: "67,108,864 B"; means of counts, and very large numbers, have ten figures."""
    shown = f"{int(value):,}" if abs(value) < 1e15 and value == int(value) else f"{value:,.10g}"
    return shown if unit in ("", "1") else f"{shown} {unit}"


def duration(minutes: float) -> str:
    """Minutes in words: "40 s", "7 min", "2.5 h"."""
    if minutes < 1:
        return f"{minutes * 60:.0f} s"
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def count(number: int, noun: str) -> str:
    """A number with its noun, as in "1 block", "3 blocks", "2,651 tokens"."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"


def shape(sentence: str) -> str:
    """A sentence without its numbers and ranges: the same for sentences that differ only in numbers."""
    return _RANGE.sub("\0", sentence)


def folded(sentences: Iterable[str]) -> dict[str, str]:
    """Maps each sentence to one for all sentences that differ only in numbers: "1.2 s" and "1.9 s" become "1.2 to 1.9 s"."""
    alike: dict[str, list[str]] = defaultdict(list)
    for sentence in dict.fromkeys(sentences):
        alike[_NUMBER.sub("\0", sentence)].append(sentence)
    return {sentence: _one_for(group) for group in alike.values() for sentence in group}


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def _one_for(group: list[str]) -> str:
    columns = iter([sorted(set(column), key=_value) for column in zip(*map(_NUMBER.findall, group), strict=True)])

    def spanned(_: re.Match[str]) -> str:
        values = next(columns)
        return values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}"

    return _NUMBER.sub(spanned, group[0])
