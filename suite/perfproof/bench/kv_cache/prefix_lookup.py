"""`KVCacheManager.get_computed_blocks` for a prompt whose beginning is cached: the longest cached prefix is found block by block."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.kv_cache.filled import Filled
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"tokens": 8_192, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = ("vllm.v1.core.kv_cache_manager:KVCacheManager.get_computed_blocks",)
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"tokens": 4_096}
MEANS = "once a request that is admitted, and again at every step in which it still has to wait for blocks"


class Lookup:
    """Three quarters of the prompt are cached, and a rest that is not."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        tokens, seed = parameters["tokens"], parameters["seed"]
        prompt = engine.token_ids(tokens, seed)
        self.filled = Filled(4 * (tokens // engine.BLOCK_SIZE + 2), max_model_len=tokens + 64, specs=self.groups(parameters))
        cached = self.filled.computed(self.filled.request(prompt[: 3 * tokens // 4]))
        self.filled.manager.free(cached)
        self.request = self.filled.request(prompt)
        self.hit = 0

    def groups(self, parameters: dict[str, Any]) -> list[Any]:
        """The groups of layers; one of full attention."""
        return [engine.full_attention()]

    def prepare(self) -> Round:
        return self.look_up

    def look_up(self) -> None:
        self.hit += self.filled.looked_up(self.request)[1]


def counted_round(parameters: dict[str, Any]) -> Round:
    return Lookup(parameters).prepare()


def test_prefix_lookup(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The lookup of a prompt that is partly cached."""
    lookup = Lookup(parameters)
    measure(benchmark, parameters, lookup.prepare, lambda: {"hit_tokens": lookup.hit})
