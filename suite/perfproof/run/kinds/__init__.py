"""A room for each kind of workload: how its trials run, and how their results are read.

Kinds do not import each other; what two of them share lies in the rooms below. A new kind is a room and a line here. Pytest has no room:
it runs a project's own benchmarks, and no plan runs them.
"""

from __future__ import annotations

from perfproof.model.base.errors import CannotRun
from perfproof.model.scenarios.scenario import Scenario
from perfproof.run.kinds.accuracy import accuracy_runner
from perfproof.run.kinds.command import command_runner
from perfproof.run.kinds.engine import engine_runner
from perfproof.run.kinds.equality import equality_runner
from perfproof.run.kinds.micro import micro_runner
from perfproof.run.kinds.offline import offline_runner
from perfproof.run.kinds.serve import serve_runner
from perfproof.run.trials.runner import RunnerKind

RUNNERS: tuple[RunnerKind, ...] = (
    micro_runner.RUNNER,
    serve_runner.RUNNER,
    offline_runner.RUNNER,
    accuracy_runner.RUNNER,
    equality_runner.RUNNER,
    command_runner.RUNNER,
    engine_runner.RUNNER,
)


def runner_of(scenario: Scenario) -> RunnerKind:
    """How a scenario is run. Raises `CannotRun` for a kind that no plan runs."""
    runner_kind = next((runner for runner in RUNNERS if runner.kind.name == scenario.workload.kind), None)
    if runner_kind is None:
        raise CannotRun(f"{scenario.source}: a workload of kind {scenario.workload.kind!r} is not run by a plan")
    return runner_kind
