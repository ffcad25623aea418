"""`KVCacheManager.allocate_slots` for prompts whose beginning is cached: the cached blocks are kept from eviction, the rest is new."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.kv_cache.filled import Filled
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"tokens": 8_192, "rounds": 30, "warmup_rounds": 3, "seed": 7}
EXERCISES = ("vllm.v1.core.kv_cache_manager:KVCacheManager.allocate_slots", "vllm.v1.core.block_pool:BlockPool.touch")
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"tokens": 4_096}
MEANS = "once a request with a known system prompt or chat history, at its first step, behind the lookup"


class Hits:
    """One prompt again and again; its last 64 tokens are never cached."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.tokens, self.seed = parameters["tokens"], parameters["seed"]
        self.shared = engine.token_ids(self.tokens, self.seed)
        rounds = parameters["rounds"] + parameters["warmup_rounds"]
        self.filled = Filled(self.tokens // engine.BLOCK_SIZE + 8 * rounds + 64, max_model_len=self.tokens + 128)
        self.held: Any = self.filled.computed(self.filled.request(self.shared))
        self.blocks = 0

    def prepare(self) -> Round:
        self.filled.manager.free(self.held)
        self.held = self.filled.request(self.shared + engine.token_ids(64, self.seed + 1 + self.filled.made))
        cached, hit = self.filled.looked_up(self.held)
        allocate, request, new = self.filled.manager.allocate_slots, self.held, self.held.num_tokens - hit

        def take() -> None:
            self.blocks += len(allocate(request, new, hit, cached).blocks[0])

        return take


def counted_round(parameters: dict[str, Any]) -> Round:
    return Hits(parameters).prepare()


def test_allocate_hits(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The slots of a prompt that is cached but for its end."""
    hits = Hits(parameters)
    measure(benchmark, parameters, hits.prepare, lambda: {"blocks": hits.blocks})
