"""`KVCacheManager.allocate_slots` of prompts whose beginning comes from elsewhere: a KV connector's store, or another server's prefill."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.kv_cache.arriving import Arriving
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 16, "tokens": 2_048, "external": 1_536, "rounds": 30, "warmup_rounds": 3, "seed": 7}
EXERCISES = ("vllm.v1.core.kv_cache_manager:KVCacheManager.allocate_slots",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a request whose prefix a KV connector has, at its first step, in servers with LMCache, Mooncake or separate prefill"
COUNT_AT = {"requests": 4}


class Allocating(Arriving):
    """Requests of which the first tokens are elsewhere."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        blocks = 4 * parameters["requests"] * (parameters["tokens"] // engine.BLOCK_SIZE + 2)
        super().__init__(parameters, engine.kv_cache_manager(engine.kv_cache_config(blocks)))

    def prepare(self) -> Round:
        self.arrive()
        return self.admit

    def admit(self) -> None:
        external = min(self.parameters["external"], self.parameters["tokens"] - 1)
        for one in self.there:
            self.allocate(one, self.parameters["tokens"] - external, num_external_computed_tokens=external)


def counted_round(parameters: dict[str, Any]) -> Round:
    return Allocating(parameters).prepare()


def test_allocate_external(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Room for prompts that are there already, elsewhere."""
    allocating = Allocating(parameters)
    measure(benchmark, parameters, allocating.prepare, lambda: {"tokens": allocating.allocated})
