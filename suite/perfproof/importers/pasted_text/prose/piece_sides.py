"""Whose the number of each piece is: the side of its own words, of the pieces beside it, or of words that tell an order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from perfproof.importers.pasted_text.prose.pieces import MOVE, Piece
from perfproof.importers.pasted_text.prose.side_mentions import Mention, mentions
from perfproof.model.base import numerals
from perfproof.model.base.quantities import UNDONE
from perfproof.model.scenarios.side_names import role

_BACK = re.compile(r"(?i)\s*[,(]?\s*(?:down |up )?from\s*[~≈]?\s*")
_CHANGES = re.compile(r"(?i)\b(?:cut|halved|doubled|fell|dropped|rose|grew|shrank|reduced|in half)\b")
"""Words of a change, behind which "62 s to 33 s" is no range."""
_ARROW = re.compile(r"->|→|=>|➔|⟶")
_FROM = re.compile(r"(?i)(?:\b(?:from|von|de|da|desde|z|с|от)\s+|[从由從]\s*|(?<=は)\s*)(?:about |around |roughly )?[~≈]?\s*$")


def owners(pieces: Sequence[Piece], text: str) -> list[str]:
    """The side of each number, [] where one has none, and where a fall is told of a number that rises."""
    found = _owners(pieces, text)
    return [] if len(found) == len(pieces) == 2 and _contradicts(pieces, found, text) else found


_DOWN = re.compile(r"(?i)\b(?:fell|falls?|dropp?(?:s|ed)?|shrank|shrinks|reduced|reduces|cuts?|halved|(?:is|went|goes|came|comes) down)\b")
_UP = re.compile(r"(?i)\b(?:rose|rises?|grew|grows|climb(?:s|ed)|doubled|increased|increases|(?:is|went|goes|came|comes) up)\b")


def _contradicts(pieces: Sequence[Piece], sides: Sequence[str], text: str) -> bool:
    """Whether the later of two numbers is larger where the words say that it fell, or the other way round."""
    roles = {side: role(side) for side in sides}
    if set(roles.values()) != {"baseline", "candidate"} or bool(_DOWN.search(text)) == bool(_UP.search(text)):
        return False
    value = {roles[side]: numerals.value(piece.amount.digits, "") for piece, side in zip(pieces, sides, strict=True)}
    alike = len({piece.amount.unit for piece in pieces} - {""}) < 2
    return alike and (value["candidate"] > value["baseline"] if _DOWN.search(text) else value["candidate"] < value["baseline"])


def _owners(pieces: Sequence[Piece], text: str) -> list[str]:
    """The side of each number by the words around it."""
    if moved := _moved(pieces, text):
        return moved
    if beside := _beside_brackets(pieces, text):
        return beside
    if (held := _held(pieces, text)) is not None:
        return held
    if not any(piece.side for piece in pieces):
        arrowed = any(_ARROW.search(text[one.amount.end : other.amount.start]) for one, other in pairwise(pieces))
        return [] if arrowed or any(piece.contrast for piece in pieces) else ["" for _ in pieces]
    sides = [piece.side for piece in pieces]
    found: list[str] = []
    last: Mention | None = None
    for at, piece in enumerate(pieces):
        if piece.side is not None:
            found.append(piece.side.name)
            last = last if piece.inside else piece.side if piece.leading else None
            continue
        late = next((other for other in pieces[at + 1 :] if other.side is not None), None)
        if last is not None and not piece.contrast:
            found.append(last.name)
        elif late is not None and not late.leading and not late.contrast and last is None:
            found.append(late.side.name if late.side else "")
        elif len(pieces) == 2 and any(one.contrast or one.inside for one in pieces):
            other = next(each for each in sides if each is not None) if any(sides) else None
            if other is None or not other.role:
                return []
            found.append("before" if other.role == "candidate" else "now" if _is_now(other, text, pieces) else "after")
        else:
            return []
    return found


def _beside_brackets(pieces: Sequence[Piece], text: str) -> list[str]:
    """The sides of numbers of which every second one stands in a bracket with its side, "31 ms (36 ms on main) at bs=8 and 44 ms (51 ms on
    main) at bs=16"; [] for others."""
    pairs = list(zip(pieces[::2], pieces[1::2], strict=False))
    if len(pieces) < 4 or len(pieces) % 2 or any(one.side for one, _ in pairs):
        return []
    found: list[str] = []
    for one, other in pairs:
        side = other.side
        opened = text.rfind("(", one.amount.end, other.amount.start)
        closed = text.find(")", opened)
        if side is None or not side.role or opened < 0 or not opened < side.start < closed or closed < other.amount.end:
            return []
        found += ["before" if side.role == "candidate" else "now" if _is_now(side, text, (other,)) else "after", side.name]
    return found if len({role(side) for side in found[1::2]}) == 1 else []


def _is_now(other: Mention, text: str, pieces: Sequence[Piece]) -> bool:
    """Whether a number stands beside what it was, "41 ms (was 45 ms)", "41 ms (main: 45 ms)"."""
    return text[other.start : other.start + 3].casefold() == "was" or any(piece.inside for piece in pieces if piece.side is other)


_AGAINST = re.compile(
    r"(?i)\b(?:than|over|versus|vs\.?|against|compared (?:to|with)|relative to|instead of|rather than)\s+"
    r"(?:the |that of (?:the )?)?(?:\w+ ){0,2}$"
)
_NEXT_TO = re.compile(r"(?i)\W*(?:vs\.?|versus|and|to|then|/|->|→|=>|,)\W*(?:on|with|the|for)?\W*")


def _held(pieces: Sequence[Piece], text: str) -> list[str] | None:
    """The sides of numbers that stand behind words which hold one side against another, "faster than main (9.9 us vs 14.2 us)", "main vs
    PR: 14.2 and 9.9 us": in their order; [] where these words don't say it; None where no such words stand before all of the numbers."""
    first = pieces[0].amount.start
    sides = mentions(text)
    before = [side for side in sides if side.end <= first]
    if not before and len(pieces) == 2 and (late := _behind(pieces, sides, text)):
        return late
    if not before or len(pieces) < 2 or any(side.start >= first for side in sides):
        return None
    if re.fullmatch(r"\s*[(\[]\s*", text[before[-1].end : first]) and re.match(r"\s*[)\]]", text[pieces[0].amount.end :]):
        return None  # "compared to main (88 ms), it is 71 ms"
    named = list({side.role or side.name.casefold(): side for side in before}.values())
    against = _AGAINST.search(text[: before[-1].start])
    if len(named) == 1 and not against:
        return None
    if len(pieces) % 2 or len(named) > 2 or (len(named) == 1 and len(pieces) != 2):
        return []
    if len(named) == 2 and _AGAINST.search(text[: before[-2].start]):
        return []
    if len(named) == 2 and (
        _AGAINST.search(text[before[-2].end : before[-1].start]) or _NEXT_TO.fullmatch(text[before[-2].end : before[-1].start])
    ):
        return [named[0].name, named[1].name] * (len(pieces) // 2) if len(pieces) == 2 else []
    if len(named) == 1 and named[0].role:
        return ["after" if named[0].role == "baseline" else "before", named[0].name]
    return []


def _behind(pieces: Sequence[Piece], sides: Sequence[Mention], text: str) -> list[str]:
    """Two sides behind two numbers, in their order, "2310 and 2504 tok/s for main and this PR"."""
    one, other = (piece.amount for piece in pieces)
    if len(sides) != 2 or sides[0].start < other.end or sides[0].role == sides[1].role:
        return []
    joined = _NEXT_TO.fullmatch(text[one.end : other.start]) and _NEXT_TO.fullmatch(text[sides[0].end : sides[1].start])
    return [side.name for side in sides] if joined else []


def _is_back(one: Piece, other: Piece, text: str) -> bool:
    """Whether a line leads "to" one number "from" another, and neither has a side."""
    back = _BACK.fullmatch(text[one.amount.end : other.amount.start]) and re.search(r"(?i)\bto\s*[~≈]?$", text[: one.amount.start])
    return bool(back) and one.side is None and other.side is None and not UNDONE.search(text)


_THROUGH = re.compile(r"(?i)\s*[,(]?\s*(?:(?:with|using|by|through|thanks to|due to|because of|after|in|on)\s+)?(?:the |our |my |its )?")
"""What joins a move and the change behind it: "from 14 ms to 9 ms with the new kernel"."""


def _by_change(pieces: Sequence[Piece], text: str) -> bool:
    """Whether a line leads "from" one number "to" another and then names the change alone that did it."""
    (one, other), change = (piece.amount for piece in pieces), pieces[1].side
    if pieces[0].side is not None or change is None or change.role != "candidate" or UNDONE.search(text):
        return False
    late = [side for side in mentions(text) if side.start >= other.end]
    if any(side.role == "baseline" for side in late) or change.name.casefold() in ("afterwards", "with"):
        return False
    if change.name.casefold() == "after" and not re.match(r"\s+\w", text[change.end :]):
        return False
    joined = change.start >= other.end and _THROUGH.fullmatch(text[other.end : change.start])
    return bool(joined and _FROM.search(text[: one.start]) and re.fullmatch(r"\s*to\s*", text[one.end : other.start]))


def _moved(pieces: Sequence[Piece], text: str) -> list[str]:
    """The sides of numbers that a line leads from one to the other, "from 13 ms to 9 ms", where no words name them."""
    if len(pieces) == 2 and _by_change(pieces, text):
        return ["before", "after"]
    if len(pieces) % 2 or any(piece.side for piece in pieces[1::2]):
        return []
    back = len(pieces) == 2 and pieces[1].side is not None and pieces[1].side.weak
    if len(pieces) == 2 and (back or not pieces[1].side) and _BACK.fullmatch(text[pieces[0].amount.end : pieces[1].amount.start]):
        return ["after", "before"] if re.search(r"(?i)\bto\s*[~≈]?$", text[: pieces[0].amount.start]) else []
    if len(pieces) > 2 and all(_is_back(one, other, text) for one, other in zip(pieces[::2], pieces[1::2], strict=True)):
        return ["after", "before"] * (len(pieces) // 2)
    for one, other in zip(pieces[::2], pieces[1::2], strict=True):
        between = MOVE.fullmatch(text[one.amount.end : other.amount.start])
        if not between or UNDONE.search(text) or (one.side is not None and one.side.role == "baseline"):
            return []
        words = text[: one.amount.start]
        if between[0].strip()[-1:].isalpha() and between[0].strip() != "から" and not _FROM.search(words) and not _CHANGES.search(words):
            return []
    return ["before", "after"] * (len(pieces) // 2)
