"""Numbers as people write them: whether a comma is of thousands or of decimals is asked of all numbers that stand together.

Of a single "1,001" nobody can tell; beside "7,5" its comma is a decimal one, beside "991.1" it is not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal

Convention = Literal["point", "comma", "mixed", ""]
"""What the decimals of numbers that stand together surely have; "" where none tells, "mixed" where they contradict each other."""
ROUNDING = 1e-9
"""Of logarithms: where all numbers have commas, both readings have one spread."""
_END = r"(?:e[+-]?[0-9]{1,4})?|nan|inf(?:inity)?"
_POINT = re.compile(rf"[+-]?(?:(?:[1-9][0-9]{{0,2}}(?:,[0-9]{{3}})+(?:\.[0-9]+)?|[0-9]+\.?[0-9]*|\.[0-9]+){_END})", re.IGNORECASE)
"""A number with a decimal point, if any, and commas between thousands, if any. Python would take `1_0`, and other scripts' digits, too."""
_COMMA = re.compile(rf"[+-]?(?:(?:[1-9][0-9]{{0,2}}(?:\.[0-9]{{3}})+,[0-9]+|[0-9]+(?:,[0-9]+)?){_END})", re.IGNORECASE)
"""A number with a decimal comma, if any, and points between thousands only where it has one."""


def is_number(text: str) -> bool:
    """Whether a text is a number in one of the two conventions."""
    return bool(_POINT.fullmatch(text) or _COMMA.fullmatch(text))


def convention(texts: Sequence[str]) -> Convention:
    """What numbers that stand together show; texts that are none show nothing."""
    found = [(bool(_POINT.fullmatch(text)), bool(_COMMA.fullmatch(text))) for text in texts]
    point, comma = any(one and not other for one, other in found), any(other and not one for one, other in found)
    return "mixed" if point and comma else "point" if point else "comma" if comma else ""


def value(text: str, by: Convention) -> float:
    """A number's value by a convention; where that is unknown, commas are of thousands."""
    return float(text.replace(".", "").replace(",", ".") if by == "comma" and "," in text else text.replace(",", ""))


def doubtful(texts: Sequence[str]) -> str:
    """The first number among some that are compared, of no known convention, whose comma is rather one of decimals: with that they lie
    nearer to each other. "" without one."""
    commas = [text for text in texts if "," in text]
    spreads = [_spread([value(text, by) for text in texts]) for by in ("point", "comma")]
    return commas[0] if commas and spreads[1] < spreads[0] - ROUNDING else ""


def _spread(values: Sequence[float]) -> float:
    sizes = [abs(value) for value in values if value]
    return math.log(max(sizes)) - math.log(min(sizes)) if sizes else 0.0
