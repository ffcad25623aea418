"""A budget's parts: what is kept for the answer, what counting and waiting may take, and what is begun at all."""

from __future__ import annotations

import copy
import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from perfproof.changes.answer_budget import ANSWER, AnswerBudget, Began
from perfproof.changes.time_estimates import TrialTime, fitting, trial_times
from perfproof.model.documents.decode import scenario_of
from perfproof.model.scenarios.scenario import Scenario
from perfproof.run.host import environment
from tests.factory import DEFINITION, record

MINUTES = st.floats(0.01, 1e4)


@given(MINUTES, st.floats(0, 1e6), st.floats(0, 1e5), st.floats(1, 1e3))
def test_the_parts_of_a_budget_never_exceed_it(minutes: float, spent: float, wanted: float, slowness: float) -> None:
    """Whatever was spent: what is left, what counting may take and what waiting may take end before the budget does."""
    budget = AnswerBudget(minutes=minutes, began=0.0, slowness=slowness, clock=lambda: spent)
    left = budget.left()
    assert left is not None
    assert 0 <= left <= max(0.0, 60 * minutes - min(ANSWER, 15 * minutes) - spent) + 1e-6
    for alone in (False, True):
        counting = budget.counting(alone=alone)()
        assert counting is not None
        assert 0 <= counting <= left
    assert 0 <= budget.waiting(wanted) <= min(wanted, left)


def test_of_a_minute_a_count_that_is_begun_has_all() -> None:
    """What a share of it left would last for no block of a scenario; of more minutes scenarios have a part, unless the machine is slow."""
    minutes = {
        (count, slowness): [
            AnswerBudget(minutes=count, began=0.0, slowness=slowness, clock=lambda: 5.0).counting(alone=alone)() for alone in (False, True)
        ]
        for count, slowness in ((1, 1.0), (3, 1.0), (3, 4.0))
    }
    assert {key: shared == alone for key, (shared, alone) in minutes.items()} == {(1, 1.0): True, (3, 1.0): False, (3, 4.0): True}


def test_a_slow_machine_keeps_more_for_the_answer() -> None:
    """As many times more as the processor was shared, up to a quarter of the budget."""
    left = [AnswerBudget(minutes=3, began=0.0, slowness=slowness, clock=lambda: 0.0).left() for slowness in (1, 5, 9, 99)]
    assert left == [166.8, 160.0, 144.0, 135.0]
    assert Began().slowness() >= 1


def test_without_a_budget_nothing_is_limited() -> None:
    """Counting, measuring and waiting take what they take."""
    budget = AnswerBudget(minutes=None, began=0.0, clock=lambda: 1e9)
    assert (budget.left(), budget.counting(alone=False)(), budget.counting(alone=True)(), budget.waiting(60)) == (None, None, None, 60)


def scenario(name: str, swaps: int = 1) -> Scenario:
    definition = copy.deepcopy(DEFINITION)
    definition["name"], definition["workload"]["parameters"] = name, {"swaps": swaps}
    return dataclasses.replace(scenario_of(definition, source=name), blocks=6)


def test_what_can_not_end_in_time_is_not_begun_and_named() -> None:
    """The first may begin for one block; any other only if all of it fits beside those before."""
    several = [scenario(name) for name in ("a", "b", "c")]
    trials = several[0].most_trials
    times = {name: TrialTime(seconds=seconds, how="measured") for name, seconds in (("a", 1.0), ("b", 10.0), ("c", 2.0))}
    assert fitting(several, times, None) == (tuple(several), ())
    kept, said = fitting(several, times, 3.5 * trials)
    assert [one.name for one in kept] == ["a", "c"]
    assert said == (f"not timed, for the budget: b: it takes about {10 * trials // 60:.0f} min, and {2.5 * trials:.0f} s were left",)
    assert [one.name for one in fitting(several[1:], times, 25.0)[0]] == ["b"], "a block of the first fits"
    kept, said = fitting(several[1:], times, 25.0, beside=True)
    assert [one.name for one in kept] == ["c"], "beside one that was measured, all of it must fit"
    assert said == (f"not timed, for the budget: b: it takes about {10 * trials // 60:.0f} min, and 25 s were left",)
    kept, said = fitting(several[1:2], times, 15.0)
    assert kept == ()
    assert "a block takes about 20 s here (measured), and 15 s were left" in said[0]


def test_minutes_come_from_what_this_machine_has_shown() -> None:
    """The same work here before, for whatever change; of other machines and other work nothing; else a guess, longer where imports are."""
    one = scenario("swap_states", swaps=3)
    here = {**environment.machine()}
    same = dataclasses.replace(record(seconds={"total": 30.0}, environment=here), definition=one.definition)
    other = dataclasses.replace(same, environment={**here, "host": "another"}, seconds={"total": 90.0})
    unlike = dataclasses.replace(same, definition=scenario("swap_states", swaps=4).definition, seconds={"total": 90.0})
    assert trial_times([one], [same, other, unlike]) == {"swap_states": TrialTime(seconds=30.0, how="measured")}
    guessed = trial_times([one], [other, unlike])["swap_states"]
    assert guessed.how == "guessed"
    assert trial_times([one], [], importing=36.0)["swap_states"].seconds == 3.6 * guessed.seconds
    assert trial_times([one], [], importing=4.0)["swap_states"] == guessed
