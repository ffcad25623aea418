"""vLLM's renderer: it makes prompts of what users send, and token ids of prompts."""

from __future__ import annotations

import functools
from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.adapter import find
from perfproof.bench.texts import tokenizer_folder


@functools.cache
def renderer() -> Any:
    """The renderer of a model with a tokenizer, for prompts of up to 262,144 tokens."""
    made = find("vllm.renderers:renderer_from_config")
    model = {"tokenizer": tokenizer_folder(), "skip_tokenizer_init": False}
    return made(engine.vllm_config(max_num_seqs=8, max_model_len=262_144, max_num_batched_tokens=262_144, model=model))
