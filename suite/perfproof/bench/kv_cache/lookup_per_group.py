"""`find_longest_cache_hit_per_group` of a hybrid model: how long the cached prefix of each group of layers is, by itself."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.adapter import absent
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"tokens": 4_096, "rounds": 30, "warmup_rounds": 3, "seed": 7}
EXERCISES = ("vllm.v1.core.kv_cache_coordinator:HybridKVCacheCoordinator.find_longest_cache_hit_per_group",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a request that is admitted, of hybrid models whose server has a KV connector"
COUNT_AT = {"tokens": 1_024}


class Looking:
    """A prompt that is cached, looked up again and again."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        tokens = parameters["tokens"]
        specs = [engine.full_attention(), engine.sliding_window(1_024)]
        self.manager = engine.kv_cache_manager(engine.kv_cache_config(4 * (tokens // engine.BLOCK_SIZE + 2), specs))
        if not hasattr(self.manager.coordinator, "find_longest_cache_hit_per_group"):
            absent("lookup by group")
        ids = engine.token_ids(tokens, parameters["seed"])
        first = engine.request("first", ids)
        self.manager.allocate_slots(first, tokens)
        self.again = engine.request("again", ids)
        self.found = 0

    def prepare(self) -> Round:
        return self.look

    def look(self) -> None:
        _, lengths = self.manager.coordinator.find_longest_cache_hit_per_group(self.again.block_hashes, self.again.num_tokens - 1)
        self.found += sum(lengths)


def counted_round(parameters: dict[str, Any]) -> Round:
    return Looking(parameters).prepare()


def test_lookup_per_group(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The cached prefix of each group."""
    looking = Looking(parameters)
    measure(benchmark, parameters, looking.prepare, lambda: {"tokens": looking.found})
