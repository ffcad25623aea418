"""Arms on different model runners: comparable only where both say which they want; and which keys the runner is part of."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from perfproof.analysis.judging.judge import judge_records, judge_scenario
from perfproof.analysis.trials import model_runners
from perfproof.history.points_from_records import entries_of, workload_of
from perfproof.model.history.point import Point, Setting
from perfproof.model.records.record import Record
from perfproof.model.scenarios import model_runner
from perfproof.model.scenarios.scenario import digest_of
from perfproof.model.verdicts.noise_floor import workload_digest, workload_digests
from perfproof.report.extract import facts
from tests.factory import ATTESTATION, DEFINITION, run

V1, V2 = "V1", "V2"


def definition(**arms: Mapping[str, Any]) -> dict[str, Any]:
    """The factory's definition with a model that is loaded, and with changes laid on its arms."""
    made = {**copy.deepcopy(DEFINITION), "workload": {"kind": "offline", "bench": "latency", "model": {"layers": 2}, "arguments": {}}}
    for name, changes in arms.items():
        made["arms"][name].update(changes)
    return made


def ran(defined: Mapping[str, Any], before: str, after: str, variables: Mapping[str, str] | None = None) -> list[Record]:
    """Six blocks of the definition, each arm on the runner named; `variables` are what every record says that its processes had."""
    of = {"before": before, "after": after}
    return [
        dataclasses.replace(
            one,
            attestation=dataclasses.replace(ATTESTATION, runner=of[one.arm]),
            environment={**one.environment, "variables": dict(variables or {})},
        )
        for one in run([0.04, 0.0401] * 3, [0.02, 0.0201] * 3, definition=defined)
    ]


def verdict(records: list[Record]) -> tuple[str, str]:
    row = next(row for row in judge_scenario("swap_states", records).judged if row.metric == "round_time")
    return str(row.verdict), row.reason


def test_arms_on_different_runners_are_untestable() -> None:
    """Where a release chose another runner for one arm, nothing is judged, and the reason says what to write."""
    outcome, reason = verdict(ran(definition(), V1, V2))
    assert outcome == "untestable"
    assert "before ran on the model runner V1, after on V2, and the arms do not say so" in reason
    assert "'runner: v1'" in reason


@pytest.mark.parametrize(("before", "after"), [(V1, V1), (V2, V2), ("", V2), ("", "")])
def test_arms_on_one_runner_are_judged(before: str, after: str) -> None:
    """Equal runners are no difference, and neither is a runner that is not known."""
    assert verdict(ran(definition(), before, after))[0] == "improved"


@pytest.mark.parametrize(
    "said",
    [
        {"before": {"runner": "v1"}, "after": {"runner": "v2"}},
        {"before": {"runner": "default"}, "after": {"runner": "default"}},
        {"before": {"environment": {model_runner.VARIABLE: "0"}}, "after": {"runner": "v2"}},
    ],
)
def test_arms_that_both_name_their_runner_are_judged(said: Mapping[str, Any]) -> None:
    """Then the runner is part of the question, also as the release's own choice."""
    assert verdict(ran(definition(**said), V1, V2))[0] == "improved"


def test_one_arm_that_names_its_runner_is_not_enough() -> None:
    """The other arm's runner is still an accident of its release and machine."""
    assert verdict(ran(definition(after={"runner": "v2"}), V1, V2))[0] == "untestable"


def test_records_from_when_every_arm_had_its_runner_by_name_are_judged_as_then() -> None:
    """An arm that said nothing ran V1 then, by a variable that its record holds: against an arm that asked for V2 that is a question."""
    old = ran(definition(after={"environment": {model_runner.VARIABLE: "1"}}), V1, V2, {model_runner.VARIABLE: "0"})
    assert verdict(old)[0] == "improved"


def test_trials_of_an_arm_on_two_runners_are_judged_apart() -> None:
    """Two files put together make two groups, of which no block of one is paired with the other."""
    first, second = ran(definition(), V1, V1), ran(definition(), V2, V2)
    moved = [dataclasses.replace(one, block=one.block + 6) for one in second]
    judged = judge_records([*first, *moved])
    assert len(judged) == 2
    assert all(row.verdict == "improved" for one in judged for row in one.judged if row.metric == "round_time")
    assert any("model runner V" in warning for warning in moved_warnings(judged))


def moved_warnings(judged: Any) -> list[str]:
    return [warning for one in judged for row in one.judged for warning in row.warnings]


def test_what_ran_is_read_from_trials_that_count() -> None:
    """Of a failed trial nothing is known."""
    records = ran(definition(), V1, V2)
    failed = [dataclasses.replace(one, status="failed") if one.arm == "after" else one for one in records]
    assert model_runners.seen(records) == {V1, V2}
    assert model_runners.seen(failed) == {V1}
    assert model_runners.seen(failed, "after") == frozenset()


# --- keys ------------------------------------------------------------------------------------------------------


def test_a_noise_floor_of_v1_has_the_key_that_it_had_before() -> None:
    """An A/A from when every arm ran V1 counts on, for V1; a V2 server has a floor of its own."""
    plain = definition()
    settings = {key: value for key, value in plain["arms"]["before"].items() if key not in ("baseline", "build")}
    before = digest_of({"workload": plain["workload"], "build": plain["builds"]["default"], "settings": settings})
    assert workload_digest(plain, "") == workload_digest(plain, V1) == before
    assert workload_digest(plain, V2) != before
    assert workload_digest(definition(before={"runner": "v1"}), V1) == before
    assert workload_digest(definition(before={"runner": "v2"}), V2) == workload_digest(plain, V2)


def test_a_noise_floor_of_an_arm_that_asked_for_v2_has_the_key_that_it_had_before() -> None:
    """Its variable is part of its settings, then as now."""
    asking = definition(before={"environment": {model_runner.VARIABLE: "1"}})
    settings = {key: value for key, value in asking["arms"]["before"].items() if key not in ("baseline", "build")}
    before = digest_of({"workload": asking["workload"], "build": asking["builds"]["default"], "settings": settings})
    assert workload_digest(asking, V2) == before
    assert workload_digest(asking, V1) != before


def test_before_a_run_the_floors_of_each_runner_that_may_run_are_looked_at() -> None:
    """One where the arm names it, else both; afterwards those that ran."""
    plain = definition()
    assert workload_digests(plain) == {workload_digest(plain, V1), workload_digest(plain, V2)}
    assert workload_digests(definition(before={"runner": "v2"})) == {workload_digest(plain, V2)}
    assert workload_digests(plain, {V2}) == {workload_digest(plain, V2)}
    assert workload_digests(plain, {""}) == {workload_digest(plain, "")}


def points(records: list[Record]) -> list[Point]:
    return [one for one in entries_of(records) if isinstance(one, Point)]


def test_a_series_of_v1_goes_on_and_one_of_v2_is_another() -> None:
    """A history that was begun under V1 gets no V2 points into its series."""
    plain = definition()
    old, again, other = (points(ran(plain, *runners)) for runners in (("", ""), (V1, V1), (V2, V2)))
    assert {point.series for point in old} == {point.series for point in again}
    assert not {point.series for point in old} & {point.series for point in other}
    settings = {key: value for key, value in plain["arms"]["before"].items() if key not in ("baseline", "build")}
    assert workload_of(plain, plain["arms"]["before"], V1) == digest_of({"workload": plain["workload"], "settings": settings})


def test_a_point_of_v2_says_so_in_its_setting() -> None:
    """Where a series begins again, the setting beside it names the runner."""
    named = [one.what.get("model runner") for one in entries_of(ran(definition(), V2, V2)) if isinstance(one, Setting)]
    assert "V2" in named


def test_the_runners_are_told_in_the_order_of_the_arms() -> None:
    """Once where all arms ran the same, else arm by arm; as the release's own choice where no variable named one."""
    named = definition(before={"runner": "default"}, after={"runner": "v2"})
    records = [one for one in reversed(ran(named, V1, V2)) if one.arm == "after"] + [
        one for one in ran(named, V1, V2) if one.arm == "before"
    ]
    told = facts.model_runner(records)
    assert told == "model runner of before V1, the release's own choice; of after V2, the release's own choice"
    assert facts.model_runner(ran(definition(), V1, V1, {model_runner.VARIABLE: "0"})) == "model runner V1"
    assert facts.model_runner(ran(definition(), "", "")) == ""
    assert facts.model_runner([]) == ""
