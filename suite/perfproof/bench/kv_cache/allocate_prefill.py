"""`KVCacheManager.allocate_slots` for a whole prompt of which nothing is cached: its blocks are taken, and cached for others."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.kv_cache.filled import Filled
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"tokens": 8_192, "rounds": 30, "warmup_rounds": 3, "seed": 7}
EXERCISES = (
    "vllm.v1.core.kv_cache_manager:KVCacheManager.allocate_slots",
    "vllm.v1.core.block_pool:BlockPool.get_new_blocks",
    "vllm.v1.core.block_pool:BlockPool.cache_full_blocks",
)
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"tokens": 4_096}
MEANS = "once a request, at its first step; a prompt that is computed in chunks has its share at each of them"


class Prompts:
    """The cache holds two prompts: the blocks that a round takes were cached for an earlier one, and are evicted."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.tokens, self.seed = parameters["tokens"], parameters["seed"]
        self.filled = Filled(2 * (self.tokens // engine.BLOCK_SIZE + 2), max_model_len=self.tokens + 64)
        self.held: Any = None
        self.blocks = 0
        for _ in range(2):
            self.filled.manager.free(self.filled.computed(self._new()))

    def _new(self) -> Any:
        return self.filled.request(engine.token_ids(self.tokens, self.seed + self.filled.made))

    def prepare(self) -> Round:
        if self.held is not None:
            self.filled.manager.free(self.held)
        self.held = self._new()
        return self.allocate

    def allocate(self) -> None:
        self.blocks += len(self.filled.manager.allocate_slots(self.held, self.tokens).blocks[0])


def counted_round(parameters: dict[str, Any]) -> Round:
    return Prompts(parameters).prepare()


def test_allocate_prefill(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The slots of a prompt."""
    prompts = Prompts(parameters)
    measure(benchmark, parameters, prompts.prepare, lambda: {"blocks": prompts.blocks})
