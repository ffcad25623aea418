"""Parses numbers as people write them: all numbers of a group decide whether a comma separates thousands or decimals.

A single "1,001" is ambiguous; beside "7,5" its comma is a decimal one, beside "991.1" it is not. Beside "7.250" it stays ambiguous, because
that may be seven thousand. Blanks and apostrophes between groups of three digits always separate thousands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal

Convention = Literal["point", "comma", "mixed", ""]
"""The certain decimal mark of a group of numbers; "" if none decides, "mixed" if they contradict each other."""
ROUNDING = 1e-9
"""A spread of logarithms: if all numbers have commas, both readings have the same spread."""
MARKS = " \u00a0\u2009\u202f'’"
"""Blanks and apostrophes that separate thousands."""
_GROUPED = re.compile(
    rf"(?P<sign>[+-]?)(?P<whole>[1-9][0-9]{{0,2}}(?P<mark>[{MARKS}])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*)(?P<rest>\D.*|)", re.DOTALL
)
"""A number whose thousands are separated by blanks or apostrophes: "1 001,4", "1'001.4"."""
_EITHER = re.compile(r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}")
"""A number whose point may separate thousands, if others have commas in such places."""
_GROUPS = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:\.[0-9]{3})+,[0-9]+")
"""A number that shows points between thousands and a decimal comma: "1.482,6"."""
_END = r"(?:e[+-]?[0-9]{1,4})?|nan|inf(?:inity)?"
_POINT = re.compile(rf"[+-]?(?:(?:[1-9][0-9]{{0,2}}(?:,[0-9]{{3}})+(?:\.[0-9]+)?|[0-9]+\.?[0-9]*|\.[0-9]+){_END})", re.IGNORECASE)
"""A number with a decimal point, if any, and commas between thousands, if any. Python would take `1_0`, and other scripts' digits, too."""
_COMMA = re.compile(rf"[+-]?(?:(?:[1-9][0-9]{{0,2}}(?:\.[0-9]{{3}})+,[0-9]+|[0-9]+(?:,[0-9]+)?){_END})", re.IGNORECASE)
"""A number with a decimal comma, if any, and points between thousands only where it has one."""


def is_number(text: str) -> bool:
    """Whether a text is a number in one of the two conventions."""
    text = _joined(text)
    return bool(_POINT.fullmatch(text) or _COMMA.fullmatch(text))


def convention(texts: Sequence[str]) -> Convention:
    """The convention that a group of numbers shows; other texts show nothing."""
    texts = [_joined(text) for text in texts]
    readings = [(bool(_POINT.fullmatch(text)), bool(_COMMA.fullmatch(text))) for text in texts]
    either = any(one and other and "," in text for text, (one, other) in zip(texts, readings, strict=True))
    points = [text for text, (one, other) in zip(texts, readings, strict=True) if one and not other]
    comma = any(other and not one for one, other in readings)
    if comma and points:
        grouped = any(_GROUPS.fullmatch(text) for text in texts)
        return "comma" if grouped and all(_EITHER.fullmatch(text) for text in points) else "mixed"
    point = any(not either or not _EITHER.fullmatch(text) for text in points)
    return "point" if point else "comma" if comma else ""


def value(text: str, by: Convention) -> float:
    """A number's value by a convention; if that is unknown, commas separate thousands."""
    text = _joined(text)
    if by == "comma" and ("," in text or _EITHER.fullmatch(text)):
        return float(text.replace(".", "").replace(",", "."))
    return float(text.replace(",", ""))


def doubtful(texts: Sequence[str]) -> str:
    """The first of some compared numbers, without a known convention, whose comma probably separates decimals, because then the numbers are
    closer to each other. "" without one."""
    commas = [text for text in texts if "," in text]
    if not all(_COMMA.fullmatch(_joined(text)) for text in commas):
        return ""  # 1,204,551: its commas separate thousands
    spreads = [_spread([value(text, by) for text in texts]) for by in ("point", "comma")]
    return commas[0] if commas and spreads[1] < spreads[0] - ROUNDING else ""


def _joined(text: str) -> str:
    """A number without blanks or apostrophes between its thousands; any other text unchanged."""
    match = _GROUPED.fullmatch(text)
    return match["sign"] + match["whole"].replace(match["mark"], "") + match["rest"] if match else text


def _spread(values: Sequence[float]) -> float:
    sizes = [abs(value) for value in values if value]
    return math.log(max(sizes)) - math.log(min(sizes)) if sizes else 0.0
