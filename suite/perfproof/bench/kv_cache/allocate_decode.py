"""`KVCacheManager.allocate_slots` for one more token of each request that decodes, as one step does."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.kv_cache.filled import Filled
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 128, "prompt_tokens": 512, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = ("vllm.v1.core.kv_cache_manager:KVCacheManager.allocate_slots",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step, within `schedule`: the larger part of what a decoding request costs the scheduler"


class Decoding:
    """Requests at different places within their last block, each a token further at every round."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        count, prompt, seed = parameters["requests"], parameters["prompt_tokens"], parameters["seed"]
        room = prompt + engine.BLOCK_SIZE + parameters["rounds"] + parameters["warmup_rounds"]
        groups = self.groups(parameters)
        self.filled = Filled(len(groups) * count * (room // engine.BLOCK_SIZE + 2), max_model_len=room + 64, specs=groups)
        prompts = (engine.token_ids(prompt + n % engine.BLOCK_SIZE, seed + n) for n in range(count))
        self.requests = [self.filled.computed(self.filled.request(one)) for one in prompts]
        self.blocks = 0

    def groups(self, parameters: dict[str, Any]) -> list[Any]:
        """The groups of layers; one of full attention."""
        return [engine.full_attention()]

    def prepare(self) -> Round:
        for one in self.requests:
            one.num_computed_tokens = one.num_tokens
            one.append_output_token_ids(7)
        return self.allocate

    def allocate(self) -> None:
        allocate = self.filled.manager.allocate_slots
        for one in self.requests:
            self.blocks += sum(map(len, allocate(one, 1).blocks))


def counted_round(parameters: dict[str, Any]) -> Round:
    return Decoding(parameters).prepare()


def test_allocate_decode(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The slots of a step's new tokens."""
    decoding = Decoding(parameters)
    measure(benchmark, parameters, decoding.prepare, lambda: {"blocks": decoding.blocks, "requests": len(decoding.requests)})
