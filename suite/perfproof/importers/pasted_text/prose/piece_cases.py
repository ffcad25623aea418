"""What numbers of one metric and one side were measured at: "412 us at M=64 and 1.87 ms at M=4096"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from perfproof.importers.pasted_text.prose.pieces import Piece
from perfproof.model.scenarios.side_names import role

_KEYED = r"[A-Za-z_]\w{0,30}\s?=\s?\w[\w.]{0,30}"
_CASE = (
    rf"(?P<case>{_KEYED}(?:,\s?{_KEYED}){{0,4}}|(?:[A-Za-z][\w-]{{0,30}}\s){{1,3}}[0-9][0-9,.]{{0,12}}[kK]?(?![\w/%])"
    r"|[0-9][0-9,]{0,12}[kK]?[ -][A-Za-z][\w-]{0,20}(?:\s(?!(?:and|or|but|vs|to|on|with|in|while)\b)[A-Za-z][\w-]{0,20})?(?![\w/])"
    r"|[0-9][0-9.,]{0,12}\s?(?:req/s|reqs/s|rps|qps|RPS|QPS)(?![\w/])"
    r"|[A-Z][A-Za-z-]{0,20}[0-9][\w.-]{0,20}(?![\w/%]))"
)
_AT = r"(?:at|for|with|@|when|under|on)\s+(?:(?:a|an|the)\s+)?"
_BEHIND = re.compile(
    rf"[\s,()\[\]]*?(?:\b(?:on|in|with|for)\s+,[\s,)\]]*)?(?:{_AT}{_CASE}|[(\[]\s*(?:{_AT})?{_CASE.replace('<case>', '<inside>')}\s*[)\]])"
)
_BEFORE = re.compile(rf"(?i)\b{_AT}{_CASE}")


def told_apart(pieces: Sequence[Piece], names: Sequence[str], whose: Sequence[str], *, always: bool = False) -> list[str]:
    """The names; where a side has several numbers of one name and each was measured at something of its own, or `always`, with that."""
    keys = [(name.casefold(), side.casefold()) for name, side in zip(names, whose, strict=True)]
    twice = {key for key in keys if keys.count(key) > 1 or always}
    cases = _shared(pieces, whose) if twice else []
    if not cases or any(key in twice and not case for key, case in zip(keys, cases, strict=True)):
        return list(names)
    return [", ".join(part for part in (name, case) if part) for name, case in zip(names, cases, strict=True)]


def _shared(pieces: Sequence[Piece], whose: Sequence[str]) -> list[str]:
    """What each number was measured at; one that says nothing of it shares that of the other side's number beside it, "from 9 ms to 8 ms
    at M=64", if every side then has a number of each. [] where that is not so."""
    behind, before = ([_case(piece, way) for piece in pieces] for way in (_of_trail, _of_lead))
    own = [late or early for late, early in zip(behind, before, strict=True)]
    if all(own) or (any(behind) and any(before)):
        return own
    if by_twos := _by_twos(own, whose):
        return by_twos
    places = range(len(own))
    for at, other in [(at, at + 1) for at in reversed(places[:-1])] if any(behind) else [(at, at - 1) for at in places[1:]]:
        own[at] = own[at] or (own[other] if whose[at] != whose[other] else "")
    sides = {case: [side for side, each in zip(whose, own, strict=True) if each == case] for case in own}
    return own if all(sorted(each) == sorted(set(whose)) for each in sides.values()) else []


def _by_twos(own: Sequence[str], whose: Sequence[str]) -> list[str]:
    """What numbers that stand by twos were measured at, of which one says it for both, "31 ms at M=8 (36 ms on main), 44 ms at M=16 (51 ms
    on main)"; [] for others."""
    pairs = list(zip(range(0, len(own), 2), range(1, len(own), 2), strict=False))
    if len(own) % 2 or any(bool(own[one]) == bool(own[other]) or whose[one] == whose[other] for one, other in pairs):
        return []
    cases = [own[one] or own[other] for one, other in pairs]
    return [case for case in cases for _ in range(2)] if len(set(cases)) == len(cases) else []


def _of_trail(piece: Piece) -> str:
    found = _BEHIND.match(piece.trail)
    return found["case"] or found["inside"] if found else ""


def _of_lead(piece: Piece) -> str:
    found = list(_BEFORE.finditer(piece.lead))
    return found[-1]["case"] if found else ""


def _case(piece: Piece, way: Callable[[Piece], str]) -> str:
    """What one number was measured at by the words behind it or before it, "" for nothing and for a side."""
    case = way(piece)
    return "" if role(case) else " ".join(case.split()).rstrip(",.")
