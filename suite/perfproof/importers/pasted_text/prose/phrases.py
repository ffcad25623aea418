"""Whose each number of some words is, and what it measures: "H100: main 23.4 ms, PR 20.8 ms; fine", "142.6 tok/s on main vs 151.0 here".

The words are cut into one piece a number, where they part them; each piece has the side that it names itself, or that of the pieces beside
it, and its own words for what was measured, or those of the pieces beside it. Where one number stays without a side, or two have the same
side and the same words, nothing is read at all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from perfproof.importers.pasted_text.prose import piece_cases
from perfproof.importers.pasted_text.prose.amounts import Amount, amounts
from perfproof.importers.pasted_text.prose.piece_names import MOST_WORDS, in_turn, names_of, units_of
from perfproof.importers.pasted_text.prose.piece_sides import owners
from perfproof.importers.pasted_text.prose.pieces import BRACKET, cut, without
from perfproof.importers.pasted_text.prose.side_mentions import Mention, mentions
from perfproof.importers.pasted_text.values.named_values import Value
from perfproof.importers.pasted_text.words.cells import BULLET, DIGITS, RUNS_BESIDE, UNIT, bare, unit_of
from perfproof.importers.pasted_text.words.run_numbers import RUN, run_of
from perfproof.importers.pasted_text.words.unmeasured import UNMEASURED
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import better, better_in
from perfproof.model.scenarios.side_names import are_both_sides, role

LONGEST, MOST, FEW = 600, 24, 2
_SPREAD = re.compile(rf"\s?(?:±|\+/-|\+-)\s?{DIGITS}")
_CLAIM = re.compile(r"\s*[(\[][^()\[\]]*?[-+~≈]?[0-9.,]+\s?(?:%|[x×](?!\w)|percent|pp)[^()\[\]]*[)\]]")
_WITH_UNIT = re.compile(rf"[0-9]\s?(?P<unit>{UNIT})")
_BY = re.compile(
    r"(?i)\s*\bby (?:about |around |roughly |[~≈]\s?)?[0-9][0-9.,]*\s?(?:%|percent|x|×|[nuµm]?s|[KMG]i?B|\w{1,8}/\w{1,4})(?![\w/])"
)
"""How much something changed."""
_DOUBT = re.compile(
    r"(?i)\b(?:rang\w+|var(?:y|ies|ied|ying)|between|could|would|might|should|may|expect\w*|target|goal|budget|revert\w*|downgrad\w*"
    r"|go(?:ing|es)? back|back to|(?:disabl|remov|revert|undo|drop)\w* (?:the|this|my|your) (?:pr|patch|change|fix|branch|commit|new)"
    r"|roll\w* back|undo\w*|undid|limit|(?<!-)up to(?!\s+[~≈]?[0-9][0-9.,]*[^.;]{0,20}\bfrom\b)|at least|hope\w*|plan\w*)\b|\?"
)
_CASE = re.compile(r"^(?P<case>[^:;]{1,80}?)\s*(?::(?=\s)|\s[–—-]\s)\s*")


def read(line: str, *, cased: bool = False) -> list[Value]:
    """The numbers of a line or a sentence with their sides and what they measure, where that is asked for with what they were measured
    at; [] where these are not clear."""
    whole = _whole(line, cased)
    if len({value.side for value in whole}) > 1:
        return whole
    return whole if RUNS_BESIDE.search(line) else _by_clauses(line, cased) or whole


_CLAUSE = re.compile(
    r"[;,]\s+(?:(?:and|while|but|whereas|so|with)\s+)?(?=[^\W_])|(?<=[)])\s+and\s+"
    r"|\s+(?:while|whereas|but)\s+(?=[^\W_])|\s+and\s+(?=(?:leaves?|left|keeps?|kept|holds?|cuts?|raises?|raised|lowers?|lowered|drops?|dropped|improve[sd]?|reduce[sd]?"
    r"|increase[sd]?|decrease[sd]?|brings?|brought|takes?|took|pushe[sd]|moves?|moved|shrinks?|shrank|grows?|grew|gets?|got)\s)"
)


def _by_clauses(line: str, cased: bool) -> list[Value]:
    """The numbers of a sentence of which each part has those of both sides, "p99 is now 301 ms, down from 366 ms, and TTFT fell from 9 ms
    to 8 ms"; a part that names none has the sides of the one before, in their order. [] where a part is not clear."""
    parts: list[str] = []
    found: list[Value] = []
    order: tuple[str, ...] = ()
    filled = False
    for part in _CLAUSE.split(line):
        parts.append(part)
        filled = filled or bool(amounts(part, mentions(part)))
        if not filled and len(parts) > FEW and found:
            return []
        if not filled:
            continue
        text = ", ".join(parts)
        if len(text) > LONGEST:
            return []
        values = _whole(text, cased)
        if not values and order and (again := _ordered(text, *order)):
            values = again
        if len({value.side for value in values}) < 2:
            if len(parts) > FEW:
                return []
            continue
        if any(not value.side or not value.name for value in values):
            return []
        order = (values[0].side, values[1].side) if len(values) == 2 else ()
        found += values
        parts, filled = [], False
    rest = ", ".join(parts)
    keys = [(value.name.casefold(), value.side.casefold()) for value in found]
    return found if not amounts(rest, mentions(rest)) and len(set(keys)) == len(keys) else []


_SHARE = re.compile(
    r"(?i)[-+−~≈]?\s?[0-9][0-9.,]*\s?(?:%|[x×](?!\w)|percent|pp)(?:\s(?:faster|slower|better|worse|lower|higher|less|more))?"
)


def _unclaimed(bracket: re.Match[str]) -> str:
    """What stands in a bracket besides a claim, "(-9.3 % vs main 97.1 ms)", where that has a number with a unit; else nothing of it."""
    rest = _SHARE.sub("", bracket[0])
    return rest if any(known(each["unit"]) for each in _WITH_UNIT.finditer(rest)) else ""


def _whole(line: str, cased: bool) -> list[Value]:
    text = _SPREAD.sub("", _CLAIM.sub(_unclaimed, _BY.sub("", BULLET.sub("", bare(line)))))
    if len(text) > LONGEST or text.count("(") != text.count(")"):
        return []
    if (order := _ORDER.match(text)) and len({role(order["one"]), role(order["other"])} & {"baseline", "candidate"}) == 2:
        return _ordered(text[order.end() :], order["one"], order["other"])
    if told := next((one for one in BRACKET.finditer(text) if _both(one[0])), None):
        one, other = mentions(told[0])[:2]
        rest = f"{text[: told.start()]}{text[told.end() :]}"
        return [] if mentions(rest) else _ordered(rest, one.name, other.name)
    sides = mentions(text)
    found = amounts(text, sides)
    if not found or len(found) > MOST or _DOUBT.search(text[: found[-1].end]):
        return []
    case = _case(text, sides, found)
    claimed = bool(case) and not re.search(r"[^\W\dx×]", case)
    if case:
        text = _CASE.sub("", text, count=1)
        sides = mentions(text)
        found = amounts(text, sides)
    case = "" if claimed else case
    if not found or _listed(text, found):
        return []
    pieces = cut(text, found, sides)
    if not pieces:
        return []
    whose = owners(pieces, text)
    names = names_of(pieces)
    if not whose or names is None:
        return []
    names = piece_cases.told_apart(pieces, in_turn(pieces, whose) or names, whose, always=cased)
    units = units_of(pieces)
    ran = RUN.fullmatch(case)
    run, case = (run_of(ran), "") if ran else ("", case)
    values = [
        Value(
            run=run,
            name=", ".join(part for part in (name, case) if part),
            digits=piece.amount.digits,
            unit=_unit(name, piece.amount, unit),
            side=side,
        )
        for piece, side, name, unit in zip(pieces, whose, names, units, strict=True)
    ]
    keys = [(value.name.casefold(), value.side.casefold()) for value in values]
    return values if len(set(keys)) == len(keys) else []


def _unit(name: str, amount: Amount, lent: str) -> str:
    """The unit of a number: that of its name where it has none; one that another number lent it only where its metric can be in it."""
    if not amount.unit and (own := unit_of(name)):
        return own
    fits = amount.unit or better(name) is None or better(f"{name} ({lent})" if lent else name) == better(name)
    return lent if fits else ""


_ORDER = re.compile(
    r"(?P<one>[^\W\d][\w #.-]{1,30}?)\s*(?:\bvs\.?|\bversus\b|/|->|→|=>)\s*(?P<other>[^\W\d][\w #.-]{1,30}?)\s*(?::|\s[–—-])\s+(?=[^\W\d])"
)
"""The sides in their order, before all numbers of a line."""
_PAIRED = re.compile(r"(?i)\s*(?:\bvs\.?|\bversus\b|/|->|→|=>|\bto\b)\s*[~≈]?")


def _ordered(text: str, one: str, other: str) -> list[Value]:
    """The numbers of a line by twos, the first side's first."""
    found = amounts(text, ())
    if not found or len(found) % 2 or len(found) > MOST or _DOUBT.search(text):
        return []
    if not all(_PAIRED.fullmatch(text[first.end : second.start]) for first, second in zip(found[::2], found[1::2], strict=True)):
        return []
    pieces = cut(text, found, ())
    if not pieces:
        return []
    names = (names_of(pieces) or [""])[::2]
    if not all(names) or len(set(names)) < len(names):
        return []
    units = [_unit(names[at // 2], piece.amount, lent) for at, (piece, lent) in enumerate(zip(pieces, units_of(pieces), strict=True))]
    return [
        Value(name=names[at // 2], digits=piece.amount.digits, unit=units[at], side=(one, other)[at % 2]) for at, piece in enumerate(pieces)
    ]


_NEXT = re.compile(rf"\s*(?:[,;/|]|\band\b)\s*(?P<number>{DIGITS})(?![\w-])(?!\s?[x×%])")


def _listed(text: str, found: Sequence[Amount]) -> bool:
    """Whether a number goes on with one that is no measurement of its own: several runs, of which none may be lost."""
    starts = {one.start for one in found}
    return any((more := _NEXT.match(text[one.end :])) and one.end + more.start("number") not in starts for one in found)


def of_line(line: str) -> list[Value]:
    """The numbers of a line that names both sides."""
    text = BULLET.sub("", bare(line))
    if _SENTENCE.search(line) and not _CASE.match(text):
        return []
    values = read(line)
    roles = {role(value.side) for value in values}
    if len({value.side for value in values if value.side}) > 1 and len(roles) > 1:
        return values
    if len({value.side for value in values}) == 1 and re.match(
        rf"(?i)(?:(?:with|on|in)\s+)?{re.escape(values[0].side)}(?:\s*:?\s+[~≈]?[0-9]|\s{{2,}}[^\W\d])", BULLET.sub("", line)
    ):
        return values
    if len(values) == 1 and values[0].side and better(values[0].name) is not None and UNMEASURED.search(text):
        return values if are_both_sides(side.name for side in mentions(text)) else []
    if (
        len(values) == 1
        and values[0].side
        and text[:1].isdigit()
        and not _REST.sub("", without(text, (0, len(text)), mentions(text)).replace(values[0].digits, "", 1))
    ):
        return values
    one = values and len({value.side for value in values}) == 1 and all(value.name for value in values)
    if one and not values[0].side:
        return values if len(values) > 1 and all(better_in(value.name, value.unit) for value in values) else []
    return values if one and re.match(rf"(?i)\W*(?:with |on )?{re.escape(values[0].side)}\W*:", text) else []


_SENTENCE = re.compile(
    r"(?i)\b(?:is|are|was|were|goes|went|drops?|dropped|fell|falls|rose|rises|takes?|took|gets?|got|sees?|saw|i|we|you|it|it's|that|from)\b|\w\.$"
)
"""Words of a sentence, which is read with those around it."""


_REST = re.compile(rf"(?i){UNIT}|\W+|\b(?:on|with|in|for|at|the)\b")


def is_sentence(line: str) -> bool:
    """Whether a line is a sentence that says whose its numbers are."""
    return bool(_SENTENCE.search(line)) and any(value.side for value in read(line))


def _both(bracket: str) -> bool:
    """Whether a bracket names two sides: the order of numbers elsewhere."""
    inside = bracket.strip(" ()[]")
    sides = mentions(inside)
    return len({side.role or side.name for side in sides}) > 1 and not amounts(inside, sides)


def _case(text: str, sides: Sequence[Mention], found: Sequence[Amount]) -> str:
    """The case that a line begins with, before a colon or a dash: "concurrency 16: "; no side and no metric."""
    begun = _CASE.match(text)
    if begun and re.fullmatch(r"[~≈]?[-+]?[0-9.,]+\s?(?:%|[x×])(?: \w+)?", begun["case"].strip()):
        return begun["case"].strip()
    if (
        not begun
        or begun.end() > found[0].start
        or (begun.end() == found[0].start and not sides)
        or any(side.start < begun.end("case") for side in sides)
    ):
        return ""
    case = begun["case"].strip()
    rest = text[begun.end() : found[0].start]
    if better(case) is not None or not (sides or re.search(r"[^\W\d]", rest)) or len(case.split()) > MOST_WORDS:
        return ""
    return case
