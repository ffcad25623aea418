"""A KV cache manager whose requests hold blocks: what the benchmarks of the KV cache start from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perfproof.bench import engine_objects as engine


class Filled:
    """A `KVCacheManager` of `num_blocks` blocks, one group for each of `specs` (full attention if there are none)."""

    def __init__(self, num_blocks: int, *, max_model_len: int, specs: Sequence[Any] = ()) -> None:
        config = engine.kv_cache_config(num_blocks, specs)
        self.manager = engine.kv_cache_manager(config, max_model_len=max_model_len, max_num_batched_tokens=max_model_len)
        self.made = 0

    def request(self, prompt: Sequence[int], **more: Any) -> Any:
        """A request that was not there before."""
        self.made += 1
        return engine.request(f"r{self.made}", prompt, **more)

    def looked_up(self, request: Any) -> tuple[Any, int]:
        """The cached blocks of a request's prefix, and how many tokens they hold."""
        blocks, tokens, *_ = self.manager.get_computed_blocks(request)
        return blocks, tokens

    def computed(self, request: Any) -> Any:
        """The request with the blocks of its whole prompt, as after its prefill."""
        blocks, hit = self.looked_up(request)
        new = request.num_tokens - hit
        assert self.manager.allocate_slots(request, new, hit, blocks) is not None
        request.num_computed_tokens = request.num_tokens
        return request
