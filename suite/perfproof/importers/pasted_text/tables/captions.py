"""What the words above a table say of numbers whose own row and column name no metric: its name, its direction, its unit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from perfproof.importers.pasted_text.context.contexts import Context
from perfproof.importers.pasted_text.words.cells import UNIT, unit_of
from perfproof.importers.pasted_text.words.nouns import METRIC
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
_WITHIN = re.compile(rf"{METRIC.pattern}[^.,;:()]{{0,40}}?\s(?:in\s|[(\[])(?P<unit>{UNIT})(?![\w/])")
"""A metric and its unit within a sentence: "median latency of 200 reps in us"."""
_QUOTED = re.compile(r"[\"“`]([^\"“”`]{3,60})[\"”`]")
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


_ALONE = re.compile(
    r"(?i)^(?:(?:all|the) )?(?:(?:numbers|values|cells|rows) )?(?:(?:are|is) )?"
    rf"{METRIC.pattern.removeprefix('(?i)')}.{{0,20}}?\s(?:is |are )?in (?P<unit>{UNIT})(?:[,;(].*|\W*)$"
)


def of_all(text: str) -> Caption:
    """What a short line says all numbers are: "TTFT in ms."."""
    found = _ALONE.match(text.strip())
    return Caption(label=found["label"], decides=found["label"], unit=found["unit"]) if found and known(found["unit"]) else Caption()


def above(context: Context) -> Caption:
    """The nearest words above a table that say what its numbers are."""
    return next((found for text in _texts(context) if (found := _caption(text)) != Caption()), Caption())


def _texts(context: Context) -> Iterator[str]:
    yield context.caption
    yield from reversed(context.weak)
    yield from reversed(context.section)
    yield context.remark


_CONDITIONS = re.compile(r"(?:\s*\([^()]*=[^()]*\))?(?:[,;]\s(?![^()]*\)).*)?$")
"""What stands behind a caption of how it was run: "P99 ITL in ms (DP=8, EP=8)", "TTFT in ms, 16 users"."""


_OF_COLUMNS = re.compile(r"(?i)[\W_]*(?:the )?(?:columns|fields|format|header)\b")
"""What a line begins with that names the columns below it, each with its own metric."""


def without_conditions(caption: str) -> str:
    """A caption without how it was run."""
    return _CONDITIONS.sub("", caption)


def _caption(text: str) -> Caption:
    """A line as a caption: its metric, or the one in a bracket of it. A line that says which way is better alone has no name."""
    if _OF_COLUMNS.match(text):
        return Caption()
    plain = re.split(r"(?<=[.!?])\s+(?=[A-Z`])", text.strip(" :*_"))[-1] if text.rstrip(" *_").endswith(":") else text.strip(" :*_")
    if " " not in plain and plain.count("-") > 1:
        plain = plain.replace("-", " ")  # a name that a program made: "fused-moe-latency-us"
    lead = without_conditions(plain)
    told = better(plain) or unit_of(plain)
    if lead != plain and not WAY.search(plain) and ((better(lead) and unit_of(lead)) if len(plain.split()) > MOST_WORDS else not told):
        plain = lead  # the rest says under which conditions
    if WAY.search(plain):
        bracket = next((found[1] for found in _BRACKET.finditer(plain) if WAY.search(found[1])), "")
        name = WAY.sub("", bracket or (plain if len(plain.split()) <= MOST_WORDS else "")).strip(" ,;:-–—")
        name = re.sub(r"\s*[(\[]\s*[,;]?\s*[)\]]", "", name).strip(" ,;:-–—") if name.count("(") == name.count(")") else name.strip("()")
        return Caption(label=name, decides=plain, unit=unit_of(name))
    inside = next((found[1] for found in _BRACKET.finditer(plain) if better(found[1]) and "," in found[1]), "")
    if inside and not better(_BRACKET.sub("", plain).strip()):
        return Caption(label=inside, decides=inside, unit=unit_of(inside))
    unit = unit_of(plain)
    quoted = next((found[1] for found in _QUOTED.finditer(text) if better(found[1]) and " " in found[1]), "")
    if quoted and not better(plain):
        return Caption(label=quoted, decides=quoted, unit=unit_of(quoted))
    within = [found for found in _WITHIN.finditer(plain) if known(found["unit"]) and better_in(found["label"], found["unit"])]
    if len(plain.split()) > MOST_WORDS and len(within) == 1:
        return Caption(label=within[0]["label"], decides=within[0]["label"], unit=within[0]["unit"])
    if (apart := _unit_apart(plain)) and (len(plain.split()) > MOST_WORDS or not better(plain)):
        return apart
    if len(plain.split()) > MOST_WORDS or plain.endswith((".", "!", "?")) or not (better(plain) or (unit and better_in(plain, unit))):
        return Caption()
    return Caption(label=plain, decides=plain, unit=unit)


_PART = re.compile(
    rf"(?i)^(?:all |the )?(?P<name>(?:(?:output|total|input|decode|prefill|generation|generated|prompt|kernel|step|mean|median|avg|average"
    rf"|p[0-9]{{2}})"
    rf" ){{0,3}}(?P<unit>{UNIT}))(?: (?:on|for|at|with|using|over|across|per)\b.*)?$"
)
"""A unit that is a part of a line by itself: "Llama-3.1-70B TP4, output tok/s"."""


def _unit_apart(plain: str) -> Caption | None:
    """The one unit of a rate or of a time between the commas of a line, with the words before it; None for none and for several."""
    parts = [match for part in re.split(r"[,;:()]\s*|\.\s+", plain) if (match := _PART.match(part.strip())) and _is_unit(match["unit"])]
    if len({match["unit"].casefold() for match in parts}) != 1:
        return None
    return Caption(label=parts[0]["name"], decides=parts[0]["name"], unit=parts[0]["unit"])


def _is_unit(word: str) -> bool:
    return known(word) and ("/" in word or word in ("ms", "us", "µs", "ns"))
