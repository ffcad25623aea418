"""The search finds exactly the units that bring a change, whatever mixtures can't be tested, and never names an innocent one."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof.changes.blame.search import Found, OutOfBudget, Side, Units, search

LEAST = 0.04


@dataclass
class World:
    """A difference of `size` units. `alone` have shares of the change, any of `first` or `both` brings the rest: of `first` any one unit
    taken back takes it back (they must all be there), of `both` all must be taken back. A mixture that has only one unit of a pair of
    `crash` is unresolved, and so is one with a unit of `broken` in the other build's place."""

    size: int
    alone: Mapping[str, float] = field(default_factory=dict)
    first: tuple[str, ...] = ()
    both: tuple[str, ...] = ()
    crash: tuple[tuple[str, str], ...] = ()
    broken: tuple[str, ...] = ()
    asked: list[tuple[Side, Units]] = field(default_factory=list)
    budget: int = 10_000

    @property
    def units(self) -> list[str]:
        return [f"u{number}" for number in range(self.size)]

    @property
    def guilty(self) -> set[str]:
        return {*self.alone, *self.first, *self.both}

    def ask(self, side: Side, units: Units) -> float | None:
        if len(self.asked) == self.budget:
            raise OutOfBudget
        self.asked.append((side, units))
        good = units if side == "back" else frozenset(self.units) - units
        if any((one in good) is not (other in good) for one, other in self.crash):
            return None
        if units & set(self.broken):
            return None
        share = sum(own for unit, own in self.alone.items() if unit in good)
        rest = 1 - sum(self.alone.values())
        if self.first and good & set(self.first):
            share += rest
        if self.both and set(self.both) <= good:
            share += rest
        return share if side == "back" else 1 - share

    def found(self, weights: Mapping[str, float] | None = None, tiers: Sequence[Sequence[str]] | None = None) -> Found:
        return search(tiers or [self.units], weights or {}, self.ask, least=LEAST)


@st.composite
def worlds(draw: st.DrawFn, *, crashes: bool) -> World:
    size = draw(st.integers(2, 300))
    chosen = draw(st.lists(st.integers(0, size - 1), min_size=2, max_size=2, unique=True))
    one, other = (f"u{number}" for number in chosen)
    kind = draw(st.sampled_from(["one", "two", "first", "both"]))
    innocent = [unit for unit in (f"u{number}" for number in range(size)) if unit not in (one, other)]
    pairs: list[tuple[str, str]] = []
    if crashes and len(innocent) > 3:
        mixed = random.Random(draw(st.integers(0, 999))).sample(innocent, len(innocent))
        count = draw(st.integers(0, min(4, len(mixed) // 2)))
        pairs = [(mixed[2 * place], mixed[2 * place + 1]) for place in range(count)]
    share = draw(st.sampled_from([0.2, 0.5, 0.7]))
    return World(
        size=size,
        alone={"one": {one: 1.0}, "two": {one: share, other: 1 - share}}.get(kind, {}),
        first=(one, other) if kind == "first" else (),
        both=(one, other) if kind == "both" else (),
        crash=tuple(pairs),
    )


def expected(world: World) -> set[frozenset[str]]:
    """The sets that have to be named."""
    return {frozenset([unit]) for unit in world.alone} | {frozenset(one) for one in (world.first, world.both) if one}


@given(worlds(crashes=False))
@settings(deadline=None, max_examples=300)
def test_what_was_planted_is_found_and_nothing_else(world: World) -> None:
    """One unit, two that act alone or two that act together are named, as they act, with their shares; few mixtures are needed."""
    found = world.found()
    assert {frozenset(one.units) for one in found.guilty} == expected(world)
    assert found.complete
    assert found.share == pytest.approx(1)
    for one in found.guilty:
        assert one.divided
        assert one.share == pytest.approx(world.alone.get(one.units[0], 1.0))
    assert found.brought == pytest.approx(1)
    assert len(world.asked) <= 10 + 6 * world.size.bit_length()


@given(worlds(crashes=True))
@settings(deadline=None, max_examples=300)
def test_mixtures_that_crash_are_gone_around(world: World) -> None:
    """Where mixtures can't be tested, the same units are named; what has to go with them in order to run is no guilt."""
    found = world.found()
    named = {unit for one in found.guilty if one.divided for unit in one.units}
    assert named <= world.guilty
    assert {frozenset(one.units) for one in found.guilty} == expected(world)
    assert found.share == pytest.approx(1)


@given(worlds(crashes=True), st.integers(0, 40))
@settings(deadline=None, max_examples=200)
def test_a_budget_that_ends_names_no_innocent_unit(world: World, budget: int) -> None:
    """A search that is ended says so, and what it names until then is guilty."""
    world.budget = budget
    found = world.found()
    assert {unit for one in found.guilty if one.divided for unit in one.units} <= world.guilty
    assert found.complete or len(world.asked) == budget


@given(worlds(crashes=True))
@settings(deadline=None, max_examples=200)
def test_the_units_to_take_back_are_as_few_as_possible(world: World) -> None:
    """No unit of the diff back can be left out: the change would stay, or the mixture would not run."""
    found = world.found()
    for unit in found.back:
        assert world.ask("back", found.back - {unit}) != pytest.approx(1), unit


@given(worlds(crashes=True), st.data())
@settings(deadline=None, max_examples=200)
def test_units_that_never_run_leave_the_others_to_be_found(world: World, data: st.DataObject) -> None:
    """Where all units together can't be tested, those that are suspected are tried one by one; nothing innocent is named."""
    innocent = [unit for unit in world.units if unit not in world.guilty]
    world.broken = tuple(data.draw(st.lists(st.sampled_from(innocent), max_size=3, unique=True))) if innocent else ()
    suspected = dict.fromkeys(world.guilty, 10.0) | dict.fromkeys(innocent[:10], 1.0)
    first = [unit for unit in world.units if unit in suspected]
    found = world.found(suspected, [first, [unit for unit in world.units if unit not in suspected]])
    assert {unit for one in found.guilty if one.divided for unit in one.units} <= world.guilty
    if world.alone:
        assert {frozenset(one.units) for one in found.guilty} == expected(world)


def test_a_guilty_unit_that_needs_an_innocent_one_is_named_with_what_it_needs_apart() -> None:
    """A unit that runs only with another taken back, which alone does nothing, can't be told from it: the two are one group, undivided."""
    world = World(size=64, alone={"u7": 1.0}, crash=(("u7", "u40"),))
    found = world.found()
    assert found.back == {"u7", "u40"}
    assert [one.divided for one in found.guilty] == [False]


def test_a_suspicion_that_holds_takes_three_mixtures() -> None:
    """All that is suspected, the unit itself, and the unit on the good build."""
    world = World(size=300, alone={"u200": 1.0})
    found = world.found({"u200": 100.0, "u3": 1.0}, [["u200", "u3"], [f"u{number}" for number in range(300) if number not in (3, 200)]])
    assert [one.units for one in found.guilty] == [("u200",)]
    assert len(world.asked) == 3


def test_a_change_that_no_unit_takes_back_lies_elsewhere() -> None:
    """Where all units together take nothing back, none is named: compiled code or a dependency is left."""
    world = World(size=20, alone={"elsewhere": 1.0})
    found = world.found()
    assert (found.guilty, found.back, found.reach) == ((), frozenset(), 0.0)


def test_no_units_take_nothing_back() -> None:
    """A difference without units has no guilty one, and asks nothing."""
    world = World(size=0)
    assert world.found().guilty == ()
    assert not world.asked


def test_where_nothing_can_be_tested_nothing_is_named() -> None:
    """Mixtures that all crash leave the whole unnamed."""
    found = search([["a", "b", "c"]], {}, lambda side, units: None, least=LEAST)
    assert (found.guilty, found.reach) == ((), None)


def test_many_small_units_are_found_each_with_its_share() -> None:
    """Shares above the least are measured one by one, in the order of suspicion; what is below is left as the rest."""
    shares = {"u1": 0.5, "u5": 0.2, "u9": 0.15, "u11": 0.1, "u12": 0.03, "u13": 0.02}
    world = World(size=40, alone=shares)
    found = world.found(shares)
    assert {one.units[0]: one.share for one in found.guilty} == pytest.approx({"u1": 0.5, "u5": 0.2, "u9": 0.15, "u11": 0.1}, abs=0.05)
