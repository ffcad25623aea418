"""`KVCacheManager.get_computed_blocks` for a model with layers of full attention and of a sliding window: both must have the prefix."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.kv_cache.prefix_lookup import Lookup
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"tokens": 8_192, "window": 1_024, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = (
    "vllm.v1.core.kv_cache_manager:KVCacheManager.get_computed_blocks",
    "vllm.v1.core.kv_cache_coordinator:HybridKVCacheCoordinator.find_longest_cache_hit",
)
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"tokens": 4_096}
MEANS = "once a request that is admitted, of models such as Gemma and gpt-oss"


class HybridLookup(Lookup):
    """Two groups of layers."""

    def groups(self, parameters: dict[str, Any]) -> list[Any]:
        return [engine.full_attention(), engine.sliding_window(parameters["window"])]


def counted_round(parameters: dict[str, Any]) -> Round:
    return HybridLookup(parameters).prepare()


def test_hybrid_lookup(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The lookup of a prompt that is partly cached, in two groups."""
    lookup = HybridLookup(parameters)
    measure(benchmark, parameters, lookup.prepare, lambda: {"hit_tokens": lookup.hit})
