"""Numbers in words: one way to write a change, an interval, a level and a duration, used by every reason and explanation."""

from __future__ import annotations

from suite.analysis.samples import Scale


def percent(fraction: float, signed: bool = True) -> str:
    """A fraction as per cent with three figures: 0.0412 is "+4.12 %"; an infinite one is "unbounded"."""
    if fraction in (float("inf"), float("-inf")):
        return "unbounded"
    size = abs(fraction) * 100
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 0.1 or size == 0 else 3
    return f"{fraction * 100:{'+' if signed else ''}.{digits}f} %"


def change(fraction: float, scale: Scale) -> str:
    """A relative change in per cent, or on the difference scale a difference in percentage points."""
    return percent(fraction) if scale == "log" else percent(fraction)[:-1] + "points"


def size(fraction: float, scale: Scale) -> str:
    """The size of a change, without sign."""
    return percent(fraction, signed=False) if scale == "log" else percent(fraction, signed=False)[:-1] + "points"


def span(interval: tuple[float, float], scale: Scale) -> str:
    """An interval of changes, low to high."""
    return f"{change(interval[0], scale)} to {change(interval[1], scale)}"


def level(confidence: float) -> str:
    """A confidence level with as many figures as it needs: 0.995 is "99.5 %", 0.999167 is "99.92 %"."""
    return f"{confidence * 100:.2f}".rstrip("0").rstrip(".") + " %"


def duration(minutes: float) -> str:
    """Minutes in words: "40 s", "7 min", "2.5 h"."""
    if minutes < 1:
        return f"{minutes * 60:.0f} s"
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def count(number: int, noun: str) -> str:
    """A number with its noun, as in "1 block", "3 blocks"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
