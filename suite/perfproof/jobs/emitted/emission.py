"""What a form is made of: the jobs, the folder of their results, and the hosts that they are dealt out to."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfproof.jobs.job_list import FOLDER, Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Emission:
    """The jobs of a plan and their results folder; `hosts` are names of hosts or labels of their agents, `queue` the one that they
    share."""

    jobs: Sequence[Job]
    results: Path
    hosts: Sequence[str]
    queue: str
    program: tuple[str, ...] = ("perfproof",)

    def dealt(self) -> Iterator[tuple[Job, str]]:
        """Each job with its host, pair of blocks by pair, so that each host has both orders of the arms; "" where no hosts are named."""
        for job in self.jobs:
            yield job, self.hosts[(job.blocks[0] - 1) // 2 % len(self.hosts)] if self.hosts else ""

    @property
    def merge(self) -> str:
        """The shell command that joins the jobs' folders."""
        return f"{shlex.join(self.program)} merge {shlex.quote(str(self.results / FOLDER))}/* --out {shlex.quote(str(self.results))}"

    @property
    def judge(self) -> str:
        """The shell command that judges the joined folder, with the exit code of a gate."""
        return f"{shlex.join(self.program)} gate --results {shlex.quote(str(self.results))}"

    @property
    def end(self) -> str:
        """The shell command that joins and judges: it shows the verdict where blocks are missing, too, and does not pass then."""
        return f"code=0; {self.merge} || code=$?; {self.judge} || code=$?; exit $code"
