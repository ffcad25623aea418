"""A trial whose own process does all the work, while it runs: what is known of it so far, how it is waited for, what it leaves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from suite.builds.ready import ReadyBuild
from suite.builds.whole import lost
from suite.model.plan import Block
from suite.model.record import Attestation, Record, Status
from suite.model.scenario import Arm
from suite.run import environment
from suite.run.diagnosis import interrupted
from suite.run.process import Running
from suite.run.recording import recorded

EVERY = 0.5
"""Seconds between two looks at a process."""


@dataclass(slots=True, kw_only=True)
class Attempt:
    """What is known of a trial so far; `began` is the monotonic clock at its start. It has failed until something else is said."""

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
    work: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def finish(self, build: ReadyBuild) -> None:
        """Stops the clock; a failure that somebody outside brought about is none of the arm's."""
        self.seconds["total"] = time.monotonic() - self.began
        if self.status == "failed" and (outside := interrupted(self.reason) or lost(build)):
            self.status, self.reason = "invalid", outside

    def record(self, *, seed: int, how: str, results: Path) -> Record:
        """What it leaves; `seed` is the plan's."""
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
            told=self.environment,
            warnings=self.warnings,
            measurements=self.measurements,
            raw=self.raw,
            work=self.work,
        )


def begun(block: Block, arm: Arm, build: ReadyBuild) -> Attempt:
    """A trial that begins now, with the machine as it is and what its build warns of."""
    return Attempt(
        block=block,
        arm=arm,
        started=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        began=time.monotonic(),
        environment={**environment.machine(), "before": environment.moment()},
        warnings=list(build.warnings),
    )


def looks(running: Running, tell: Callable[[str], None], doing: str) -> Iterator[None]:
    """One look after the other until the process has ended; `tell` is told now and then that it is still `doing`."""
    tell_at = 10.0
    while running.wait(EVERY) is None:
        yield
        if running.seconds >= tell_at:
            tell(f"{doing}, {running.seconds:.0f} s so far")
            tell_at = running.seconds + max(10.0, running.seconds / 4)
