"""Which units of a difference bring a change: a search over mixtures of two builds, of which some can't be tested.

`ask` answers for one mixture with the share of the whole change: on the *bad* build ("back") how much goes away with some units taken back,
on the *good* one ("forth") how much comes with some units brought in. None is *unresolved*: the mixture crashed, or did other work.

In order: taking back growing tiers of units shows where the change lies; what lies there is halved, by suspicion and not by number, until
single units are left; a part that is unresolved is left for another one, ever smaller (delta debugging; Zeller and Hildebrandt 2002,
"Simplifying and Isolating Failure-Inducing Input"). Then what was found must take back as much by itself, each unit of it must be needed,
and on the good build it must bring the change, or its partners are looked for. A unit is named only where one mixture with it and one
without it differ.

Pure: nothing is built or run here, and the same answers give the same search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Side = Literal["back", "forth"]
Units = frozenset[str]
Ask = Callable[[Side, Units], float | None]
NONE: Units = frozenset()
SUSPECTS = 40
"""Units that are tried one by one, at most."""
LOST = 2
"""Tiers that are tried together, at most, although they don't run."""
HASTE = 8
"""Parts of a group of which nobody knows whether it matters that are tried, at most."""
PATIENCE = 40
"""Parts of a group that are tried, at most, until one of them can be tested."""


class OutOfBudget(Exception):
    """No further mixture may be tried: the search ends with what it knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guilty:
    """Units that bring a share of the change: one unit, or several that act together; and the hunks of them that were found to matter.

    `share` is what goes away with them taken back (None: they were not needed on the bad build, only on the good one).
    `interval` is that of the share where it was measured and not counted; the caller knows it. `brought` is the share that they bring to
    the good build, None where that could not be tested. `divided` is False for a group whose parts could not be tested one without another.
    """

    units: tuple[str, ...]
    share: float | None
    brought: float | None
    divided: bool
    hunks: tuple[str, ...] = ()
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search found, the largest share first.

    `back` are the fewest units found that take the change back, `share` how much of it they do; `brought` is what they and their partners
    bring to the good build, None where that could not be tested. `support` are those of them that bring
    nothing and without which the others do not run. `reach` is the share that all units together take back, None where that could not be
    tested; what lacks to 1 lies elsewhere. `complete` is False where the budget ended the search.
    """

    guilty: tuple[Guilty, ...]
    back: Units
    share: float
    brought: float | None
    support: Units
    reach: float | None
    complete: bool


def search(tiers: Sequence[Sequence[str]], weights: Mapping[str, float], ask: Ask, *, least: float, check: bool = True) -> Found:
    """Finds the units that bring the change.

    `tiers` are the units, the most suspicious first; each unit is in one. `weights` says how much a unit is suspected; where it is not
    there it counts little. `least` is the smallest share that matters: smaller differences are taken for none. `check` asks the good build
    too. Where `ask` raises `OutOfBudget` the result has what was known by then.

    Source: delta debugging (Zeller and Hildebrandt 2002) over numbers instead of pass and fail; see the module.
    """
    return _Search(tiers, weights, ask, least).found(check)


class _Search:
    def __init__(self, tiers: Sequence[Sequence[str]], weights: Mapping[str, float], ask: Ask, least: float) -> None:
        self._tiers, self._ask, self._least = [list(tier) for tier in tiers], ask, least
        self._order = {unit: place for place, unit in enumerate(unit for tier in tiers for unit in tier)}
        smallest = min((weight for weight in weights.values() if weight > 0), default=1.0)
        self._weights = {unit: max(weights.get(unit, 0.0), smallest / (10 * len(self._order))) for unit in self._order}
        self._answers: dict[tuple[Side, Units], float | None] = {("back", NONE): 0.0, ("forth", NONE): 0.0}
        self._groups: list[Units] = []
        self._support: Units = NONE
        self._partners: Units = NONE
        self._reach: float | None = None

    # --- the whole search -------------------------------------------------------------------------------------

    def found(self, check: bool) -> Found:
        complete = True
        try:
            universe, self._reach = self._where()
            self._settle(universe, self._reach)
            self._drop_unneeded()
            if check and self._groups:
                self._find_partners(universe)
            self._alone()
        except OutOfBudget:
            complete = False
        back = self._back()
        share = self._known("back", back) or 0.0
        return Found(
            guilty=tuple(sorted(self._guilty(share), key=lambda one: -abs(one.share or one.brought or 0.0))),
            back=back,
            share=share,
            brought=self._known("forth", back | self._partners),
            support=self._support,
            reach=self._reach,
            complete=complete,
        )

    def _where(self) -> tuple[Units, float | None]:
        """The first tiers that together take the whole change back; else those that take most of it, else all, which nobody could test:
        where the most suspicious ones don't run, more of them hardly will."""
        if not self._order:
            return NONE, 0.0
        best: tuple[Units, float | None] = (frozenset(self._order), None)
        reached, lost = NONE, 0
        for tier in self._tiers:
            if not tier or lost == LOST:
                continue
            reached |= frozenset(tier)
            value = self._value("back", reached)
            lost += value is None
            if value is not None and (best[1] is None or abs(1 - value) + self._least <= abs(1 - best[1])):
                best = reached, value
            if value is not None and self._same(value, 1.0):
                break
        return best

    def _settle(self, universe: Units, top: float | None) -> None:
        """Units that take back as much as the whole universe, and by themselves."""
        if top is None:
            universe = self._one_by_one(universe)
        else:
            self._isolate("back", NONE, universe, 0.0, top, self._groups)
        while self._groups:
            mine = self._back()
            value, rest = self._value("back", mine), universe - mine
            if value is not None and (top is None or self._same(value, top) or not rest):
                return
            if value is None:
                self._support |= self._needed(mine, rest, top)
                return
            before = len(self._groups)
            if top is not None:
                self._isolate("back", mine, rest, value, top, self._groups)
            if len(self._groups) == before:
                return

    def _one_by_one(self, universe: Units) -> Units:
        """Where all units together can't be tested: the suspected ones each beside those found before it, the most suspected first, until
        the whole change is explained or those that are left are hardly suspected; then halves of the first tiers. Returns where it looked.
        """
        every = sum(self._weights[unit] for unit in self._weights)
        ordered = sorted(self._order, key=lambda unit: (-self._weights[unit], self._order[unit]))
        suspects = [unit for unit in ordered[:SUSPECTS] if self._weights[unit] >= self._least / 2 * every]
        value = self._look_at(suspects, 0.0)
        if not self._same(value, 1.0):
            value = self._look_at([unit for unit in suspects if not any(unit in group for group in self._groups)], value)
        reached: Units = NONE
        for tier in self._tiers:
            reached |= frozenset(tier)
            if self._same(value, 1.0):
                break
            mine = self._back()
            self._isolate("back", mine, reached - mine, value, None, self._groups)
            value = self._value("back", self._back()) or value
        return universe

    def _look_at(self, suspects: Sequence[str], value: float) -> float:
        """Each of these beside what was found already; the value of all that is found then."""
        for unit in suspects:
            now = self._value("back", self._back() | {unit})
            if now is not None and not self._same(now, value):
                self._groups.append(frozenset([unit]))
                value = now
            if self._same(value, 1.0):
                break
        return value

    def _drop_unneeded(self) -> None:
        """Leaves out every group without which as much is taken back."""
        for group in list(self._groups):
            if len(self._groups) == 1:
                return
            value, without = self._value("back", self._back()), self._value("back", self._back() - group)
            if value is not None and without is not None and self._same(value, without):
                self._groups.remove(group)

    def _find_partners(self, universe: Units) -> None:
        """On the good build, units without which those found bring less there than they take back on the bad one."""
        mine = self._back()
        value, share = self._value("forth", mine), self._known("back", mine)
        if value is None or share is None or value > share - self._least:
            return
        rest, found = universe - mine, list[Units]()
        top = self._value("forth", universe) if rest else value
        while top is None or not self._same(value, top):
            before = len(found)
            self._isolate("forth", mine.union(*found), rest.difference(*found), value, top, found)
            again = self._value("forth", mine.union(*found))
            if len(found) == before or again is None:
                break
            value = again
            if top is None:
                break
        now = self._value("forth", mine.union(*found))
        for group in list(found):
            without = self._value("forth", mine.union(*found) - group) if len(found) > 1 else self._value("forth", mine)
            if now is None or without is None or self._same(now, without):
                found.remove(group)
        self._partners = NONE.union(*found)

    def _alone(self) -> None:
        """What each group does by itself, where there are several."""
        for group in self._groups if len(self._groups) > 1 else ():
            self._value("back", group)
            if self._partners:
                self._value("forth", group)

    # --- halving ----------------------------------------------------------------------------------------------

    def _isolate(self, side: Side, context: Units, among: Units, low: float, high: float | None, found: list[Units]) -> None:
        """Appends to `found` the units among these that lead from `low`, the value of the context, to `high`, that of all (None: unknown).

        Units before the part at hand stay in the context, whose value is known.
        """
        while among and not self._same(low, high):
            if len(among) == 1:
                if high is not None:
                    found.append(among)
                return
            for part in self._parts(among, HASTE if high is None else PATIENCE):
                if (value := self._value(side, context | part)) is not None:
                    break
            else:
                if high is not None:
                    found.append(among)
                return
            if self._same(value, high):
                among, high = part, value
            elif self._same(value, low):
                context, among, low = context | part, among - part, value
            else:
                self._isolate(side, context, part, low, value, found)
                context, among, low = context | part, among - part, value

    def _parts(self, among: Units, most: int) -> Iterator[Units]:
        """Parts to try: the most suspected half and the rest, then halves, quarters and so on, each before all that is not in it."""
        order = sorted(among, key=lambda unit: self._order[unit])
        tried: set[Units] = set()
        for part in self._candidates(order):
            if NONE < part < among and part not in tried:
                if len(tried) == most:
                    return
                tried.add(part)
                yield part

    def _candidates(self, order: Sequence[str]) -> Iterator[Units]:
        whole = frozenset(order)
        by_weight = sorted(order, key=lambda unit: -self._weights[unit])
        half, total, heavy = sum(self._weights[unit] for unit in order) / 2, 0.0, list[str]()
        for unit in by_weight:
            heavy.append(unit)
            total += self._weights[unit]
            if total >= half:
                break
        yield frozenset(heavy)
        yield whole - frozenset(heavy)
        size = len(order)
        while size > 1:
            size = (size + 1) // 2
            for start in range(0, len(order), size):
                part = frozenset(order[start : start + size])
                yield part
                yield whole - part

    def _needed(self, mine: Units, rest: Units, top: float | None) -> Units:
        """The fewest units found beside those that take the change back, so that the mixture can be tested."""

        def good(beside: Units) -> bool:
            value = self._value("back", mine | beside)
            return value is not None and (top is None or self._same(value, top))

        if not good(rest):
            return NONE
        kept, parts = rest, 2
        while len(kept) > 1:
            order = sorted(kept, key=lambda unit: self._order[unit])
            size = -(-len(order) // parts)
            pieces = [frozenset(order[start : start + size]) for start in range(0, len(order), size)]
            smaller = next((one for piece in pieces for one in (piece, kept - piece) if one and one != kept and good(one)), None)
            if smaller is not None:
                kept, parts = smaller, max(2, parts - 1) if len(smaller) > size else 2
            elif parts >= len(order):
                break
            else:
                parts = min(len(order), 2 * parts)
        return NONE if len(kept) == 1 and good(NONE) else kept

    # --- answers ----------------------------------------------------------------------------------------------

    def _value(self, side: Side, units: Units) -> float | None:
        if (side, units) not in self._answers:
            self._answers[side, units] = self._ask(side, units)
        return self._answers[side, units]

    def _known(self, side: Side, units: Units) -> float | None:
        return self._answers.get((side, units))

    def _same(self, value: float | None, other: float | None) -> bool:
        return value is not None and other is not None and abs(value - other) < self._least

    def _back(self) -> Units:
        return NONE.union(*self._groups) | self._support

    # --- what it means ----------------------------------------------------------------------------------------

    def _guilty(self, share: float) -> Iterator[Guilty]:
        """Each group by itself where what it does does not depend on the others; the rest as one."""
        every, mine = self._back(), [group for group in self._groups if not group & self._support]
        if not mine:
            return
        if len(mine) == 1:
            yield self._one(mine[0], share)
            return
        shares = {group: (self._known("back", group), self._lost_without(every, group, share)) for group in mine}
        lacking = {group for group in mine if self._partners and not self._brings(group, shares[group][0])}
        together = [group for group, (alone, last) in shares.items() if group in lacking or not self._agree(alone, last)]
        sure = {group: last if alone is None else alone for group, (alone, last) in shares.items() if group not in together}
        for group, own in sure.items():
            yield self._made(group, own, self._known("forth", group), self._undivided(group))
        if together:
            left = share - sum(own or 0.0 for own in sure.values())
            units = NONE.union(*together) | self._partners
            yield self._made(units, left, self._known("forth", units), any(map(self._undivided, together)))

    def _one(self, group: Units, share: float) -> Guilty:
        units = group | self._partners
        return self._made(units, share, self._known("forth", units | self._support), self._undivided(group))

    def _made(self, units: Units, taken_back: float | None, brought: float | None, undivided: bool) -> Guilty:
        ordered = tuple(sorted(units, key=lambda unit: self._order[unit]))
        return Guilty(units=ordered, share=taken_back, brought=brought, divided=not undivided)

    def _lost_without(self, every: Units, group: Units, share: float) -> float | None:
        value = self._known("back", every - group)
        return None if value is None else share - value

    def _agree(self, alone: float | None, last: float | None) -> bool:
        """Whether a group does the same by itself as beside the others; one that can be tested in one way only is taken at that."""
        return (alone is None) != (last is None) or self._same(alone, last)

    def _brings(self, group: Units, share: float | None) -> bool:
        value = self._known("forth", group)
        return value is not None and share is not None and value > share - self._least

    def _undivided(self, group: Units) -> bool:
        return len(group) > 1
