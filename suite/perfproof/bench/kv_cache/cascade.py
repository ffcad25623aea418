"""`KVCacheManager.get_num_common_prefix_blocks`: how much of the prompt all running requests share, which decides on cascade attention."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.kv_cache.filled import Filled
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 64, "shared_tokens": 4_096, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = ("vllm.v1.core.kv_cache_manager:KVCacheManager.get_num_common_prefix_blocks",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step where requests share a prompt; 0.32.0 has no cascade attention any more, and answers without looking"


class Sharing:
    """All requests hold the blocks of one long prompt, and some of their own."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        count, shared, seed = parameters["requests"], parameters["shared_tokens"], parameters["seed"]
        prompt = engine.token_ids(shared, seed)
        self.filled = Filled(shared // engine.BLOCK_SIZE + 8 * count + 64, max_model_len=shared + 256)
        own = (engine.token_ids(40, seed + 1 + n) for n in range(count))
        self.requests = [self.filled.computed(self.filled.request(prompt + one)) for one in own]
        self.asked = 0

    def prepare(self) -> Round:
        return self.ask

    def ask(self) -> None:
        self.filled.manager.get_num_common_prefix_blocks(self.requests[0].request_id)
        self.asked += 1


def counted_round(parameters: dict[str, Any]) -> Round:
    return Sharing(parameters).prepare()


def test_cascade(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The question whether they share their prompt."""
    sharing = Sharing(parameters)
    measure(benchmark, parameters, sharing.prepare, lambda: {"asked": sharing.asked})
