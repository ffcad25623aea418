"""Pooling and offline runs on a real vLLM: generated models and data sets of the suite go through vLLM's own commands."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.documents.decode import load_scenario
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import Scenario
from perfproof.run.checks import catalog
from perfproof.run.kinds.offline.offline_runner import OfflineRunner
from perfproof.run.kinds.serve.serve_runner import ServeRunner
from tests.toy import lent

pytestmark = [pytest.mark.vllm, pytest.mark.slow]

POOLING = """
schema: 1
question: Does a pooler that reads token ids go through the whole runner?
workload:
  kind: serve
  model: {{toy: {toy}, layers: 1, hidden: 64, heads: 2, vocabulary: 512, context: 256}}
  server_arguments: [--runner=pooling, --enforce-eager, --max-num-seqs=4]
  dataset:
    template: "<|user|>\\nFind it\\n<|embed|>\\n{{title}} ({{i}})"
    values: {{title: [Attention Is All You Need, Language Models are Few-Shot Learners]}}
  client: {{backend: openai-embeddings, endpoint: /v1/embeddings, custom-output-len: 1, max-concurrency: 4}}
  requests: 8
  launches: shared
arms:
  {baseline}
  as_released: {{environment: {{OMP_WAIT_POLICY: PASSIVE}}}}
metrics: {{request_throughput: {{primary: true}}}}
blocks: 6
"""

OFFLINE = """
schema: 1
question: Does a run without a server go through the whole runner?
workload:
  kind: offline
  bench: throughput
  model: {layers: 1, hidden: 64, heads: 2, vocabulary: 512, context: 256}
  arguments: {dataset-name: random, random-input-len: 8, random-output-len: 8, num-prompts: 8, enforce-eager: true}
arms:
  one: {baseline: true, environment: {OMP_WAIT_POLICY: PASSIVE, VLLM_ENABLE_V1_MULTIPROCESSING: "0"}}
  two: {server_arguments: [--max-num-seqs=4], environment: {OMP_WAIT_POLICY: PASSIVE, VLLM_ENABLE_V1_MULTIPROCESSING: "0"}}
metrics: {request_throughput: {primary: true}}
blocks: 6
"""


def scenario(folder: Path, text: str) -> Scenario:
    (folder / "tiny.yaml").write_text(text)
    return load_scenario(folder / "tiny.yaml", "quick")


def records_of(runner: ServeRunner | OfflineRunner, *, times: int = 1) -> list[Record]:
    """The records of so many blocks of the same prompts, in the order of the arms; whatever the runner keeps alive ends."""
    arms = tuple(arm.name for arm in runner.scenario.arms)
    try:
        runner.check()
        blocks = [Block(scenario=runner.scenario, number=number, order=arms, seed=5) for number in range(1, times + 1)]
        return [record for block in blocks for record in runner.trials(block, arms)]
    finally:
        runner.close()


@pytest.fixture(scope="module")
def reading_build(real_build: ReadyBuild, tmp_path_factory: pytest.TempPathFactory) -> ReadyBuild:
    """The default build with our pandas beside it, which vLLM's client reads custom data sets with.

    A scenario has it by `requirements: [pandas]`; a second build of the same vLLM takes a minute, and shows nothing that `test_release.py`
    does not. The interpreter named in `PERFPROOF_TEST_PYTHON` is taken as it is.
    """
    if not real_build.ours:
        return real_build
    beside = tmp_path_factory.mktemp("beside") / real_build.side.name
    shutil.copytree(real_build.side, beside)
    return replace(real_build, side=lent(beside, "pandas", "python-dateutil", "tzdata"))


def test_a_pooler_that_reads_token_ids_is_measured(reading_build: ReadyBuild, tmp_path: Path) -> None:
    """Prompts that the suite makes are embedded by a generated model; on 0.28.0 the round trip to the device is put back in one arm."""
    older = reading_build.fingerprint.vllm_version.startswith("0.28.0")
    waits = "environment: {OMP_WAIT_POLICY: PASSIVE}"
    patched = "round_trip: {baseline: true, patches: [pooling_device_round_trip]" if older else "also: {baseline: true"
    baseline = f"{patched}, {waits}}}"
    asked = scenario(tmp_path, POOLING.format(toy="gritlm" if older else "splade", baseline=baseline))
    if not older:  # without a patch the two arms are alike: one server answers twice
        asked = replace(asked, arms=asked.arms[:1])
    runner = ServeRunner(asked, {"default": reading_build}, tmp_path / "results", seed=5, watch=catalog.watched(asked), say=print)
    records = records_of(runner, times=1 if older else 2)
    assert {record.status for record in records} == {"ok"}, [record.reason for record in records]
    one, other = records
    assert one.work == other.work
    assert one.work["requests"] == 8
    assert one.measurements["cpu_time_per_request"] > 0
    assert "median_e2el" in one.measurements
    assert "cpu_time_per_token" not in one.measurements
    if older:
        attested = next(record.attestation for record in records if record.arm == "round_trip")
        assert attested is not None
        assert attested.counts["fast pooling_device_round_trip"] > 0


def test_an_offline_block_is_measured_and_attested(real_build: ReadyBuild, tmp_path: Path) -> None:
    """`vllm bench throughput` in a process a trial: both arms count, did the same work, and prove what they ran.

    Engine and worker are no processes of their own here, each of which imports vLLM again; of servers they are.
    """
    asked = scenario(tmp_path, OFFLINE)
    records = records_of(OfflineRunner(asked, {"default": real_build}, tmp_path / "results", seed=5, watch=(), say=print))
    assert {record.status for record in records} == {"ok"}, [record.reason for record in records]
    one, two = records
    assert one.work == two.work == {"requests": 8, "tokens": 8 * 16, "output_tokens": 8 * 8}
    assert one.attestation is not None
    assert one.attestation.runner == "V1"
    assert one.measurements["request_throughput"] > 0
    assert one.measurements["peak_memory"] > 2**28
