"""The KV cache is planned: layers into groups, memory into blocks, the longest prompt that fits; and its manager is made."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.adapter import find
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"layers": 32, "model": "full", "rounds": 10, "warmup_rounds": 1, "seed": 7}
CHOICES = {"model": ("full", "window", "latent", "state")}
EXERCISES = ("vllm.v1.core.kv_cache_utils:get_kv_cache_configs",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once at a server's start, after the model was loaded; it grows with layers, not with memory"
COUNT_AT = {"layers": 8}
MEMORY = 64 << 20
"""Bytes for the cache."""
LAYOUT = "LBHNC"
"""That of attention on a CPU."""


class Planning:
    """The same model is planned again and again. Every fourth layer is of full attention where the others are not."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.plan = find("vllm.v1.core.kv_cache_utils:get_kv_cache_configs")
        kinds = {
            "full": engine.full_attention,
            "window": lambda: engine.sliding_window(1_024),
            "latent": engine.latent_attention,
            "state": engine.state_space,
        }
        other, uniform = kinds[parameters["model"]], parameters["model"] in ("full", "latent")
        full = other if uniform else engine.full_attention
        self.specs = {f"layer{n}": full() if n % 4 == 3 else other() for n in range(parameters["layers"])}
        self.blocks = 0

    def prepare(self) -> Round:
        config = engine.vllm_config(max_num_seqs=8)
        config.model_config.original_max_model_len = -1  # as long as fits
        config.cache_config.num_gpu_blocks = None
        if hasattr(config.cache_config, "kv_cache_layout"):
            config.cache_config.kv_cache_layout = LAYOUT
        return lambda: self.make(config)

    def make(self, config: Any) -> None:
        (planned,) = self.plan(config, [dict(self.specs)], [MEMORY])
        engine.kv_cache_manager(planned)
        self.blocks += planned.num_blocks


def counted_round(parameters: dict[str, Any]) -> Round:
    return Planning(parameters).prepare()


def test_plan(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A model's cache."""
    planning = Planning(parameters)
    measure(benchmark, parameters, planning.prepare, lambda: {"blocks": planning.blocks})
