"""Runs in brackets behind the name of their side, "main [810, 812, 815]: 812 ms": the lines with the runs behind the colon."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.words.cells import DIGITS, UNIT, is_digits
from perfproof.model.base import numerals
from perfproof.model.scenarios.side_names import names_a_side

_LISTED = re.compile(
    rf"^(?P<mark>[-*+•]\s+)?(?P<name>[^\[\](){{}}:=|]{{1,60}}?)\s*[\[(](?P<runs>{DIGITS}(?:(?:\s*[;/]\s*|,\s+|\s+){DIGITS}){{1,19}})"
    rf"(?:\s?(?P<own>{UNIT}))?[\])]\s*[:=]\s*(?P<digits>{DIGITS})\s?(?P<unit>{UNIT})?$"
)


LEAST, WIDEST = 3, 1.5
"""Numbers beside each other that are runs by themselves, at least, and how far these differ, at most."""
MOST_SIDES = 5
_RUN = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?"
_SPACED = re.compile(
    rf"^(?P<mark>[-*+•]\s+)?(?P<name>[^\[\]()=:|]{{1,40}}?)(?:\s*:\s*|\s{{2,}}|\t)(?P<runs>{_RUN}(?:\s+{_RUN}){{1,19}})(?:\s?(?P<unit>{UNIT}))?"
    rf"(?:\s*(?:->|→|=>|[,;|(\[])?\s*(?P<what>mean|average|avg\.?|median|med)\s*[:=]?\s*(?P<digits>{DIGITS})\s?(?P<late>{UNIT})?[)\]]?)?$"
)
"""A side with its runs in columns and what was made of them: "main    812  820  815   mean 815.7"."""


def _listed(text: str) -> str:
    """A line of runs in columns as one of runs with commas."""
    found = _SPACED.match(text)
    if not found:
        return text
    values = [float(each.replace(",", "")) for each in found["runs"].split()]
    if not found["what"] and (len(values) < LEAST or max(values) > WIDEST * min(values)):
        return text
    runs, unit = ", ".join(found["runs"].split()), found["unit"] or found["late"] or ""
    if not found["what"]:
        return f"{found['mark'] or ''}{found['name']}: {runs} {unit}".rstrip()
    return f"{found['mark'] or ''}{found['name']}: {runs} {unit}".rstrip() + f" ({found['what'].rstrip('.')} {found['digits']})"


def told(lines: Sequence[Line]) -> list[Line]:
    """The lines; a side with its runs in brackets and one number, which lies among them, as the side with these runs where the number is
    their median, else as the side with its number alone and the runs behind it; runs in columns, beside those of a side that is known, with
    commas."""
    names = [found["name"].strip("*_` ") for line in lines if (found := _SPACED.match(line.text))]
    spaced = any(names_a_side(name) for name in names) and len(names) <= MOST_SIDES
    texts = [_listed(line.text) if spaced else line.text for line in lines]
    return [
        replace(line, text=_told(text)) if text[-1:].isalnum() else replace(line, text=text)
        for line, text in zip(lines, texts, strict=True)
    ]


def _told(text: str) -> str:
    found = _LISTED.match(text)
    if not found or not names_a_side(found["name"].strip("*_` ")):
        return text
    runs = re.split(r"\s*[;/]\s*|,\s+|\s+", found["runs"])
    if not all(map(is_digits, (*runs, found["digits"]))):
        return text
    values, value = [numerals.value(each, "") for each in runs], numerals.value(found["digits"], "")
    if not min(values) <= value <= max(values):
        return text
    name, unit = f"{found['mark'] or ''}{found['name']}", found["unit"] or found["own"] or ""
    if f"{median(values):.{len(found['digits'].partition('.')[2])}f}" == f"{value:.{len(found['digits'].partition('.')[2])}f}":
        return f"{name}: {', '.join(f'{each} {unit}'.strip() for each in runs)}"
    return f"{name}: {found['digits']} {unit}".rstrip() + f" (runs {', '.join(runs)})"
