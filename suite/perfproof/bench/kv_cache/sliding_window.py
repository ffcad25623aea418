"""`KVCacheManager.allocate_slots` of requests that decode past a sliding window: blocks that leave it are freed, new ones taken."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.kv_cache.allocate_decode import Decoding
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 64, "prompt_tokens": 512, "window": 256, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = (
    "vllm.v1.core.kv_cache_manager:KVCacheManager.allocate_slots",
    "vllm.v1.core.single_type_kv_cache_manager:SingleTypeKVCacheManager.remove_skipped_blocks",
)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step, within `schedule`, of models with sliding-window layers; it comes on top of the full-attention group's share"


class Sliding(Decoding):
    """Two groups of layers."""

    def groups(self, parameters: dict[str, Any]) -> list[Any]:
        return [engine.full_attention(), engine.sliding_window(parameters["window"])]


def counted_round(parameters: dict[str, Any]) -> Round:
    return Sliding(parameters).prepare()


def test_sliding_window(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The slots of a step's new tokens, in two groups."""
    sliding = Sliding(parameters)
    measure(benchmark, parameters, sliding.prepare, lambda: {"blocks": sliding.blocks, "requests": len(sliding.requests)})
