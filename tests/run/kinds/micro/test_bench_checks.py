"""What a microbenchmark's scenario gets wrong, reported before anything runs."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from perfproof.model.documents.decode import load_scenario
from perfproof.model.kinds import kind_of
from perfproof.model.scenarios.scenario import PROFILES, MetricChoice, Scenario
from perfproof.run.checks import catalog
from perfproof.run.kinds.micro.bench_checks import bench_faults
from tests import toy
from tests.run.checks.test_catalog import scenario


def faults(made: Scenario) -> list[str]:
    """All that is wrong with a scenario as far as its file and those of benchmarks and patches tell."""
    return [*bench_faults(made), *catalog.faults(made)]


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (scenario(bench="swap_state"), "toy.yaml: workload.bench: unknown bench 'swap_state', did you mean swap_states?"),
        (scenario(requestz=8), "toy.yaml: workload.parameters: unknown parameter 'requestz', did you mean requests?"),
        (scenario(requests="many"), "workload.parameters.requests: expected an integer such as 512, got 'many'"),
        (scenario(cases=({}, {"swapz": 1})), "workload.cases.1: unknown parameter 'swapz', did you mean swaps?"),
        (
            scenario(toy.arm("plain", "swap_states_full")),
            "arms.plain.patches: unknown patch 'swap_states_full', did you mean swap_states_full_rows",
        ),
    ],
)
def test_an_unknown_name_is_reported_with_the_near_ones(made: Scenario, words: str) -> None:
    """A benchmark, parameter or patch that is not there is reported with its place in the file and the nearest names."""
    (fault,) = faults(made)
    assert words in fault


@pytest.mark.parametrize(
    ("cases", "words"),
    [
        (({},), "metrics.round_time@swaps=7: the workload has no cases"),
        (
            ({"swaps": 8}, {"swaps": 9, "requests": 16}),
            "metrics.round_time@swaps=7: no such case; the cases are swaps=8; swaps=9,requests=16",
        ),
        (({"swaps": 8}, {"swaps": 7}), ""),
    ],
)
def test_a_metric_of_a_case_that_is_not_there_is_refused(cases: tuple[dict[str, Any], ...], words: str) -> None:
    """A metric may name one of the workload's cases; any other is refused, with the cases that exist."""
    choice = MetricChoice(name="round_time@swaps=7", primary=True, margin=0.02)
    found = faults(dataclasses.replace(scenario(cases=cases), metrics=(choice,)))
    assert found == ([f"toy.yaml: {words}"] if words else [])


def asking(metric: str, *cases: dict[str, Any], bench: str = "swap_states") -> Scenario:
    choice = MetricChoice(name=metric, primary=True, margin=0.02)
    return dataclasses.replace(scenario(bench=bench, cases=cases or ({},)), metrics=(choice,))


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (scenario(rounds=0), "toy.yaml: workload.parameters.rounds: expected 1 or more, such as 5, got 0"),
        (scenario(cases=({"swaps": 1}, {"swaps": -1})), "toy.yaml: workload.cases.1.swaps: expected 1 or more, such as 1000, got -1"),
        (scenario(requests=1), "toy.yaml: workload.parameters.requests: expected 2 or more, such as 512, got 1"),
        (scenario(reorders=-1), "toy.yaml: workload.parameters.reorders: expected 0 or more, such as 0, got -1"),
        (scenario(seed=-1), "toy.yaml: workload.parameters.seed: expected 0 or more, such as 7, got -1"),
        (scenario(warmup_rounds=0, seed=0, reorders=0), ""),
        (asking("feed_time@output_length=0", {"output_length": 0}, {"frequency_penalty": -2}, bench="penalties"), ""),
    ],
)
def test_a_size_that_cannot_work_is_refused_before_anything_runs(made: Scenario, words: str) -> None:
    """Integers whose default is positive must be positive, others no less than 0, but where the benchmark itself says how small."""
    assert faults(made) == ([words] if words else [])


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (scenario(bench="sampler_copy", dtype="float99"), "parameters.dtype: expected 'bfloat16' or 'float16' or 'float32', got 'float99'"),
        (scenario(bench="sampler_copy", call="nosuch"), "parameters.call: expected 'sample' or 'apply_sampling_params', got 'nosuch'"),
        (
            scenario(bench="pooling_token_ids", cases=({"pooler": "gritlm"}, {"pooler": "mean"})),
            "cases.1.pooler: expected 'splade' or 'bos_eos' or 'gritlm', got 'mean'",
        ),
        (scenario(bench="penalties", device="gpu"), "parameters.device: expected 'cpu' or 'cuda', got 'gpu'"),
        (scenario(bench="penalties", device=0), "parameters.device: expected a text such as 'cpu', got 0"),
        (scenario(bench="sampler_copy", dtype="float32", call="apply_sampling_params"), ""),
    ],
)
def test_a_text_that_cannot_work_is_refused_before_anything_runs(made: Scenario, words: str) -> None:
    """A text that the benchmark knows nothing of is reported with its place in the file and the texts that there are."""
    assert faults(made) == ([f"toy.yaml: workload.{words}"] if words else [])


def test_the_size_of_a_counted_round_is_one_that_the_benchmark_takes() -> None:
    """An unknown parameter, or a size that is none, is refused; counts may be asked for."""
    plain = scenario()
    workload = dataclasses.replace(plain.workload, count_at={"swap": 2, "requests": 1})  # type: ignore[call-arg]
    asked = (
        MetricChoice(name="python_instructions", primary=True, margin=0.005),
        MetricChoice(name="round_time", primary=False, margin=0.02),
    )
    found = faults(dataclasses.replace(plain, workload=workload, metrics=asked))
    assert [fault.partition("workload.")[2].partition(",")[0] for fault in found] == [
        "count_at: unknown parameter 'swap'",
        "count_at.requests: expected 2 or more",
    ]


def test_a_metric_of_no_case_is_refused_where_every_value_has_one() -> None:
    """With cases a metric without one would never have a value; how to write it is reported. An empty case is the one without a name."""
    (fault,) = faults(asking("round_time", {"requests": 64}, {"requests": 128}))
    assert fault == "toy.yaml: metrics.round_time: with cases write round_time@requests=64 or round_time@requests=128"
    assert faults(asking("round_time", {}, {"requests": 64})) == []


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (asking("tokens_compared_per_step"), "tokens_compared_per_step: the benchmark swap_states does not measure it; it measures"),
        (
            asking("output_throughput"),
            "output_throughput: the benchmark swap_states does not measure it; it measures round_time, bytes_per_swap",
        ),
        (asking("apply_time"), "apply_time: the benchmark swap_states does not measure it; it measures round_time, bytes_per_swap"),
        (asking("round_time", bench="penalties"), "the benchmark penalties does not measure it; it measures feed_time, apply_time, list_"),
        (asking("feed_time@batch=8", {"batch": 8}), "metrics.feed_time@batch=8: the benchmark swap_states does not measure it"),
    ],
)
def test_a_metric_that_the_benchmark_does_not_measure_is_refused(made: Scenario, words: str) -> None:
    """A time or a count of another benchmark is refused with those that this one has."""
    assert any(words in fault for fault in faults(made))


def test_every_scenario_of_the_project_asks_what_its_benchmark_leaves() -> None:
    """No scenario file asks, in any profile, for a parameter, case or metric that there is not."""
    for file in sorted((Path(__file__).resolve().parents[4] / "scenarios").glob("*.yaml")):
        for profile in PROFILES:
            made = load_scenario(file, profile)
            if kind_of(made.workload).own_metrics:
                assert faults(made) == [], file


def test_all_faults_are_reported_at_once() -> None:
    """A scenario with three faults has three sentences."""
    assert len(faults(scenario(toy.arm("plain", "a"), toy.arm("patched", "b"), nonsense=1))) == 3
