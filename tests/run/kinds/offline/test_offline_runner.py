"""Offline workloads: what is said to vLLM's command, what its files become, and what is refused before anything is made."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.kinds.offline import OfflineWorkload
from perfproof.model.scenarios.metrics import METRICS
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import Scenario, ToyModel
from perfproof.run.host import gpus
from perfproof.run.kinds.offline import offline_runner
from perfproof.run.kinds.offline.offline_result import latency_fault, made_by, read_latency, read_throughput, throughput_fault
from perfproof.run.kinds.offline.offline_runner import OfflineRunner, arguments_for, raised, scenario_faults
from perfproof.run.servers.launch_spec import ModelAt
from tests import toy

MODEL = ToyModel(layers=1, hidden=64, heads=2, vocabulary=10_240, context=256)
AT = ModelAt(name="toy", folder=Path("/models"), arguments=("--load-format=dummy",), offline=True)


def workload(bench: str = "latency", arguments: Mapping[str, Any] | None = None, model: ToyModel = MODEL) -> OfflineWorkload:
    return OfflineWorkload(bench=bench, model=model, arguments=arguments or {})  # type: ignore[arg-type]


def scenario(work: OfflineWorkload, *server: str) -> Scenario:
    arms = toy.arm("plain"), dataclasses.replace(toy.arm("other"), server_arguments=server)
    return dataclasses.replace(toy.scenario(Path("python"), *arms), workload=work, source="off.yaml")


def test_latencies_become_their_median_and_the_work_done() -> None:
    """One value a batch is kept; the median is the metric, tokens and batches are what the arms must share."""
    found = read_latency({"latencies": [2.0, 1.0, 6.0]}, workload(arguments={"batch-size": 4, "output-len": 10}), "quick")
    assert found.measurements == {"batch_latency": 2.0, "output_throughput": 120 / 9, "duration": 9.0}
    assert found.work == {"batches": 3, "output_tokens": 120}
    assert set(found.measurements) <= set(METRICS)
    assert found.warnings == ()
    twice = read_latency({"latencies": [2.0]}, workload(arguments={"batch-size": 4, "output-len": 10, "n": 2}), "quick")
    assert twice.work == {"batches": 1, "output_tokens": 80}


def test_throughput_becomes_rates_and_a_short_run_is_reported() -> None:
    """Requests and tokens a second; standard asks for half a minute."""
    said = {"elapsed_time": 4.0, "num_requests": 8, "total_num_tokens": 80, "requests_per_second": 2.0, "tokens_per_second": 20.0}
    found = read_throughput(said, workload("throughput"), "standard")
    assert found.measurements == {"request_throughput": 2.0, "total_token_throughput": 20.0, "duration": 4.0}
    assert found.work == {"requests": 8, "tokens": 80}
    assert found.warnings == ("measured for 4.0 s only; standard needs 30 s: raise 'num-prompts'",)


LATENCIES = {"latencies": [2.0, 1.0, 6.0]}


@given(st.integers(1, 300), st.integers(0, 20), st.integers(-50, 50))
def test_a_latency_run_of_too_few_steps_made_shorter_outputs(length: int, warm_ups: int, more: int) -> None:
    """An output takes a step a token: fewer steps than tokens are a fault, more are not, nor are none that were counted."""
    work = workload(arguments={"output-len": length, "num-iters-warmup": warm_ups})
    found = read_latency(LATENCIES, work, "quick")
    steps = max(1, (3 + warm_ups) * length + more)
    assert bool(latency_fault(found, work, [], steps)) == (steps < (3 + warm_ups) * length)
    assert latency_fault(found, work, [], 0) == latency_fault(found, work, ["--speculative-config={}"], 1) == ""
    asked = workload(arguments={"output-len": length, "num-iters": 4})
    assert latency_fault(found, asked, [], 10**6) == "3 batches were measured, not the 4 asked for"


@given(st.integers(1, 50), st.integers(1, 300), st.sampled_from(["random", "prefix_repetition"]), st.integers(0, 15_000))
def test_a_throughput_run_makes_just_the_tokens_asked_for(requests: int, length: int, dataset: str, made: int) -> None:
    """Where one length is asked for, any other number of tokens is a fault; where lengths are the data set's, fewer tokens than outputs."""
    said = {"elapsed_time": 4.0, "num_requests": requests, "total_num_tokens": 80, "requests_per_second": 2.0, "tokens_per_second": 20.0}
    flag = {"random": "random-output-len", "prefix_repetition": "prefix-repetition-output-len"}[dataset]
    fixed = workload("throughput", {"dataset-name": dataset, flag: length, "num-prompts": requests})
    found = read_throughput(said, fixed, "quick")
    assert throughput_fault(found, fixed, requests * length) == throughput_fault(found, fixed, None) == ""
    assert bool(throughput_fault(found, fixed, made)) == (made != requests * length)
    drawn = workload("throughput", {"dataset-name": "sharegpt", "dataset-path": "x.json"})
    assert bool(throughput_fault(found, drawn, made)) == (made < requests)
    more = workload("throughput", {"num-prompts": requests + 1})
    assert throughput_fault(found, more, None) == f"{requests} requests were measured, not the {requests + 1} asked for"


def test_the_tokens_of_a_throughput_run_are_read_from_what_it_printed() -> None:
    """The last count counts; without one nothing is known."""
    assert made_by("Total num output tokens:  7\nTotal num prompt tokens:  3\nTotal num output tokens:  320\n") == 320
    assert made_by("") is None


class Parser:
    """A client that takes the flags that its build knows, all if `known` is None; without an answer, if there is no build to ask."""

    def __init__(self, known: str | None, asked: list[str]) -> None:
        self.known, self.asked = known, asked

    def fault(self, words: list[str], bench: str) -> str:
        if self.known is None:
            raise CannotRun("vLLM does not import there")
        self.asked.append(self.known)
        return "" if words[-1] == self.known else f"no such flag: {words[-1]}"

    def close(self) -> None:
        """Nothing."""


@pytest.mark.parametrize(("known", "told"), [("--newer", []), ("--gone", ["off.yaml: arms.other: no such flag: --newer"]), (None, [])])
def test_each_arm_is_asked_of_its_own_build_s_parser(
    known: str | None, told: list[str], toy_build: ReadyBuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flag that only the candidate's vLLM knows is no fault; a candidate's build that can't be asked is left to its trials."""
    asked: list[str] = []
    plain, other = scenario(workload(arguments={"old": True}), "--newer").arms
    made = dataclasses.replace(scenario(workload(arguments={"old": True})), arms=(plain, dataclasses.replace(other, build="newer")))
    made = dataclasses.replace(made, builds={**made.builds, "newer": made.builds["default"]})
    newer = dataclasses.replace(toy_build, id="newer")
    runner = OfflineRunner(made, {"default": toy_build, "newer": newer}, tmp_path, seed=0, watch=(), say=print)
    monkeypatch.setattr(offline_runner, "parser_of", lambda build, *_: Parser(known if build is newer else "--old", asked))
    try:
        with pytest.raises(BadInput) if told else contextlib.nullcontext() as caught:
            runner.check()
    finally:
        runner.close()
    assert list(caught.value.faults if caught else []) == told
    assert asked == ["--old", *([known] if known else [])]


def test_an_arms_own_flags_come_last_and_the_prefix_cache_is_off() -> None:
    """The arm's words win over the workload's; the cache is off unless either speaks of it."""
    arm = dataclasses.replace(toy.arm("plain"), server_arguments=("--max-num-seqs=4",))
    words = arguments_for(workload(arguments={"batch-size": 2, "enforce-eager": True}), arm, AT, seed=3, result=Path("r.json"))
    assert words[:3] == ["--model=toy", "--seed=3", "--output-json=r.json"]
    assert words[-3:] == ["--batch-size=2", "--enforce-eager", "--max-num-seqs=4"]
    assert "--no-enable-prefix-caching" in words
    spoken = arguments_for(workload(arguments={"enable-prefix-caching": True}), arm, AT, seed=3, result=Path("r.json"))
    assert "--no-enable-prefix-caching" not in spoken


@pytest.mark.parametrize(
    ("work", "server", "told"),
    [
        (workload(arguments={"seed": 1}), (), "workload.arguments.seed: is set by the suite"),
        (workload(), ("--output-json=x",), "arms.other.server_arguments: --output-json is set by the suite"),
        (
            workload(),
            ("--output-len", "64"),
            "arms.other.server_arguments: --output-len changes the work, which must be the same in all arms: set it",
        ),
        (workload(), ("--batch_size=64",), "arms.other.server_arguments: --batch-size changes the work"),
        (workload("throughput"), ("--random-o=64",), "arms.other.server_arguments: --random-output-len changes the work"),
        (workload("throughput"), ("--num-prom=64",), "arms.other.server_arguments: --num-prompts changes the work"),
        (workload(), ("--see=3",), "arms.other.server_arguments: --seed is set by the suite"),
        (workload(model=dataclasses.replace(MODEL, vocabulary=512)), (), "workload.model.vocabulary: the latency benchmark uses ids"),
        (workload(model=dataclasses.replace(MODEL, toy="splade")), (), "workload.model.toy: a splade generates nothing"),
    ],
)
def test_what_can_not_be_measured_is_refused(work: OfflineWorkload, server: tuple[str, ...], told: str) -> None:
    """Each fault is reported with its place, before anything is made."""
    faults = scenario_faults(scenario(work, *server))
    assert len(faults) == 1
    assert faults[0].startswith(f"off.yaml: {told}")


def test_the_exception_that_ended_a_run_is_found_behind_what_the_engine_says() -> None:
    """The last line of a log is the engine's farewell; the cause stands before it, with or without the process's name."""
    log = "Traceback\nValueError: first\n(EngineCore pid=7) vllm.x.OddError: no more blocks\n(EngineCore pid=7) INFO done\n"
    assert raised(log) == "vllm.x.OddError: no more blocks"
    assert raised("INFO all is well\n") == ""


def kept(before: object) -> float:
    raise gpus.MemoryKept("8192 MiB were not given back")


def test_a_trial_is_one_run_and_a_file_of_another_kind_fails_that_trial_alone(
    toy_build: ReadyBuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What vLLM wrote is measured; where it is not what is known, the record says so, and the other arm's trial still runs.

    Memory that a GPU keeps from a trial before is not the arm's fault.
    """
    asked = scenario(workload(arguments={"batch-size": 2, "output-len": 4}), "--fake=other file")
    runner = OfflineRunner(asked, {"default": toy_build}, tmp_path, seed=1, watch=(), say=print)
    block = Block(scenario=asked, number=1, order=("other", "plain"), seed=1)
    other, plain = runner.trials(block, block.order)
    assert (other.status, other.measurements) == ("failed", {})
    assert other.reason == "the file of 'vllm bench latency' can't be read: KeyError: 'latencies'"
    assert (tmp_path / other.log).is_file()
    assert plain.status == "ok", plain.reason
    assert plain.measurements["batch_latency"] == 2.0
    assert plain.work == {"batches": 2, "output_tokens": 16}
    assert {"looks", "watching"} <= set(plain.environment["while_measuring"])
    short = scenario(workload(arguments={"batch-size": 2, "output-len": 4}), "--fake=short")
    ended = OfflineRunner(short, {"default": toy_build}, tmp_path / "short", seed=1, watch=(), say=print)
    early, _ = ended.trials(Block(scenario=short, number=1, order=("other", "plain"), seed=1), ("other", "plain"))
    assert (early.status, early.reason) == (
        "invalid",
        "the engine took 12 steps, but outputs of 4 tokens take 48: the outputs were shorter than asked for",
    )
    ended.close()
    monkeypatch.setattr(gpus, "wait_free", kept)
    assert [(each.status, each.reason) for each in runner.trials(block, block.order)] == [("invalid", "8192 MiB were not given back")] * 2
    runner.close()
    assert not (tmp_path / ".running").exists()
