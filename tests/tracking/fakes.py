"""Runners that run trials in no time, for trackers and bisections: a build's label decides what its trials leave."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfproof.model.documents.decode import scenario_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block, Plan
from perfproof.model.scenarios.scenario import Scenario
from perfproof.run.host import environment
from tests.factory import ATTESTATION, DEFINITION, record

Fate = Callable[[Record, str], Record]
MACHINE = {**environment.machine(), "packages": {"torch": "2.13.0"}}
"""This machine: what another one measured is judged apart."""


def scenario(name: str = "swap_states", *, timed: bool = False, **changes: Any) -> Scenario:
    """A scenario whose primary metric is a count, or with `timed` a time."""
    metrics = {"bytes_per_swap": {"primary": not timed, "margin": 0.02}, "round_time": {"primary": timed, "margin": 0.02}}
    return scenario_of({**copy.deepcopy(DEFINITION), "name": name, "metrics": metrics, "blocks": None, **changes}, source=f"{name}.yaml")


@dataclass
class FakeRunners:
    """`fate` makes of a plain record of a build (its label) what the trial leaves; it may raise. `ran` lists builds and block numbers."""

    fate: Fate = lambda one, build: one
    ran: list[tuple[str, int]] = field(default_factory=list)
    open: int = 0

    @contextlib.contextmanager
    def __call__(self, plan: Plan, results: Path) -> Iterator[Callable[[Scenario], FakeRunners]]:
        self.open += 1
        try:
            yield lambda _: self
        finally:
            self.open -= 1

    def trials(self, block: Block, arms: Sequence[str]) -> Iterator[Record]:
        for name in arms:
            arm = next(arm for arm in block.scenario.arms if arm.name == name)
            build = block.scenario.builds[arm.build].label
            one = record(
                block.scenario.definition,
                digest=block.scenario.digest,
                block=block.number,
                arm=name,
                position=block.order.index(name),
                order=list(block.order),
                attestation=dataclasses.replace(ATTESTATION, vllm_version=build.rpartition(" ")[2], sources=build),
                environment={**MACHINE, "build": build},
            )
            self.ran.append((build, block.number))
            yield self.fate(one, build)

    def close(self) -> None:
        """Nothing is kept alive."""
