"""What a trial of a command executes, and where its numbers stand."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from perfproof.model.scenarios.metrics import Better
from perfproof.model.workloads.file_folder import CommitFiles, Files
from perfproof.model.workloads.files_document import kept_files
from perfproof.model.workloads.model_source import Model
from perfproof.model.workloads.workload import Workload

PYTHON = "{python}"
"""The word of a command line that stands for the arm's interpreter."""
MODEL = "{model}"
"""What stands for the folder or name of the workload's model in a command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """Where one number of a command stands, and its `unit`.

    `pattern` is a regular expression over the output: its first group, or group `value`, is the number, group `unit` its unit. `json_file`
    is a file that the command writes, "-" for its output, and `json_path` keys with dots between. `column` is the head of a printed
    table's column, `row` the first cell of the row that counts.
    """

    pattern: str = ""
    json_file: str = ""
    json_path: str = ""
    column: str = ""
    row: str = ""
    unit: str = "1"
    better: Better = "lower"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandWorkload(Workload):
    """A command line, a fresh process a trial. `metrics` maps names of the registry (`printed_time@latency`) to where they are printed;
    `counts` are whole numbers that all arms must print alike. `timeout` is in seconds; `warmups` are runs before the one that counts.
    `packages` are requirements of pip that it imports and a build may lack. With `count_python` its Python is counted in runs of their own,
    of the words `count_run` if there are any."""

    run: tuple[str, ...]
    files: Files | None
    metrics: Mapping[str, Printed]
    counts: Mapping[str, Printed]
    timeout: float
    exit_codes: tuple[int, ...]
    environment: Mapping[str, str]
    warmups: int
    model: Model | None = None
    packages: tuple[str, ...] = ()
    count_python: bool = False
    count_run: tuple[str, ...] = ()
    kind: Literal["command"] = "command"

    @property
    def loads(self) -> Model | None:
        return self.model

    @property
    def counted(self) -> bool:
        return self.count_python

    def with_files_pinned(self, pin: Callable[[CommitFiles], CommitFiles]) -> CommandWorkload:
        files = self.files
        return dataclasses.replace(self, files=pin(files)) if isinstance(files, CommitFiles) and not files.sha256 else self

    def with_files(self, files: Files) -> CommandWorkload:
        return dataclasses.replace(self, files=files)

    def kept(self, document: dict[str, Any]) -> dict[str, Any]:
        """The document with the name of its files and their hash: what lies there is part of the question."""
        return {**document, **kept_files(self.files)}


def plain(printed: Printed) -> dict[str, Any]:
    """As JSON has it, without what is unsaid."""
    unsaid = Printed()
    return {name: value for name, value in dataclasses.asdict(printed).items() if value != getattr(unsaid, name)}
