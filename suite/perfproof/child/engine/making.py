"""Makes engines and requests, if the running release supports their options."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
from collections.abc import Mapping
from typing import Any

from perfproof.child.engine.features import ENGINE, MODEL, ON_GPU, SAMPLING, Feature


class Unknown(Exception):
    """This release does not know an option of a feature."""


def look_at_models_here() -> None:
    """vLLM looks at a model's class in another process, which imports all of vLLM, lest CUDA be set up in this one. Here it may be."""
    from vllm.model_executor.models import registry

    if hasattr(registry, "_run_in_subprocess"):
        registry._run_in_subprocess = lambda work: work()


def engine(model: str, feature: Feature) -> Any:
    """vLLM's engine in this process. Raises `Unknown` for options that it does not have."""
    from vllm import LLM

    return LLM(**_options(model, feature)).llm_engine


def config(model: str, feature: Feature) -> Any:
    """What an engine would make of its options, without making it. Raises `Unknown` for options that it does not have."""
    from vllm import EngineArgs
    from vllm.usage.usage_lib import UsageContext

    return EngineArgs(**_options(model, feature)).create_engine_config(UsageContext.LLM_CLASS)


def _options(model: str, feature: Feature) -> dict[str, Any]:
    from vllm import EngineArgs

    from perfproof.child.counting import has_device

    gpu = has_device()
    if feature.graphs and not gpu:
        raise Unknown("only a GPU has CUDA graphs")
    known = {field.name for field in dataclasses.fields(EngineArgs)}
    lacks = sorted(name for name in feature.engine if name not in known)
    if lacks:
        raise Unknown(f"its engine has no {', '.join(lacks)}")
    said = {name: value for name, value in {**ENGINE, **(ON_GPU if gpu else {}), **feature.engine}.items() if name in known}
    return {"model": model, **{name: _with_model(_plain(value), model) for name, value in said.items()}}


def parameters(feature: Feature, number: int, output: int) -> Any:
    """What request `number` asks for, with an output of so many tokens. Raises `Unknown` for parameters that this release does not have."""
    if feature.pools:
        from vllm import PoolingParams

        task = {"task": feature.pools} if "task" in _names(PoolingParams) else {}
        return PoolingParams(**task)
    from vllm import SamplingParams

    options = {**SAMPLING, "max_tokens": output, **feature.sampling, **({feature.numbered: number} if feature.numbered else {})}
    lacks = sorted(set(options) - _names(SamplingParams))
    if lacks:
        raise Unknown(f"its sampling parameters have no {', '.join(lacks)}")
    if "structured_outputs" in options:
        from vllm.sampling_params import StructuredOutputsParams

        options["structured_outputs"] = StructuredOutputsParams(**_plain(options["structured_outputs"]))
    return SamplingParams(**{name: _plain(value) for name, value in options.items()})


def prompt(feature: Feature, number: int, vocabulary: int) -> list[int]:
    """The token ids of request `number`: words of the toy's vocabulary, of which the first `shared` are equal in all prompts."""
    span = vocabulary // 2 - 64
    own = [
        vocabulary // 2 + 64 + (17 * number + 5 * place + number * place) % (span - 1) for place in range(feature.prompt - feature.shared)
    ]
    return [vocabulary // 2 + 64 + (3 * place) % span for place in range(feature.shared)] + own


def adapter(folder: str, model: str) -> Any:
    """A LoRA adapter of the toy model, written to `folder`."""
    import torch
    from safetensors.torch import save_file
    from vllm.lora.request import LoRARequest

    with open(os.path.join(model, "config.json")) as file:
        shape = json.load(file)
    rank, hidden, head = 8, shape["hidden_size"], shape["head_dim"]
    widths = {"q_proj": head * shape["num_attention_heads"], "v_proj": head * shape["num_key_value_heads"]}
    weights = {}
    for layer in range(shape["num_hidden_layers"]):
        for name, width in widths.items():
            where = f"base_model.model.model.layers.{layer}.self_attn.{name}"
            weights[f"{where}.lora_A.weight"] = torch.full((rank, hidden), 0.01)
            weights[f"{where}.lora_B.weight"] = torch.full((width, rank), 0.01)
    os.makedirs(folder, exist_ok=True)
    save_file(weights, os.path.join(folder, "adapter_model.safetensors"))
    config = {"peft_type": "LORA", "r": rank, "lora_alpha": 8, "target_modules": sorted(widths), "bias": "none", "task_type": "CAUSAL_LM"}
    with open(os.path.join(folder, "adapter_config.json"), "w") as file:
        json.dump({**config, "base_model_name_or_path": model}, file)
    return LoRARequest("toy", 1, folder)


def _names(kind: Any) -> set[str]:
    return {name for name in inspect.signature(kind).parameters if not name.startswith("_")}


def _with_model(value: Any, model: str) -> Any:
    """A value in which the toy's folder stands where it is asked for."""
    if isinstance(value, dict):
        return {name: _with_model(one, model) for name, one in value.items()}
    return model if value == MODEL else value


def _plain(value: Any) -> Any:
    """A copy of a value for each engine and request: vLLM writes into some of them."""
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return list(map(_plain, value)) if isinstance(value, (list, tuple)) else value
