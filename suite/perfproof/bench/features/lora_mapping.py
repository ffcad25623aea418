"""One call of the runner's `set_active_loras`: which token of the step goes through which adapter, for every layer that has some."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.rounds import Round, measure
from perfproof.bench.whole_engine import MODEL, Parts, model_folder

PARAMETERS = {"requests": 64, "adapters": 2, "prompt_tokens": 64, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = ("vllm.v1.worker.lora_model_runner_mixin:LoRAModelRunnerMixin.set_active_loras",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step in each worker of a server with LoRA, whether or not a request of the step has an adapter"
COUNT_AT = {"requests": 16}
RANK = 8
MOST = 2
"""Adapters that an engine holds at a time."""


@functools.cache
def adapter(number: int) -> Any:
    """A LoRA adapter of the engine's model, in a folder that stays as long as the process."""
    import torch
    from safetensors.torch import save_file
    from vllm.lora.request import LoRARequest

    hidden, heads = int(MODEL["hidden_size"]), int(MODEL["num_attention_heads"])
    widths = {"q_proj": hidden, "v_proj": hidden // heads * int(MODEL["num_key_value_heads"])}
    weights = {}
    for layer in range(int(MODEL["num_hidden_layers"])):
        for name, width in widths.items():
            where = f"base_model.model.model.layers.{layer}.self_attn.{name}"
            weights[f"{where}.lora_A.weight"] = torch.full((RANK, hidden), 0.01)
            weights[f"{where}.lora_B.weight"] = torch.full((width, RANK), 0.01)
    folder = engine.lasting_folder(f"adapter{number}")
    save_file(weights, Path(folder, "adapter_model.safetensors"))
    config = {
        "peft_type": "LORA",
        "r": RANK,
        "lora_alpha": RANK,
        "target_modules": sorted(widths),
        "bias": "none",
        "task_type": "CAUSAL_LM",
    }
    Path(folder, "adapter_config.json").write_text(json.dumps({**config, "base_model_name_or_path": model_folder()}))
    return LoRARequest(f"adapter{number}", number, folder)


class Adapting:
    """Steps of requests that go through adapters in turn; the round maps the tokens of the step that was taken."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        adapters = min(parameters["adapters"], MOST)
        self.parts = Parts(parameters, "lora", adapter=lambda n: adapter(1 + n % adapters))

    def prepare(self) -> Round:
        return self.parts.replayed(self.parts.runner, "set_active_loras")


def counted_round(parameters: dict[str, Any]) -> Round:
    return Adapting(parameters).prepare()


def test_lora_mapping(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The adapters of a decode step."""
    adapting = Adapting(parameters)
    measure(benchmark, parameters, adapting.prepare, lambda: {"scheduled_tokens": adapting.parts.tokens})
