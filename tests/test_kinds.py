"""Every kind of workload, from its example `tests/model/kinds/<kind>.yaml`: read, planned, run, judged and shown by its traits alone."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from perfproof import planning
from perfproof.analysis.judging.judge import JudgedScenario, judge_records
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.base.yaml_io import read_mapping
from perfproof.model.documents.decode import DEFAULT_BUILD, load_scenario, scenario_of
from perfproof.model.kinds import KINDS, kind_in, kind_named, kind_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import METRICS, metric
from perfproof.model.scenarios.scenario import Scenario
from perfproof.model.verdicts.judged import Outcome
from perfproof.model.workloads.kind import Kind
from perfproof.report import html
from perfproof.report.base.page_model import Page
from perfproof.report.formats import junit, pr_comment, terminal
from perfproof.report.view import build
from perfproof.run.kinds import RUNNERS, runner_of
from perfproof.tracking.released_scenario import with_alternating_rounds
from tests import factory

EXAMPLES = Path(__file__).parent / "model" / "kinds"
EACH = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def definition(kind: Kind, **changes: Any) -> dict[str, Any]:
    data = read_mapping(EXAMPLES / f"{kind.name}.yaml")
    return {**data, "name": kind.name, "profile": "quick", "builds": {"default": dict(DEFAULT_BUILD)}, **changes}


def asked(kind: Kind, **changes: Any) -> Scenario:
    return scenario_of(definition(kind, **changes), source=f"{kind.name}.yaml")


def records(scenario: Scenario) -> list[Record]:
    """Trials whose candidate takes twice as much of every metric; none of them holds an answer."""
    plan = planning.make_plan([scenario], 0)
    return [
        factory.record(
            scenario.definition,
            block=block.number,
            arm=arm,
            order=list(block.order),
            measurements={one.name: (1.0 if arm == scenario.baseline.name else 2.0) + block.number / 1000 for one in scenario.metrics},
            witnesses={one.name: 1.0 if arm == scenario.baseline.name else 2.0 for one in scenario.metrics},
            raw={},
        )
        for block in plan.blocks
        for arm in block.order
    ]


def judged(scenario: Scenario) -> JudgedScenario:
    (found,) = judge_records(records(scenario))
    return found


def page(scenario: Scenario) -> Page:
    return build(judged(scenario).judged, records(scenario), made="today", version="0")


@EACH
def test_arms_take_turns_where_the_kind_says_how(kind: Kind) -> None:
    """The definition says so, and is read again as it was meant; without it nothing is said, as in older records."""
    plain = asked(kind)
    made = with_alternating_rounds(plain)
    assert (made is plain) is not bool(plain.workload.turn_taking_changes)
    assert scenario_of(made.definition, source=made.source).workload == made.workload
    assert not set(plain.workload.turn_taking_changes) & set(plain.definition["workload"])
    on_gpu = dataclasses.replace(plain, device="cuda")
    assert with_alternating_rounds(on_gpu) is on_gpu


@EACH
def test_a_kind_is_found_by_its_name_and_by_what_a_record_keeps(kind: Kind) -> None:
    """The workload, its name and its definition lead to one and the same kind."""
    scenario = asked(kind)
    assert kind_of(scenario.workload) is kind_named(kind.name) is kind_in(scenario.definition) is kind


def test_a_kind_that_there_is_not_is_none() -> None:
    """What a record says is anything: an unknown kind, no text, no workload at all lead to none, and to no exception."""
    assert [kind_named(name) for name in ("brew", "", None, 3, ["micro"])] == [None] * 5
    assert [kind_in(said) for said in ({}, {"workload": None}, {"workload": {}}, {"workload": {"kind": {}}})] == [None] * 4


def test_no_two_kinds_have_one_name() -> None:
    """A name leads to one kind, and to one runner at most."""
    assert len({kind.name for kind in KINDS}) == len({kind.document for kind in KINDS}) == len(KINDS)
    assert len({runner.kind.name for runner in RUNNERS}) == len(RUNNERS)


@EACH
def test_what_a_record_keeps_of_a_workload_is_that_workload(kind: Kind) -> None:
    """The definition gives the same noun and digest again, without reading any file."""
    scenario = asked(kind)
    again = scenario_of(scenario.definition, source="a record")
    assert (again.workload, again.digest, again.definition) == (scenario.workload, scenario.digest, scenario.definition)


@EACH
def test_a_file_may_ask_a_kind_or_is_told_why_not(kind: Kind) -> None:
    """The example is a scenario file; a kind that no file may ask says so."""
    file = EXAMPLES / f"{kind.name}.yaml"
    if kind.not_by_file:
        with pytest.raises(BadInput, match="not from a file"):
            load_scenario(file, "quick")
    else:
        assert load_scenario(file, "quick").workload == asked(kind).workload


@EACH
def test_an_unknown_key_of_a_workload_is_told_with_its_place(kind: Kind) -> None:
    """The document of every kind refuses what it does not know."""
    with pytest.raises(BadInput, match=r"workload\.nonsense: unknown key"):
        asked(kind, workload={**definition(kind)["workload"], "nonsense": 1})


@EACH
def test_what_means_nothing_to_a_kind_is_refused_in_an_arm(kind: Kind) -> None:
    """Each key of an arm that does not apply is told by the arm and the kind."""
    said: dict[str, Any] = {"server_arguments": ["--x"], "client": {"n": 1}, "patches": ["swap_states_full_rows"], "runner": "v1"}
    for key in kind.inapplicable:
        first, second = definition(kind)["arms"]
        with pytest.raises(BadInput, match=f"arms.{second}.{key}: a workload of kind '{kind.name}' has none"):
            asked(kind, arms={first: {"baseline": True}, second: {key: said[key]}})


@EACH
def test_a_kind_measures_what_its_example_asks(kind: Kind) -> None:
    """The metrics that a kind can leave are those of the registry; the example's are among them, and some are not."""
    assert all(kind.measures(choice.name) for choice in asked(kind).metrics)
    assert not all(kind.measures(name) for name in METRICS)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.own_metrics and not kind.not_by_file], ids=lambda kind: kind.name)
def test_a_metric_that_a_kind_does_not_measure_is_refused(kind: Kind, tmp_path: Path) -> None:
    """It would be waited for in vain; what the kind measures is told."""
    odd = next(name for name in METRICS if not kind.measures(name))
    text = (EXAMPLES / f"{kind.name}.yaml").read_text()
    (tmp_path / "odd.yaml").write_text(text[: text.index("\nmetrics:") + 1] + f"metrics: {{{odd}: {{primary: true}}}}\n")
    with pytest.raises(BadInput, match=f"metrics.{odd}: a workload of kind '{kind.name}' does not measure it"):
        load_scenario(tmp_path / "odd.yaml", "quick")


@EACH
def test_a_kind_is_planned(kind: Kind) -> None:
    """Its first block has every arm, there are as many trials as the scenario says, and a time is told before any has run."""
    scenario = asked(kind)
    plan = planning.make_plan([scenario], 0)
    assert sorted(plan.blocks[0].order) == sorted(arm.name for arm in scenario.arms)
    assert len(plan.blocks) == scenario.most_blocks
    assert sum(len(block.order) for block in plan.blocks) == scenario.most_trials
    (estimate,) = planning.estimates(plan, [], [], "a machine")
    assert estimate.minutes > 0
    assert estimate.power.sentences


@EACH
def test_a_kind_has_a_runner_if_a_file_may_ask_it(kind: Kind) -> None:
    """The runner finds no fault in the example; what no plan runs is refused."""
    if kind.not_by_file:
        with pytest.raises(CannotRun, match=kind.name):
            runner_of(asked(kind))
    else:
        runner = runner_of(asked(kind))
        assert runner.kind is kind
        assert runner.faults(asked(kind)) == []


@EACH
def test_a_kind_is_judged(kind: Kind) -> None:
    """A candidate that takes twice as much is worse or better, as the metric says; answers that are not there are untestable."""
    scenario = asked(kind)
    rows = [row for row in judged(scenario).judged if row.primary]
    better = {True: Outcome.REGRESSED, False: Outcome.IMPROVED}
    wanted = [Outcome.UNTESTABLE if kind.of_answers else better[metric(one.name).better == "lower"] for one in scenario.primaries]
    assert [row.verdict for row in rows] == wanted


@EACH
def test_a_kind_is_shown_in_every_form(kind: Kind) -> None:
    """What was run is told in words, on the page, in the terminal, in a pull request and for CI."""
    scenario = asked(kind)
    shown = page(scenario)
    assert kind.describe(scenario.definition["workload"]) in shown.scenarios[0].ran
    assert kind.name in terminal.text(shown)
    assert scenario.question in html.render(shown)
    assert kind.name in pr_comment.render(shown)
    assert kind.name in junit.render(shown)


@EACH
def test_arguments_that_a_workload_holds_are_told_by_their_keys(kind: Kind) -> None:
    """Words and flags of vLLM's commands, which are checked by their place in the file, are keys of the document."""
    workload = asked(kind).workload
    assert {*workload.vllm_words, *workload.vllm_flags} <= set(kind.document.model_fields)
