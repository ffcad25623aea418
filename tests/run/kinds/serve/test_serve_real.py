"""The serve runner on a real vLLM: the smallest run that shows that nothing of the stand-in was wished for."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.documents.decode import load_scenario
from perfproof.model.scenarios.plan import Block
from perfproof.planning import make_plan
from perfproof.run.checks import catalog
from perfproof.run.kinds.serve.serve_runner import ServeRunner

pytestmark = [pytest.mark.vllm, pytest.mark.slow]

SCENARIO = """
schema: 1
name: tiny
question: Does a real server go through the whole runner?
workload:
  kind: serve
  model: {layers: 1, hidden: 64, heads: 2, vocabulary: 256, context: 256}
  server_arguments: [--enforce-eager, --max-num-seqs=4]
  client: {backend: vllm, random-input-len: 8, random-output-len: 24, presence-penalty: 1.0}
  requests: 4
  warmups: 4
arms:
  as_released: {baseline: true, environment: {OMP_WAIT_POLICY: PASSIVE}}
  incremental: {patches: [penalties_incremental], environment: {OMP_WAIT_POLICY: PASSIVE}}
metrics: {output_throughput: {primary: true}}
blocks: 6
"""


def test_a_real_block_is_measured_and_attested(served_build: ReadyBuild, tmp_path: Path) -> None:
    """Real server and client, two arms: both count, did the same work, and prove from the inside what they ran."""
    (tmp_path / "tiny.yaml").write_text(SCENARIO)
    scenario = load_scenario(tmp_path / "tiny.yaml", "quick")
    block: Block = make_plan([scenario], 5).blocks[0]
    runner = ServeRunner(
        scenario,
        {"default": served_build},
        tmp_path / "results",
        seed=5,
        watch=catalog.watched(scenario),
        say=lambda message: print(message),
    )
    try:
        records = {record.arm: record for record in runner.trials(block, block.order)}
    finally:
        runner.close()
    plain, patched = records["as_released"], records["incremental"]
    assert (plain.status, patched.status) == ("ok", "ok"), (plain.reason, patched.reason)
    assert plain.work == patched.work
    assert plain.work["output_tokens"] == 4 * 24
    assert plain.work["server_generation_tokens"] == 2 * 4 * 24
    assert plain.work["server_prefix_cache_hits"] == 0
    assert plain.attestation is not None
    assert patched.attestation is not None
    assert plain.attestation.runner == patched.attestation.runner == "V1"
    assert patched.attestation.counts["fast penalties_incremental"] > 0
    assert not any(name.startswith("fast") for name in plain.attestation.counts)
    assert plain.measurements["cpu_time_per_token"] > 0
    assert plain.measurements["peak_memory"] > 2**28
