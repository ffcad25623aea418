"""What the words above a table say of numbers whose own row and column name no metric: its name, its direction, its unit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from perfproof.importers.pasted_text.cells import UNIT, unit_of
from perfproof.importers.pasted_text.headings import Context
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import better, better_in

WAY = re.compile(r"(?i)\b(?:lower|less|smaller|fewer|higher|more|larger|bigger) (?:is|are|=) better\b")
MOST_WORDS = 9
"""A longer line is a sentence, of which a bracket alone may be a caption."""
_OF_ALL = re.compile(
    rf"(?i)^[(*_]*(?:all\s+)?(?:times?|values|numbers|latenc(?:y|ies)|results|figures|measurements|rows|cells)?(?:\s+(?:are|is"
    rf"|given|shown|reported"
    rf"|measured))*\s*in\s+(?:(?P<word>[a-z]+)\s*\((?P<short>{UNIT})\)|(?P<unit>{UNIT}))[.:)*_]*$"
)
_OF_NUMBERS = re.compile(
    rf"(?i)\b(?:all |every )?(?:times?|latenc(?:y|ies)|values|numbers|figures|everything)\b(?: (?:is|are|shown|given|reported"
    rf"|measured))* in (?P<unit>{UNIT})(?![\w/])"
    rf"|(?:^|[,;(]\s*)in (?P<apart>{UNIT}) unless\b"
)
"""The same within a sentence: "256 tokens, 100 iterations (all times in µs)", "in ms unless said otherwise"."""
_BRACKET = re.compile(r"[(\[]([^()\[\]]{2,60})[)\]]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caption:
    """The metric that a caption names, what decides its direction, and its unit; all "" where there is none."""

    label: str = ""
    decides: str = ""
    unit: str = ""


def captions(text: str) -> bool:
    """Whether a sentence right above a table says what its numbers are."""
    return _caption(text) != Caption()


def unit_of_all(text: str) -> str:
    """The unit that a line says all numbers have, "Times are in microseconds (us).", "" for none."""
    found = _OF_ALL.match(text.strip())
    unit = (found["short"] or found["unit"]) if found else next((one["unit"] or one["apart"] for one in _OF_NUMBERS.finditer(text)), "")
    return unit if known(unit) else ""


def above(context: Context) -> Caption:
    """The nearest words above a table that say what its numbers are."""
    return next((found for text in _texts(context) if (found := _caption(text)) != Caption()), Caption())


def _texts(context: Context) -> Iterator[str]:
    yield context.caption
    yield from reversed(context.weak)
    yield from reversed(context.section)
    yield context.remark


def _caption(text: str) -> Caption:
    """A line as a caption: its metric, or the one in a bracket of it. A line that says which way is better alone has no name."""
    plain = re.split(r"(?<=[.!?])\s+(?=[A-Z`])", text.strip(" :*_"))[-1] if text.rstrip(" *_").endswith(":") else text.strip(" :*_")
    lead = plain.split(", ")[0]
    if len(plain.split()) > MOST_WORDS and lead != plain and better(lead) and unit_of(lead) and not WAY.search(plain):
        plain = lead  # the rest says under which conditions
    if WAY.search(plain):
        bracket = next((found[1] for found in _BRACKET.finditer(plain) if WAY.search(found[1])), "")
        name = WAY.sub("", bracket or (plain if len(plain.split()) <= MOST_WORDS else "")).strip(" ,;:-–—()")
        return Caption(label=name, decides=plain, unit=unit_of(name))
    inside = next((found[1] for found in _BRACKET.finditer(plain) if better(found[1]) and "," in found[1]), "")
    if inside and not better(_BRACKET.sub("", plain).strip()):
        return Caption(label=inside, decides=inside, unit=unit_of(inside))
    unit = unit_of(plain)
    if len(plain.split()) > MOST_WORDS or plain.endswith((".", "!", "?")) or not (better(plain) or (unit and better_in(plain, unit))):
        return Caption()
    return Caption(label=plain, decides=plain, unit=unit)
