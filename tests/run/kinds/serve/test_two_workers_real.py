"""A model spread over two workers, on a real vLLM: both prove what they ran, and nothing is left of them, however they end.

On a host with two GPUs all of it runs there (`PERFPROOF_TEST_PYTHON=/path/to/python`, which has a CUDA vLLM), and the memory of both
GPUs must be free again. `PERFPROOF_TWO_WORKERS=1` has it run on a CPU, where workers talk over gloo, in minutes.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.documents.decode import load_scenario
from perfproof.model.records.record import Record
from perfproof.model.scenarios.scenario import Scenario
from perfproof.planning import make_plan
from perfproof.run.checks import catalog
from perfproof.run.host import gpus
from perfproof.run.kinds.serve.serve_runner import ServeRunner
from perfproof.run.processes import attestation

pytestmark = [pytest.mark.vllm, pytest.mark.slow]

SCENARIO = """
schema: 1
question: Do two workers prove what they ran?
workload:
  kind: serve
  model: {layers: 1, hidden: 128, heads: 2, vocabulary: 256, context: 256}
  server_arguments: [--enforce-eager, --max-num-seqs=4, SPREAD]
  client: {backend: vllm, random-input-len: 8, random-output-len: 24, presence-penalty: 1.0}
  requests: 4
  warmups: 4
  launches: shared
arms:
  as_released: {baseline: true, runner: v1, environment: ENVIRONMENT}
  incremental: {runner: v1, patches: [penalties_incremental], environment: ENVIRONMENT}
metrics: {output_throughput: {primary: true}}
blocks: 6
"""
ON_CPU = '{OMP_WAIT_POLICY: PASSIVE, OMP_NUM_THREADS: "1", VLLM_CPU_OMP_THREADS_BIND: nobind}'
ON_GPUS = '{NCCL_NVLS_ENABLE: "0", TORCH_SYMM_MEM_DISABLE_MULTICAST: "1", NVSHMEM_DISABLE_NVLS: "1", VLLM_ALLREDUCE_USE_SYMM_MEM: "0"}'
GONE = 90.0
"""Seconds after which nothing may be left."""


@pytest.fixture(autouse=True)
def _two_gpus_or_a_cpu(served_build: ReadyBuild) -> None:
    on_cpu = served_build.fingerprint.device == "cpu"
    if not on_cpu and len(gpus.uuids()) < 2:
        pytest.skip("needs two GPUs, or a CPU build")
    if on_cpu and "PERFPROOF_TWO_WORKERS" not in os.environ:
        pytest.skip("takes minutes on a CPU: PERFPROOF_TWO_WORKERS=1 has it run there")


def scenario(build: ReadyBuild, folder: Path, spread: str, launches: str = "shared") -> Scenario:
    """The scenario of two arms' servers, each of two workers."""
    on_gpus = build.fingerprint.device != "cpu"
    spread += ", --gpu-memory-utilization=0.2, --kv-cache-memory-bytes=1073741824" if on_gpus else ""
    text = SCENARIO.replace("SPREAD", spread).replace("ENVIRONMENT", ON_GPUS if on_gpus else ON_CPU).replace("shared", launches)
    (folder / "tiny.yaml").write_text(text)
    return load_scenario(folder / "tiny.yaml", "quick")


def runner_of(made: Scenario, build: ReadyBuild, results: Path) -> ServeRunner:
    return ServeRunner(made, {"default": build}, results, seed=5, watch=catalog.watched(made), say=print)


def block_of(made: Scenario, runner: ServeRunner, arms: tuple[str, ...], number: int = 1) -> dict[str, Record]:
    block = make_plan([made], 5).blocks[number - 1]
    return {record.arm: record for record in runner.trials(block, [name for name in block.order if name in arms])}


def workers_in(folder: Path) -> list[int]:
    """The processes that attest below a folder and have executed steps of a model."""
    files = list(folder.rglob("*.counts"))
    return [int(file.stem) for file in files if attestation.workers_of([attestation.read_counts(file)])]


def wait_until(what: Callable[[], bool], seconds: float = GONE) -> bool:
    ends = time.monotonic() + seconds
    while not what() and time.monotonic() < ends:
        time.sleep(0.2)
    return what()


def alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]


@pytest.fixture
def nothing_left() -> Iterator[None]:
    """The memory of every GPU is free again after the test."""
    before = gpus.used()
    yield
    gpus.wait_free(before, GONE)


@pytest.mark.parametrize("spread", ["--tensor-parallel-size=2", "--data-parallel-size=2"])
def test_both_workers_prove_what_they_ran(served_build: ReadyBuild, tmp_path: Path, nothing_left: None, spread: str) -> None:
    """The arm attests two workers, with their own steps, and its patch in both."""
    made = scenario(served_build, tmp_path, spread, "fresh")
    runner = runner_of(made, served_build, tmp_path / "results")
    try:
        one = block_of(made, runner, ("incremental",))["incremental"]
    finally:
        runner.close()
    assert one.status == "ok", one.reason
    assert one.attestation is not None
    assert len(one.attestation.workers) == 2
    assert min(one.attestation.workers) > 0
    assert one.attestation.counts["fast penalties_incremental"] > 0
    assert one.environment["server_counted"]["engine_steps"] == sum(one.attestation.workers) // (2 if "tensor" in spread else 1)


def test_a_worker_that_is_killed_leaves_nothing_and_spoils_no_later_trial(
    served_build: ReadyBuild, tmp_path: Path, nothing_left: None
) -> None:
    """After `kill -9` of one of two workers its server ends whole; the next trial has a new one, says so, and counts."""
    made = scenario(served_build, tmp_path, "--tensor-parallel-size=2")
    runner = runner_of(made, served_build, tmp_path / "results")
    try:
        first = block_of(made, runner, ("as_released",))["as_released"]
        assert first.status == "ok", first.reason
        assert runner._servers is not None
        server = runner._servers.ready(made.baseline)[0]
        pids, workers = [process.pid for process in server.processes()], workers_in(server.launch.attest)
        assert len(workers) == 2
        assert set(workers) <= set(pids)
        os.kill(workers[0], signal.SIGKILL)
        assert wait_until(lambda: not server.whole)
        second = block_of(made, runner, ("as_released",), number=2)["as_released"]
        assert second.status == "ok", second.reason
        assert any("had ended between trials and was launched again" in warning for warning in second.warnings)
        assert wait_until(lambda: not alive(pids))
    finally:
        runner.close()


def test_nothing_of_two_workers_outlives_their_launcher(served_build: ReadyBuild, tmp_path: Path, nothing_left: None) -> None:
    """After `kill -9` of the process that runs the trials, API server, engine and both workers are gone."""
    launcher = multiprocessing.get_context("fork").Process(target=_measure, args=(served_build, tmp_path))
    launcher.start()
    assert launcher.pid is not None
    assert wait_until(lambda: len(workers_in(tmp_path / "results")) >= 2, 600.0)
    pids = [process.pid for process in psutil.Process(launcher.pid).children(recursive=True)]
    assert set(workers_in(tmp_path / "results")) <= set(pids)
    os.kill(launcher.pid, signal.SIGKILL)
    launcher.join()
    assert wait_until(lambda: not alive(pids)), alive(pids)


def _measure(build: ReadyBuild, folder: Path) -> None:
    made = scenario(build, folder, "--tensor-parallel-size=2", "fresh")
    runner = runner_of(made, build, folder / "results")
    for number in range(1, 7):
        block_of(made, runner, ("as_released",), number)
