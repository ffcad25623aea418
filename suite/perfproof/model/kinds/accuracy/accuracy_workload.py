"""What an accuracy run asks: the tasks of lm_eval that every arm answers, and how they are put to it."""

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
    """A task by lm_eval's name. Of several metrics and filters those named decide; None takes the first that lm_eval wrote.

    `passage` names what of a document several items share (a text that all of them ask about): such items move together.
    """

    name: str
    metric: str | None
    filter: str | None
    passage: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTask:
    """A task of the scenario's own folder: its name, lm_eval's output type, and how many items it has, None where that is not seen."""

    name: str
    output_type: str
    items: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFolder:
    """A folder of task YAMLs for lm_eval, with their data. `sha256` covers all its files; `own` is empty for one known from a record."""

    path: str
    sha256: str
    own: tuple[OwnTask, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyWorkload(ModelWorkload):
    """lm_eval against every arm, the baseline twice: through a server, or offline in the arm's own build.

    `fewshot` None leaves the number of examples to each task, `limit` None asks all items. `concurrency` requests are under way at once.
    `generation` goes to lm_eval as it is. `endpoint` chat puts prompts into the model's chat template. With `launches` shared the
    baseline's second run, the floor, asks the same server or engine again, with fresh one of its own.
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
    def servers_stay(self) -> bool:
        return self.through == "server" and self.launches == "shared"

    def kept(self, said: dict[str, Any]) -> dict[str, Any]:
        """A folder of tasks is kept by its name and the hash of its files."""
        if self.folder is None:
            return said
        return said | {"task_folder": PurePath(self.folder.path).name, "task_folder_sha256": self.folder.sha256}

    @property
    def own(self) -> Mapping[str, OwnTask]:
        """The tasks of the folder by name."""
        return {task.name: task for task in self.folder.own} if self.folder else {}

    def items(self, task: str) -> int | None:
        """How many items the task asks, as far as is known before it is loaded."""
        own = self.own.get(task)
        known = [count for count in (own.items if own else None, self.limit) if count is not None]
        return min(known) if known and (own is not None or self.limit is not None) else None


def deciding(asked: Sequence[AskedTask], found: Iterable[tuple[str, str, str]]) -> dict[str, tuple[str, str]]:
    """For every task that was found, as (task, filter, metric), the filter and metric that decide.

    Those that the scenario names, else the first that lm_eval wrote; a group's tasks have what stands first. A task without what the
    scenario names for it is left out.
    """
    named = {task.name: task for task in asked}
    chosen: dict[str, tuple[str, str]] = {}
    for name, which, metric in found:
        task = named.get(name)
        if task is None or (task.metric in (None, metric) and task.filter in (None, which)):
            chosen.setdefault(name, (which, metric))
    return chosen
