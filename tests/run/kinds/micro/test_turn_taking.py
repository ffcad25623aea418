"""Trials that take turns: one runs at a time, in order, whatever becomes of the others; and what their rounds say side by side."""

from __future__ import annotations

import dataclasses
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import isclose, sqrt
from pathlib import Path
from statistics import geometric_mean, median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof.child.turns import Turns
from perfproof.model.base.errors import CannotRun
from perfproof.run.kinds.micro.micro_result import Reading
from perfproof.run.kinds.micro.turn_taking import TurnTaking, processor_of, side_by_side
from tests import toy
from tests.run.conftest import RunToy

TIMES = st.floats(1e-6, 1.0)


def reading(*rounds: float, reason: str = "", **others: Sequence[float]) -> Reading:
    raw = {"round_time": rounds, **others} if rounds else {}
    values = {name: median(times) for name, times in raw.items()}
    return Reading(measurements={**values, "other": 7.0}, raw=raw, rounds=raw, witnesses={}, work={}, warnings=(), reason=reason, counts={})


def values(*readings: Reading) -> list[float]:
    return [one.measurements["round_time"] for one in side_by_side(readings)]


@given(rounds=st.lists(st.tuples(TIMES, TIMES), min_size=2, max_size=20))
def test_of_two_trials_the_ratio_is_the_median_ratio_of_their_rounds(rounds: list[tuple[float, float]]) -> None:
    """Two turns at a time, whatever each turn's speed is; an even number of such pairs has no single middle one."""
    rounds = rounds[len(rounds) % 2 :]
    first, second = values(*(reading(*times) for times in zip(*rounds, strict=True)))
    assert isclose(first / second, median(ratios_of_two(rounds)), rel_tol=1e-9)


def ratios_of_two(rounds: Sequence[tuple[float, float]]) -> list[float]:
    """Of each two turns in a row the ratio of the two trials, as a geometric mean."""
    ratios = [one / other for one, other in rounds]
    return [sqrt(one * other) for one, other in pairwise(ratios)]


@given(costs=st.lists(TIMES, min_size=2, max_size=4), places=st.lists(st.floats(0.5, 2.0), min_size=4, max_size=4))
def test_what_a_place_in_a_turn_is_worth_is_in_no_ratio(costs: list[float], places: list[float]) -> None:
    """The trial that began a turn comes last in the next, so each trial has every place as often as any other."""
    count = len(costs)
    found = values(*(reading(*(cost * places[(own - turn) % count] for turn in range(12))) for own, cost in enumerate(costs)))
    assert all(isclose(one / found[0], cost / costs[0], rel_tol=1e-9) for one, cost in zip(found, costs, strict=True))


@given(speeds=st.lists(st.floats(0.1, 10.0), min_size=1, max_size=30), costs=st.lists(TIMES, min_size=2, max_size=4))
def test_what_slows_all_rounds_of_a_turn_is_in_no_ratio(speeds: list[float], costs: list[float]) -> None:
    """A machine that changes its speed from turn to turn changes no arm's share; the values are seconds of usual turns."""
    found = values(*(reading(*(cost * speed for speed in speeds)) for cost in costs))
    assert all(isclose(one / found[0], cost / costs[0], rel_tol=1e-9) for one, cost in zip(found, costs, strict=True))
    length = min(len(costs), len(speeds))
    usual = median(geometric_mean(speeds[start : start + length]) for start in range(len(speeds) - length + 1))
    assert isclose(found[0], costs[0] * usual, rel_tol=1e-9)


def test_metrics_that_can_not_be_held_side_by_side_stay_as_they_are() -> None:
    """One trial alone, a trial that failed, and what is no time of rounds."""
    assert values(reading(1.0, 5.0, 9.0)) == [5.0]
    whole, failed = side_by_side([reading(1.0, 5.0, 9.0), reading(reason="the swap lost a row")])
    assert (whole.measurements["round_time"], failed.reason) == (5.0, "the swap lost a row")
    several = side_by_side([reading(1.0, 4.0, 9.0), reading(2.0, 2.0, 3.0)])
    assert [one.measurements["other"] for one in several] == [7.0, 7.0]


def test_of_unequally_many_rounds_the_first_are_held_side_by_side_and_it_is_said() -> None:
    """pytest-benchmark chooses how many where a test leaves it to it; rounds beyond the other trial's have none beside them."""
    several = side_by_side([reading(1.0, 5.0, 9.0), reading(1.0, 3.0)])
    assert [one.measurements["round_time"] for one in several] == pytest.approx([5.0**0.5, 3.0**0.5])
    told = "round_time: the arms timed 3 and 2 rounds; the first 2 of each are held side by side (benchmark.pedantic fixes them)"
    assert [list(one.warnings) for one in several] == [[told], [told]]
    assert [list(one.warnings) for one in side_by_side([reading(1.0, 5.0), reading(1.0, 3.0)])] == [[], []]


def test_rounds_that_a_record_does_not_keep_count() -> None:
    """A record keeps some of many rounds; all of them are held side by side."""
    many = [1.0, 1.0, 2.0] * 700
    first, second = (dataclasses.replace(reading(*rounds), raw={"round_time": rounds[::3]}) for rounds in (many, [3 * one for one in many]))
    found = values(first, second)
    assert found[1] / found[0] == pytest.approx(3.0)
    assert found[0] == pytest.approx(2**0.5)


def turning(turns: TurnTaking, place: int, work: Callable[[Turns], None], test: Sequence[int] = ()) -> threading.Thread:
    """A trial in a thread: it takes its turn, works, leaves and ends. The last number of `test` is that of its test."""

    def trial() -> None:
        mine = Turns(**{**turns.order(place), "processor": None}, test_number=lambda: test[-1])
        mine.take()
        try:
            work(mine)
        finally:
            mine.leave()
            turns.ended(place)

    thread = threading.Thread(target=trial)
    thread.start()
    return thread


def rounds_of(number: int, said: list[int], place: int) -> Callable[[Turns], None]:
    def work(mine: Turns) -> None:
        for _ in range(number):
            said.append(place)
            mine.pass_on()

    return work


def ran(rounds: Sequence[int], absent: Sequence[int] = ()) -> list[int]:
    """Which trials ran, in order: each so many rounds; those `absent` end before they take a turn."""
    said: list[int] = []
    with TurnTaking(len(rounds), None) as turns:
        threads = [turning(turns, place, rounds_of(number, said, place)) for place, number in enumerate(rounds) if place not in absent]
        for place in absent:
            turns.ended(place)
        for one in threads:
            one.join(30)
            assert not one.is_alive()
    return said


def test_who_begins_changes_from_turn_to_turn() -> None:
    """One round each, at first in the order of the block; the one that began comes last in the next turn."""
    assert ran([3, 3]) == [0, 1, 1, 0, 0, 1]
    assert ran([3, 3, 3]) == [0, 1, 2, 1, 2, 0, 2, 0, 1]


def test_the_others_go_on_without_one_that_is_over() -> None:
    """It has fewer rounds, or ended before its first."""
    assert ran([1, 3, 3]) == [0, 1, 2, 1, 2, 2, 1]
    assert ran([0, 2, 2], absent=[0]) == [1, 2, 2, 1]
    assert ran([2, 2], absent=[1]) == [0, 0]


def working_through(tests: Mapping[int, int], said: list[str], place: int, begun: list[int]) -> Callable[[Turns], None]:
    """A trial that sets up tests, by their numbers, and runs so many rounds of each; `begun` are those that it came to."""

    def work(mine: Turns) -> None:
        for test, rounds in tests.items():
            begun.append(test)
            said.append(f"{place} sets up {test}")
            for _ in range(rounds):
                mine.begin()
                said.append(f"{place} runs {test}")
                mine.pass_on()

    return work


def what_ran(*trials: Mapping[int, int]) -> list[str]:
    said: list[str] = []
    with TurnTaking(len(trials), None) as turns:
        begun: list[list[int]] = [[] for _ in trials]
        for thread in [
            turning(turns, place, working_through(one, said, place, begun[place]), begun[place]) for place, one in enumerate(trials)
        ]:
            thread.join(30)
            assert not thread.is_alive()
    return said


def test_all_have_set_a_test_up_before_any_begins_it() -> None:
    """So that the caches hold no trial's data when the first round of a test begins; each test has its own beginning."""
    steps = "0 sets up {0}|1 sets up {0}|0 runs {0}|1 runs {0}|1 runs {0}|0 runs {0}"
    assert what_ran({0: 2, 1: 2}, {0: 2, 1: 2}) == [*steps.format(0).split("|"), *steps.format(1).split("|")]


def test_a_trial_that_comes_to_a_test_before_the_others_waits_for_them() -> None:
    """Where another has more rounds before it, or tests that this one leaves out: rounds of one test lie beside each other again."""
    for others in ({0: 3, 2: 2}, {0: 1, 1: 2, 2: 2}):
        *_, one, other, later, last = what_ran({0: 1, 2: 2}, others)
        assert {one, other} == {later, last} == {"0 runs 2", "1 runs 2"}
    before, *behind = what_ran({2: 1}, {1: 1}, {2: 1})[-3:]
    assert (before, set(behind)) == ("1 runs 1", {"0 runs 2", "2 runs 2"})


@given(trials=st.lists(st.dictionaries(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=3))
@settings(max_examples=30, deadline=None)
def test_every_trial_comes_to_its_end(trials: list[dict[int, int]]) -> None:
    """Whatever tests and rounds each has, in the order of the tests."""
    said = what_ran(*(dict(sorted(tests.items())) for tests in trials))
    assert sum("runs" in line for line in said) == sum(sum(tests.values()) for tests in trials)


def test_a_trial_whose_process_left_a_worker_behind_holds_nobody_up() -> None:
    """The worker has the socket open still."""
    workers: list[int] = []

    def work(mine: Turns) -> None:
        workers.append(os.dup(mine._socket.fileno()))

    said: list[int] = []
    with TurnTaking(2, None) as turns:
        threads = [turning(turns, 0, work), turning(turns, 1, rounds_of(2, said, 1))]
        for one in threads:
            one.join(30)
            assert not one.is_alive()
    os.close(workers[0])
    assert said == [1, 1]


def test_a_trial_goes_on_where_the_runner_is_gone() -> None:
    """Nobody is left to give turns, so none are waited for."""
    said: list[int] = []
    left = threading.Event()

    def work(mine: Turns) -> None:
        left.wait(30)
        rounds_of(3, said, 0)(mine)

    with TurnTaking(1, None) as turns:
        trial = turning(turns, 0, work)
        while not turns._joined:
            left.wait(0.01)
    left.set()
    trial.join(30)
    assert said == [0, 0, 0]


def test_too_long_a_path_for_a_socket_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left there."""
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    with pytest.raises(CannotRun, match="set TMPDIR to a short path"):
        TurnTaking(2, None)
    assert list(folder.iterdir()) == []


def test_blocks_go_round_the_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that may be used, in turn."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {7, 3}, raising=False)
    assert [processor_of(number) for number in (1, 2, 3)] == [7, 3, 7]


def test_arms_whose_rounds_alternate_run_side_by_side(run_toy: RunToy, tmp_path: Path) -> None:
    """Each has a parent of its own, one thread, all rounds, its attestation; the values are those of rounds held side by side."""
    plain, patched = run_toy(toy.arm("plain"), toy.arm("patched", "toy_patch"), alternate_rounds=True, rounds=6)
    assert [plain.status, patched.status] == ["ok", "ok"], (plain.reason, patched.reason)
    assert [plain.arm, patched.arm] == ["plain", "patched"]
    rounds = [one.raw["round_time"] for one in (plain, patched)]
    assert [len(times) for times in rounds] == [6, 6]
    ratio = plain.measurements["round_time"] / patched.measurements["round_time"]
    assert isclose(ratio, median(ratios_of_two(list(zip(*rounds, strict=True)))), rel_tol=1e-9)
    assert plain.attestation is not None
    assert patched.attestation is not None
    assert (list(plain.attestation.patches), list(patched.attestation.patches)) == ([], ["toy_patch"])
    assert {one.environment["variables"]["OMP_NUM_THREADS"] for one in (plain, patched)} == {"1"}
    assert len(list((tmp_path / "results" / "logs" / "imports").glob("*.log"))) == 2


@pytest.mark.parametrize("mode", ["absent", "fail", "crash"])
def test_arms_that_fail_in_their_turn_say_why_and_hold_nobody_up(run_toy: RunToy, mode: str) -> None:
    """A test that skips itself, fails, or ends its process."""
    records = run_toy(toy.arm("plain"), toy.arm("patched", "toy_patch"), alternate_rounds=True, mode=mode)
    assert [one.status for one in records] == ["failed", "failed"]


def test_an_arm_that_hangs_in_its_turn_is_not_the_other_arms_fault(run_toy: RunToy, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of both runs out: of the one that had the turn, and of the one that waited for it."""
    monkeypatch.setattr("perfproof.run.kinds.micro.forking_parent.TRIAL_LIMIT", 3.0)
    hung, waited = run_toy(toy.arm("plain"), toy.arm("patched", "toy_patch"), alternate_rounds=True, mode="hang")
    assert (hung.status, waited.status) == ("failed", "invalid")
    assert "ran out of time" in hung.reason
    assert waited.reason == "it waited for its turn until the time of arm plain, which had it, ran out"


def test_an_alternating_arm_whose_plugin_refuses_leaves_the_other_alone(run_toy: RunToy) -> None:
    """It ended before its first turn."""
    plain, refused = run_toy(toy.arm("plain"), toy.arm("patched", "toy_other"), alternate_rounds=True)
    assert (plain.status, len(plain.raw["round_time"])) == ("ok", 3)
    assert refused.status != "ok"
