"""Builds the few objects of vLLM that the benchmarks need, in the same way for every release.

Their constructors change from release to release, so every call here goes through `accepted`, which
passes on only what that release's signature takes. If a release lacks an object, the
benchmark is skipped with the words "not in this version".

vLLM and torch are imported inside the functions: a benchmark file must be readable without them.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest


def accepted(function: Callable[..., Any], **wanted: Any) -> dict[str, Any]:
    """The keyword arguments that `function` takes, all of them if it takes any."""
    signature = inspect.signature(function).parameters
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in signature.values()):
        return wanted
    return {name: value for name, value in wanted.items() if name in signature}


def absent(what: str) -> NoReturn:
    """Skips the benchmark, because this release has nothing to measure."""
    import vllm

    pytest.skip(f"not in this version: vLLM {vllm.__version__} has no {what}")


def find(target: str, *elsewhere: str) -> Any:
    """The object named `module:qualname`, or where a release has it `elsewhere`; skips the benchmark if this release has none."""
    for place in (target, *elsewhere):
        module, _, qualname = place.partition(":")
        try:
            target_object: Any = importlib.import_module(module)
            for step in qualname.split("."):
                target_object = getattr(target_object, step)
            return target_object
        except AttributeError:
            continue
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise
    absent(target)


def release() -> tuple[int, ...]:
    """vLLM's release as numbers, (0, 22, 0) for "0.22.0+cpu"."""
    import vllm

    return tuple(int(part) for part in vllm.__version__.split("+")[0].split(".")[:3] if part.isdigit())


def mend_cpu_probe() -> None:
    """Makes 0.17's CPU platform importable with a newer PyTorch, which renamed the probe that the import calls."""
    import torch

    if not hasattr(torch._C._cpu, "_is_avx512_supported"):
        torch._C._cpu._is_avx512_supported = torch.cpu._is_avx512_supported


# --- the V1 runner's batch ------------------------------------------------------------------------


def input_batch(
    *,
    max_num_reqs: int,
    max_model_len: int,
    max_num_batched_tokens: int | None = None,
    vocab_size: int = 32_000,
    block_size: int = 16,
    device: Any = "cpu",
    pin_memory: bool = False,
    num_spec_tokens: int = 0,
    is_pooling_model: bool = False,
    logitsprocs_need_output_token_ids: bool = False,
    reasoning_config: Any = None,
    logitsprocs: Any = None,
) -> Any:
    """A V1 `InputBatch` of `max_num_reqs` rows of `max_model_len` tokens, one KV cache group.

    Speculation is `is_spec_decode` up to 0.20 and `num_spec_tokens` from 0.21 on; from 0.24 on pinned
    memory is vLLM's own choice; the kernel's block size left the signature in 0.32.
    """
    import torch
    from vllm.v1.worker.gpu_input_batch import InputBatch

    return InputBatch(
        **accepted(
            InputBatch.__init__,
            max_num_reqs=max_num_reqs,
            max_model_len=max_model_len,
            max_num_batched_tokens=max_num_batched_tokens or max_num_reqs,
            device=torch.device(device),
            pin_memory=pin_memory,
            vocab_size=vocab_size,
            block_sizes=[block_size],
            kernel_block_sizes=[block_size],
            max_num_blocks_per_req=[-(-max_model_len // block_size)],
            logitsprocs_need_output_token_ids=logitsprocs_need_output_token_ids,
            is_spec_decode=num_spec_tokens > 0,
            num_spec_tokens=num_spec_tokens,
            is_pooling_model=is_pooling_model,
            reasoning_config=reasoning_config,
            logitsprocs=logitsprocs,
        )
    )


def cached_request(
    req_id: str,
    prompt_token_ids: Sequence[int],
    output_token_ids: Sequence[int] = (),
    *,
    sampling_params: Any = None,
    pooling_params: Any = None,
    block_size: int = 16,
    block_ids: Sequence[int] | None = None,
    num_computed_tokens: int | None = None,
    generator: Any = None,
    **more: Any,
) -> Any:
    """A request in the runner's form; blocks follow from its length unless given.

    `sampling_params` defaults to vLLM's own defaults unless the request pools. `more` goes to
    `CachedRequestState` if that release takes it.
    """
    from vllm import SamplingParams
    from vllm.v1.worker.gpu_input_batch import CachedRequestState

    if sampling_params is None and pooling_params is None:
        sampling_params = SamplingParams()
    tokens = len(prompt_token_ids) + len(output_token_ids)
    blocks = list(range(-(-tokens // block_size))) if block_ids is None else list(block_ids)
    return CachedRequestState(
        req_id=req_id,
        prompt_token_ids=list(prompt_token_ids),
        sampling_params=sampling_params,
        pooling_params=pooling_params,
        block_ids=(blocks,),
        num_computed_tokens=len(output_token_ids) if num_computed_tokens is None else num_computed_tokens,
        output_token_ids=list(output_token_ids),
        **accepted(CachedRequestState, **{"mm_features": [], "generator": generator, **more}),
    )


def speculate(batch: Any, request: Any, token_ids: Sequence[int]) -> None:
    """Gives the request's row these draft tokens, as a scheduler's step does (an empty list removes them)."""
    batch.update_req_spec_token_ids(request, {request.req_id: list(token_ids)} if token_ids else {})


def drain_moves(batch: Any) -> int:
    """Empties the list that every swap and move appends to, as `refresh_metadata` does at every step; returns how many there were."""
    moved = batch.batch_update_builder.moved
    count = len(moved)
    moved.clear()
    return count


# --- the thinking budget ----------------------------------------------------------------------------

HOLDER = "vllm.v1.sample.thinking_budget_state:ThinkingBudgetStateHolder"


def thinking_holder(*, start: Sequence[int], end: Sequence[int], max_num_seqs: int, num_spec_tokens: int = 0, device: Any = "cpu") -> Any:
    """A `ThinkingBudgetStateHolder` for these markers; skips if there is none (before 0.21).

    It only reads the markers from its configuration, so any object with those attributes works.
    """
    import torch

    holder = find(HOLDER)
    reasoning = SimpleNamespace(
        reasoning_start_token_ids=list(start),
        reasoning_end_token_ids=list(end),
        natural_reasoning_end_token_ids=list(end),
    )
    return holder(
        **accepted(
            holder.__init__,
            reasoning_config=reasoning,
            max_num_seqs=max_num_seqs,
            num_spec_tokens=num_spec_tokens,
            device=torch.device(device),
            is_pin_memory=False,
        )
    )
