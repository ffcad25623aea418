"""The document of `kind: equality`: what a scenario file may say of prompts whose answers are compared across arms."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from perfproof.model.documents.workload_documents import MOST_TEXT, DatasetDoc, Doc, Flags, ModelDoc, Name

MOST_PROMPTS = 10_000
OURS = frozenset({"n", "seed", "logprobs", "prompt_logprobs", "max_tokens", "ignore_eos", "detokenize", "output_kind"})
"""Sampling parameters that the suite sets itself."""
GREEDY = frozenset({"temperature", "top_k", "top_p", "min_p"})
"""Sampling parameters that greedy answers have none of."""
Scalar = str | int | float | bool
InTurn = Scalar | Annotated[list[Scalar], Field(min_length=1)]


class EqualityDoc(Doc):
    kind: Literal["equality"]
    model: ModelDoc
    arguments: Flags = Field(default_factory=dict)
    dataset: DatasetDoc
    prompts: Annotated[int, Field(ge=1, le=MOST_PROMPTS)]
    sampling: dict[Name, InTurn] = Field(default_factory=dict)
    sampled: dict[Name, InTurn] = Field(default_factory=dict)
    text: Annotated[str, StringConstraints(max_length=MOST_TEXT)] = ""
    tolerance: Annotated[float, Field(ge=0, le=10)] = 0.0
    again: Annotated[int, Field(ge=1, le=20)] = 1

    @model_validator(mode="after")
    def _sampling_is_ours_or_theirs(self) -> EqualityDoc:
        said = [(where, name) for where in ("sampling", "sampled") for name in getattr(self, where)]
        faults = [f"{where}.{name}: is set by the suite" for where, name in said if name in OURS]
        faults += [f"sampling.{name}: greedy answers have none, say it under 'sampled'" for name in self.sampling if name in GREEDY]
        if self.sampled and not self.sampled.get("temperature"):
            faults.append("sampled.temperature: is missing; with none, answers are greedy")
        if faults:
            raise ValueError("; ".join(faults))
        return self
