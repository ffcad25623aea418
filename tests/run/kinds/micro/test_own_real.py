"""A benchmark and a patch of the user's own, by path, on a real vLLM."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perfproof.builds.install import own_patch_folders
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.documents.decode import scenario_of
from perfproof.model.scenarios.plan import Block
from perfproof.run.checks import catalog
from perfproof.run.checks.own_patch_targets import find_targets
from perfproof.run.kinds.micro.micro_runner import RUNNER
from perfproof.run.trials.runner import Opening

pytestmark = pytest.mark.vllm

BENCH = """
import pytest
from helper import half
from vllm.v1.core.block_pool import BlockPool

@pytest.mark.parametrize("blocks", [64, 256])
def test_allocate(benchmark, blocks):
    pool = BlockPool(num_gpu_blocks=blocks, enable_caching=True, hash_block_size=16)

    def allocate():
        pool.free_blocks(pool.get_new_blocks(half(blocks)))

    benchmark.pedantic(allocate, rounds=20, warmup_rounds=1)
"""
PAGE = Path(__file__).resolve().parents[4] / "docs" / "patches.md"
GET = "vllm.v1.core.block_pool:BlockPool.get_new_blocks"


def test_a_benchmark_and_a_patch_by_path_are_measured_and_proved(real_build: ReadyBuild, tmp_path: Path) -> None:
    """Each test is a case, every arm counts what the plugin of docs/patches.md replaces, and the patched arm does more Python work."""
    _, patch = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    for name, text in (("bench/bench_pool.py", BENCH), ("bench/helper.py", "half = lambda n: n // 2"), ("patch/fast_schedule.py", patch)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    definition = {
        "schema": 1,
        "name": "pool",
        "profile": "quick",
        "question": "What does a wrapper cost?",
        "workload": {"kind": "micro", "bench": "bench/bench_pool.py"},
        "builds": {"default": {"kind": "python", "path": str(real_build.interpreter)}},
        "arms": {"plain": {"baseline": True}, "patched": {"patches": [{"path": "patch/fast_schedule.py"}]}},
        "metrics": {"round_time@test_allocate[64]": {"primary": True}},
    }
    scenario = scenario_of(definition, source="pool.yaml", folder=tmp_path)
    ready = {scenario.builds["default"].key: real_build}
    own_patch_folders.lay_out(scenario.arms[0].own_patches[0], real_build.side.parent)
    find_targets(scenario, ready)
    assert catalog.targets_of(scenario.arms) == (GET,)
    runner = RUNNER.open([scenario], Opening(ready=ready, results=tmp_path / "results", seed=0, say=print))
    try:
        runner.check()
        names = ("plain", "patched")
        plain, patched = runner.trials(Block(scenario=scenario, number=1, order=names, seed=0), names)
    finally:
        runner.close()
    assert (plain.status, patched.status) == ("ok", "ok"), (plain.reason, patched.reason)
    assert set(plain.measurements) == {"round_time@test_allocate[64]", "round_time@test_allocate[256]"}
    assert plain.attestation is not None
    assert patched.attestation is not None
    assert plain.attestation.counts[f"calls {GET}"] == patched.attestation.counts[f"calls {GET}"] == 42
    assert list(patched.attestation.patches["fast_schedule"]["targets"]) == [GET]
    calls = [sum(row[1] for row in one.counts["test_allocate[256]"]["functions"].values()) for one in (plain, patched)]
    assert calls[0] < calls[1]
