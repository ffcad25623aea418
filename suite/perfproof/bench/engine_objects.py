"""Builds the objects of an engine's host, each by itself: the configuration, requests, the scheduler, the KV cache manager, outputs.

They are vLLM's own objects, made as the engine makes them, in the same way for every release (`adapter.accepted`). The model is a
configuration only: a Llama of two layers, of which nothing is ever computed. Nothing is read from a network.

vLLM and torch are imported inside the functions.
"""

from __future__ import annotations

import contextlib
import functools
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from perfproof.bench.adapter import accepted, mend_cpu_probe, release

BLOCK_SIZE = 16
VOCABULARY = 32_000
MODEL: Mapping[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 262_144,
    "torch_dtype": "float32",
    "bos_token_id": 1,
    "eos_token_id": 2,
}
EOS = int(MODEL["eos_token_id"])


# --- configuration --------------------------------------------------------------------------------


@functools.cache
def model_folder() -> str:
    """A folder with the model's `config.json`; it stays as long as the process."""
    folder = lasting_folder("model")
    Path(folder, "config.json").write_text(json.dumps(MODEL))
    return folder


@functools.cache
def look_at_models_here() -> None:
    """vLLM looks at a model's class in another process, which imports all of vLLM, lest CUDA be set up in this one. Here it may be."""
    from vllm.model_executor.models import registry

    if hasattr(registry, "_run_in_subprocess"):
        registry._run_in_subprocess = lambda work: work()


@contextlib.contextmanager
def kernels_looked_for() -> Iterator[None]:
    """While vLLM looks through all modules for kernels to replace, llvmlite's library is no module: it has every attribute that is asked
    for, and vLLM takes it for an object that holds a kernel."""
    name = "llvmlite.binding.ffi"
    kept = sys.modules.pop(name, None)
    try:
        yield
    finally:
        if kept is not None:
            sys.modules[name] = kept


def lasting_folder(name: str) -> str:
    """A new folder that stays as long as the process; `name` is for people who look."""
    folder = tempfile.TemporaryDirectory(prefix=f"perfproof-{name}-")
    LASTING.append(folder)
    return folder.name


LASTING: list[tempfile.TemporaryDirectory[str]] = []
"""The folders that stay; a process that ends without Python's own end removes them itself."""


def vllm_config(
    *,
    max_num_seqs: int,
    max_model_len: int = 8_192,
    max_num_batched_tokens: int = 8_192,
    enable_prefix_caching: bool = True,
    block_size: int = BLOCK_SIZE,
    num_blocks: int = 10_000,
    scheduler: Mapping[str, Any] | None = None,
    model: Mapping[str, Any] | None = None,
    **more: Any,
) -> Any:
    """A `VllmConfig` for the CPU, as an engine makes it. `scheduler` and `model` go to the configurations of these names, `more` to
    `VllmConfig` itself, as far as this release takes them."""
    mend_cpu_probe()
    look_at_models_here()
    from vllm.config import CacheConfig, DeviceConfig, ModelConfig, SchedulerConfig, VllmConfig

    model_config = ModelConfig(
        **accepted(
            ModelConfig,
            **{
                "model": model_folder(),
                "skip_tokenizer_init": True,
                "dtype": "float32",
                "seed": 0,
                "max_model_len": max_model_len,
                "enforce_eager": True,
                **(model or {}),
            },
        )
    )
    scheduler_config = SchedulerConfig(
        **accepted(
            SchedulerConfig,
            **{
                "max_num_seqs": max_num_seqs,
                "max_num_batched_tokens": max_num_batched_tokens,
                "max_model_len": max_model_len,
                "enable_chunked_prefill": True,
                "is_encoder_decoder": False,
                "async_scheduling": False,
                "watermark": 0.0,
                **(scheduler or {}),
            },
        )
    )
    cache_config = CacheConfig(
        **accepted(
            CacheConfig,
            block_size=block_size,
            gpu_memory_utilization=0.9,
            swap_space=0,
            cache_dtype="auto",
            enable_prefix_caching=enable_prefix_caching,
        )
    )
    cache_config.num_gpu_blocks = num_blocks
    return VllmConfig(
        **accepted(
            VllmConfig,
            model_config=model_config,
            scheduler_config=scheduler_config,
            cache_config=cache_config,
            device_config=DeviceConfig("cpu"),
            **more,
        )
    )


def ngram_speculation(tokens: int) -> Any:
    """The configuration of ngram speculation with so many drafted tokens, as an engine makes it."""
    mend_cpu_probe()
    from vllm.config import ParallelConfig, SpeculativeConfig

    target = vllm_config(max_num_seqs=8).model_config
    return SpeculativeConfig(
        method="ngram",
        num_speculative_tokens=tokens,
        prompt_lookup_max=3,
        prompt_lookup_min=1,
        target_model_config=target,
        target_parallel_config=ParallelConfig(),
    )


# --- the KV cache ---------------------------------------------------------------------------------


def full_attention(block_size: int = BLOCK_SIZE) -> Any:
    """The specification of a layer that keeps the keys and values of every token."""
    import torch
    from vllm.v1.kv_cache_interface import FullAttentionSpec

    return FullAttentionSpec(**accepted(FullAttentionSpec, **_spec(block_size, torch)))


def sliding_window(window: int, block_size: int = BLOCK_SIZE) -> Any:
    """The specification of a layer that keeps those of the last `window` tokens."""
    import torch
    from vllm.v1.kv_cache_interface import SlidingWindowSpec

    return SlidingWindowSpec(**accepted(SlidingWindowSpec, **_spec(block_size, torch), sliding_window=window))


def state_space(block_size: int = BLOCK_SIZE) -> Any:
    """The specification of a layer that keeps one state, such as Mamba's, where prefixes are cached (`align`)."""
    import torch
    from vllm.v1.kv_cache_interface import MambaSpec

    wanted = {"block_size": block_size, "shapes": ((64, 16),), "dtypes": (torch.float32,), "mamba_cache_mode": "align"}
    return MambaSpec(**accepted(MambaSpec, **wanted))


def latent_attention(block_size: int = BLOCK_SIZE) -> Any:
    """The specification of a layer of multi-head latent attention."""
    import torch
    from vllm.v1.kv_cache_interface import MLAAttentionSpec

    return MLAAttentionSpec(**accepted(MLAAttentionSpec, **{**_spec(block_size, torch), "num_kv_heads": 1}))


def _spec(block_size: int, torch: Any) -> dict[str, Any]:
    return {"block_size": block_size, "num_kv_heads": 2, "head_size": 16, "dtype": torch.float32, "use_mla": False}


def kv_cache_config(num_blocks: int, specs: Sequence[Any] = (), hash_block_size: int | None = None) -> Any:
    """A `KVCacheConfig` of `num_blocks` blocks, one group for each of `specs`; one of full attention if there are none. Blocks of
    `hash_block_size` tokens are hashed, the least of a group if it is None."""
    from vllm.v1.kv_cache_interface import KVCacheConfig, KVCacheGroupSpec

    groups = [KVCacheGroupSpec([f"layer{n}"], spec) for n, spec in enumerate(specs or [full_attention()])]
    return KVCacheConfig(
        **accepted(
            KVCacheConfig,
            num_blocks=num_blocks,
            kv_cache_tensors=[],
            kv_cache_groups=groups,
            hash_block_size=hash_block_size or min(group.kv_cache_spec.block_size for group in groups),
            cache_hit_alignment_tokens=max(group.kv_cache_spec.block_size for group in groups),
        )
    )


def kv_cache_manager(
    config: Any,
    *,
    max_model_len: int = 8_192,
    enable_caching: bool = True,
    max_num_batched_tokens: int = 8_192,
    hash_block_size: int | None = None,
    **more: Any,
) -> Any:
    """A `KVCacheManager` over such a configuration; `more` are further parameters of it, as far as this release takes them."""
    from vllm.v1.core.kv_cache_manager import KVCacheManager

    sizes = [group.kv_cache_spec.block_size for group in config.kv_cache_groups]
    return KVCacheManager(
        **accepted(
            KVCacheManager.__init__,
            kv_cache_config=config,
            max_model_len=max_model_len,
            max_num_batched_tokens=max_num_batched_tokens,
            max_in_flight_tokens=max_num_batched_tokens,
            scheduler_block_size=max(sizes),
            hash_block_size=hash_block_size or min(sizes),
            enable_caching=enable_caching,
            log_stats=True,
            **more,
        )
    )


@functools.cache
def block_hasher(block_size: int = BLOCK_SIZE, algorithm: str = "sha256") -> Callable[[Any], Any]:
    """The function that hashes a request's full blocks, as the engine makes it where prefixes are cached."""
    from vllm.v1.core import kv_cache_utils

    hash_function = hash_of(algorithm)
    kv_cache_utils.init_none_hash(hash_function)
    hasher: Callable[[Any], Any] = kv_cache_utils.get_request_block_hasher(block_size, hash_function)
    return hasher


def hash_of(algorithm: str) -> Callable[[Any], Any]:
    """vLLM's hash function of that name ("sha256", "sha256_cbor", "xxhash")."""
    from perfproof.bench.adapter import find

    function: Callable[[Any], Any] = find(f"{'vllm.utils.hashing' if release() >= (0, 11, 1) else 'vllm.utils'}:get_hash_fn_by_name")(
        algorithm
    )
    return function


# --- requests -------------------------------------------------------------------------------------


def token_ids(count: int, seed: int) -> list[int]:
    """So many token ids, the same for a seed; none is a special token."""
    return random.Random(seed).choices(range(3, VOCABULARY), k=count)


def request(request_id: str, prompt_token_ids: Sequence[int], **more: Any) -> Any:
    """A `Request` as the engine core makes it of what the front end sent; `request_maker` says what `more` may be."""
    return request_maker(request_id, prompt_token_ids, **more)()


def request_maker(
    request_id: str,
    prompt_token_ids: Sequence[int],
    *,
    max_tokens: int = 1_024,
    sampling: Mapping[str, Any] | None = None,
    hashed: bool = True,
    block_size: int = BLOCK_SIZE,
    **more: Any,
) -> Callable[[], Any]:
    """What makes the request, its arguments ready. `sampling` are parameters of `SamplingParams`; `hashed` says whether its blocks are
    hashed, as they are where prefixes are cached. `more` goes to `Request` if this release takes it."""
    from vllm import SamplingParams
    from vllm.v1.request import Request

    params = SamplingParams(**{"temperature": 0.0, "ignore_eos": True, "max_tokens": max_tokens, **(sampling or {})})
    if hasattr(params, "update_from_generation_config"):
        params.update_from_generation_config({}, EOS)
    arguments = accepted(
        Request.__init__,
        **{
            "request_id": request_id,
            "prompt_token_ids": list(prompt_token_ids),
            "sampling_params": params,
            "pooling_params": None,
            "eos_token_id": EOS,
            "arrival_time": 0.0,
            "block_hasher": block_hasher(block_size) if hashed else None,
            **more,
        },
    )
    return functools.partial(Request, **arguments)


# --- the scheduler --------------------------------------------------------------------------------


def scheduler(config: Any, *, num_blocks: int = 10_000, specs: Sequence[Any] = (), log_stats: bool = True) -> Any:
    """A `Scheduler` for a configuration, with a KV cache of `num_blocks` blocks."""
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.structured_output import StructuredOutputManager

    blocks = kv_cache_config(num_blocks, specs)
    sizes = [group.kv_cache_spec.block_size for group in blocks.kv_cache_groups]
    return Scheduler(
        **accepted(
            Scheduler.__init__,
            vllm_config=config,
            kv_cache_config=blocks,
            structured_output_manager=StructuredOutputManager(config),
            block_size=max(sizes),
            hash_block_size=min(sizes),
            log_stats=log_stats,
        )
    )


def runner_output(scheduled: Any, token_of: Callable[[str], int] = lambda _: 7, *, prefilling: Sequence[str] = (), **more: Any) -> Any:
    """What a model runner gives for a step: a token for each scheduled request, none for those that are still `prefilling`."""
    from vllm.v1.outputs import ModelRunnerOutput

    names = list(scheduled.num_scheduled_tokens)
    return ModelRunnerOutput(
        **accepted(
            ModelRunnerOutput,
            **{
                "req_ids": names,
                "req_id_to_index": {name: place for place, name in enumerate(names)},
                "sampled_token_ids": [[] if name in prefilling else [token_of(name)] for name in names],
                "logprobs": None,
                "prompt_logprobs_dict": {},
                "pooler_output": [],
                **more,
            },
        )
    )


def still_prefilling(scheduler: Any, scheduled: Any) -> list[str]:
    """The scheduled requests whose prompt is not yet computed after this step: they get no token."""
    return [name for name in scheduled.num_scheduled_tokens if scheduler.requests[name].is_prefill_chunk]


def step(scheduler: Any) -> Any:
    """One step of an engine without its model: scheduled, and every request that is past its prompt gets a token. What was scheduled."""
    scheduled = scheduler.schedule()
    scheduler.update_from_output(scheduled, runner_output(scheduled, prefilling=still_prefilling(scheduler, scheduled)))
    return scheduled


def decoding(scheduler: Any, requests: Sequence[Any], *, steps: int = 2) -> None:
    """Adds requests and takes steps until each decodes, then `steps` more."""
    for one in requests:
        scheduler.add_request(one)
    while any(one.num_output_tokens == 0 for one in requests):
        step(scheduler)
    for _ in range(steps):
        step(scheduler)


# --- the sampler ----------------------------------------------------------------------------------


def logits_processors(*, max_num_seqs: int) -> Any:
    """vLLM's own logits processors (logit bias, min tokens, min-p), as the runner makes them for its batch."""
    import torch
    from vllm.v1.sample.logits_processor import build_logitsprocs

    config = vllm_config(max_num_seqs=max_num_seqs)
    return build_logitsprocs(
        **accepted(build_logitsprocs, vllm_config=config, device=torch.device("cpu"), is_pin_memory=False, is_pooling_model=False)
    )


def sampler() -> Any:
    """A `Sampler` of the V1 runner."""
    mend_cpu_probe()
    from vllm.v1.sample.sampler import Sampler

    return Sampler()


# --- the front end --------------------------------------------------------------------------------


def input_processor(*, max_model_len: int = 8_192, **more: Any) -> Any:
    """An `InputProcessor`, as the front end has it, of a model without a tokenizer; `more` goes to `vllm_config`."""
    from vllm.v1.engine.input_processor import InputProcessor

    return InputProcessor(vllm_config(max_num_seqs=128, max_model_len=max_model_len, **more))


def output_processor(tokenizer: Any = None, *, log_stats: bool = True, **more: Any) -> Any:
    """An `OutputProcessor`, as the front end has it; without a tokenizer nothing is detokenized."""
    mend_cpu_probe()
    from vllm.v1.engine.output_processor import OutputProcessor

    return OutputProcessor(**accepted(OutputProcessor.__init__, **{"tokenizer": tokenizer, "log_stats": log_stats, **more}))
