"""Engines that are counted: what a counting process left becomes a record's numbers, and a real vLLM is counted, judged and shown."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from perfproof.analysis.judging.judge import judge_records
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.commands import counted_scenarios
from perfproof.model.documents.decode import scenario_of
from perfproof.model.kinds.engine import case_feature, case_of
from perfproof.model.records.count_tables import OURS, told_of
from perfproof.model.records.counts import METRICS
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import Scenario
from perfproof.model.verdicts.judged import Outcome
from perfproof.run.kinds.engine.engine_result import calls_of, result_of
from perfproof.run.kinds.engine.engine_runner import EngineRunner, scenario_faults
from tests.analysis.counts.test_count_comparison import counted, phase
from tests.run.conftest import served_build as served_build


def scenario(build: ReadyBuild | None = None, **arm: object) -> Scenario:
    """The same build twice, 8 plain requests."""
    path = str(build.interpreter) if build else "python"
    definition = {
        "schema": 1,
        "name": "host_cost",
        "question": "Does it cost more?",
        "profile": "quick",
        "workload": {"kind": "engine", "features": ["plain"], "requests": [8], "timed": False},
        "builds": {"default": {"kind": "python", "path": path}},
        "arms": {"before": {"baseline": True}, "after": arm},
        "metrics": {"python_instructions": {"primary": True, "margin": 0.005}, "c_calls": {"margin": 0.005}},
    }
    return scenario_of(definition, source="host_cost.yaml")


def test_a_case_names_phase_feature_and_size() -> None:
    """A phase may have a comma in it; what is no case has no feature."""
    assert case_feature(case_of("decode at 1,024", "long outputs", 8)) == "long outputs"
    assert [case_feature(text) for text in ("", "decode, plain", "a, b, 3 tokens")] == ["", "", ""]


def test_the_numbers_leave_out_what_is_the_suite_s_own_and_what_is_odd() -> None:
    """A wrapper that counts calls is no work of vLLM's; a name on which the waves disagree is in no number, and told."""
    work = phase({"m:f": 100, "m:odd": 7, f"{OURS}_counted.<locals>.counted": 50}, odd=("m:odd",))
    found = result_of(counted(work), {"python_instructions"})
    assert found.witnesses == {"python_instructions@decode, plain, 8 requests": 100.0}
    assert found.told["odd"] == {"decode, plain, 8 requests": ["m:odd"]}
    assert (found.tokens, dict(calls_of(counted(work), ["m:f", "m:g"]))) == (3, {"m:f": 1})


def test_every_metric_can_be_asked_and_other_functions_have_another_digest() -> None:
    """All of the registry's counts of an engine; the same sum by other functions shows."""
    one, other = (result_of(counted(phase({name: 100})), METRICS.keys()) for name in ("m:f", "m:g"))
    assert {name.partition("@")[0] for name in one.witnesses} == set(METRICS)
    assert one.witnesses == other.witnesses
    assert one.told["functions"] != other.told["functions"]
    assert one.told["outputs"] == other.told["outputs"]


def test_what_counting_sets_no_arm_may_set() -> None:
    """Told by arm and variable."""
    (fault,) = scenario_faults(scenario(environment={"PYTHONHASHSEED": "3", "MINE": "1"}))
    assert fault == "host_cost.yaml: arms.after.environment.PYTHONHASHSEED: counting sets it itself; leave it out"


def test_a_workload_that_is_counted_once_is_not_timed() -> None:
    """Of the case alone, and without times; a definition from before that key has the digest that it had."""
    asked = scenario().workload
    assert asked.counted_once("decode, plain, 8 requests") == {"features": ["plain"], "requests": [8], "timed": False}
    assert asked.counted_once("decode, plain, 9 requests") == {}
    timed = scenario_of({**scenario().definition, "workload": {"kind": "engine", "features": ["plain"], "timed": True}}, source="x.yaml")
    assert "timed" not in timed.definition["workload"]


@pytest.mark.vllm
@pytest.mark.slow
def test_a_real_engine_is_counted_attested_judged_and_shown(served_build: ReadyBuild, tmp_path: Path) -> None:
    """The same build twice is identical in every count; the record proves what ran, and its table is read back by function."""
    asked = scenario(served_build)
    runner = EngineRunner(asked, {"default": served_build}, tmp_path, seed=0, watch=(), say=lambda text: None)
    block = Block(scenario=asked, number=1, order=("before", "after"), seed=1)
    try:
        records = list(runner.trials(block, ("before", "after")))
    finally:
        runner.close()
    assert [(record.status, record.reason) for record in records] == [("ok", "")] * 2
    attested = records[0].attestation
    assert attested is not None
    assert attested.runner == "V1"
    (found,) = judge_records(records)
    assert found.stop == "all counts are identical"
    assert {row.verdict for row in found.judged} == {Outcome.IDENTICAL}
    assert {row.metric for row in found.judged} >= {f"python_instructions@{part}, plain, 8 requests" for part in ("decode", "finish")}
    ((title, document),), lost = counted_scenarios.documents(tmp_path, records)
    assert (title, lost) == ("host_cost", [])
    assert {entry["verdict"] for entry in document["comparisons"]} == {"identical"}
    assert len(str(told_of(records[0]))) < 30_000
    altered = [dataclasses.replace(one, environment={**one.environment, "engine": {"table": {"file": "x"}}}) for one in records]
    assert counted_scenarios.documents(tmp_path, altered)[0] == []
