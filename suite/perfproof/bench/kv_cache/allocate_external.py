"""`KVCacheManager.allocate_slots` of prompts whose beginning comes from elsewhere: a KV connector's store, or another server's prefill."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.adapter import absent
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 16, "tokens": 2_048, "external": 1_536, "rounds": 30, "warmup_rounds": 3, "seed": 7}
EXERCISES = ("vllm.v1.core.kv_cache_manager:KVCacheManager.allocate_slots",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a request whose prefix a KV connector has, at its first step, in servers with LMCache, Mooncake or separate prefill"
COUNT_AT = {"requests": 4}


class Allocating:
    """Each round has requests of its own; those of the round before end."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parameters = parameters
        blocks = 4 * parameters["requests"] * (parameters["tokens"] // engine.BLOCK_SIZE + 2)
        self.manager = engine.kv_cache_manager(engine.kv_cache_config(blocks))
        self.there: list[Any] = []
        self.made = self.allocated = 0

    def prepare(self) -> Round:
        for one in self.there:
            self.manager.free(one)
        self.there = []
        for _ in range(self.parameters["requests"]):
            self.made += 1
            ids = engine.token_ids(self.parameters["tokens"], self.parameters["seed"] + self.made)
            self.there.append(engine.request(f"r{self.made}", ids))
        return self.allocate

    def allocate(self) -> None:
        external = min(self.parameters["external"], self.parameters["tokens"] - 1)
        for one in self.there:
            new = self.parameters["tokens"] - external
            if self.manager.allocate_slots(one, new, num_external_computed_tokens=external) is None:
                absent("room for such a prompt")
            self.allocated += new


def counted_round(parameters: dict[str, Any]) -> Round:
    return Allocating(parameters).prepare()


def test_allocate_external(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Room for prompts that are there already, elsewhere."""
    allocating = Allocating(parameters)
    measure(benchmark, parameters, allocating.prepare, lambda: {"tokens": allocating.allocated})
