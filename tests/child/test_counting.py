"""The counter: exact, the same each time, in all threads, and honest about what it does not see."""

from __future__ import annotations

import asyncio
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

from perfproof.child.counting import Counter, NotCounting, Outside, Tally, equal, quiet, settle, unsteady
from perfproof.child.counting.counter import MONITORED, prove
from perfproof.child.counting.monitoring import NAME
from perfproof.child.counting.outside import readable
from perfproof.child.counting.tally import CALLS, INCLUSIVE, INSTRUCTIONS
from tests.child import counted_work

HERE = __name__
NEEDS_MONITORING = pytest.mark.skipif(not MONITORED, reason="sys.monitoring came with Python 3.12")


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


class Pair:
    """Something that is compared, by Python."""

    def __init__(self, left: int, right: int) -> None:
        self.left, self.right = left, right

    def __lt__(self, other: Pair) -> bool:
        return (self.left, self.right) < (other.left, other.right)


async def awaited(number: int) -> int:
    await asyncio.sleep(0)
    return number


def thrown_into() -> Iterator[int]:
    try:
        yield 1
    except ValueError:
        yield len("ab")
    finally:
        str(3)


def mixed_work() -> None:
    """What Python has of ways into a function and out of it."""
    generator = thrown_into()
    next(generator)
    generator.throw(ValueError)
    generator.close()
    list(given_one_by_one(4))
    sorted([Pair(2, 1), Pair(1, 2), Pair(1, 1)])
    sum(number * 2 for number in range(4))
    [str(number) for number in range(3) if number]
    caught()
    down(3)
    packed, named = [3], {"end": ""}
    looped(*packed)
    print(*packed[1:], **named)
    str(packed).split(",")
    str.upper("a")
    list.append([], 1)
    coroutine = awaited(3)
    with contextlib.suppress(StopIteration):
        while True:
            coroutine.send(None)


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


def test_of_one_package_no_function_of_others_is_counted() -> None:
    """Those that others call are, and what others did is in no number."""
    tally = counted(
        Counter(within="tests.child.counted_work"), lambda: sorted([2, 1], key=lambda turns: counted_work.work(turns) + straight(turns))
    )
    assert list(tally.functions) == ["tests.child.counted_work:work"]
    assert tally.functions["tests.child.counted_work:work"][CALLS] == 2
    assert tally.c_calls == {"len": 3}


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


def count_beside_an_early_thread(counter: Counter) -> Tally:
    """A count in which a thread calls `looped` that ran before the counter was installed."""
    go, there, done = (threading.Event() for _ in range(3))

    def early() -> None:
        there.set()
        go.wait()
        looped(5)
        done.set()

    thread = threading.Thread(target=early, name="an early bird")
    thread.start()
    there.wait()
    counter.install()
    try:
        return counted(counter, lambda: (go.set(), done.wait(), straight(1)))
    finally:
        counter.remove()
        go.set()
        thread.join()


@pytest.mark.skipif(MONITORED, reason="from Python 3.12 on all threads are counted")
def test_a_thread_that_ran_before_is_named() -> None:
    """Nobody else can set a running thread's trace function: what it did is not in the count, and its name is."""
    tally = count_beside_an_early_thread(Counter())
    assert "an early bird" in tally.missed
    assert tally.functions[f"{HERE}:straight"][CALLS] == 1


@NEEDS_MONITORING
def test_a_thread_that_ran_before_is_counted_from_python_3_12_on() -> None:
    """The interpreter tells of all threads: nobody is missed."""
    tally = count_beside_an_early_thread(Counter())
    assert tally.missed == []
    assert tally.functions[f"{HERE}:looped"][CALLS] == 1
    assert tally.functions[f"{HERE}:straight"][CALLS] == 6


def traces_itself() -> None:
    sys.settrace(lambda frame, event, arg: None)
    looped(5)
    sys.settrace(None)


def profiles_itself() -> None:
    sys.setprofile(lambda frame, event, arg: None)
    looped(5)
    sys.setprofile(None)


@pytest.mark.parametrize("work", [traces_itself, profiles_itself, lambda: sys.settrace(lambda *_: None)])
def test_a_program_that_sets_a_trace_function_of_its_own_is_named(counter: Counter, work: Callable[[], Any]) -> None:
    """Its count would be too small: there is none. The next count is right."""
    counted(counter, lambda: looped(5))  # what is still prepared for counting is where Python 3.12 loses instructions
    with pytest.raises(NotCounting, match="a trace or profile function of its own"):
        counted(counter, work)
    sys.settrace(None)
    looped(5)
    assert counted(counter, lambda: straight(1)).functions[f"{HERE}:straight"][CALLS] == 1


@NEEDS_MONITORING
def test_a_program_that_takes_the_place_of_the_counter_away_is_named() -> None:
    """Without its events there is no count."""

    def takes_it() -> None:
        for place in range(6):
            if sys.monitoring.get_tool(place) == NAME:  # type: ignore[attr-defined, unused-ignore]
                sys.monitoring.set_events(place, 0)  # type: ignore[attr-defined, unused-ignore]

    with pytest.raises(NotCounting, match=r"takes the counter's place in sys\.monitoring away"):
        counted(Counter(), takes_it)
    assert counted(Counter(), lambda: straight(1)).functions[f"{HERE}:straight"][CALLS] == 1


@NEEDS_MONITORING
def test_a_function_that_ran_without_an_instruction_is_named() -> None:
    """Another tool comes between two counts, and Python 3.12 and 3.13 tell of no instruction: never a count of nothing."""
    monitoring = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
    expected = counted(Counter(), lambda: looped(5)).functions[f"{HERE}:looped"]
    place = next(place for place in range(6) if monitoring.get_tool(place) is None)
    monitoring.use_tool_id(place, "another")
    monitoring.register_callback(place, monitoring.events.PY_START, lambda *_: None)
    monitoring.set_events(place, monitoring.events.PY_START)
    try:
        found = counted(Counter(), lambda: looped(5)).functions[f"{HERE}:looped"]
        assert found == expected
    except NotCounting as fault:
        assert "tells of no instructions of" in str(fault)  # noqa: PT017 (either is right, by the version of Python)
    finally:
        monitoring.set_events(place, 0)
        monitoring.free_tool_id(place)


@NEEDS_MONITORING
def test_tools_that_have_all_places_are_named() -> None:
    """Nothing can be counted beside six other tools."""
    monitoring = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
    free = [place for place in range(6) if monitoring.get_tool(place) is None]
    for place in free:
        monitoring.use_tool_id(place, f"tool {place}")
    try:
        with pytest.raises(NotCounting, match=f"is taken .*tool {free[0]}"):
            Counter().start()
    finally:
        for place in free:
            monitoring.free_tool_id(place)


@NEEDS_MONITORING
def test_nothing_is_left_in_the_interpreter_after_a_count() -> None:
    """The tool's place is free again: what runs afterwards is not slowed."""
    counted(Counter(), lambda: looped(3))
    monitoring = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
    assert NAME not in [monitoring.get_tool(place) for place in range(6)]


def test_ways_into_a_function_and_out_of_it_are_counted_alike_in_every_python() -> None:
    """A generator's every resumption is a call, one that goes on with an exception too; a method is named with the type it is called on."""
    tallies = [counted(Counter(), mixed_work) for _ in range(3)]
    assert all(equal(one, other) for one, other in itertools.pairwise(tallies))
    calls = {name.partition(":")[2]: numbers[CALLS] for name, numbers in tallies[0].functions.items() if name.startswith(HERE)}
    of_interest = ("thrown_into", "given_one_by_one", "down", "looped", "straight", "awaited", "Pair.__init__")
    assert {name: calls[name] for name in of_interest} == dict(zip(of_interest, (3, 5, 4, 1, 3, 2, 3), strict=True))
    names = ("str.split", "str.upper", "list.append", "generator.throw", "print", "coroutine.send")
    assert {name: tallies[0].c_calls[name] for name in names} == dict(zip(names, (1, 1, 1, 1, 1, 2), strict=True))
    whole = tallies[0].total() + sum(tallies[0].waiting.values())
    assert max(numbers[INCLUSIVE] for numbers in tallies[0].functions.values()) == whole


@pytest.mark.skipif(MONITORED, reason="sys.settrace is not used there")
def test_a_counter_that_is_not_on_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_what_was_left_out_of_collections_for_good_stays_so() -> None:
    """A process with vLLM in it is read once, not before each round; one where nobody asked for that gets its objects back."""
    import gc

    gc.unfreeze()
    with quiet():
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0
    settle()
    try:
        with quiet():
            pass
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_time_in_c_functions_is_told_by_name_and_python_is_not_among_it() -> None:
    """A second round begins at nothing."""
    outside = Outside()
    for _ in range(2):
        outside.start()
        sorted(range(50_000), key=straight)
        tally = outside.stop()
    assert set(tally.outside) == {"sorted"}
    assert 0 < tally.outside["sorted"] < 30


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("<method 'append' of 'list' objects>", "list.append"),
        ("<built-in method torch._C._nn.linear>", "torch._C._nn.linear"),
        ("<built-in method builtins.len>", "len"),
        ("<method 'disable' of '_lsprof.Profiler' objects>", ""),
        ("something else", "something else"),
    ],
)
def test_the_profilers_names_are_made_readable(said: str, name: str) -> None:
    """As C calls are named elsewhere; the profiler's own calls are nobody's."""
    assert readable(said) == name
