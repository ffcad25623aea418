"""The document of `kind: accuracy`: the schema of tasks that every arm answers, and its traits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from perfproof.model.kinds.accuracy.accuracy_workload import AccuracyWorkload, AskedTask
from perfproof.model.kinds.accuracy.task_folder import read_task_folder
from perfproof.model.scenarios import metrics as registry
from perfproof.model.workloads.document_parts import Growing, ModelDoc, WorkloadDoc, default_launches, model_of
from perfproof.model.workloads.kind import Kind
from perfproof.model.workloads.workload import Profile

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


class AccuracyDoc(WorkloadDoc):
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

    def noun(self, profile: Profile, folder: Path | None, faults: list[str]) -> AccuracyWorkload:
        named = self.task_folder
        return AccuracyWorkload(
            model=model_of(self.model),
            through=self.through,
            endpoint=self.endpoint,
            tasks=tuple(AskedTask(name=name, **dict(task)) for name, task in self.tasks.items()),
            folder=None if named is None else read_task_folder(named, self.task_folder_sha256, folder, faults),
            fewshot=self.fewshot,
            limit=self.limit,
            concurrency=self.concurrency,
            generation={"temperature": 0, "do_sample": False, **self.generation},
            server_arguments=tuple(self.server_arguments),
            launches=self.launches or default_launches(profile),
        )

    def unsatisfiable(self, metrics: Sequence[str], blocks: int | None) -> Iterator[str]:
        """Metrics of tasks that the workload does not have, and blocks, which it can't have."""
        for name in metrics:
            if "@" in name and name.partition("@")[2] not in self.tasks:
                yield f"metrics.{name}: the workload has no such task, it has {', '.join(self.tasks)}"
        if blocks is not None:
            yield f"blocks: a workload of kind {self.kind!r} runs once, it has none"


def _measures(name: str) -> bool:
    return registry.base_name(name) == registry.ACCURACY


def _described(workload: Mapping[str, Any]) -> str:
    return "accuracy"


ACCURACY = Kind(
    name="accuracy",
    document=AccuracyDoc,
    judged_by="items",
    scope="answers",
    measures=_measures,
    guessed_seconds=90.0,
    describe=_described,
    inapplicable=("client",),
)
