"""The numbers of running words that may be measurements: with a unit, or right behind a side, a metric or an equals sign; no claim, no size
and no condition ("at 16 req/s")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from perfproof.importers.pasted_text.prose.side_mentions import Mention
from perfproof.importers.pasted_text.words.cells import DIGITS, RATE, is_digits, spelt_unit, unit_of
from perfproof.model.base.quantities import known, scale
from perfproof.model.scenarios.metric_directions import better, word_set
from perfproof.model.scenarios.side_names import role

_NUMBER = re.compile(
    rf"(?<![\w.#@/^~±+-])[~≈]?\s?(?P<price>[$€£¥]\s?)?(?P<digits>{DIGITS})(?P<multiple>[kKM](?=\s+\w+/s))?\s?"
    rf"(?:(?P<which>total|output|input|prompt|generated|decode|prefill)\s+(?=[a-z]+(?:/s| per s)))?(?P<unit>{RATE})?(?![\w])"
)
NEAR = 120
"""Letters before a number in which the words that it belongs to stand, at most."""
_CONDITION = re.compile(r"(?i)(?:\bat|@|\bevery|\bafter|\bwithin|\bfor|\btimeout of|\brate of|\brate)\s*$")
_HARDWARE = re.compile(r"(?<![A-Z])[A-Z]{1,6}[- ]?[0-9]{2,4}[A-Za-z]*[ -]?$|\b(?:GPU|card|node) (?:with|of) $")
"""A machine before the size of its memory: "8xH100 80GB"."""
_CLAIMED = re.compile(r"\s?(?:[x×](?!\w)|%|percent|pp\b|times\b|fold\b)")
_KEY = re.compile(r"(?P<key>[A-Za-z][\w./%-]*)\s?[=:]\s*$")
_LOADS = word_set("qps rps rate")
"""Keys of what was asked of a run: "at QPS=4"."""
_METRIC_BEFORE = re.compile(r"(?P<words>[^\W\d][\w./-]*(?: [^\W\d][\w./-]*)?)(?: is| was| are| were| of| =|:)?\s*$")
_KEPT = re.compile(
    r"(?i)\b(?:(?:leav(?:es?|ing)|left|keep(?:s|ing)?|kept|hold(?:s|ing)?|held|puts?)\s+(?:the\s+"
    r"|our\s+)?(?P<metric>[^\W\d][\w+@-]*(?: [\w+@-]+){0,2})"
    r"|(?P<late>[^\W\d][\w+@-]*(?: [^\W\d][\w@-]*){0,2}?)(?:,\s+\w+,)?\s+(?:is|was|stays?|stayed|remains?|remained|holds?|held"
    r"|sits?|sat|stands?|stood"
    r"|lands?|landed|ends? up|ended up|comes? out|came out)(?:\s+(?:unchanged|flat|steady|the same|still|now))?)\s+at\s+$"
)
"""A metric that is said to be at a number: "leaves GSM8K at 0.853"."""
_WENT = re.compile(
    r"(?i)(?P<metric>[^\W\d][\w@+-]*(?: [^\W\d][\w@+-]*){0,2}?)\s+(?:goes|go|went|moves?|moved|changes?|changed|rises?|rose|falls?"
    r"|fell|drops?"
    r"|dropped|climbs?|climbed|grows?|grew|improves?|improved|increase[sd]?|decrease[sd]?|shifts?|shifted)(?:\s+(?:up|down|slightly|only))?"
    r"\s+from\s+$"
)
"""A metric that is said to have gone from a number to another: "acceptance length goes from 2.7 to 2.9"."""
_ONWARD = re.compile(r"\s+to\s+(?:about |around |roughly )?[~≈]?")
_CHANGED_BY = re.compile(
    r"(?i)\b(?:dropp?(?:ed|s)?|fell|falls?|rose|rises?|gr[eo]ws?|improve[sd]?|reduce[sd]?|(?:in|de)crease[sd]?|down|up|by|cuts?|saves?|gains?)\s$"
)
"""Words before a share that is a claim."""
_LISTED = re.compile(
    r"(?:[,;:|]\s+)(?!(?:up|down|by|about|around|roughly|only|within|than|saves?|gains?|faster|slower|improv\w*|reduc\w*)\b)"
    r"[A-Za-z][\w/-]*(?: (?!up|down|by|about|is|was)[A-Za-z][\w/-]*){0,2}\s$"
)
"""A name in a list behind a side, before a share: "main: SM active 61%, DRAM active 78%"."""
_CACHE = re.compile(
    r"(?i)\bkv[ _-]?cache\b(?![^.;]*\b(?:block|page|chunk)[ _-]?size)"
    r"(?![^.;]*\b(?:request|prompt|sequence|user|per|every|each|about)s?\b)[^.;]*$"
)
_HELD = re.compile(
    rf"(?i)\s?(?:(?P<unit>tokens|blocks)(?![\w/])(?! per\b)"
    rf"|(?:to|->|→|=>|vs\.?)\s+[~≈]?{DIGITS}\s(?P<late>tokens|blocks)(?![\w/])(?! per\b))"
)
"""What a cache holds: "the KV cache grows from 33,104 to 51,520 tokens"."""
_ARROW = re.compile(r"\s*(?:→|->|=>|➔|⟶)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A number and where it stands; `unit` "" for none, `words` the unit as it was written where that was in words."""

    start: int
    end: int
    digits: str
    unit: str
    words: str = ""


def amounts(text: str, sides: Sequence[Mention]) -> list[Amount]:
    """The numbers of a text in their order."""
    found: list[Amount] = []
    for one in _NUMBER.finditer(text):
        digits = one["digits"].rstrip(",.")
        unit = (one["multiple"] or "") + spelt_unit(one["unit"] or "")
        start = one.start("price") if one["price"] else one.start("digits")
        end = one.end() if known(unit) else one.end("digits") - len(one["digits"]) + len(digits)
        before, near, behind = text[:start], text[max(0, start - NEAR) : start], text[end:]
        if not is_digits(digits) or digits[0] in "+-" or any(start < side.end and end > side.start for side in sides):
            continue
        listed = bool(sides) and not text[: sides[0].start].strip(" -*•") and _LISTED.search(near)
        share = unit == "%" and (listed or _of_key(near) or _MOVED_SHARE.match(behind) or (found and found[-1].unit == "%"))
        if share and not re.search(r"[+-]\s?$", near) and not _CHANGED_BY.search(near):
            found.append(Amount(start=start, end=end, digits=digits, unit=unit))
            continue
        if one["price"]:
            found.append(Amount(start=start, end=one.end("digits"), digits=digits, unit=one["price"].strip()))
            continue
        if known(unit) and unit not in ("%", "B"):
            if scale(unit)[0] == "bytes" and digits.isdigit() and _HARDWARE.search(near):
                continue
            if (
                (condition := _CONDITION.search(near))
                and (condition[0].strip() not in ("at", "@") or "/" in unit)
                and not any(side.end >= start - 4 for side in sides if side.start < start)
            ):
                continue
            words = one["unit"] if " per " in (one["unit"] or "") else ""
            words = f"{one['which']} {words or unit}" if one["which"] else words
            found.append(Amount(start=start, end=end, digits=digits, unit=unit, words=words))
            continue
        if _CLAIMED.match(text[one.end("digits") :]) or re.match(r"\s?[A-Za-z_]", text[one.end("digits") : one.end("digits") + 1]):
            continue
        if (held := _HELD.match(text[one.end("digits") :])) and _CACHE.search(near) and not _CONDITION.search(near):
            end = one.end("digits") + held.end("unit") if held["unit"] else one.end("digits")
            found.append(Amount(start=start, end=end, digits=digits, unit=(held["unit"] or held["late"]).lower()))
            continue
        case = _is_case(near) and not any(start - 3 <= side.end <= start for side in sides)
        if (
            (not case and (_goes_on(text[one.end("digits") :]) or _of_side(before, behind, start, end, sides)))
            or _of_key(near)
            or (found and not found[-1].unit and _ONWARD.fullmatch(text[found[-1].end : start]) and _WENT.search(text[: found[-1].start]))
            or (_ARROW.search(before[-4:]) and found)
        ):
            found.append(Amount(start=start, end=end, digits=digits, unit=""))
    return found


_GOES_ON = re.compile(rf"(?i)\s*(?:→|->|=>|\bto\b|\band\b|\bvs\.?|/|\bauf\b|\bà\b)\s*(?:about |around )?[~≈]?{DIGITS}\s?(?P<unit>{RATE})")
_MOVED_SHARE = re.compile(rf"\s*(?:→|->|=>|to)\s*{DIGITS}\s?%")


def _goes_on(behind: str) -> bool:
    """Whether a number goes on to a second one that has the unit of both: "from 2,410 to 2,702 tok/s"."""
    found = _GOES_ON.match(behind)
    return found is not None and known(spelt_unit(found["unit"])) and found["unit"] not in ("%", "B", "min")


_OF_CASE = re.compile(
    r"(?:\b(?:[Aa]t|[Ff]or|[Ww]ith|when|on)|@)\s+(?:(?:[A-Za-z_]\w{0,30}\s?=\s?\w{1,20},\s?){0,3}(?P<key>[A-Za-z_]\w{0,30})\s?="
    r"|(?P<words>(?:(?!(?:at|for|with|when|on)\s)[A-Za-z][\w-]{0,30}\s){1,3}))\s*$"
)


def _is_case(before: str) -> bool:
    """Whether a number without a unit ends what others were measured at: "at M=", "at batch size "."""
    found = _OF_CASE.search(before)
    name = (found["key"] or found["words"]).strip() if found else ""
    if name.lower() in _LOADS:
        return True
    return bool(name) and not role(name) and not known(name) and all(better(each) is None for each in (name, name.split()[-1]))


def _of_side(before: str, behind: str, start: int, end: int, sides: Sequence[Mention]) -> bool:
    """Whether a side stands right before a number, or in brackets behind it."""
    near = next(
        (side for side in sides if side.end <= start and re.fullmatch(r"[\s:=\])*`]*(?:is|was|about)?\s*", before[side.end :])), None
    )
    if re.search(
        r"(?i)\b(?:run|trial|rep|seed|round|iteration|iter|attempt|gpu|node|rank|step|config|case|test|table|figure|part|phase)\s*$", before
    ):
        return False  # "Run 1 (main)"
    late = next(
        (side for side in sides if side.start >= end and re.fullmatch(r"\s*[(\[]?(?:on |with |for |in )?", behind[: side.start - end])),
        None,
    )
    return near is not None or late is not None


def _of_key(before: str) -> bool:
    """Whether a metric stands right before a number: "ttft=", "TTFT "."""
    key = _KEY.search(before)
    if key and key["key"].lower() in _LOADS:
        return False
    if key:
        return better(key["key"]) is not None or bool(unit_of(key["key"]))
    if kept := _KEPT.search(before):
        return better(kept["metric"] or kept["late"]) is not None
    if went := _WENT.search(before):
        return better(went["metric"]) is not None or better(went["metric"].split()[-1]) is not None
    words = _METRIC_BEFORE.search(before)
    if not words or words["words"].split()[-1].lower() in ("at", "for", "with", "in", "on", "by", "to", "and", "from", "than"):
        return False
    return any(better(part) is not None for part in (words["words"], words["words"].split()[-1]))
