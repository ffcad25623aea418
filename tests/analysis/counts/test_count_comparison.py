"""Two counts compared: the verdict by the margin, the functions behind a change, and what is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof.analysis.counts.count_comparison import Compared, compare, disagreeing, other_work, ran
from perfproof.model.records.counts import DEVICE, METRICS, Cell, Count, FunctionWork, LeftOut, Metric, OperatorWork, PhaseWork

NAMES = ("m:C.run", "m:C.run.<locals>.<genexpr>", "n:other")


def phase(functions: Mapping[str, int], c_calls: Mapping[str, int] | None = None, odd: Sequence[str] = (), **more: int) -> PhaseWork:
    """A phase whose functions do so many instructions, in one call each; `bytes` are those of the only operator."""
    return PhaseWork(
        functions={name: FunctionWork(instructions=n, calls=1, inclusive=n, c_calls=0, line=1) for name, n in functions.items()},
        c_calls=c_calls or {"len": 10},
        operators={"aten::add": OperatorWork(calls=3, bytes=more.get("bytes", 300))},
        lines={},
        waiting={},
        missed=(),
        odd=tuple(odd),
        steps=1,
        waves=2,
    )


def counted(work: PhaseWork, outputs: Sequence[Sequence[int]] = ((1, 2, 3),), left_out: Sequence[LeftOut] = ()) -> Count:
    """A count of one cell with one phase."""
    answers = tuple((tuple(one),) for one in outputs)
    cell = Cell(feature="plain", requests=8, phases={"decode": work}, outputs=answers, seconds={})
    return Count(vllm="0.32.0", python="3.11.7", cells=(cell,), left_out=tuple(left_out), refused="")


def of(base: Count, candidate: Count, metric: Metric = "python_instructions", **more: object) -> Compared:
    found = compare(base, candidate, margin=0.005, **more)  # type: ignore[arg-type]
    return next(one for one in found.compared if one.metric == metric)


@pytest.mark.parametrize(
    ("now", "verdict"),
    [(10_000, "identical"), (10_001, "equivalent"), (10_050, "equivalent"), (10_051, "regressed"), (9_950, "equivalent"), (9_949, "less")],
)
def test_the_margin_decides(now: int, verdict: str) -> None:
    """Nothing is identical, less than the margin equivalent, more is more Python work or less."""
    assert of(counted(phase({"m:f": 10_000})), counted(phase({"m:f": now}))).verdict == verdict


def test_a_function_that_has_another_name_is_equivalent() -> None:
    """The sum is the same, but not the functions: that is told."""
    one = of(counted(phase({"m:f": 50, "m:g": 50})), counted(phase({"m:f": 50, "m:h": 50})))
    assert (one.verdict, one.change) == ("equivalent", 0.0)
    assert {changed.name: changed.change for changed in one.changed} == {"m:g": -50, "m:h": 50}


def test_what_was_nothing_before_has_no_percentage() -> None:
    """From none to some is more, by no factor."""
    one = of(counted(phase({})), counted(phase({"m:f": 5})))
    assert (one.verdict, one.change) == ("regressed", None)


def test_what_the_change_touches_comes_first() -> None:
    """A callee that does more because it is called more often is none of the callee's doing."""
    base = counted(phase({"m:mine": 100, "copy:deepcopy": 100, "m:z": 100}))
    candidate = counted(phase({"m:mine": 110, "copy:deepcopy": 900, "m:z": 150}))
    names = [changed.name for changed in of(base, candidate, touched={"m:mine"}).changed]
    assert names == ["m:mine", "copy:deepcopy", "m:z"]
    assert [changed.name for changed in of(base, candidate).changed] == ["copy:deepcopy", "m:z", "m:mine"]


def test_where_work_fell_the_function_that_fell_most_comes_first() -> None:
    """Less work is explained by what does less."""
    one = of(counted(phase({"m:a": 500, "m:b": 500})), counted(phase({"m:a": 400, "m:b": 100})))
    assert (one.verdict, one.changed[0].name) == ("less", "m:b")


def test_other_outputs_are_other_work_with_the_first_difference() -> None:
    """Nothing is compared then, whatever the numbers."""
    one = of(counted(phase({"m:f": 10}), [[1, 2, 3]]), counted(phase({"m:f": 10}), [[1, 5, 3]]))
    assert (one.verdict, one.reason) == ("untestable", "other work: request 0: token 2 was 2 and is 5")


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ([[1, 2]], [[1]], "request 0: had 2 tokens and has 1"),
        ([[1], [2]], [[1]], "2 requests were answered, and are 1"),
        ([[1], [2]], [[1], [3]], "request 1: token 1 was 2 and is 3"),
        ([[1]], [[1]], ""),
    ],
)
def test_the_first_difference_of_outputs_is_told(was: list[list[int]], now: list[list[int]], said: str) -> None:
    """By request and token."""
    work = phase({})
    assert other_work(counted(work, was).cells[0], counted(work, now).cells[0]) == said


def test_what_was_odd_is_left_out_of_both_sides_and_told() -> None:
    """A function that did not do the same twice decides nothing."""
    base = counted(phase({"m:f": 100, "m:odd": 7}, odd=["m:odd"]))
    candidate = counted(phase({"m:f": 100, "m:odd": 70_000}))
    found = compare(base, candidate, margin=0.005)
    assert {one.verdict for one in found.compared if one.metric == "python_instructions"} == {"identical"}
    assert any("left out, not the same each time: m:odd" in warning for warning in found.warnings)


def test_what_a_second_process_counts_otherwise_is_left_out_where_it_was_seen() -> None:
    """Only in that phase of that cell."""
    first, second = counted(phase({"m:f": 100, "m:g": 5})), counted(phase({"m:f": 100, "m:g": 6}))
    unsteady = disagreeing(first, second)
    assert unsteady == {("plain", 8, "decode"): {"m:g"}}
    one = of(first, counted(phase({"m:f": 100, "m:g": 500})), unsteady=unsteady)
    assert (one.verdict, one.baseline, one.candidate) == ("identical", 100, 100)
    assert of(first, counted(phase({"m:f": 100, "m:g": 500})), unsteady={("plain", 32, "decode"): {"m:g"}}).verdict == "regressed"


def test_c_calls_operators_and_bytes_are_compared_by_name() -> None:
    """Each metric has its own numbers and verdict."""
    base, candidate = counted(phase({"m:f": 100}, {"len": 10})), counted(phase({"m:f": 100}, {"len": 10, "list.index": 2}, bytes=600))
    assert of(base, candidate, "c_calls").changed[0].name == "list.index"
    assert (of(base, candidate, "torch_bytes").verdict, of(base, candidate, "torch_operators").verdict) == ("regressed", "identical")


def test_what_only_one_side_could_count_is_told() -> None:
    """A feature that fails with the change alone is lost; one that neither knows is skipped."""
    base = counted(phase({}), left_out=[LeftOut(feature="LoRA", requests=None, kind="unknown", why="no such option")])
    broken = Count(
        vllm="0.32.0",
        python="3.11.7",
        cells=(),
        left_out=(*base.left_out, LeftOut(feature="plain", requests=8, kind="fault", why="NameError: x")),
        refused="",
    )
    found = compare(base, broken, margin=0.005)
    assert found.lost == (("plain", 8),)
    assert found.warnings == (
        "LoRA: skipped on both sides: no such option",
        "plain, 8 requests: failed on the candidate: NameError: x",
    )


def test_a_comprehension_is_its_functions_own_work() -> None:
    """A loop that is written as one is told of the function in whose text it stands; a function within is another one."""
    base = counted(phase({"m:f": 100}))
    candidate = counted(phase({"m:f": 101, "m:f.<locals>.<listcomp>.<locals>.<genexpr>": 50, "m:f.<locals>.g": 7}))
    assert {one.name: one.change for one in of(base, candidate).changed} == {"m:f": 51, "m:f.<locals>.g": 7}


def test_a_function_ran_if_it_or_what_is_inside_it_did() -> None:
    """A generator within stands for the function."""
    count = counted(phase({"m:C.run.<locals>.<genexpr>": 1}))
    assert ran([count], ["m:C.run", "m:C.other"]) == {"m:C.run"}


WORK = st.dictionaries(st.sampled_from(NAMES), st.integers(min_value=0, max_value=10**6), max_size=3)


@settings(deadline=None)
@given(WORK, WORK)
def test_changes_of_functions_add_up_to_the_change_of_the_whole(was: dict[str, int], now: dict[str, int]) -> None:
    """No work is lost and none is told twice; a count against itself is identical in every metric."""
    base, candidate = counted(phase(was)), counted(phase(now))
    one = of(base, candidate)
    assert sum(changed.change for changed in one.changed) == one.candidate - one.baseline
    if was == now:
        assert one.verdict == "identical"
    assert {each.verdict for each in compare(base, base, margin=0.005).compared} == {"identical"}
    assert len(compare(base, base, margin=0.005).compared) == len(METRICS) - len(DEVICE)


@settings(deadline=None)
@given(st.integers(min_value=1, max_value=10**7), st.integers(min_value=1, max_value=10**7))
def test_sides_that_change_places_change_the_sign(was: int, now: int) -> None:
    """What is more one way is not more the other way."""
    there, back = (
        of(counted(phase({"m:f": was})), counted(phase({"m:f": now}))),
        of(counted(phase({"m:f": now})), counted(phase({"m:f": was}))),
    )
    assert not (there.verdict == back.verdict == "regressed")
    assert there.changed[0].change == -back.changed[0].change if was != now else there.changed == ()
