"""What a trial of a command executes, and where its numbers stand."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

from perfproof.model.scenarios.metrics import Better
from perfproof.model.workloads.file_folder import FileFolder
from perfproof.model.workloads.workload import Workload

PYTHON = "{python}"
"""The word of a command line that stands for the arm's interpreter."""


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
    `counts` are numbers that all arms must print alike. `timeout` is in seconds; `warmups` are runs before the one that counts."""

    run: tuple[str, ...]
    files: FileFolder | None
    metrics: Mapping[str, Printed]
    counts: Mapping[str, Printed]
    timeout: float
    exit_codes: tuple[int, ...]
    environment: Mapping[str, str]
    warmups: int
    kind: Literal["command"] = "command"

    def kept(self, said: dict[str, Any]) -> dict[str, Any]:
        """The document with the name of its files' folder and their hash: what lies there is part of the question."""
        return said if self.files is None else {**said, "files": PurePath(self.files.path).name, "files_sha256": self.files.sha256}


def plain(printed: Printed) -> dict[str, Any]:
    """As JSON has it, without what is unsaid."""
    unsaid = Printed()
    return {name: value for name, value in dataclasses.asdict(printed).items() if value != getattr(unsaid, name)}
