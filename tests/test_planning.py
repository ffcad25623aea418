"""What a plan says of a serving scenario before it runs: its minutes, its warm-ups, and trials that were too short."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from perfproof.model.documents.decode import load_scenario
from perfproof.model.records.record import Record
from perfproof.model.scenarios.scenario import PROFILES
from perfproof.model.verdicts.noise_floor import workload_digest
from perfproof.planning import estimates, make_plan
from tests import factory
from tests.report.factory import floor

SERVE = """
schema: 1
question: How long?
workload: {{kind: serve, model: {{layers: 1}}, requests: 8, {more}}}
arms: {{a: {{baseline: true}}, b: {{}}}}
metrics: {{output_throughput: {{primary: true}}}}
blocks: 6
"""


def told(folder: Path, more: str, *records: Record) -> tuple[float, tuple[str, ...]]:
    """Minutes and sentences of the plan of a scenario in the standard profile, with records of it."""
    (folder / "serving.yaml").write_text(SERVE.format(more=more))
    scenario = load_scenario(folder / "serving.yaml", "standard")
    mine = [dataclasses.replace(record, scenario="serving", digest=scenario.digest) for record in records]
    (estimate,) = estimates(make_plan([scenario], 0), mine, [], "machine")
    return estimate.minutes, estimate.power.sentences


def test_a_server_of_its_own_is_part_of_a_trial(tmp_path: Path) -> None:
    """Before anything was measured a fresh launch is guessed at; afterwards its start counts, as a shared one's does not."""
    assert told(tmp_path, "launches: shared")[0] * 60 == 12 * 40
    assert told(tmp_path, "launches: fresh")[0] * 60 == 12 * 100
    assert told(tmp_path, "launches: blockwise")[0] * 60 == 12 * 70, "both arms' servers start together"
    record = dataclasses.replace(factory.record(), seconds={"total": 20.0, "server starts": 30.0})
    assert told(tmp_path, "launches: fresh", dataclasses.replace(record, how="fresh server"))[0] * 60 == 12 * 50
    assert told(tmp_path, "launches: shared", dataclasses.replace(record, how="shared server"))[0] * 60 == 12 * 20
    later = dataclasses.replace(record, how="blockwise server", arm="candidate", seconds={"total": 20.0})
    first = dataclasses.replace(record, how="blockwise server")
    assert told(tmp_path, "launches: blockwise", first, later)[0] * 60 == 12 * 35, "one of two arms waits for the block's servers"


def test_the_minutes_of_a_plan_are_those_of_its_a_a_until_a_run_has_measured_its_own() -> None:
    """The A/A of this machine has shown how long a block takes: nothing is guessed beside that."""
    path = Path(__file__).parents[1] / "scenarios" / "swap_states.yaml"
    scenario = load_scenario(path, "quick")
    seen = floor(factory.record(), workload=workload_digest(scenario.definition, ""), minutes_per_block=0.2)
    plan = make_plan([scenario], 0)
    (guessed,) = estimates(plan, [], [seen], "another machine")
    assert (guessed.minutes * 60, guessed.source) == (12 * 8, "12 trials, guessed at 8.0 s each")
    (known,) = estimates(plan, [], [seen], seen.machine)
    assert known.source == "12 trials, measured in an A/A at 6.0 s each"
    assert known.minutes == pytest.approx(6 * 0.2)
    (look,) = known.power.looks["round_time"]
    assert look.minutes == pytest.approx(known.minutes)
    record = dataclasses.replace(factory.record(), scenario="swap_states", digest=scenario.digest, seconds={"total": 30.0})
    assert estimates(plan, [record], [seen], seen.machine)[0].source == "12 trials, measured at 30.0 s each"


def test_scenarios_whose_servers_stay_up_come_last_and_one_after_another(tmp_path: Path) -> None:
    """What leaves nothing up shares its rounds; beside servers that stay nothing else is measured, and one scenario's are up at a time."""
    scenarios = []
    for name, launches in (("one", "shared"), ("two", "fresh"), ("three", "blockwise"), ("four", "fresh")):
        (tmp_path / f"{name}.yaml").write_text(SERVE.format(more=f"launches: {launches}"))
        scenarios.append(load_scenario(tmp_path / f"{name}.yaml", "quick"))
    names = [block.scenario.name for block in make_plan(scenarios, 0).blocks]
    assert [{*names[place : place + 2]} for place in range(0, 12, 2)] == [{"two", "four"}] * 6
    assert names[12:] == ["one"] * 6 + ["three"] * 6


def test_warm_ups_below_a_wave_are_told_before_the_run(tmp_path: Path) -> None:
    """Left out, they are a full wave, and nothing is said."""
    assert not any("warm-ups" in sentence for sentence in told(tmp_path, "launches: fresh")[1])
    few = told(tmp_path, "warmups: 3")[1]
    assert any("3 warm-ups are less than one wave: 8 requests run at once" in sentence for sentence in few)
    assert not any("warm-ups" in sentence for sentence in told(tmp_path, "warmups: 3, client: {max-concurrency: 2}")[1])
    assert not any("warm-ups" in sentence for sentence in told(tmp_path, "warmups: 3, client: {request-rate: 40}")[1])


def test_trials_that_were_too_short_are_told_with_the_requests_that_would_do(tmp_path: Path) -> None:
    """Ten seconds where standard asks for thirty: three times as many."""
    record = dataclasses.replace(factory.record(), seconds={"total": 20.0, "measuring": 10.0})
    sentences = told(tmp_path, "", record)[1]
    assert any("measured for 10.0 s; standard needs 30 s: longer outputs, or 'requests: 24'" in one for one in sentences)


def test_the_floor_of_the_serving_a_a_counts_for_what_is_run_after_it() -> None:
    """The A/A, the patch and the known slowdown share workload and baseline: one noise floor serves all three."""
    folder = Path(__file__).parents[1] / "scenarios"
    names = ("serve_penalties_cpu_same", "serve_penalties_cpu", "serve_known_slowdown_cpu")
    for profile in PROFILES:
        assert len({workload_digest(load_scenario(folder / f"{name}.yaml", profile).definition, "") for name in names}) == 1
