"""One spelling for a side that a text calls "this PR" in one place and "PR" in another."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.context.readings import Found
from perfproof.importers.pasted_text.pairs.pair_sections import plain_name
from perfproof.model.scenarios.side_names import role

_CALLED = re.compile(
    r"(?i)(?:(?:with|on) )?(?:(?:this|the) )?(?P<noun>pr|pull request|patch|change|branch|commit|fix|main|master|baseline|base)(?: branch)?"
)


_ON = re.compile(r"(?i)(?:on|at|in|from|under|using) (?P<name>(?:the )?[^\W\d].*)")
"""A side with the word that leads to it in a sentence: "on main"."""


def alike(found: Found) -> None:
    """Spells each side without a word that leads to it, "on main", and as most of its numbers do that stand beside another side's; none
    where one number has both spellings, which then are two sides."""
    every = dict.fromkeys([*_places(found), *(side for led in found.led for side in led)])
    _rename(found, {side: on["name"] for side in every if (on := _ON.fullmatch(side)) and role(side) and role(on["name"]) == role(side)})
    places = _places(found)
    held = Counter(place for own in places.values() for place in own)
    sides = {side: sum(held[place] > 1 for place in own) for side, own in places.items()}
    ways: dict[str, list[str]] = defaultdict(list)
    for side in sides:
        if called := _CALLED.fullmatch(side):
            ways[called["noun"].casefold()].append(side)
    names = {
        side: max(own, key=lambda each: sides[each])
        for own in ways.values()
        if len({side.casefold() for side in own}) > 1 and not _meet([places[side] for side in own])
        for side in own
    }
    _rename(found, names)


def _rename(found: Found, names: Mapping[str, str]) -> None:
    """Spells sides otherwise, wherever they stand."""
    if not names:
        return
    found.readings = [replace(each, side=names.get(each.side, each.side)) for each in found.readings]
    found.scores = [replace(each, total=replace(each.total, side=names.get(each.total.side, each.total.side))) for each in found.scores]
    found.led = [(names.get(one, one), names.get(other, other)) for one, other in found.led]


def _places(found: Found) -> Mapping[str, set[tuple[str, ...]]]:
    """Where each side has a number: its section and its name."""
    places: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for each in found.readings:
        places[each.side].add((*each.context.section, plain_name(each.label)))
    for score in found.scores:
        places[score.total.side].add((*score.context.section, plain_name(score.total.name)))
    return places


def _meet(places: Sequence[set[tuple[str, ...]]]) -> bool:
    """Whether two of several sets have something in common."""
    return sum(map(len, places)) > len(set().union(*places))
