"""The workload of an accuracy run: the tasks of lm_eval that every arm answers, and how they are run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

from perfproof.model.workloads.workload import ModelWorkload

Through = Literal["server", "offline"]
Endpoint = Literal["completions", "chat"]
Setting = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTask:
    """A task by lm_eval's name. If it has several metrics and filters, those named decide; None takes the first that lm_eval wrote.

    `passage` names a field that several items share (a text that all of them ask about): such items are not independent.
    """

    name: str
    metric: str | None
    filter: str | None
    passage: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTask:
    """A task of the scenario's own folder: its name, lm_eval's output type, and how many items it has, None if that is unknown."""

    name: str
    output_type: str
    items: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFolder:
    """A folder of task YAMLs for lm_eval, with their data. `sha256` covers all its files; `own` is empty for a folder from a record."""

    path: str
    sha256: str
    own: tuple[OwnTask, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyWorkload(ModelWorkload):
    """lm_eval against every arm, the baseline twice: through a server, or offline in the arm's own build.

    `fewshot` None leaves the number of examples to each task, `limit` None runs all items. `concurrency` requests run at once.
    `generation` goes to lm_eval unchanged. `endpoint` chat puts prompts into the model's chat template. With `launches` shared the
    baseline's second run, the floor, uses the same server or engine again, with fresh a new one.
    """

    through: Through
    endpoint: Endpoint
    tasks: tuple[AskedTask, ...]
    folder: TaskFolder | None
    fewshot: int | None
    limit: int | None
    concurrency: int
    generation: Mapping[str, Setting]
    server_arguments: tuple[str, ...]
    launches: Literal["shared", "fresh"]
    kind: Literal["accuracy"] = "accuracy"

    @property
    def vllm_words(self) -> Mapping[str, Sequence[str]]:
        return {"server_arguments": self.server_arguments}

    def most_blocks(self, looked: int) -> int:
        return 1

    @property
    def servers_together(self) -> bool:
        return self.through == "server" and self.launches == "shared"

    def kept(self, document: dict[str, Any]) -> dict[str, Any]:
        """A folder of tasks is kept by its name and the hash of its files."""
        if self.folder is None:
            return document
        return document | {"task_folder": PurePath(self.folder.path).name, "task_folder_sha256": self.folder.sha256}

    @property
    def own(self) -> Mapping[str, OwnTask]:
        """The tasks of the folder by name."""
        return {task.name: task for task in self.folder.own} if self.folder else {}

    def items(self, task: str) -> int | None:
        """The number of items of a task, if it is known before the task is loaded."""
        own = self.own.get(task)
        known = [count for count in (own.items if own else None, self.limit) if count is not None]
        return min(known) if known and (own is not None or self.limit is not None) else None


def deciding(tasks: Sequence[AskedTask], scored: Iterable[tuple[str, str, str]]) -> dict[str, tuple[str, str]]:
    """The filter and metric that decide for every scored task; `scored` has (task, filter, metric) of each result.

    They are those that the scenario names, else the first that lm_eval wrote; for a group's tasks the first. A task without the filter and
    metric that the scenario names is left out.
    """
    named = {task.name: task for task in tasks}
    chosen: dict[str, tuple[str, str]] = {}
    for name, which, metric in scored:
        task = named.get(name)
        if task is None or (task.metric in (None, metric) and task.filter in (None, which)):
            chosen.setdefault(name, (which, metric))
    return chosen
