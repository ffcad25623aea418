"""`hash_block_tokens` for each block of a prompt, one after the other: the hash by which a prefix is found."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"tokens": 32_768, "algorithm": "sha256", "rounds": 15, "warmup_rounds": 2, "seed": 7}
CHOICES = {"algorithm": ("sha256", "sha256_cbor")}
EXERCISES = ("vllm.v1.core.kv_cache_utils:hash_block_tokens",)
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"tokens": 4_096}
MEANS = "once a request, when it arrives and before anything is scheduled: at 131,072 tokens the engine does nothing else for that long"


class Blocks:
    """The token ids of a prompt, cut into blocks."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        ids, size = engine.token_ids(parameters["tokens"], parameters["seed"]), engine.BLOCK_SIZE
        self.blocks = [tuple(ids[start : start + size]) for start in range(0, len(ids) - size + 1, size)]
        engine.block_hasher(size, parameters["algorithm"])
        self.function = engine.hash_of(parameters["algorithm"])
        self.last = b""

    def prepare(self) -> Round:
        from vllm.v1.core.kv_cache_utils import hash_block_tokens

        function, blocks = self.function, self.blocks

        def hash_all() -> None:
            parent = None
            for block in blocks:
                parent = hash_block_tokens(function, parent, block, None)
            self.last = bytes(parent or b"")

        return hash_all


def counted_round(parameters: dict[str, Any]) -> Round:
    return Blocks(parameters).prepare()


def test_hash_block_tokens(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The chain of hashes of a prompt."""
    blocks = Blocks(parameters)
    measure(benchmark, parameters, blocks.prepare, lambda: {"blocks": len(blocks.blocks)})
