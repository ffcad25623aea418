"""The interface of a runner of trials, and how a runner is opened for each kind of workload."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import Scenario
from perfproof.model.workloads.kind import Kind

Say = Callable[[str], None]


class Runner(Protocol):
    """Runs trials of one kind of workload; owns whatever it keeps alive between them."""

    def check(self) -> None:
        """Raises `BadInput` for faults that only show once the builds are ready, `CannotRun` where they can't be checked."""
        ...

    def trials(self, block: Block, arms: Sequence[str]) -> Iterator[Record]:
        """Runs one fresh trial of each of `arms` (names, in the order to run them), and yields each record as its trial ends."""
        ...

    def rest(self) -> None:
        """Ends the servers that it keeps up between trials, because another runner measures next. A later trial starts them again."""
        ...

    def close(self) -> None:
        """Ends everything that still runs."""
        ...


@runtime_checkable
class CountsFirst(Protocol):
    """A runner that can count the work of its arms apart from timed trials: counts need no quiet machine, so they need not wait for one."""

    def count_first(self, block: Block, arms: Sequence[str], before: Sequence[Record]) -> Iterator[Record]:
        """Counts the arms in runs that are not timed, and yields a record of each that could be counted; timed trials of the block take its
        counts over. `before` are such records of an earlier run, whose arms are not counted again."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What runners need: `ready` builds by their keys, the results folder, the plan's seed, and `say` for messages about slow steps."""

    ready: Mapping[str, ReadyBuild]
    results: Path
    seed: int
    say: Say

    def builds_of(self, scenario: Scenario) -> dict[str, ReadyBuild]:
        """The ready builds of a scenario by their names in it."""
        return {name: self.ready[build.key] for name, build in scenario.builds.items() if build.key in self.ready}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerKind:
    """How the scenarios of a kind are run. `faults` gives the faults of one scenario that show before anything is made.

    `open` makes the runner of one scenario; if the runner is `shared`, of all scenarios of the kind in a plan.
    """

    kind: Kind
    faults: Callable[[Scenario], list[str]]
    open: Callable[[Sequence[Scenario], Opening], Runner]
    shared: bool = False


class OpensScenario(Protocol):
    """The class of a runner that runs one scenario."""

    def __call__(
        self, scenario: Scenario, builds: Mapping[str, ReadyBuild], results: Path, *, seed: int, watch: Sequence[str], say: Say
    ) -> Runner: ...


def one_each(runner: OpensScenario, watched: Callable[[Scenario], Sequence[str]]) -> Callable[[Sequence[Scenario], Opening], Runner]:
    """Opens one runner per scenario; `watched` names the functions of vLLM that are counted in its arms."""

    def opens(scenarios: Sequence[Scenario], opening: Opening) -> Runner:
        (scenario,) = scenarios
        builds, watch = opening.builds_of(scenario), watched(scenario)
        return runner(scenario, builds, opening.results, seed=opening.seed, watch=watch, say=opening.say)

    return opens
