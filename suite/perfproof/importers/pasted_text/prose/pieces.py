"""Words cut into one piece a number, each with the side that it names itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from perfproof.importers.pasted_text.prose.amounts import Amount
from perfproof.importers.pasted_text.prose.side_mentions import Mention

NEAR = 12
"""Letters between a side and a number that are surely of each other, at most."""
_SEPARATOR = re.compile(
    r"(?i)\s*(?:->|→|=>|;|\s\||\s/\s|\s[–—-]\s|\bvs\.?(?=\s)|\bversus\b|\bcompared (?:to|with)\b|\bagainst\b|\binstead of\b|\brather than\b"
    r"|\bwhere(?:as)?\b|\bwhile\b|\bwhen\b|\bbut\b|,(?=\s)|\b(?:and|und|et|y|e|en|och|и)\b|[(\[]|\.(?=\s)|\bto\b)\s*"
)
_CONTRAST = re.compile(
    r"(?i)\b(?:vs|versus|compared|against|instead|rather|from|was|were|used to|previously|formerly|now|today|currently|jetzt"
    r"|maintenant|ahora)\b"
)
MOVE = re.compile(
    r"(?i)(?:\s+(?:per|each)\s+[a-z]+)?\s*(?:→|->|=>|➔|⟶|\b(?:down |up )?(?:to|auf|à|a|до|do|para)\b"
    r"|(?:(?:降低|下降|提升|提高|增加|减少|降|升"
    r"|缩短)?[到至]|から))\s*"
    r"(?:about |around |roughly |just |only )?[~≈]?\s*"
)
_ON = re.compile(r"(?i)\s*[(\[]?\s*(?:(?:on|in|with|for|at|under|using|mit|auf|avec)\s+(?:the\s+|vllm\s+)?)?")
"""What may stand between a number and its side."""
BRACKET = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A number with the words around it that are its own, and the side that it names, None for none; `moved` says that the number before
    became it."""

    amount: Amount
    lead: str
    trail: str
    side: Mention | None
    leading: bool
    contrast: bool
    inside: bool = False
    moved: bool = False


def cut(text: str, found: Sequence[Amount], sides: Sequence[Mention]) -> list[Piece]:
    """The words cut into one piece a number, [] where one of them names several sides."""
    begins = [0]
    contrasts = [False]
    for at in range(len(found) - 1):
        start, end = found[at].end, found[at + 1].start
        between = [side for side in sides if start <= side.start and side.end <= end]
        before = [side for side in sides if begins[-1] <= side.start and side.end <= found[at].start]
        late = bool(between) and bool(_ON.fullmatch(text[start : between[0].start]))
        has = bool(before) and (not late or _away(before[-1], found[at]) <= NEAR)
        place = _cut(text, start, end, between, has)
        begins.append(place)
        bracketed = bool(between) and bool(re.fullmatch(r"\s*[(\[]\s*", text[start : between[0].start]))
        contrasts.append(bracketed or _in_brackets(text, start, found[at + 1], sides) or bool(_CONTRAST.search(text[start:end])))
    pieces = []
    for at, amount in enumerate(found):
        begin, end = begins[at], begins[at + 1] if at + 1 < len(found) else len(text)
        own = [side for side in sides if begin <= side.start and side.end <= end]
        side = _nearest(own, amount)
        if len({each.role or each.name for each in own}) > 1 and (side is None or _away(side, amount) > NEAR):
            if any(each.role for each in own):
                return []
            side = None  # versions of an upgrade that the words before speak of
        moved = at and MOVE.fullmatch(text[found[at - 1].end : amount.start])
        begin = amount.start if moved else begin
        lead, trail = (without(text, part, own) for part in ((begin, amount.start), (amount.end, end)))
        pieces.append(
            Piece(
                amount=amount,
                lead=lead,
                trail=trail,
                side=side,
                leading=side is not None and side.start < amount.start,
                contrast=contrasts[at],
                inside=side is not None and _enclosed(text, side, amount),
                moved=bool(moved),
            )
        )
    return pieces


def _in_brackets(text: str, start: int, amount: Amount, sides: Sequence[Mention]) -> bool:
    """Whether a number stands in brackets with its side behind it, "1.2 ms (1.9 ms on main)"."""
    end = text.find(")", amount.end)
    opened = re.search(r"[(\[]\s*[~≈]?\s?$", text[start : amount.start])
    return bool(opened) and any(amount.end <= side.start and side.end <= end for side in sides)


def _enclosed(text: str, side: Mention, amount: Amount) -> bool:
    """Whether a side and its number stand in one bracket, or the number in one behind its side, of which nothing goes on behind it."""
    if re.fullmatch(r"\s*[(\[]\s*[~≈]?\s?", text[side.end : amount.start]) and re.match(r"\s*[)\]]", text[amount.end :]):
        return True
    opened = text.rfind("(", 0, side.start)
    return opened >= 0 and side.start < amount.start and ")" not in text[opened : amount.end]


def _nearest(own: Sequence[Mention], amount: Amount) -> Mention | None:
    named = [side for side in own if not side.weak]
    ways = named if len({side.role for side in own}) == 1 and named else own
    return min(ways, key=lambda side: _away(side, amount), default=None)


def _away(side: Mention, amount: Amount) -> int:
    """Letters between a side and a number."""
    return amount.start - side.end if side.end <= amount.start else side.start - amount.end


def without(text: str, part: tuple[int, int], own: Sequence[Mention]) -> str:
    begin, end = part
    for side in reversed(own):
        if begin <= side.start and side.end <= end:
            return f"{without(text, (begin, side.start), own)} , {without(text, (side.end, end), own)}"
    return text[begin:end]


def _cut(text: str, start: int, end: int, own: Sequence[Mention], has: bool) -> int:
    """Where the words between two numbers part: `own` are the sides that they name, `has` says that the first number has one before it."""
    bracket = BRACKET.match(text[start:end])
    inside = bool(bracket and any(side.end <= start + bracket.end() for side in own))
    begin = start + bracket.end() if bracket and (inside or not own) else start
    places = [(start + one.start(), start + one.end()) for one in _SEPARATOR.finditer(text[start:end]) if start + one.start() >= begin]
    if inside or not own:
        return next((late for _, late in places), begin)
    first = own[0]
    if first.weak or text[first.end : first.end + 2] in ("'s", "’s") or re.search(r"(?i)\bfrom\s+(?:the\s+)?$", text[start : first.start]):
        return first.start
    left = [late for _, late in places if late <= first.start]
    right = [late for early, late in places if early >= first.end]
    if len(own) > 1:
        return next((late for early, late in places if first.end <= early and late <= own[1].start), own[1].start)
    if has or not right:
        return (left[-1] if left else start) if (has or left) else end
    return right[0]
