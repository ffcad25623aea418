"""The last look at a text: lines whose numbers are in no reading and in nothing that was named as left out. None of them may vanish."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.words.cells import DIGITS, RATE, UNIT, is_digits, spelt_unit
from perfproof.importers.pasted_text.words.nouns import METRIC
from perfproof.model.base import numerals
from perfproof.model.base.quantities import known, scale

MOST, LONGEST = 20, 80
_QUANTITY = re.compile(rf"(?<![\w.#@^±-])(?<![^0-9]/)(?<!^/)(?<!± )(?<!\+/- )(?<!\+- )(?P<digits>{DIGITS})\s?(?P<unit>{RATE})?(?![\w])")
_NAMED = re.compile(
    rf"^[-+*•\s]*[^\W\d_][^:=]{{1,60}}(?:[:=]\s*[\w ]{{1,40}})??[:=]\s*(?P<digits>{DIGITS})\s?(?P<unit>{UNIT})?(?:\s*(?:±|\+/?-).*)?$"
)
"""A line that is a name and its number, "tflops: 412.5"."""
_ARROW = re.compile(r"\s*(?:->|→|=>)\s*")
_COMMAND = re.compile(r"(?:^|\s)--[A-Za-z][\w-]*|^\$\s|^(?:export|pip|uv|git|cd|python3?|VLLM_[A-Z_]+=\S+)\s")


def unread(lines: Sequence[Line], read: Iterable[tuple[str, str]], told: Iterable[str]) -> list[str]:
    """The lines with a quantity that is neither among those that were `read`, as digits and unit, nor in a sentence that was `told`; the
    first of them, and how many more there are."""
    known_ = {each for digits, unit in read for each in (*_spellings(digits, unit), *_spellings(digits, ""), *_shortened(digits))}
    for sentence in told:
        known_ |= {each for found in _QUANTITY.finditer(sentence) for each in _spellings(found["digits"], found["unit"] or "")}
    found = [line for line in lines if any(not spelt & known_ for spelt in _measured(line.text)) and not _COMMAND.search(line.text)]
    named = [f"line {line.number} was not read: {_excerpt(line.text, known_)}" for line in found[:MOST]]
    return named if len(found) <= MOST else [*named, f"{len(found) - MOST} more lines with numbers were not read"]


def _excerpt(text: str, known_: set[str]) -> str:
    """A line as far as its first quantities that were not read reach; of a long one from a little before them."""
    places = [one.span() for one in _QUANTITY.finditer(text) if not _spellings(one["digits"], one["unit"] or "") & known_]
    begin = max(0, min((start for start, _ in places), default=0) - LONGEST // 2)
    end = max([LONGEST, *(stop for _, stop in places if stop - begin < 3 * LONGEST)])
    return f"{'...' if begin and end > LONGEST else ''}{text[begin if end > LONGEST else 0 : end]}"


def _shortened(digits: str) -> list[str]:
    """A number as it may stand before a letter for its thousands: 153500000 as 153.5."""
    return [f"{float(digits) / size:g}" for size in (1e3, 1e6, 1e9)] if digits.isdigit() and len(digits) > 4 else []


def _spellings(digits: str, unit: str) -> set[str]:
    """A quantity as it may stand elsewhere: its digits, and its value in the unit's base."""
    plain = digits.rstrip(",.").lstrip("+")
    if not is_digits(plain):
        return {plain}
    dimension, factor = scale(spelt_unit(unit))
    value = numerals.value(plain, "")
    return {plain, f"{value * factor:.6g} {dimension}", *([] if unit else [f"{value:.12g}"])}


def _measured(text: str) -> list[set[str]]:
    """The quantities of a line that may be measurements: a time, a rate, or what has a unit behind a metric's name; no claim and no
    condition, "at 16 req/s"."""
    metric = METRIC.search(text)
    if named := _NAMED.match(text):
        return [_spellings(named["digits"], named["unit"] or "")]
    return [
        _spellings(one["digits"], one["unit"] or "")
        for one in _QUANTITY.finditer(text)
        if is_digits(one["digits"].rstrip(",.")) and (_ARROW.search(text[: one.start()][-4:]) or _ARROW.match(text[one.end() :]))
    ] or [
        _spellings(one["digits"], one["unit"] or "")
        for one in _QUANTITY.finditer(text)
        if not re.search(r"(?:\bat|@)\s*$", text[: one.start()])
        and (
            _is_timed(spelt_unit(one["unit"] or ""))
            or (metric and one.start() > metric.start() and known(spelt_unit(one["unit"] or "")) and one["unit"] != "%")
        )
        and re.search(r"[1-9]", one["digits"])
    ]


def _is_timed(unit: str) -> bool:
    return known(unit) and "time" in scale(unit)[0].split("/") and unit not in ("min", "hr", "hour", "hours", "minutes", "mins")
