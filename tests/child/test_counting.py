"""The counter: exact, the same each time, in all threads, and honest about what it does not see."""

from __future__ import annotations

import contextlib
import dis
import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof.child.counting import Counter, NotCounting, Tally, equal, quiet, unsteady
from perfproof.child.counting.counter import prove
from perfproof.child.counting.tally import CALLS, INCLUSIVE, INSTRUCTIONS

HERE = __name__


@pytest.fixture(autouse=True)
def _whoever_traces_gets_its_function_back() -> Iterator[None]:
    """A debugger or a measurement of coverage continues after the test."""
    before = sys.gettrace(), sys.getprofile()
    yield
    sys.settrace(before[0])
    sys.setprofile(before[1])


@pytest.fixture
def counter() -> Iterator[Counter]:
    made = Counter()
    made.install()
    prove(made)
    yield made
    made.remove()


def counted(counter: Counter, work: Callable[[], Any]) -> Tally:
    """What one call did, and all that it called."""
    with quiet():  # hypothesis has Python called at every garbage collection
        counter.start()
        try:
            work()
        finally:
            tally = counter.stop()
    return tally


def straight(number: int) -> int:
    """No branch and no call: each of its instructions runs once."""
    doubled = number * 2
    return doubled + number


def looped(turns: int) -> int:
    total = 0
    for turn in range(turns):
        total += straight(turn)
    return total


def given_one_by_one(turns: int) -> Iterator[int]:
    yield from range(turns)


def down(depth: int) -> int:
    return down(depth - 1) + 1 if depth else 0


def breaks() -> None:
    raise ValueError


def caught() -> None:
    with contextlib.suppress(ValueError):
        breaks()


def test_a_function_without_branches_does_each_of_its_instructions_once(counter: Counter) -> None:
    """The count is that of the disassembler: no instruction is missed and none is counted twice."""
    tally = counted(counter, lambda: straight(3))
    expected = sum(one.opname != "RESUME" for one in dis.get_instructions(straight))  # the call itself is told there
    assert tally.functions[f"{HERE}:straight"][INSTRUCTIONS] == expected
    assert tally.functions[f"{HERE}:straight"][CALLS] == 1


@settings(deadline=None, max_examples=20)
@given(st.integers(min_value=0, max_value=200))
def test_every_turn_of_a_loop_costs_the_same(turns: int) -> None:
    """So many turns more are so many times the same instructions more, in the loop and in what it calls."""
    counter = Counter()
    few, some, many = (counted(counter, lambda n=n: looped(n)).functions[f"{HERE}:looped"] for n in (turns + 1, turns + 2, turns + 3))
    assert many[INSTRUCTIONS] - some[INSTRUCTIONS] == some[INSTRUCTIONS] - few[INSTRUCTIONS] > 0
    assert many[INCLUSIVE] - some[INCLUSIVE] == some[INCLUSIVE] - few[INCLUSIVE] > some[INSTRUCTIONS] - few[INSTRUCTIONS]


def test_what_a_function_calls_is_its_own_once_and_inclusive_of_its_callers(counter: Counter) -> None:
    """Own instructions of all functions add up to what the outermost did in all."""
    tally = counted(counter, lambda: looped(10))
    own = tally.functions[f"{HERE}:looped"][INSTRUCTIONS] + tally.functions[f"{HERE}:straight"][INSTRUCTIONS]
    assert tally.functions[f"{HERE}:looped"][INCLUSIVE] == own
    assert tally.functions[f"{HERE}:straight"][CALLS] == 10


@pytest.mark.parametrize("work", [lambda: list(given_one_by_one(30)), lambda: down(20), caught, lambda: sorted([3, 1], key=lambda n: -n)])
def test_generators_recursion_and_exceptions_count_the_same_each_time(counter: Counter, work: Callable[[], Any]) -> None:
    """Three counts of the same work are equal, and what the outermost did in all is the sum of what each function did itself."""
    tallies = [counted(counter, work) for _ in range(3)]
    assert all(equal(one, other) for one, other in itertools.pairwise(tallies))
    assert max(numbers[INCLUSIVE] for numbers in tallies[0].functions.values()) == tallies[0].total()


def test_c_calls_are_told_by_name_and_by_who_makes_them(counter: Counter) -> None:
    """A method of a built-in type has the type's name before it; a function of a module that module's."""

    def calls() -> None:
        found: list[int] = []
        for number in range(5):
            found.append(len(str(number)))
        found.index(1)

    tally = counted(counter, calls)
    assert {name: tally.c_calls[name] for name in ("list.append", "len", "list.index")} == {"list.append": 5, "len": 5, "list.index": 1}


def test_work_that_is_handed_to_another_thread_is_counted(counter: Counter) -> None:
    """A thread that started after the counter was installed is followed, to the end of what it was given."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(straight, 1).result()
        tallies = [counted(counter, lambda: pool.submit(looped, 7).result()) for _ in range(3)]
    assert [one.functions[f"{HERE}:looped"] for one in tallies] == [tallies[0].functions[f"{HERE}:looped"]] * 3
    assert equal(tallies[0], tallies[1])
    assert equal(tallies[1], tallies[2])
    assert not [one for one in tallies[0].missed if "ThreadPool" in one]


def test_waiting_for_a_thread_is_told_apart(counter: Counter) -> None:
    """How often one looks whether another is done depends on who is faster: it is in no total."""
    with ThreadPoolExecutor(1) as pool:
        tally = counted(counter, lambda: pool.submit(straight, 1).result())
    assert any(name.startswith("concurrent.futures") for name in tally.waiting)
    assert not any(name.partition(":")[0].startswith(("threading", "concurrent.futures.")) for name in tally.functions)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="there all threads are counted")
def test_a_thread_that_ran_before_is_named() -> None:
    """Before Python 3.12 nobody else can set a running thread's trace function."""
    go, there = threading.Event(), threading.Event()

    def early() -> None:
        there.set()
        go.wait()

    thread = threading.Thread(target=early, name="an early bird")
    thread.start()
    there.wait()
    counter = Counter()
    counter.install()
    try:
        assert "an early bird" in counted(counter, lambda: straight(1)).missed
    finally:
        counter.remove()
        go.set()
        thread.join()


def test_a_program_that_sets_a_trace_function_of_its_own_is_reported(counter: Counter) -> None:
    """Its count would be too small: there is none."""
    with pytest.raises(NotCounting, match="a trace or profile function of its own"):
        counted(counter, lambda: sys.settrace(None))
    assert counted(counter, lambda: straight(1)).total() > 0


def test_a_counter_that_is_not_on_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interpreter that tells of no instructions gives no count of nothing."""
    counter = Counter()
    monkeypatch.setattr(sys, "settrace", lambda function: None)
    with pytest.raises(NotCounting):
        prove(counter)


def test_lines_are_counted_of_the_functions_that_are_looked_at_closely() -> None:
    """Every instruction has a line, those of functions inside too; other functions have none."""
    counter = Counter(closely=(f"{HERE}:looped",))
    tally = counted(counter, lambda: looped(4))
    first = looped.__code__.co_firstlineno
    assert set(tally.lines) == {f"{HERE}:looped"}
    assert sum(tally.lines[f"{HERE}:looped"].values()) == tally.functions[f"{HERE}:looped"][INSTRUCTIONS]
    assert set(tally.lines[f"{HERE}:looped"]) <= {*range(first, first + 5)}


def test_a_line_that_did_not_run_is_not_among_the_lines() -> None:
    """What ran tells a new line that matters from one that is never reached."""

    def chosen(which: bool) -> int:
        if which:
            return 1
        return 2

    name = f"{HERE}:{chosen.__qualname__}"
    tally = counted(Counter(closely=(name,)), lambda: chosen(True))
    assert chosen.__code__.co_firstlineno + 2 in tally.lines[name]
    assert chosen.__code__.co_firstlineno + 3 not in tally.lines[name]


def test_differences_are_told_by_name(counter: Counter) -> None:
    """Only the function that did more, and the C call that came, are named: not their callers."""
    one, other = counted(counter, lambda: looped(3)), counted(counter, lambda: looped(4))
    assert f"{HERE}:straight" in unsteady(one, other)
    assert not equal(one, other)
    assert unsteady(one, one) == []


def test_no_garbage_is_collected_while_it_is_quiet() -> None:
    """Collections come when they come; inside there are none, and afterwards it is as it was."""
    import gc

    with quiet():
        assert not gc.isenabled()
    assert gc.isenabled()
