"""The document of `kind: equality`: the schema of prompts whose answers are compared across arms, and its traits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from perfproof.model.kinds.equality.equality_workload import EqualityWorkload, Sampling
from perfproof.model.scenarios.metrics import ANSWERS
from perfproof.model.workloads.document_parts import MOST_TEXT, DatasetDoc, Flags, ModelDoc, Name, WorkloadDoc, dataset_of, model_of
from perfproof.model.workloads.kind import Kind
from perfproof.model.workloads.workload import Profile

MOST_PROMPTS = 10_000
OURS = frozenset({"n", "seed", "logprobs", "prompt_logprobs", "max_tokens", "ignore_eos", "detokenize", "output_kind"})
"""Sampling parameters that the suite sets itself."""
GREEDY = frozenset({"temperature", "top_k", "top_p", "min_p"})
"""Sampling parameters that greedy answers do not have."""
Scalar = str | int | float | bool
InTurn = Scalar | Annotated[list[Scalar], Field(min_length=1)]


class EqualityDoc(WorkloadDoc):
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
        named = [(where, name) for where in ("sampling", "sampled") for name in getattr(self, where)]
        faults = [f"{where}.{name}: is set by the suite" for where, name in named if name in OURS]
        faults += [f"sampling.{name}: greedy answers have none, set it under 'sampled'" for name in self.sampling if name in GREEDY]
        if self.sampled and not self.sampled.get("temperature"):
            faults.append("sampled.temperature: is missing; without it, answers are greedy")
        if faults:
            raise ValueError("; ".join(faults))
        return self

    def noun(self, profile: Profile, folder: Path | None, faults: list[str]) -> EqualityWorkload:
        return EqualityWorkload(
            model=model_of(self.model),
            arguments=self.arguments,
            dataset=dataset_of(self.dataset),
            prompts=self.prompts,
            sampling=_in_turn(self.sampling),
            sampled=_in_turn(self.sampled),
            text=self.text,
            tolerance=self.tolerance,
            again=self.again,
        )


def _in_turn(parameters: Mapping[str, Any]) -> Sampling:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in parameters.items()}


def _measures(name: str) -> bool:
    return name in ANSWERS


def _described(workload: Mapping[str, Any]) -> str:
    return "equality"


EQUALITY = Kind(
    name="equality",
    document=EqualityDoc,
    judged_by="bits",
    scope="answers",
    measures=_measures,
    guessed_seconds=40.0,
    describe=_described,
    inapplicable=("client",),
)
