"""The search for the guilty units of a difference, level by level: files and pieces first, then the pieces of guilty files, then hunks.

The search itself is `search`; here its answers for units become what is told of them, and the diff that takes the change back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from perfproof.changes.blame.difference import HUNK, PIECE, Difference, function_of
from perfproof.changes.blame.search import Ask, Found, OutOfBudget, Side, Units, search

LEAST = 0.02
"""The smallest share of the change that is looked for."""
HUNKS = 14
"""Trials, at most, to find the hunks of one piece."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuiltySet:
    """Units that bring a share of the change together, or one that does so alone, and the hunks of them that were found to matter.

    `share` is what goes away with them taken back, `brought` what they bring to the good build (None: not tested). `divided` is False for
    units whose mixtures could not be tested one without another.
    """

    units: tuple[str, ...]
    hunks: tuple[str, ...]
    share: float | None
    brought: float | None
    divided: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Blamed:
    """What was found: the sets by their share, the units whose taking back takes the change back (`back`), how much of it that is, what of
    these is only needed for the others to run, the share that all Python together takes back, and whether the search came to its end."""

    guilty: tuple[GuiltySet, ...]
    back: Units
    share: float
    brought: float | None
    support: Units
    reach: float | None
    complete: bool


def find(
    difference: Difference,
    suspicion: Mapping[str, float],
    ask: Ask,
    trials: Callable[[], int],
    say: Callable[[str], object],
    *,
    least: float = LEAST,
) -> Blamed:
    """The guilty units. `suspicion` has the functions that ran (`module:Qual.name`), `ask` answers for mixtures (see `search`), and
    `trials` says how many of them were run."""
    tiers = difference.tiers(suspicion)
    say(f"{len(difference.paths)} files differ: {', '.join(f'{len(tier)} {what}' for tier, what in zip(tiers, WHAT, strict=True))}")
    found = search(tiers, _weights(tiers, suspicion), ask, least=least)
    blamed = Blamed(
        guilty=tuple(
            GuiltySet(units=one.units, hunks=(), share=one.taken_back, brought=one.brought, divided=one.divided) for one in found.guilty
        ),
        back=found.back,
        share=found.share,
        brought=found.brought,
        support=found.support,
        reach=found.reach,
        complete=found.complete,
    )
    if not found.complete:
        return blamed
    try:
        for parts_of in (_pieces_of(difference), difference.hunks_of):
            for unit in sorted(blamed.back):
                blamed = _narrowed(blamed, unit, parts_of(unit), ask, trials, least)
    except OutOfBudget:
        blamed = dataclasses.replace(blamed, complete=False)
    return blamed


WHAT = ("functions that ran", "other pieces of their files", "other files")


def _weights(tiers: Sequence[Sequence[str]], suspicion: Mapping[str, float]) -> dict[str, float]:
    """How much each function that ran is suspected."""
    return {unit: suspicion.get(function_of(unit), 0.0) for unit in tiers[0]}


def _pieces_of(difference: Difference) -> Callable[[str], list[str]]:
    return lambda unit: difference.units_of(unit) if PIECE not in unit else []


def _narrowed(blamed: Blamed, unit: str, parts: Sequence[str], ask: Ask, trials: Callable[[], int], least: float) -> Blamed:
    """The same with only those parts of a unit that are needed to take as much back."""
    if len(parts) < 2 or unit in blamed.support:
        return blamed
    others = blamed.back - {unit}
    floor = ask("back", others)
    low = floor if floor is not None else 0.0
    if abs(blamed.share - low) < least:
        return blamed  # it is there for others to run
    before = trials()

    def within(side: Side, taken: Units) -> float | None:
        if taken == frozenset(parts):
            return 1.0
        if HUNK in parts[0] and trials() - before >= HUNKS:
            raise _Enough
        value = ask(side, others | taken)
        return None if value is None else (value - low) / (blamed.share - low)

    try:
        inner = search([parts], {}, within, least=least, check=False)
    except _Enough:
        return blamed
    if not inner.complete:
        raise OutOfBudget
    if not inner.back or inner.back == frozenset(parts) or abs(inner.share - 1) >= least:
        return blamed
    return dataclasses.replace(
        blamed, back=others | inner.back, guilty=tuple(_with_parts(one, unit, inner) for one in blamed.guilty), support=blamed.support
    )


class _Enough(Exception):
    """No further mixture is worth it."""


def _with_parts(one: GuiltySet, unit: str, inner: Found) -> GuiltySet:
    """A set with a unit's parts named: hunks beside it, pieces in its place."""
    if unit not in one.units:
        return one
    own = tuple(sorted(inner.back - inner.support))
    if any(HUNK in part for part in own):
        return dataclasses.replace(one, hunks=(*one.hunks, *own))
    rest = tuple(other for other in one.units if other != unit)
    return dataclasses.replace(one, units=(*own, *rest))
