"""`KVCacheManager.get_computed_blocks` and `allocate_slots` of a model with layers that keep a state (Mamba) beside full attention."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.kv_cache.arriving import Arriving
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 16, "tokens": 1_040, "rounds": 30, "warmup_rounds": 3, "seed": 7}
EXERCISES = (
    "vllm.v1.core.single_type_kv_cache_manager:MambaManager.allocate_new_blocks",
    "vllm.v1.core.single_type_kv_cache_manager:MambaManager.get_num_blocks_to_allocate",
)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a request, at its first step, of hybrid models such as Qwen3-Next, Jamba and Nemotron-H"
COUNT_AT = {"requests": 4}
BLOCK = 64
"""Tokens of a state's block; prefixes are hashed in finer blocks."""


class Admitting(Arriving):
    """Requests whose prompts are computed in one step."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        specs = [engine.full_attention(BLOCK), engine.state_space(BLOCK)]
        blocks = 4 * parameters["requests"] * (parameters["tokens"] // BLOCK + 2)
        fine = engine.BLOCK_SIZE
        super().__init__(parameters, engine.kv_cache_manager(engine.kv_cache_config(blocks, specs, fine), hash_block_size=fine))

    def prepare(self) -> Round:
        self.arrive()
        return self.admit

    def admit(self) -> None:
        begins = getattr(self.manager, "new_step_starts", None)
        if begins is not None:
            begins()
        for one in self.there:
            self.manager.get_computed_blocks(one)
            self.allocate(one, self.parameters["tokens"])


def counted_round(parameters: dict[str, Any]) -> Round:
    return Admitting(parameters).prepare()


def test_hybrid_state(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Prompts that come into a hybrid model's cache."""
    admitting = Admitting(parameters)
    measure(benchmark, parameters, admitting.prepare, lambda: {"tokens": admitting.allocated})
