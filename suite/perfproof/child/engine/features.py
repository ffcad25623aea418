"""The features that a user can switch on, cheapest first, with their options of engine and request.

Pure data: the runner reads it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SIZES = (8, 32, 128)
"""Numbers of concurrent requests for the plain engine."""
SIZE = 32
"""Numbers of concurrent requests for every other feature."""
BLOCK = 32
"""Tokens of a block of the KV cache: the smallest that vLLM's attention on a CPU takes without a warning."""
PROMPT = BLOCK + 8
"""Tokens of a prompt: a whole block and the beginning of the next, so that a block is hashed on admission."""
OUTPUT = BLOCK - 8 + 4
"""Tokens of an output: beyond the end of the second block."""
DECODE = 8
"""The output token whose step is counted as `decode`: no request begins a block there."""
ENTERS = 2 * BLOCK - PROMPT + 2
"""The output token whose step gives every request a new block; the block before became full, and was hashed, two tokens earlier. The three
steps are counted as `new block`."""
LONG = (64, 1024, 4096)
"""Output tokens of long outputs whose steps are counted, each at the same place of its block, to show work that grows with the output."""
START, END = "start", "end"
"""The phases in which an engine is made, and in which it is shut down."""
MODEL = "the model itself"
"""Stands for the toy's folder in an engine's options."""
THINK, ANSWER = "w300", "w301"
"""Words of the toy's vocabulary that serve as the marks of thinking."""


@dataclass(frozen=True, eq=False)
class Feature:
    """`engine` are options of the engine besides `ENGINE`, `sampling` parameters of a request besides `SAMPLING`. The first `shared` tokens
    of all prompts are equal; `keeps` keeps the prefix cache from wave to wave; `prompt` is the number of prompt tokens; `numbered` names a
    parameter that is each request's own number; `output` is the number of output tokens, `positions` those whose steps are counted instead
    of `DECODE` and `ENTERS`; `pools` is what a pooler is asked for, where there is no output; `adapter` sends requests through a LoRA
    adapter. `needs` are facts that must hold for the engine (`facts_of`): a platform may turn options off silently. `graphs` runs the model
    in CUDA graphs, the default on a GPU: operators can't be counted there, and no other device has graphs. `starts` counts what vLLM does
    while the engine is made and while it is shut down: the engine gets no requests."""

    name: str
    engine: Mapping[str, Any] = field(default_factory=dict)
    sampling: Mapping[str, Any] = field(default_factory=dict)
    sizes: tuple[int, ...] = (SIZE,)
    prompt: int = PROMPT
    shared: int = 0
    keeps: bool = False
    numbered: str = ""
    pools: str = ""
    output: int = OUTPUT
    positions: tuple[int, ...] = ()
    needs: Mapping[str, Any] = field(default_factory=dict)
    graphs: bool = False
    adapter: bool = False
    starts: bool = False


ENGINE: Mapping[str, Any] = {
    "load_format": "dummy",
    "enforce_eager": True,
    "distributed_executor_backend": "uni",
    "async_scheduling": False,
    "block_size": BLOCK,
    "max_num_seqs": 256,
    "max_num_batched_tokens": 16384,
    "max_model_len": 1024,
    "dtype": "bfloat16",
    "seed": 0,
}
"""The options of every engine."""
ON_GPU: Mapping[str, Any] = {"gpu_memory_utilization": 0.3, "kv_cache_memory_bytes": 4 << 30}
"""Further options on a GPU: a cache of fixed size, whatever else is in use there. Two sides run at the same time."""
SAMPLING: Mapping[str, Any] = {"temperature": 0.0, "ignore_eos": True}
"""The parameters of every request, besides its number of tokens."""
LONGER: Mapping[str, Any] = {"max_model_len": LONG[-1] + 512}
"""The options of the engine for long outputs."""

GRAPHS: Mapping[str, Any] = {
    "enforce_eager": False,
    "async_scheduling": True,
    "compilation_config": {"mode": 0, "cudagraph_mode": "FULL_DECODE_ONLY", "cudagraph_capture_sizes": [1, 8, 32, 128]},
}
"""The engine as a GPU's users run it: graphs of whole decode steps, scheduled ahead. Nothing is compiled, which takes minutes."""

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "integer"}}},
    "required": ["a", "b"],
}

CONNECTED: Mapping[str, Any] = {"kv_transfer_config": {"kv_connector": "DecodeBenchConnector", "kv_role": "kv_both"}}
"""The engine with vLLM's own connector for benchmarks: it says that all of a prompt but its last token comes from elsewhere, and fills it
in."""

FEATURES = (
    Feature("plain", sizes=SIZES),
    Feature("logit bias and min tokens", sampling={"logit_bias": {5: 2.0, 7: -2.0}, "min_tokens": OUTPUT - 2}),
    Feature("penalties", sampling={"presence_penalty": 0.5, "frequency_penalty": 0.25, "repetition_penalty": 1.1}),
    Feature("stop strings", sampling={"stop": ["zqzqzq", "xjxjxj"]}),
    Feature("prefix-cache hits", shared=BLOCK, keeps=True),
    Feature("several outputs", sampling={"n": 2, "temperature": 1.0}, numbered="seed"),
    Feature("logprobs", sampling={"logprobs": 5}),
    Feature("JSON schema", sampling={"structured_outputs": {"json": SCHEMA}}),
    Feature("regex", sampling={"structured_outputs": {"regex": "([a-z] ?){60,80}"}}),
    Feature("choice", sampling={"structured_outputs": {"choice": ["abcdefghijklmnopqrstuvwxyz" * 4, "zyxwvutsrqponmlkjihgfedcba" * 4]}}),
    Feature("start and end", sizes=(0,), starts=True),
    Feature("KV connector", engine=CONNECTED),
    Feature("start and end with a KV connector", engine=CONNECTED, sizes=(0,), starts=True),
    Feature("async scheduling", engine={"async_scheduling": True}, needs={"async_scheduling": True}),
    Feature("chunked prefill", engine={"max_num_batched_tokens": 512}, prompt=4 * BLOCK + 8),
    Feature(
        "thinking budget",
        engine={"reasoning_config": {"reasoning_start_str": THINK, "reasoning_end_str": ANSWER}},
        sampling={"thinking_token_budget": OUTPUT - 4},
    ),
    Feature(
        "ngram speculation",
        engine={"speculative_config": {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 3, "prompt_lookup_min": 1}},
    ),
    Feature(
        "draft-model speculation",
        engine={"speculative_config": {"method": "draft_model", "model": MODEL, "num_speculative_tokens": 3}},
    ),
    Feature("CUDA graphs", engine=GRAPHS, graphs=True),
    Feature("LoRA", engine={"enable_lora": True, "max_loras": 1, "max_lora_rank": 8}, adapter=True),
    Feature("embeddings", engine={"runner": "pooling"}, pools="embed"),
    Feature("classification", engine={"runner": "pooling", "convert": "classify"}, pools="classify"),
    Feature("long outputs", engine=LONGER, sizes=(8,), output=LONG[-1] + 4, positions=LONG),
    Feature(
        "penalties of long outputs", engine=LONGER, sizes=(8,), output=LONG[-1] + 4, positions=LONG, sampling={"presence_penalty": 0.5}
    ),
)
"""The default matrix."""
POSITIONS = {"decode": DECODE, "new block": ENTERS, **{f"decode at {place:,}": place for place in LONG}}
"""The output token at the end of a phase."""
NAMES = tuple(feature.name for feature in FEATURES)


def engines(names: tuple[str, ...]) -> list[list[Feature]]:
    """The features with these names, grouped by engine, in this order. An engine whose making is counted has a group for itself."""
    groups: list[list[Feature]] = []
    of_name = {feature.name: feature for feature in FEATURES}
    for feature in (of_name[name] for name in names):
        same = next(
            (group for group in groups if (group[0].engine, group[0].starts, feature.starts) == (feature.engine, False, False)), None
        )
        if same is None:
            groups.append([feature])
        else:
            same.append(feature)
    return groups
