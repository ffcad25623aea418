"""A `Request` is made of a prompt's token ids, and its blocks are hashed: what the engine does first with what arrives."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"tokens": 32_768, "rounds": 15, "warmup_rounds": 2, "seed": 7}
EXERCISES = ("vllm.v1.request:Request.__init__", "vllm.v1.core.kv_cache_utils:hash_block_tokens")
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"tokens": 4_096}
MEANS = "once a request, in the engine's process; no step begins meanwhile"


class Arriving:
    """The same prompt again and again; nothing of it is kept."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.prompt = engine.token_ids(parameters["tokens"], parameters["seed"])
        engine.block_hasher()
        self.hashed = 0

    def prepare(self) -> Round:
        make = engine.request_maker("arriving", self.prompt)

        def arrive() -> None:
            self.hashed += len(make().block_hashes)

        return arrive


def counted_round(parameters: dict[str, Any]) -> Round:
    return Arriving(parameters).prepare()


def test_hash_request(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A long prompt arrives."""
    arriving = Arriving(parameters)
    measure(benchmark, parameters, arriving.prepare, lambda: {"blocks": arriving.hashed})
