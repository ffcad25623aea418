"""The workload of an equality run: the prompts that every arm answers, and how.

A *part* is one way to answer, and one metric of the registry (`metrics.Part`).
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

    `arguments` are flags of the engine without their dashes. `prompts` prompts are made of `dataset`, with the lengths of their answers; a
    pooling model has no lengths. `sampling` are vLLM's sampling parameters for every answer; of several values each prompt gets one, in
    turn. `sampled` are the additional ones of seeded sampling. `text` is the text whose perplexity is measured, `passage` for the suite's
    own. Logprobs that differ by no more than `tolerance` (nats; for embeddings the largest difference of a value, and the cosine distance)
    count as equal. The baseline runs `again` more times, in new processes: the noise floor.
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
