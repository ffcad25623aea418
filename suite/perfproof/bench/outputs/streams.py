"""A tokenizer, and requests with the tokens that an engine gave them: what the benchmarks of outputs start from."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from perfproof.bench import engine_objects as engine


@functools.cache
def tokenizer() -> Any:
    """A fast tokenizer of transformers, made here: the bytes, and made-up words with a space before each, 32,000 ids in all."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    pieces = ["<pad>", "<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    pieces += [f"Ġw{n}" for n in range(engine.VOCABULARY - len(pieces))]
    made = Tokenizer(models.BPE(vocab={piece: place for place, piece in enumerate(pieces)}, merges=[]))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>", pad_token="<pad>")


def words(count: int, seed: int) -> list[int]:
    """So many ids of words, the same for a seed."""
    return [300 + one % 31_000 for one in engine.token_ids(count, seed)]


def core_requests(count: int, *, prompt_tokens: int = 16, seed: int = 7, sampling: Mapping[str, Any] | None = None) -> list[Any]:
    """Requests as the front end sends them to the engine, and keeps for their outputs."""
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    processor = engine.input_processor(max_model_len=131_072)
    given = {"temperature": 0.0, "max_tokens": 100_000, "output_kind": RequestOutputKind.DELTA, **(sampling or {})}
    made = []
    for n in range(count):
        prompt = {"type": "token", "prompt_token_ids": words(prompt_tokens, seed + n)}
        one = processor.process_inputs(f"r{n}", prompt, SamplingParams(**given), supported_tasks=("generate",), arrival_time=0.0)
        one.external_req_id = one.request_id
        made.append(one)
    return made


def core_output(request_id: str, token_ids: Sequence[int], **more: Any) -> Any:
    """What the engine gives for a request at a step."""
    from vllm.v1.engine import EngineCoreOutput

    return EngineCoreOutput(request_id=request_id, new_token_ids=list(token_ids), **more)


def logprobs_of(tokens: int, logprobs: int, seed: int) -> Any:
    """The logprobs of so many tokens as the engine sends them: the sampled one and `logprobs` others."""
    import numpy as np
    from vllm.v1.outputs import LogprobsLists

    draw = np.random.default_rng(seed)
    ids = draw.integers(300, 31_000, (tokens, logprobs + 1))
    values = -np.sort(draw.random((tokens, logprobs + 1)), axis=1).astype("float32")
    return LogprobsLists(ids, values, np.ones(tokens, dtype="int64"))
