"""What the front end gets and keeps of requests that stream: requests as it sends them, the engine core's outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfproof.bench import engine_objects as engine


def core_request(request_id: str, prompt_token_ids: Sequence[int], sampling: Mapping[str, Any] | None = None) -> Any:
    """An `EngineCoreRequest` as the front end makes it of a prompt; `sampling` are parameters of `SamplingParams`. It streams
    what is new (`DELTA`), as a server's streamed answers do."""
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind
    from vllm.v1.engine import EngineCoreRequest

    params = SamplingParams(
        **{"temperature": 0.0, "ignore_eos": True, "max_tokens": 32_768, "output_kind": RequestOutputKind.DELTA, **(sampling or {})}
    )
    wanted = {
        "request_id": request_id,
        "prompt_token_ids": list(prompt_token_ids),
        "mm_features": None,
        "mm_inputs": None,
        "mm_hashes": None,
        "mm_placeholders": None,
        "mm_kwargs": None,
        "sampling_params": params,
        "pooling_params": None,
        "eos_token_id": engine.EOS,
        "arrival_time": 0.0,
        "lora_request": None,
        "cache_salt": None,
        "data_parallel_rank": None,
        "external_req_id": request_id,
    }
    return EngineCoreRequest(**{name: value for name, value in wanted.items() if name in EngineCoreRequest.__struct_fields__})


def core_output(request_id: str, new_token_ids: Sequence[int], **more: Any) -> Any:
    """An `EngineCoreOutput`: the tokens that a step gave a request. `more` are further fields of it."""
    from vllm.v1.engine import EngineCoreOutput

    return EngineCoreOutput(request_id=request_id, new_token_ids=list(new_token_ids), **more)


def step_outputs(requests: int, logprobs: int, seed: int) -> Any:
    """The `EngineCoreOutputs` of a step that gave each of `requests` requests one token, with so many log probabilities beside it."""
    from vllm.v1.engine import EngineCoreOutputs

    return EngineCoreOutputs(
        outputs=[
            core_output(f"request-{n}", [token], **({"new_logprobs": sampled_logprobs([token], logprobs, seed + n)} if logprobs else {}))
            for n, token in enumerate(engine.token_ids(requests, seed))
        ],
        timestamp=1.0,
    )


def sampled_logprobs(token_ids: Sequence[int], count: int, seed: int) -> Any:
    """`LogprobsLists` of one step for the sampled `token_ids`, each with the `count` likeliest beside it: arrays of shape
    (tokens, count + 1)."""
    import numpy as np
    from vllm.v1.outputs import LogprobsLists

    draw = np.random.default_rng(seed)
    size = (len(token_ids), count + 1)
    ids = draw.integers(3, engine.VOCABULARY, size=size, dtype=np.int32)
    ids[:, 0] = token_ids
    logprobs = -np.sort(draw.random(size=size, dtype=np.float32) * 9)
    fields = {
        "logprob_token_ids": ids,
        "logprobs": logprobs,
        "sampled_token_ranks": np.ones(len(token_ids), dtype=np.int32),
        "cu_num_generated_tokens": None,
    }
    return LogprobsLists(**{name: value for name, value in fields.items() if name in LogprobsLists._fields})
