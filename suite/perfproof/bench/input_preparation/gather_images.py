"""A step's images around their encoder: what it is given, and where its embeddings belong in the step (`_gather_mm_embeddings`)."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.adapter import absent
from perfproof.bench.input_preparation.runner import cpu_runner
from perfproof.bench.rounds import Round, measure
from perfproof.bench.scheduler.seeing import Seeing

PARAMETERS = {"requests": 8, "images": 4, "image_tokens": 64, "width": 256, "rounds": 20, "warmup_rounds": 2, "seed": 7}
EXERCISES = (
    "vllm.v1.worker.gpu_model_runner:GPUModelRunner._batch_mm_inputs_from_scheduler",
    "vllm.v1.worker.gpu_model_runner:GPUModelRunner._gather_mm_embeddings",
)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step in which images are prefilled, in each worker, before the model; the encoder runs in between"
COUNT_AT = {"requests": 2}
IMAGE = "an image as the encoder gets it"


class Gathering:
    """A runner whose encoder has seen the images of the requests that arrive."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.size = (parameters["image_tokens"], parameters["width"])
        self.seeing = Seeing(parameters, IMAGE)
        self.runner = cpu_runner(self.seeing.config, engine.kv_cache_config(self.seeing.blocks))
        for name in EXERCISES:
            if not hasattr(self.runner, name.rpartition(".")[2]):
                absent(name)
        self.gathered = 0

    def prepare(self) -> Round:
        import torch

        self.seeing.arrive()
        self.seeing.schedule()
        self.runner._update_states(self.seeing.scheduled)
        self.runner.encoder_cache.clear()
        for state in self.runner.requests.values():
            self.runner.encoder_cache.update({one.identifier: torch.zeros(self.size) for one in state.mm_features})
        return self.gather

    def gather(self) -> None:
        self.runner._batch_mm_inputs_from_scheduler(self.seeing.scheduled)
        embeddings, _ = self.runner._gather_mm_embeddings(self.seeing.scheduled)
        self.gathered += len(embeddings)


def counted_round(parameters: dict[str, Any]) -> Round:
    return Gathering(parameters).prepare()


def test_gather_images(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Steps with images."""
    gathering = Gathering(parameters)
    measure(benchmark, parameters, gathering.prepare, lambda: {"images": gathering.gathered})
