"""A gate at work: its request, what is known so far, its time, and how it settles a decision early."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import NoReturn

from rich.console import Console

from perfproof.analysis.judging.apply_policy import stopped
from perfproof.changes.counting.host_count import Counting, HostCount
from perfproof.changes.measure_change import OpenRunners
from perfproof.gate.gate_request import GateRequest
from perfproof.model.base.errors import EXIT_PASS, EXIT_UNTESTABLE, EXIT_USAGE
from perfproof.model.scenarios.scenario import Profile, Scenario
from perfproof.model.verdicts.gate_decision import Decision
from perfproof.model.verdicts.policy import Policy
from perfproof.run.host.preflight import Start

SETTLING = 0.5
"""Minutes of a budget that are kept for judging and writing."""


class Settled(Exception):
    """A decision that stands before anything is judged."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(decision.stopped)
        self.decision = decision


@dataclass(slots=True, kw_only=True)
class GateRun:
    """A gate at work.

    `notes` report how it went. `touching` are the names of the scenarios chosen for what the change touches, `reasons` say why, `guessed`
    whether none of them names the changed code, and `wanted` are those that decide. `host` is the count of the host's work. `began` is the
    time of the start, by `clock`.
    """

    request: GateRequest
    console: Console
    open_runners: OpenRunners | None
    count: Counting
    clock: Callable[[], float]
    day: date
    began: float
    notes: list[str] = field(default_factory=list)
    touching: set[str] = field(default_factory=set)
    reasons: Mapping[str, str] = field(default_factory=dict)
    guessed: bool = False
    wanted: list[Scenario] = field(default_factory=list)
    host: HostCount = field(default_factory=HostCount)
    policy: Policy = field(init=False)

    def settled(self, why: str, code: int, *todo: str, judged: bool = True) -> Settled:
        """A decision for this reason, before anything is judged."""
        return Settled(stopped(self.policy.name, why, code, todo=todo, notes=self.notes, judged=judged))

    def refused(self, faults: Sequence[str]) -> Settled:
        """The decision on a change that can't be used, so that a comment shows the faults."""
        return self.settled("; ".join(faults), EXIT_USAGE, "Fix the change, or make the diff again; see docs/builds.md for overlays.")

    def not_covered(self, why: str, todo: str) -> NoReturn:
        """Settles as the policy says for changes that can't be measured."""
        code = EXIT_UNTESTABLE if self.policy.not_covered == "fail" else EXIT_PASS
        raise self.settled(why, code, *(() if self.policy.not_covered == "pass" else (todo,)), judged=False)

    def say(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    @property
    def profile(self) -> Profile:
        return self.request.profile or self.policy.profile

    @property
    def budget(self) -> float | None:
        return self.request.budget or self.policy.budget

    @property
    def left(self) -> float:
        """The minutes of the budget that are left for measuring."""
        return (self.budget or 0.0) - (self.clock() - self.began) / 60 - SETTLING

    @property
    def start(self) -> Start:
        return Start(what="perfproof gate", profile=self.profile, wait=self.request.wait, anyway=self.request.anyway)
