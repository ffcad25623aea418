"""Which steps of a wave belong to which phase, and what is timed: of waves that are written down, without an engine."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.child.counting import Tally
from perfproof.child.engine.features import DECODE, ENTERS, OUTPUT, Feature, engines
from perfproof.child.engine.waves import AROUND, Wave, agreed, in_place, odd, outside_of, phases_of, timed

LONG = Feature("long", output=100, positions=(20, 60))


def wave(output: int, prefill: int = 1, requests: int = 4) -> Wave:
    """Requests that have their first token after so many steps, then one a step, and end together."""
    least = [0] * (prefill - 1) + list(range(1, output + 1))
    ended = [0] * (len(least) - 1) + [requests]
    return Wave(least=least, ended=ended, seconds=[float(step) for step in range(len(least))])


@given(st.integers(min_value=1, max_value=9))
def test_phases_follow_the_tokens_whatever_the_prefill_takes(prefill: int) -> None:
    """The step that gives the token of `decode`, the three that end with a new block, the last one."""
    steps = phases_of(wave(OUTPUT, prefill), Feature("any"))
    assert steps == {
        "prefill": range(prefill),
        "finish": range(prefill + OUTPUT - 2, prefill + OUTPUT - 1),
        "decode": range(prefill + DECODE - 2, prefill + DECODE - 1),
        "new block": range(prefill + ENTERS - 4, prefill + ENTERS - 1),
    }


@given(st.integers(min_value=1, max_value=9))
def test_the_steps_of_long_outputs_are_foreseen_by_short_ones(prefill: int) -> None:
    """A wave of the whole length comes to its tokens where a short one said; its phases are all there."""
    steps = phases_of(wave(OUTPUT, prefill), LONG)
    whole = wave(LONG.output, prefill)
    assert list(steps) == ["prefill", "decode at 20", "decode at 60", "finish"]
    assert [whole.least[steps[name].start] for name in ("decode at 20", "decode at 60", "finish")] == [20, 60, 100]
    assert in_place(whole, LONG, steps)


@pytest.mark.parametrize("change", ["later", "longer", "ends early"])
def test_a_long_wave_that_went_another_way_is_not_taken(change: str) -> None:
    """Tokens that came in other steps, or an end that did, make other phases."""
    steps, whole = phases_of(wave(OUTPUT), LONG), wave(LONG.output)
    if change == "later":
        whole.least[59] = 59
    elif change == "longer":
        whole = wave(LONG.output + 1)
    else:
        whole.ended[-2] = 1
    assert not in_place(whole, LONG, steps)


def test_a_pooler_has_one_phase() -> None:
    """All of its steps take prompts."""
    short = dataclasses.replace(wave(1), least=[0, 1], ended=[2, 4])
    assert phases_of(short, Feature("pooler", pools="embed")) == {"prefill": range(2)}


def test_a_single_step_is_timed_by_the_fastest_around_it() -> None:
    """The step itself counts where it ran as fast as the others; where it was counted it does not, nor does a phase that was counted."""
    steps = {"prefill": range(1), "decode": range(30, 31)}
    assert timed(wave(50), steps, counted=False) == {"prefill": 0.0, "decode": 31.0 - AROUND}
    assert timed(wave(50), steps, counted=True) == {"decode": 30.0 - AROUND}


def test_one_wave_has_nothing_odd_and_two_that_differ_have() -> None:
    """What two waves do not agree on is named; a third that agrees with one of them settles it."""
    one, other = (Tally(functions={"m:f": [number, 1, number, 0, 3]}) for number in (5, 6))
    assert (odd([one]), odd([one, other]), odd([one, other, one])) == ([], ["m:f"], [])
    assert agreed([one, other]) is None
    assert agreed([one, other, one]) is one


STEP = {"decode": range(30, 31)}


def looked(*seconds: float, disturbed: bool = False) -> list[Wave]:
    """Waves of 50 steps that all take so many seconds; in the decode step all of them went by in one C function."""
    return [Wave(seconds=[one] * 50, disturbed=[disturbed] * 50, counts={"decode": Tally(outside={"mean": one})}) for one in seconds]


def test_of_profiled_waves_the_fastest_is_taken_where_another_agrees() -> None:
    """A slow one beside them changes nothing."""
    assert outside_of(looked(4.0, 9.0, 4.1), looked(3.0, 2.0, 2.4), STEP) == {"decode": {"mean": 2.0}}


@pytest.mark.parametrize(
    ("alone", "profiled"),
    [
        (looked(4.0, 9.0), looked(2.0, 2.1)),
        (looked(4.0, 4.1), looked(2.0, 2.6)),
        (looked(4.0, 4.1), looked(2.0)),
        (looked(4.0, 4.1, disturbed=True), looked(2.0, 2.1)),
        (looked(4.0, 4.1), looked(2.0, 2.1, disturbed=True)),
        (looked(1.9, 1.9), looked(2.0, 2.0)),
        (looked(4.0, 4.1), []),
    ],
)
def test_times_that_scatter_or_were_interrupted_or_contradict_have_no_share(alone: list[Wave], profiled: list[Wave]) -> None:
    """Waves that do not agree, a step beside which another process ran, more seconds within a step than it has, no waves at all."""
    assert outside_of(alone, profiled, STEP) == {}


def test_features_share_engines_in_the_order_in_which_they_are_asked_for() -> None:
    """An engine whose start is counted serves nothing else, for it was made under the counter."""
    groups = engines(("LoRA", "start and end", "penalties", "plain"))
    assert [[feature.name for feature in group] for group in groups] == [["LoRA"], ["start and end"], ["penalties", "plain"]]
