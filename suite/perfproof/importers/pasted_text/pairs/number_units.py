"""The numbers of one label in one unit: that of the label, else that of the first number which has one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from perfproof.model.base import numerals
from perfproof.model.base.quantities import MULTIPLES, PLACES, converted, scale

_SHORT = {"m": "min", "h": "hr"}
"""Letters that are minutes and hours beside times."""
ABSURD, NEAR = 100.0, 10.0
"""A change that a text with decimal points hardly means, and one that it may mean where a comma is of decimals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InOneUnit:
    """The values, their unit ("" for none), and the label with it."""

    values: tuple[float, ...]
    unit: str
    label: str


def in_one_unit(numbers: Sequence[tuple[str, str, str]], label: str, by: numerals.Convention) -> InOneUnit | str:
    """Digits, own unit and the label's unit of each number as values of one unit; why they can't be compared, in words, "
    "where they can't."""
    if fault := _doubt([digits for digits, _, _ in numbers], by, one_unit=len({own or name for _, own, name in numbers}) == 1):
        return fault
    if any(scale(own or name)[0] == "time" for _, own, name in numbers):
        numbers = [(digits, _SHORT.get(own, own), name) for digits, own, name in numbers]
    named = next((name for _, _, name in numbers if name), "")
    units = [own if own not in MULTIPLES or not named else "" for _, own, _ in numbers]
    unit = (
        named if not any(units) or any(converted(1.0, each, named) is not None for each in units if each) else next(filter(None, units), "")
    )
    values = []
    for digits, own, name in numbers:
        has = ("" if own in MULTIPLES and unit not in MULTIPLES else own) or name or (named if unit == named else "")
        value = converted(_multiplied(numerals.value(digits, by), own if has != own else ""), has, unit)
        if value is None:
            fits = next(f"{text} {each}" for text, each, _ in numbers if each and converted(1.0, each, unit) is not None)
            return f"compares {fits} with {digits} {has or 'without a unit'}: write both in one unit"
        values.append(value)
    if odd := _multiples_apart(numbers, values):
        return odd
    return InOneUnit(
        values=tuple(values), unit=unit, label=label if unit in ("", named) and (not unit or _holds(label, unit)) else f"{label} ({unit})"
    )


def _multiplied(value: float, letter: str) -> float:
    return float(f"{value * MULTIPLES[letter]:.{PLACES}g}") if letter else value


def _multiples_apart(numbers: Sequence[tuple[str, str, str]], values: Sequence[float]) -> str:
    """Why numbers with other letters behind them may be no thousands and millions of one thing: they are more than a hundredfold apart."""
    letters = {own.lower() for _, own, _ in numbers if own in MULTIPLES}
    sizes = [abs(value) for value in values]
    if len(letters) < 2 or not min(sizes) or max(sizes) / min(sizes) <= ABSURD:
        return ""
    first, second = next((one, two) for one in numbers for two in numbers if one[1].lower() < two[1].lower())
    return f"compares {first[0]} {first[1]} with {second[0]} {second[1]}: write both in one unit"


def _holds(label: str, unit: str) -> bool:
    """Whether a label says a unit already."""
    return bool(re.search(rf"(?:^|[^A-Za-z]){re.escape(unit)}(?:$|[^A-Za-z])", label)) or bool(
        re.search(r"_(?:ms|us|s|tok_s|req_s)\b", label)
    )


def _doubt(texts: Sequence[str], by: numerals.Convention, *, one_unit: bool) -> str:
    """Why a comma among these numbers can't be read, "" where it can or there is none; in `one_unit` they are of about one size."""
    if by == "mixed" and (odd := next((text for text in texts if numerals.convention([text]) == "comma"), "")):
        return f"has the decimal comma of {odd}, and other numbers have decimal points: write all in one way"
    odd = numerals.doubtful(texts) if one_unit and (by == "" or (by in ("point", "mixed") and _absurd(texts))) else ""
    return (
        f"has {odd}, whose comma may be of thousands or of decimals: write {odd.replace(',', '')} or {odd.replace(',', '.')}" if odd else ""
    )


def _absurd(texts: Sequence[str]) -> bool:
    """Whether commas of thousands make a change of more than a hundredfold, and commas of decimals one of less than tenfold."""
    grouped = [text for text in texts if re.fullmatch(r"[-+]?[1-9][0-9]{0,2},[0-9]{3}", text)]
    return bool(grouped) and _ratio(texts, "point") > ABSURD and _ratio([text.replace(",", ".") for text in texts], "point") < NEAR


def _ratio(texts: Sequence[str], by: numerals.Convention) -> float:
    sizes = [abs(numerals.value(text, by)) for text in texts]
    return max(sizes) / min(sizes) if min(sizes) else 1.0
