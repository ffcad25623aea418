"""A project's own pytest-benchmark tests, which `pytest --perfproof` measures in two checkouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from perfproof.model.base.untrusted import line
from perfproof.model.scenarios.metrics import of_rounds
from perfproof.model.workloads.document_parts import WorkloadDoc
from perfproof.model.workloads.kind import Kind
from perfproof.model.workloads.workload import Profile, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestWorkload(Workload):
    """A pytest-benchmark test of a project, by its node id, in two checkouts; `pytest --perfproof` measures it.

    `base` is the commit of one, `change` a hash of the other's difference. `family` is how many benchmarks were chosen together and share
    the error of the looks.
    """

    test: str
    base: str
    change: str
    family: int
    kind: Literal["pytest"] = "pytest"

    @property
    def chosen_together(self) -> int:
        return self.family


class PytestDoc(WorkloadDoc):
    kind: Literal["pytest"]
    test: Annotated[str, StringConstraints(min_length=1, max_length=4096)]
    base: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40,64}$")]
    change: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
    family: Annotated[int, Field(ge=1, le=100_000)]

    def noun(self, profile: Profile, folder: Path | None, faults: list[str]) -> PytestWorkload:
        return PytestWorkload(test=self.test, base=self.base, change=self.change, family=self.family)


def _described(workload: Mapping[str, Any]) -> str:
    return f"pytest-benchmark test {line(workload.get('test', ''))}"


def _repeat(workload: Mapping[str, Any]) -> Sequence[str]:
    test, base = line(workload.get("test", "")), line(workload.get("base", ""))
    return ("python", "-m", "pytest", "--perfproof", "--perfproof-base", base[:12], test)


PYTEST = Kind(
    name="pytest",
    document=PytestDoc,
    judged_by="blocks",
    scope="part",
    measures=of_rounds,
    guessed_seconds=8.0,
    describe=_described,
    inapplicable=("server_arguments", "client", "patches", "runner"),
    not_by_file="is measured by `pytest --perfproof` itself (docs/pytest.md), not from a file",
    attests=False,
    planned=False,
    repeat=_repeat,
)
