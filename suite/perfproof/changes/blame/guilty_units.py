"""The search for the guilty units of a difference, level by level: files and pieces first, then the pieces of guilty files, then hunks.

The search itself is `search`; here the units that it finds are narrowed to the parts of them that matter.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence

from perfproof.analysis.stats.number_format import count
from perfproof.changes.blame.difference import HUNK, PIECE, Difference, function_of
from perfproof.changes.blame.search import Ask, Found, Guilty, OutOfBudget, Side, Units, search

LEAST = 0.02
"""The smallest share of the change that is looked for."""
Differs = Callable[[Side, Units, Units], bool]
"""Whether a mixture of these units is surely another without some of them."""
HUNKS, FEW_HUNKS = 14, 4
"""Trials, at most, to find the hunks of all guilty pieces: of a count, and of a time, where a mixture takes minutes."""
ROUGH = 0.5
"""The smallest share that is looked for first where a smaller one costs more."""


def find(
    difference: Difference,
    suspicion: Mapping[str, float],
    ask: Ask,
    trials: Callable[[], int],
    say: Callable[[str], object],
    *,
    least: float = LEAST,
    hunks: int = HUNKS,
) -> Found:
    """The guilty units. `suspicion` has the functions that ran (`module:Qual.name`), `ask` answers for mixtures (see `search`), and
    `trials` says how many of them were run. `hunks` is how many of them may be run, at most, to find the hunks of all pieces."""
    tiers = difference.tiers(suspicion)
    parts = (f"{len(tier):,} {one if len(tier) == 1 else more}" for tier, (one, more) in zip(tiers, WHAT, strict=True))
    files = len(difference.paths)
    say(f"{count(files, 'file')} {'differs' if files == 1 else 'differ'}: {', '.join(parts)}")
    blamed = search(tiers, _weights(tiers, suspicion), ask, least=least)
    if not blamed.complete:
        return blamed
    try:
        for unit in sorted(blamed.back):
            blamed = _narrowed(blamed, unit, _pieces_of(difference, unit), ask, trials, least, hunks)
        units, ends = _largest_first(blamed), trials() + hunks
        for place, unit in enumerate(units):
            most = -(-(ends - trials()) // (len(units) - place))
            blamed = _narrowed(blamed, unit, difference.hunks_of(unit), ask, trials, least, most)
    except OutOfBudget:
        blamed = dataclasses.replace(blamed, complete=False)
    return blamed


def _largest_first(blamed: Found) -> list[str]:
    """The units to take back that are no mere support, in the order of what they bring."""
    named = [unit for one in blamed.guilty for unit in one.units]
    return sorted(blamed.back - blamed.support, key=lambda unit: (named.index(unit) if unit in named else len(named), unit))


def find_roughly_first(
    difference: Difference,
    suspicion: Mapping[str, float],
    asking: Callable[[float], Ask],
    differs: Differs,
    trials: Callable[[], int],
    say: Callable[[str], object],
    *,
    least: float,
) -> Found:
    """The guilty units of a change whose shares cost more the closer they have to be known. `asking` gives what answers as closely as a
    smallest share needs, `differs` says whether leaving units out of a mixture surely changes it.

    One unit that has it all is found by asking for halves of the change alone. Where what is found that way takes less back than all, the
    search is made again for shares of `least`. Of several units those alone are named without which the mixture is surely another.
    """
    blamed = None
    for smallest in dict.fromkeys((max(least, ROUGH), least)):
        blamed = find(difference, suspicion, asking(smallest), trials, say, least=smallest, hunks=FEW_HUNKS)
        if not blamed.complete or smallest == least:
            break
        try:
            closely = asking(least)("back", blamed.back)
        except OutOfBudget:
            return dataclasses.replace(blamed, complete=False)
        if closely is None or (blamed.guilty and abs(1 - closely) < least):
            break
    assert blamed is not None  # noqa: S101 (there is one smallest share at least)
    return _sure(blamed, differs)


def _sure(blamed: Found, differs: Differs) -> Found:
    """The same without the units that nothing shows to be needed; the only unit of all was shown by its share."""
    named = {unit for one in blamed.guilty for unit in one.units}
    if len(named) < 2:
        return blamed
    partners = named - blamed.back
    try:
        sure = {
            unit
            for unit in sorted(named)
            if (
                differs("back", blamed.back, frozenset([unit]))
                if unit in blamed.back
                else differs("forth", blamed.back | partners, frozenset([unit]))
            )
        }
    except OutOfBudget:
        return dataclasses.replace(blamed, guilty=(), complete=False)
    left = (dataclasses.replace(one, units=tuple(unit for unit in one.units if unit in sure)) for one in blamed.guilty)
    return dataclasses.replace(blamed, guilty=tuple(one for one in left if one.units))


WHAT = (
    ("function that ran", "functions that ran"),
    ("other piece of their files", "other pieces of their files"),
    ("other file", "other files"),
)


def _weights(tiers: Sequence[Sequence[str]], suspicion: Mapping[str, float]) -> dict[str, float]:
    """How much each function that ran is suspected."""
    return {unit: suspicion.get(function_of(unit), 0.0) for unit in tiers[0]}


def _pieces_of(difference: Difference, unit: str) -> list[str]:
    return difference.units_of(unit) if PIECE not in unit else []


def _narrowed(blamed: Found, unit: str, parts: Sequence[str], ask: Ask, trials: Callable[[], int], least: float, hunks: int) -> Found:
    """The same with only those parts of a unit that are needed to take as much back; where that takes too many trials, with the fewest
    parts that were found by then, of which none is named."""
    if len(parts) == 1:
        return _with_its_hunk(blamed, unit, parts[0]) if HUNK in parts[0] else _renamed(blamed, unit, parts[0])
    if len(parts) < 2 or unit in blamed.support:
        return blamed
    others = blamed.back - {unit}
    floor = ask("back", others)
    low = floor if floor is not None else 0.0
    if abs(blamed.share - low) < least:
        return blamed  # it is there for others to run
    before, enough = trials(), list[Units]()

    def within(side: Side, taken: Units) -> float | None:
        if taken == frozenset(parts):
            return 1.0
        if HUNK in parts[0] and trials() - before >= hunks:
            raise _Enough
        value = ask(side, others | taken)
        if value is None:
            return None
        share = (value - low) / (blamed.share - low)
        if abs(share - 1) < least:
            enough.append(taken)
        return share

    try:
        inner = search([parts], {}, within, least=least, check=False)
    except _Enough:
        return dataclasses.replace(blamed, back=others | min(enough, key=len)) if enough else blamed
    if not inner.complete:
        raise OutOfBudget
    if not inner.back or inner.back == frozenset(parts) or abs(inner.share - 1) >= least:
        return blamed
    return dataclasses.replace(
        blamed, back=others | inner.back, guilty=tuple(part for one in blamed.guilty for part in _with_parts(one, unit, inner))
    )


def _with_its_hunk(blamed: Found, unit: str, hunk: str) -> Found:
    """The same with the only hunk of a guilty piece named: no mixture is needed to know that it matters."""
    named = (dataclasses.replace(one, hunks=(*one.hunks, hunk)) if unit in one.units else one for one in blamed.guilty)
    return dataclasses.replace(blamed, guilty=tuple(named))


def _renamed(blamed: Found, file: str, piece: str) -> Found:
    """The same with the only piece that differs in a file in the file's place."""

    def new(units: Units) -> Units:
        return units - {file} | {piece} if file in units else units

    guilty = (dataclasses.replace(one, units=tuple(piece if unit == file else unit for unit in one.units)) for one in blamed.guilty)
    return dataclasses.replace(blamed, guilty=tuple(guilty), back=new(blamed.back), support=new(blamed.support))


class _Enough(Exception):
    """No further mixture is worth it."""


def _with_parts(one: Guilty, unit: str, inner: Found) -> Iterator[Guilty]:
    """A set with a unit's parts named: hunks in addition, pieces in its place, each with its share where the unit was the whole set."""
    own = tuple(sorted(inner.back - inner.support))
    if unit not in one.units:
        yield one
    elif any(HUNK in part for part in own):
        yield dataclasses.replace(one, hunks=(*one.hunks, *own))
    elif len(one.units) > 1:
        yield dataclasses.replace(one, units=(*own, *(other for other in one.units if other != unit)))
    else:
        for part in inner.guilty:
            share = None if part.share is None or one.share is None else part.share * one.share
            brought = one.brought if len(inner.guilty) == 1 else None
            yield dataclasses.replace(one, units=part.units, share=share, brought=brought, divided=part.divided)
