"""Heads of several lines: groups above their columns, by where the bars stand, and one name a column made of all lines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from perfproof.importers.pasted_text.words.cells import bare, cell
from perfproof.model.scenarios.metric_directions import better
from perfproof.model.scenarios.side_names import release, role

MOST_LINES = 4
"""Lines of a head, at most."""


def is_head(rows: Sequence[Sequence[str]]) -> bool:
    """Whether rows above a rule may be a head: a few, and without values."""
    return 0 < len(rows) <= MOST_LINES and not any(
        (one := cell(text)).kind in ("value", "change") and release(one.text) is None for row in rows for text in row
    )


def spread(cells: Sequence[str], bars: Sequence[int], below: Sequence[int]) -> tuple[str, ...]:
    """The cells of a line with one for each column of the line below: a group's name, then empty ones. `bars` are the places of the bars
    of either line. Where they don't fit each other, groups are as wide as each other; as it stands, where they can't be."""
    columns = len(below) - 1
    if "" in cells[1:] and cells[0] and len(cells) < columns:
        return (*cells, *[""] * (columns - len(cells)))  # it marks how wide groups are, but for the last one
    if len(cells) >= columns or len(bars) != len(cells) + 1:
        return tuple(cells)
    centers = [(left + right) / 2 for left, right in pairwise(below)]
    owners = [next((at for at, (left, right) in enumerate(pairwise(bars)) if left < center < right), -1) for center in centers]
    if set(owners) != set(range(len(cells))) or owners != sorted(owners):
        each, rest = divmod(columns - 1, len(cells) - 1) if len(cells) > 1 else (0, 1)
        if rest:
            return tuple(cells)
        owners = [0, *(1 + at // each for at in range(columns - 1))]
    return tuple(cells[owner] if owner not in owners[:at] else "" for at, owner in enumerate(owners))


def joined(lines: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """One name a column: the lowest line's first, groups behind it; an empty cell of a group goes on."""
    above = [_filled(line) for line in lines[:-1]]
    names = []
    for at, own in enumerate(lines[-1]):
        parts = [bare(own), *(line[at] for line in reversed(above))] if at else [next(filter(None, (bare(line[0]) for line in lines)), "")]
        kept = list(dict.fromkeys(part for part in parts if part))
        behind = " ".join(kept[1:])
        names.append(f"{kept[0]} ({behind})" if behind and _is_metric(kept[0], behind) else " ".join(kept))
    return tuple(names)


def _is_metric(own: str, groups: str) -> bool:
    """Whether the lowest name alone has a direction that it has no more with its groups, which are no sides."""
    return (
        better(own) is not None and better(f"{own} {groups}") is None and not role(groups) and release(groups) is None and "(" not in groups
    )


def _filled(line: Sequence[str]) -> list[str]:
    found, last = [], ""
    for at, text in enumerate(line):
        last = bare(text) or (last if at > 1 else "")
        found.append(last)
    return found
