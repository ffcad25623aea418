"""The search for the guilty units of a difference, level by level: files and pieces first, then the pieces of guilty files, then hunks.

The search itself is `search`; here the units that it finds are narrowed to the parts of them that matter.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from perfproof.changes.blame.difference import HUNK, PIECE, Difference, function_of
from perfproof.changes.blame.search import Ask, Found, Guilty, OutOfBudget, Side, Units, search

LEAST = 0.02
"""The smallest share of the change that is looked for."""
HUNKS = 14
"""Trials, at most, to find the hunks of one piece."""


def find(
    difference: Difference,
    suspicion: Mapping[str, float],
    ask: Ask,
    trials: Callable[[], int],
    say: Callable[[str], object],
    *,
    least: float = LEAST,
) -> Found:
    """The guilty units. `suspicion` has the functions that ran (`module:Qual.name`), `ask` answers for mixtures (see `search`), and
    `trials` says how many of them were run."""
    tiers = difference.tiers(suspicion)
    say(f"{len(difference.paths)} files differ: {', '.join(f'{len(tier)} {what}' for tier, what in zip(tiers, WHAT, strict=True))}")
    blamed = search(tiers, _weights(tiers, suspicion), ask, least=least)
    if not blamed.complete:
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


def _narrowed(blamed: Found, unit: str, parts: Sequence[str], ask: Ask, trials: Callable[[], int], least: float) -> Found:
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
    return dataclasses.replace(blamed, back=others | inner.back, guilty=tuple(_with_parts(one, unit, inner) for one in blamed.guilty))


class _Enough(Exception):
    """No further mixture is worth it."""


def _with_parts(one: Guilty, unit: str, inner: Found) -> Guilty:
    """A set with a unit's parts named: hunks in addition, pieces in its place."""
    if unit not in one.units:
        return one
    own = tuple(sorted(inner.back - inner.support))
    if any(HUNK in part for part in own):
        return dataclasses.replace(one, hunks=(*one.hunks, *own))
    rest = tuple(other for other in one.units if other != unit)
    return dataclasses.replace(one, units=(*own, *rest))
