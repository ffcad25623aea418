"""The document of `kind: command`, what a scenario file may say of a command line, and its traits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, ValidationError, field_validator, model_validator

from perfproof.model.base.quantities import scale
from perfproof.model.base.untrusted import line
from perfproof.model.kinds.command.command_workload import MODEL, PYTHON, CommandWorkload, Printed
from perfproof.model.scenarios.metrics import OF_COMMANDS, PRINTED, base_name, is_count
from perfproof.model.workloads.document_parts import Growing, ModelDoc, Name, WorkloadDoc, model_of
from perfproof.model.workloads.files_document import FilesDoc, Sha256, files_of
from perfproof.model.workloads.kind import Kind
from perfproof.model.workloads.workload import Profile

Word = Annotated[str, StringConstraints(min_length=1, max_length=10_000)]
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Requirement = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9,._ -]+\])?([<>=!~][A-Za-z0-9.*+!,<>=~ -]*)?$", max_length=200),
]
"""A package as pip's requirements name it: `tabulate`, `pandas>=2,<3`; no path, no address and no option."""
COUNTED = ("python_instructions", "python_calls", "c_calls")
"""What is counted of a command's Python."""
LONGEST = 24 * 3600.0
VALUE, UNIT = "value", "unit"
"""Groups of a pattern that have names of their own."""


class PrintedDoc(Growing):
    """A number that the command prints."""

    LATER = frozenset({"pattern", "json_file", "json_path", "column", "row", "unit", "better"})

    pattern: Annotated[str, StringConstraints(min_length=1, max_length=2000)] | None = None
    json_file: Annotated[str, StringConstraints(min_length=1, max_length=4096)] | None = None
    json_path: Annotated[str, StringConstraints(min_length=1, max_length=1000)] | None = None
    column: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    row: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    unit: Annotated[str, StringConstraints(min_length=1, max_length=40)] | None = None
    better: Literal["lower", "higher"] | None = None

    @field_validator("pattern")
    @classmethod
    def _has_one_number(cls, pattern: str | None) -> str | None:
        if pattern is None:
            return None
        try:
            groups = re.compile(pattern)
        except re.error as error:
            raise ValueError(f"no regular expression: {error}") from None
        if VALUE not in groups.groupindex and groups.groups - (UNIT in groups.groupindex) != 1:
            raise ValueError(f"expected one group in parentheses, for the number (or (?P<{VALUE}>...)), got {groups.groups}")
        return pattern

    @model_validator(mode="after")
    def _one_place(self) -> PrintedDoc:
        places = [name for name in ("pattern", "json_file", "column") if getattr(self, name) is not None]
        if len(places) != 1:
            raise ValueError(f"expected one of pattern, json_file and column, got {' and '.join(places) or 'none'}")
        if (self.json_file is None) != (self.json_path is None):
            raise ValueError("json_file names a file (or - for the output), json_path the keys in it: expected both")
        if self.row is not None and self.column is None:
            raise ValueError("row: is the first cell of a table's row, so it goes with column")
        return self

    @property
    def way(self) -> Literal["lower", "higher"]:
        """Which way is better: as said, else by the unit: more a second is better, less of everything else."""
        return self.better or ("higher" if scale(self.unit or "1")[0].endswith("/time") else "lower")

    def printed(self) -> Printed:
        return Printed(
            pattern=self.pattern or "",
            json_file=self.json_file or "",
            json_path=self.json_path or "",
            column=self.column or "",
            row=self.row or "",
            unit=self.unit or "1",
            better=self.way,
        )

    def metric(self, name: str) -> str:
        """What the registry calls it: `printed_time@latency`."""
        dimension = scale(self.unit or "1")[0]
        if dimension in ("time", "bytes") and self.way == "lower":
            return f"printed_{dimension}@{name}"
        if dimension.endswith("/time") and self.way == "higher":
            return f"printed_rate@{name}"
        return f"printed_{'less' if self.way == 'lower' else 'more'}@{name}"


def printed_faults(document: Mapping[str, Any]) -> list[str]:
    """What is wrong with where a number is said to stand."""
    try:
        PrintedDoc.model_validate(dict(document))
    except ValidationError as error:
        return [detail["msg"].removeprefix("Value error, ") for detail in error.errors()]
    return []


class CommandDoc(WorkloadDoc, Growing):
    LATER = frozenset({"model", "packages", "count_python", "count_run"})

    kind: Literal["command"]
    run: Annotated[list[Word], Field(min_length=1, max_length=1000)]
    files: FilesDoc | None = None
    files_sha256: Sha256 | None = None
    metrics: dict[Name, PrintedDoc] = Field(default_factory=dict)
    counts: dict[Name, PrintedDoc] = Field(default_factory=dict)
    timeout: Annotated[float, Field(gt=0, le=LONGEST)] = 600.0
    exit_codes: Annotated[list[Annotated[int, Field(ge=0, le=255)]], Field(min_length=1)] = Field(default_factory=lambda: [0])
    environment: dict[Variable, str] = Field(default_factory=dict)
    warmups: Annotated[int, Field(ge=0, le=100)] = 0
    model: ModelDoc | None = None
    packages: Annotated[list[Requirement], Field(max_length=50)] = Field(default_factory=list)
    count_python: bool = False
    count_run: Annotated[list[Word], Field(max_length=1000)] = Field(default_factory=list)

    @model_validator(mode="after")
    def _variables_are_free(self) -> CommandDoc:
        taken = [name for name in self.environment if name in ("PYTHONPATH", "VLLM_PLUGINS") or name.startswith("PERFPROOF_")]
        if taken:
            raise ValueError(f"environment.{taken[0]}: is set by the suite; an arm's own environment may add to it")
        return self

    def noun(self, profile: Profile, folder: Path | None, faults: list[str]) -> CommandWorkload:
        return CommandWorkload(
            run=tuple(self.run),
            files=files_of("workload.files", self.files, self.files_sha256, folder, faults),
            metrics={doc.metric(name): doc.printed() for name, doc in self.metrics.items()},
            counts={name: doc.printed() for name, doc in self.counts.items()},
            timeout=self.timeout,
            exit_codes=tuple(self.exit_codes),
            environment=self.environment,
            warmups=self.warmups,
            model=None if self.model is None else model_of(self.model),
            packages=tuple(self.packages),
            count_python=self.count_python,
            count_run=tuple(self.count_run),
        )

    def unsatisfiable(self, metrics: Sequence[str], blocks: int | None) -> Iterator[str]:
        """Metrics that the command is not said to print, under the names that they have in the registry."""
        there = {doc.metric(name): name for name, doc in self.metrics.items()}
        for name in metrics:
            if base_name(name) in PRINTED and name not in there:
                known = ", ".join(there) or "none"
                yield f"metrics.{name}: workload.metrics has no number of that name, unit and direction; it has {known}"
        if PYTHON not in " ".join(self.run):
            yield f"workload.run: no word is {PYTHON}, which stands for the arm's interpreter: every arm would run the same program"
        yield from self._unsatisfiable_words()
        yield from self._open_units()
        for name in metrics:
            if is_count(name) and not self.count_python:
                yield f"metrics.{name}: nothing counts it: set workload.count_python: true"

    def _open_units(self) -> Iterator[str]:
        """Patterns that catch whatever unit is printed, where nothing says what it must be one of."""
        for key, docs in (("metrics", self.metrics), ("counts", self.counts)):
            for name, doc in docs.items():
                if doc.pattern and UNIT in re.compile(doc.pattern).groupindex and doc.unit is None:
                    yield f"workload.{key}.{name}.unit: is missing: the pattern catches a unit, which must measure the same in every trial"

    def _unsatisfiable_words(self) -> Iterator[str]:
        """Words that stand for nothing, and commands that can't be counted."""
        named = MODEL in " ".join([*self.run, *self.count_run])
        if named and self.model is None:
            yield f"workload.run: {MODEL} stands for the workload's model: name one (workload.model), or write the model's own name"
        if self.model is not None and not named:
            yield f"workload.model: no word of workload.run is {MODEL}, so that nothing loads it"
        counted = self.count_run or self.run
        if self.count_run and not self.count_python:
            yield "workload.count_run: is the command that workload.count_python: true counts, and that is not set"
        if self.count_python and counted[0] != PYTHON:
            yield f"workload.count_python: only Python is counted: the first word must be {PYTHON}, not {line(counted[0])}"


def _measures(name: str) -> bool:
    base = base_name(name)
    return base in OF_COMMANDS or base in COUNTED if base == name else base in PRINTED


def _described(workload: Mapping[str, Any]) -> str:
    words = workload.get("run")
    return "command " + line(" ".join(map(str, words)) if isinstance(words, list) else "")


COMMAND = Kind(
    name="command",
    document=CommandDoc,
    judged_by="blocks",
    scope="program",
    measures=_measures,
    guessed_seconds=20.0,
    describe=_described,
    inapplicable=("server_arguments", "client"),
    arms_have_files=True,
)
