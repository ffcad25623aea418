"""What one cell says: a value with its unit, a change from one value to another, a claim about a change, nothing, or words.

Digits survive: a number stays the text that was written until the commas of the whole text are known (`numerals`).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from perfproof.model.base import numerals
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import word_set

Kind = Literal["value", "change", "versus", "claim", "missing", "words"]
DIGITS = (
    rf"[-+]?(?:[0-9][0-9.,]{{0,40}}(?:(?<=[0-9])[{numerals.MARKS}][0-9]{{3}}(?![0-9])[0-9.,]{{0,40}}){{0,6}}|\.[0-9]{{1,30}})"
    r"(?:[eE][-+]?[0-9]{1,3})?"
)
UNIT = r"[A-Za-zµμ%][\w/µμ%·]{0,30}"
RATE = rf"(?:{UNIT})(?:\s?/\s?(?:s|sec|second)\b|\s+per\s+(?:s|sec|second|minute|min|hour)\b)?"
"""A unit that may be a rate in words: "tokens per second"."""
_SPREAD = rf"(?:\s*(?:±|\+/-|\+-)\s*(?P<spread>[0-9.,]+)(?:e[-+]?[0-9]+)?\s*(?P<late>{UNIT})?)?"
_ABOUT = r"(?:[~≈∼]\s?|(?:about|approx\.?|approximately|ca\.|circa|around|roughly|etwa|environ|约|約)\s?)?"
_VALUE = re.compile(
    rf"(?i)^{_ABOUT}(?P<value>{DIGITS})\s*(?P<own>{UNIT})?{_SPREAD}"
    r"(?P<rest>\s*[(\[].*|\s*,\s.*|\s*[;:].*|\s+[-–—]\s.*|\s*[↑↓▲▼].*|\s+(?P<change>[-+]\s?[0-9.,]+\s?%.*)|\s+(?P<remark>[^\W\d_][^\d]*))?$"
)
"""A value, and what is said of it."""
_CHANGE = re.compile(
    rf"^(?P<before>{DIGITS})\s*(?P<own>{UNIT})?\s*(?:→|->|=>|➔|➜|⟶)\s*(?P<value>{DIGITS})\s*(?P<late>{UNIT})?(?P<rest>\s*[(\[].*)?$"
)
_VERSUS = re.compile(
    rf"(?i)^(?P<before>{DIGITS})\s*(?P<own>{UNIT})?\s*(?:/|\||\bvs\.?"
    rf"|\bversus\b)\s*(?P<value>{DIGITS})\s*(?P<late>{UNIT})?(?P<rest>\s*[(\[].*)?$"
)
"""Two numbers of which the head of the column says whose they are."""
_CLAIM = re.compile(
    rf"(?i)^[(\[]?\s*(?:[~≈<>≤≥]?\s*(?:[-+]\s?[0-9][0-9.,]*\s?(?:%|pts?|pp|percent)|{DIGITS}\s?[x×](?![\w/])|[x×]\s?[0-9][0-9.,]*"
    rf"|{DIGITS}\s?(?:%|[x×])\s*(?:\w+\s+)?(?:faster|slower|better|worse|less|more|lower|higher|saved|improvement|reduction|speed-?up))).*$"
)
_MISSING = word_set(
    "- – — -- --- n/a na nan none null inf -inf +inf infinity ∞ oom tbd todo ? … ... fail failed error timeout x ✗ ❌ unset "
    "skipped crash crashed"
) | {"not set", "not run", "not measured", "not available", "not supported", "out of memory", "cuda oom"}
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\s\"[^\"]*\")?\)")
_MARKS = re.compile(r"[*`]+|~~|(?<!\w)(?P<mark>_{1,2})(?=[^\s_])(?P<inside>[^\n]{0,200}?[^\s_])(?P=mark)(?!\w)|(?<!\w)_{1,2}")
"""Marks of markdown; an underscore behind a word is one only where another opens it: "aten::copy_" is a name."""
_PRIVATE = re.compile(r"^[`*\s]*(?P<mark>_{1,2})(?=\w)(?!.*(?P=mark)(?!\w))")
"""The beginning of a name that has an underscore and none behind it: "_C::rms_norm"."""
_PICTURES = re.compile("[\u2300-\u23ff\u2600-\u2793\u27b0\u2b05-\u2bff\U0001f000-\U0001faff\ufe0f\u200d]|:[a-z_]{3,30}:")
_FOOTNOTE = re.compile(r"\s*(?:\[\^[\w-]{1,20}\](?!:)|[†‡§¶])|(?<=[0-9A-Za-z%)])[¹²³⁴⁵⁶⁷⁸⁹⁰]+(?=\s|$)|(?<=[0-9A-Za-z%)])\s?\\?\*+(?=\s*$)")
"""A mark that points to a note below."""
_BEGINS = re.compile(r"^[~≈<>≤≥+ -]*\.?[0-9]")
RUNS_BESIDE = re.compile(r"(?<![\w.])[0-9]+(?:\.[0-9]+)?(?:,\s+[0-9]+(?:\.[0-9]+)?){2}(?!\w)")
"""Three numbers beside each other: runs, of which no part may be read alone."""
BULLET = re.compile(r"^(?:[-*+•·]|[0-9]{1,2}[.)])\s+(?:\[[ xX]\]\s+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell: `text` as it reads; `digits` and `unit` of a value; of a change, and of two numbers beside each
    other, `before` and `first_unit` too; `spread` says that ± stands behind it."""

    text: str
    kind: Kind
    digits: str = ""
    unit: str = ""
    before: str = ""
    first_unit: str = ""
    spread: bool = False

    @property
    def numbered(self) -> bool:
        """Whether it begins as a number does, though it may be none."""
        return bool(_BEGINS.match(self.text))


def is_digits(text: str) -> bool:
    """Whether a text is a number that a float can hold."""
    return numerals.is_number(text) and math.isfinite(numerals.value(text, ""))


def bare(text: str) -> str:
    """A text without marks of markdown, links and pictures."""
    plain = _MARKS.sub(lambda found: found["inside"] or "", _LINK.sub(r"\1", _FOOTNOTE.sub("", text)))
    pictured = _PICTURES.sub(" ", plain)
    return " ".join((pictured if re.search(r"\w", pictured) else plain).split())


@lru_cache(maxsize=4096)
def cell(text: str) -> Cell:
    """What a cell says."""
    plain = f"{found['mark'] if (found := _PRIVATE.match(text)) else ''}{bare(text)}"
    if priced := _PRICE.match(plain):
        plain = f"{priced['value']} {priced['sign']}{plain[priced.end() :]}"
        found = _PRICED.match(plain)
        if found and is_digits(found["value"]):
            return Cell(text=plain, kind="value", digits=found["value"], unit=found["own"])
    if clock := _CLOCK.match(plain):
        seconds = int(clock["hours"] or 0) * 3600 + int(clock["minutes"]) * 60 + int(clock["seconds"])
        return Cell(text=plain, kind="value", digits=f"{seconds}{clock['rest'] or ''}", unit="s")
    if _HASH.fullmatch(plain) and re.search(r"[a-f]", plain) and re.search(r"[0-9]", plain):
        return Cell(text=plain, kind="words")
    if not plain or plain.lower().strip("().") in _MISSING:
        return Cell(text=plain, kind="missing")
    if (found := _CHANGE.match(plain)) and all(map(is_digits, (found["before"], found["value"]))):
        own, late = found["own"] or "", found["late"] or ""
        return Cell(text=plain, kind="change", digits=found["value"], unit=late or own, before=found["before"], first_unit=own or late)
    if (found := _VERSUS.match(plain)) and all(map(is_digits, (found["before"], found["value"]))):
        own, late = found["own"] or "", found["late"] or ""
        return Cell(text=plain, kind="versus", digits=found["value"], unit=late or own, before=found["before"], first_unit=own or late)
    if _CLAIM.match(plain) and not known_share(plain):
        return Cell(text=plain, kind="claim")
    found = _VALUE.match(plain)
    if found and found["remark"] and not known(found["own"] or ""):
        found = None
    if found and is_digits(found["value"]):
        return Cell(text=plain, kind="value", digits=found["value"], unit=found["own"] or found["late"] or "", spread=bool(found["spread"]))
    return Cell(text=plain, kind="words")


_HASH = re.compile(r"[0-9a-f]{7,40}")
"""A commit, which may begin as a number does."""
_CLOCK = re.compile(r"^(?:(?P<hours>[0-9]{1,3}):)?(?P<minutes>[0-9]{1,3}):(?P<seconds>[0-5][0-9])(?P<rest>\.[0-9]+)?$")
"""A time of minutes and seconds: 1:32."""
_PRICE = re.compile(rf"^(?P<sign>[$€£¥])\s?(?P<value>{DIGITS})(?![\w.])")
_PRICED = re.compile(rf"^(?P<value>{DIGITS}) (?P<own>[$€£¥])(?:\s*[(\[].*)?$")


def known_share(plain: str) -> bool:
    """Whether a per cent has no sign and no word: "78.1 %" is a value."""
    return bool(re.fullmatch(rf"{DIGITS}\s?%", plain)) and plain[0] not in "+-"


_AT_END = re.compile(
    rf"[(\[]\s*(?:(?:time )?in )?(?P<unit>[^()\[\]]{{1,20}}?)\s*[)\]]\s*[↑↓⬆⬇]?$"
    rf"|(?:,\s*(?:in )?|\sin )(?P<late>{UNIT}(?:\s+(?:per|/)\s+\w{{1,12}})?)$"
)
_LAST_WORD = re.compile(r"(?:^|[\s_])(?P<unit>[A-Za-zµμ%][A-Za-z0-9/µμ%·]{0,30})$")
_SNAKE_RATE = re.compile(
    r"(?i)(?:^|[_\s.])(?P<what>(?:tok|toks|token|tokens|req|reqs|requests)(?=_)|[a-z]{2,20}(?=_per_))_(?:per_)?(?:s|sec|second)$"
)


_SPELT_RATE = re.compile(r"(?i)(?:^|[\s_])(?P<what>[a-z]{1,12})(?: per |\s?/\s)(?P<time>s|secs?|seconds?|min|minutes?|hr|hour)$")
"""A rate in words at the end of a name: "requests per minute"."""


def unit_of(name: str) -> str:
    """The unit that a name ends with, "" where none is surely one: "before (us)", "TTFT, ms", "mean_ttft_ms", but not "arm (B)"."""
    found = _AT_END.search(name)
    unit = (found["unit"] or found["late"]) if found else ""
    if unit and unit not in ("B", "x") and not (unit == "min" and found and found["late"]) and known(spelt_unit(unit)):
        return spelt_unit(unit)
    if rate := _SNAKE_RATE.search(name):
        return f"{rate['what']}/s"
    if rate := _SPELT_RATE.search(name):
        return f"{rate['what']}/{rate['time']}"
    last = _LAST_WORD.search(name)
    word = spelt_unit(last["unit"]) if last else ""
    spelt = word != "s" or bool(re.search(r"[a-z]_s$", name))
    return word if last and spelt and known(word) and word not in ("B", "min", "time") and not _at_work(name, word) else ""


def _at_work(name: str, unit: str) -> bool:
    """Whether the last word is part of a condition: "at 16 req/s"."""
    return bool(re.search(rf"[0-9]\s*{re.escape(unit)}$", name))


def spelt_unit(unit: str) -> str:
    """A unit as it is known: "tokens/sec" for "tokens / sec", "tok/s" for "tok per s"."""
    return re.sub(r"\s*/\s*|\s+per\s+", "/", unit.strip())
