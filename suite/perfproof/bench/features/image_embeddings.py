"""Embeddings of images take the places that the prompt keeps for them (`_merge_multimodal_embeddings`)."""

from __future__ import annotations

from typing import Any

from perfproof.bench.adapter import find
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 8, "image_tokens": 256, "width": 512, "rounds": 30, "warmup_rounds": 3, "seed": 7}
EXERCISES = ("vllm.model_executor.models.utils:_merge_multimodal_embeddings",)
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"requests": 2, "image_tokens": 64}
MEANS = "once a step in which images are prefilled, in each worker, before the model"


class Placing:
    """A step whose requests have an image each, amid some tokens of text."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        import torch

        self.merge = find("vllm.model_executor.models.utils:_merge_multimodal_embeddings")
        tokens, count, width = parameters["image_tokens"], parameters["requests"], parameters["width"]
        draw = torch.Generator().manual_seed(parameters["seed"])
        self.images = [torch.rand((tokens, width), generator=draw) for _ in range(count)]
        self.is_image = torch.tensor(([False] * 16 + [True] * tokens + [False] * 16) * count)
        self.text = torch.rand((len(self.is_image), width), generator=draw)
        self.placed = 0

    def prepare(self) -> Round:
        self.placed += int(self.is_image.sum())
        return lambda: self.merge(self.text, self.images, self.is_image)


def counted_round(parameters: dict[str, Any]) -> Round:
    return Placing(parameters).prepare()


def test_image_embeddings(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step's images among its text."""
    placing = Placing(parameters)
    measure(benchmark, parameters, placing.prepare, lambda: {"placed": placing.placed})
