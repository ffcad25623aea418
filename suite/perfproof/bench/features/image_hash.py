"""`MultiModalHasher.hash_kwargs` of images: the name by which caches know what was processed before."""

from __future__ import annotations

import inspect
from typing import Any

from perfproof.bench.adapter import find
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"images": 4, "side": 448, "rounds": 20, "warmup_rounds": 2, "seed": 7}
EXERCISES = ("vllm.multimodal.hasher:MultiModalHasher.hash_kwargs",)
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"images": 1, "side": 64}
MEANS = "once an image, video or sound of every request that brings some, in the process that serves HTTP"


class Hashing:
    """The same images of noise again and again."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        import numpy as np
        from PIL import Image

        draw = np.random.default_rng(parameters["seed"])
        side = parameters["side"]
        self.images = [Image.fromarray(draw.integers(0, 256, (side, side, 3), dtype=np.uint8)) for _ in range(parameters["images"])]
        self.hash = find("vllm.multimodal.hasher:MultiModalHasher").hash_kwargs
        self.before = ("blake3",) if "algorithm" in inspect.signature(self.hash).parameters else ()
        self.letters = 0

    def prepare(self) -> Round:
        return self.name

    def name(self) -> None:
        for image in self.images:
            self.letters += len(self.hash(*self.before, model_id="model", image=image))


def counted_round(parameters: dict[str, Any]) -> Round:
    return Hashing(parameters).prepare()


def test_image_hash(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The names of images."""
    hashing = Hashing(parameters)
    measure(benchmark, parameters, hashing.prepare, lambda: {"letters": hashing.letters})
