"""A trial while it runs: its state, the record that it leaves, and the wait for its process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfproof.builds.install.integrity import changed, lost
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base import clock
from perfproof.model.base.errors import CannotRun
from perfproof.model.records.record import INTERRUPTED, Attestation, Record, Status
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import Arm
from perfproof.model.workloads.parallelism import parallelism
from perfproof.run.host import environment
from perfproof.run.host.disk_space import no_room
from perfproof.run.host.gpus import MemoryKept
from perfproof.run.processes import attestation as attest
from perfproof.run.processes.trial_process import Ended, Running, tail
from perfproof.run.servers.log_diagnosis import diagnose, interrupted, last_words
from perfproof.run.trials.record_builder import recorded

EVERY = 0.5
"""Seconds between two looks at a process."""
FIRST = 0.02
"""Seconds until the first look: a short program is seen, too."""
LONGEST = 3600.0
"""Seconds after which a process is stopped."""
LOG_LINES = 20_000
"""Lines of a log that are searched for the cause of a failure."""


@dataclass(slots=True, kw_only=True)
class TrialRun:
    """The state of a trial; `began` is the monotonic clock at its start. Its status is "failed" until another is set."""

    block: Block
    arm: Arm
    started: str
    began: float
    environment: dict[str, Any]
    seconds: dict[str, float] = field(default_factory=dict)
    log: Path | None = None
    status: Status = "failed"
    reason: str = ""
    attestation: Attestation | None = None
    measurements: dict[str, float] = field(default_factory=dict)
    raw: dict[str, Sequence[float]] = field(default_factory=dict)
    witnesses: dict[str, float] = field(default_factory=dict)
    work: dict[str, int] = field(default_factory=dict)
    counts: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def failed(self, reason: str, *, outside: bool = False) -> None:
        """Sets why it does not count; a cause from `outside` is not the arm's fault."""
        self.status, self.reason = ("invalid" if outside else "failed"), reason

    def record_error(self, error: CannotRun) -> None:
        """Sets the error that ended it; a cause from outside (a SIGKILL, memory that a GPU keeps) is not the arm's fault."""
        killed = isinstance(error, Ended) and error.killed
        self.failed(f"{INTERRUPTED}: {error}" if killed else str(error), outside=killed or isinstance(error, MemoryKept))

    def process_died(self, running: Running, cause: str, what: str = "") -> None:
        """Sets that its process ended too early; `what` names a process that is not the arm's own."""
        self.failed(f"arm {self.arm.name}: {what}{ending(running, cause)}", outside=running.poll() == -9)

    def prove(self, build: ReadyBuild) -> bool:
        """Sets whether it counts: it does if its processes, each worker among them, proved what they ran."""
        workers = parallelism(self.block.scenario.workload, self.arm.server_arguments).workers
        unproven = attest.verify(self.attestation, self.arm, build, tail(self.log, LOG_LINES) if self.log else "")
        unproven = unproven or attest.worker_fault(self.attestation, workers)
        self.status, self.reason = ("unattested", unproven) if unproven else ("ok", "")
        return not unproven

    def finish(self, build: ReadyBuild) -> None:
        """Stops the clock; a failure with a cause from outside makes the trial invalid, because it is not the arm's fault."""
        self.seconds["total"] = time.monotonic() - self.began
        if self.status == "ok" and (why := changed(build)):
            self.failed(why, outside=True)
        if self.status not in ("failed", "unattested"):
            return
        if outside := interrupted(self.reason) or (no_room(self.log.parent, self.reason) if self.log else "") or lost(build):
            self.status, self.reason = "invalid", outside

    def record(self, *, seed: int, how: str, results: Path) -> Record:
        """Its record; `seed` is the plan's."""
        return recorded(
            self.block,
            self.arm.name,
            seed=seed,
            started=self.started,
            status=self.status,
            reason=self.reason,
            how=how,
            log=self.log,
            results=results,
            attestation=self.attestation,
            seconds=self.seconds,
            known=self.environment,
            warnings=self.warnings,
            measurements=self.measurements,
            raw=self.raw,
            work=self.work,
            witnesses=self.witnesses,
            counts=self.counts,
        )


def start_trial(block: Block, arm: Arm, build: ReadyBuild) -> TrialRun:
    """A trial that begins now, with the machine's present state and the warnings of its build."""
    return TrialRun(
        block=block,
        arm=arm,
        started=clock.now(),
        began=time.monotonic(),
        environment={**environment.machine(), "before": environment.moment()},
        warnings=list(build.warnings),
    )


def looks(running: Running, tell: Callable[[str], None], doing: str, longest: float = LONGEST, remedy: str = "") -> Iterator[None]:
    """Yields at every look until the process has ended; now and then `tell` gets the message that it is still `doing`.

    Raises `CannotRun` for a process that takes longer than `longest` seconds, with the remedy.
    """
    tell_at = 10.0
    while running.wait(min(EVERY, FIRST + running.seconds / 4)) is None:
        yield
        if running.seconds > longest:
            raise CannotRun(f"{doing}, and had not ended after {longest:.0f} s{f': {remedy}' if remedy else ''}")
        if running.seconds >= tell_at:
            tell(f"{doing}, {running.seconds:.0f} s so far")
            tell_at = running.seconds + max(10.0, running.seconds / 4)


def ending(running: Running, cause: str) -> str:
    """How a process ended, why if known, and the last lines of its log."""
    return f"{running.finished().how()}{f': {cause}' if cause else ''}; the end of its log:\n{last_words(tail(running.log, 400))}"


def cause_of(running: Running, attests: Path) -> str:
    """Why a process of vLLM ended, from its log and from what its processes attested in `attests`; "" if the cause is unknown."""
    return diagnose(tail(running.log, LOG_LINES), [*attest.signals(attests), -(running.poll() or 0)])
