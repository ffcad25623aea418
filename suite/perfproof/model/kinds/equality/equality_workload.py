"""What an equality run asks: the prompts that every arm answers, and how.

A *part* is one way of asking, and one metric of the registry (`metrics.Part`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from perfproof.model.workloads.model_source import Dataset
from perfproof.model.workloads.workload import Flags, ModelWorkload

PASSAGE = "passage"
"""The name of the suite's own text."""
Value = str | int | float | bool
Sampling = Mapping[str, "Value | tuple[Value, ...]"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualityWorkload(ModelWorkload):
    """The same prompts for every arm, in one process that batches them the same way each time.

    `arguments` are flags of the engine without their dashes. `prompts` prompts are made of `dataset`, with the lengths of their answers;
    a model that pools has none. `sampling` are vLLM's sampling parameters in every answer, of several values each prompt has one, in
    turn; `sampled` are those that seeded sampling has beyond them. `text` is what the model is led through, `passage` for the suite's own.
    Logprobs that differ by no more than `tolerance` (nats; for embeddings the largest difference of a value, and the cosine distance)
    count as equal. The baseline runs `again` so often, in processes of its own: the floor.
    """

    arguments: Flags
    dataset: Dataset
    prompts: int
    sampling: Sampling
    sampled: Sampling
    text: str
    tolerance: float
    again: int
    kind: Literal["equality"] = "equality"

    @property
    def vllm_flags(self) -> Mapping[str, Flags]:
        return {"arguments": self.arguments}

    @property
    def repeats(self) -> int:
        return self.again

    def most_blocks(self, looked: int) -> int:
        return 1 + self.again
