"""`KVCacheManager.free` of requests that end: their blocks go back to the pool and stay cached."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.kv_cache.filled import Filled
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 32, "tokens": 2_048, "rounds": 20, "warmup_rounds": 2, "seed": 7}
EXERCISES = ("vllm.v1.core.kv_cache_manager:KVCacheManager.free", "vllm.v1.core.block_pool:BlockPool.free_blocks")
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"requests": 8}
MEANS = "once a request, when it ends or is preempted; it grows with what the request has cached"


class Ending:
    """The same prompts again and again; after the first round they are found in the cache."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        count, tokens = parameters["requests"], parameters["tokens"]
        self.prompts = [engine.token_ids(tokens, parameters["seed"] + n) for n in range(count)]
        self.filled = Filled(2 * count * (tokens // engine.BLOCK_SIZE + 2), max_model_len=tokens + 64)
        self.freed = 0

    def prepare(self) -> Round:
        requests = [self.filled.computed(self.filled.request(prompt)) for prompt in self.prompts]

        def free() -> None:
            before = self.filled.manager.block_pool.get_num_free_blocks()
            for one in requests:
                self.filled.manager.free(one)
            self.freed += self.filled.manager.block_pool.get_num_free_blocks() - before

        return free


def counted_round(parameters: dict[str, Any]) -> Round:
    return Ending(parameters).prepare()


def test_free(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Requests that end at the same step."""
    ending = Ending(parameters)
    measure(benchmark, parameters, ending.prepare, lambda: {"freed": ending.freed})
