"""What a text says of the two numbers in each cell of its tables: "every cell is main → PR", "before / after" in a corner."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from perfproof.importers.pasted_text.words.cells import bare, cell
from perfproof.model.scenarios.side_names import release, role

Order = tuple[str, str]
"""The sides of the first number and of the second."""
LONGEST = 400
"""Characters of a line that says an order, at most."""
_MARK = r"\s*(?:→|->|=>|➔|➜|⟶|/|\||\bvs\.?(?=\s)|\bversus\b|\bthen\b)\s*"
_WORD = r"[\w#~^@](?:[\w.#~^@-]*[\w#~^@])?"
_TWO = rf"(?P<one>{_WORD}(?: {_WORD}){{0,2}}?){_MARK}(?P<other>{_WORD}(?: {_WORD}){{0,2}}?)"
_THING = (
    r"(?:cells?|entr(?:y|ies)|pairs?|format|legend|notation"
    r"|(?:values?|numbers|figures|results) in (?:each|the|every) (?:cells?|tables?))"
)
_LEGENDS = (
    re.compile(
        rf"(?i)\b{_THING}\b(?: (?:below|above|here|each|all|in the table))?(?:\s*[:=]\s*|\s+)"
        r"(?:(?:is|are|shows?|reads?|gives?|holds?|has|have|lists?|contains?|means?)\s+)?(?:the |our )?"
        rf"[\"'`*(]*{_TWO}[\"'`*)]*(?=\s*(?:$|[.,;:()\[]))"
    ),
    re.compile(
        rf"(?i)(?:^|[(,;:.]\s*|\b(?:as|are|is|shown|written) )[\"'`*]*{_TWO}[\"'`*]*,? "
        r"(?:in|per|for|within) (?:each|every|all|the) cells?\b"
    ),
    re.compile(rf"(?i)^[(\[*_]*{_TWO}[)\]*_:.]*$"),
    re.compile(rf"(?i)[(\[]{_TWO}[)\]]\W*$"),
)
"""A cell's order in words of a sentence, or as a line or a bracket of its own."""


def order_in(text: str) -> Order | None:
    """The sides that a line gives the numbers of each cell, in their order; None where it says none."""
    if len(text) > LONGEST or not re.search(_MARK, text):
        return None
    for legend in _LEGENDS:
        for found in legend.finditer(bare(text)):
            sides = found["one"].strip(), found["other"].strip()
            roles = [role(side) or ("version" if release(side) is not None else "") for side in sides]
            if {"baseline", "candidate"} <= set(roles) or sorted(roles) in (["baseline", "version"], ["candidate", "version"]):
                return sides
    return None


def order_of(texts: Iterable[str]) -> Order | None:
    """The one order that the lines of a text say, None where they say several."""
    found = {order for text in texts if (order := order_in(text))}
    return found.pop() if len(found) == 1 else None


def told(names: Sequence[str], rows: Sequence[Sequence[str]], said: Order | None) -> list[str]:
    """The names of a table's columns, each column of cells with two numbers with the order of these that the corner says, or the text; as
    they are where a column says an order itself."""
    two = [at for at in range(1, len(names)) if _of_two([row[at] for row in rows])]
    order = order_in(names[0]) if names and not _of_two([row[0] for row in rows]) else None
    order, corner = (order, _cornerless(names[0])) if order else (said, names[0] if names else "")
    if not order or not two or any(order_in(names[at]) or "/" in bare(names[at]).replace("/s", "") for at in two):
        return list(names)
    return [corner, *(f"{name} ({order[0]} → {order[1]})" if at in two else name for at, name in enumerate(names[1:], 1))]


def _of_two(cells: Sequence[str]) -> bool:
    """Whether the cells of a column hold two numbers each, but for what is missing."""
    kinds = {cell(text).kind for text in cells} - {"missing"}
    return bool(kinds) and kinds <= {"change", "versus"}


def _cornerless(name: str) -> str:
    """The name of a first column without the order of the cells beside it."""
    plain = _LEGENDS[3].sub("", bare(name)).strip(" ,:")
    return "" if plain == bare(name) else plain
