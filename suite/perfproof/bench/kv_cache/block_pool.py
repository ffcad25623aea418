"""`BlockPool.get_new_blocks` out of a pool in which every free block is cached, so that each is evicted, and `free_blocks` of them."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.kv_cache.filled import Filled
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"blocks": 1_024, "rounds": 30, "warmup_rounds": 3, "seed": 7}
EXERCISES = (
    "vllm.v1.core.block_pool:BlockPool.get_new_blocks",
    "vllm.v1.core.block_pool:BlockPool.free_blocks",
    "vllm.v1.core.block_pool:BlockPool._maybe_evict_cached_block",
)
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"blocks": 512}
MEANS = "some blocks at every step of a server that has run for a while; thousands when a long prompt comes or goes"


class Pool:
    """A pool that is filled with cached blocks before each round."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.count, self.seed = parameters["blocks"], parameters["seed"]
        tokens = self.count * engine.BLOCK_SIZE
        self.filled = Filled(self.count + 1, max_model_len=tokens + 64)
        self.pool = self.filled.manager.block_pool
        self.prompts = [engine.token_ids(tokens, self.seed + n) for n in range(2)]
        self.taken: list[Any] = []
        self.evicted = 0

    def prepare(self) -> Round:
        self.evicted += sum(block.block_hash is None for block in self.taken)
        request = self.filled.computed(self.filled.request(self.prompts[self.filled.made % 2]))
        self.filled.manager.free(request)
        return self.take_and_free

    def take_and_free(self) -> None:
        self.taken = self.pool.get_new_blocks(self.count)
        self.pool.free_blocks(self.taken)


def counted_round(parameters: dict[str, Any]) -> Round:
    return Pool(parameters).prepare()


def test_block_pool(benchmark: Any, parameters: dict[str, Any]) -> None:
    """All blocks of a pool, taken and given back."""
    pool = Pool(parameters)
    measure(benchmark, parameters, pool.prepare, lambda: {"evicted": pool.evicted})
