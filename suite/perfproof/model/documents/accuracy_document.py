"""The document of `kind: accuracy`: what a scenario file may say of tasks that every arm answers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from perfproof.model.documents.workload_documents import Doc, Growing, ModelDoc

MOST_ITEMS = 10_000_000
MOST_AT_ONCE = 4096
TaskName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:/+-]{0,199}$")]
Label = Annotated[str, StringConstraints(min_length=1, max_length=200)]
GenerationKey = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class TaskDoc(Growing):
    LATER = frozenset({"passage"})

    metric: Label | None = None
    filter: Label | None = None
    passage: Label | None = None


class AccuracyDoc(Doc):
    kind: Literal["accuracy"]
    model: ModelDoc
    through: Literal["server", "offline"]
    endpoint: Literal["completions", "chat"] = "completions"
    tasks: Annotated[dict[TaskName, TaskDoc], Field(min_length=1)]
    task_folder: Annotated[str, StringConstraints(min_length=1, max_length=4096)] | None = None
    task_folder_sha256: Sha256 | None = None
    fewshot: Annotated[int, Field(ge=0, le=1000)] | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_ITEMS)] | None = None
    concurrency: Annotated[int, Field(ge=1, le=MOST_AT_ONCE)] = 16
    generation: dict[GenerationKey, str | int | float | bool] = Field(default_factory=dict)
    server_arguments: list[str] = Field(default_factory=list)
    launches: Literal["shared", "fresh"] | None = None

    @model_validator(mode="after")
    def _sampling_is_seeded(self) -> AccuracyDoc:
        faults = [f"generation.{name}: is set by the suite" for name in ("seed", "n", "max_tokens") if name in self.generation]
        if "max_tokens" in self.generation:
            faults.append("generation.max_gen_toks is lm_eval's name for the most tokens of an answer")
        if faults:
            raise ValueError("; ".join(faults))
        return self
