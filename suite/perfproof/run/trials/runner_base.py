"""Base classes of runners whose trials are processes of their own: every trial leaves a record, also one that fails."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.records.private_paths import shown
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import Arm, Scenario
from perfproof.model.workloads.workload import ModelWorkload, Workload
from perfproof.run.host import environment, gpus
from perfproof.run.processes import attestation
from perfproof.run.processes.scratch_folders import RUNNING, Scratch
from perfproof.run.processes.trial_process import Running, scrub, start
from perfproof.run.servers.hub_models import hub_faults
from perfproof.run.servers.launch_spec import locate_model
from perfproof.run.servers.server_pool import next_log
from perfproof.run.trials.runner import Say
from perfproof.run.trials.trial_run import TrialRun, start_trial

AnyWorkload = TypeVar("AnyWorkload", bound=Workload)
Loaded = TypeVar("Loaded", bound=ModelWorkload)


class ProcessRunner(ABC, Generic[AnyWorkload]):
    """A runner whose trials are processes of their own. A kind of workload adds the faults of its scenarios, and how one trial runs.

    `builds` maps the scenario's build names to ready ones; `watch` are functions of vLLM whose calls are counted in every arm; `seed` is
    the plan's. Logs are kept under `results/logs/<scenario>`; `say` gets messages about slow steps.
    Raises `BadInput` for a scenario with faults.
    """

    how = "process"
    """How a trial is isolated; its record has this word."""

    def __init__(
        self, scenario: Scenario, builds: Mapping[str, ReadyBuild], results: Path, *, seed: int, watch: Iterable[str], say: Say
    ) -> None:
        if faults := self.faults(scenario):
            raise BadInput(*faults)
        self.workload: AnyWorkload = self.workload_from(scenario)
        self.scenario, self.builds = scenario, builds
        self.results, self.seed, self.say = results.resolve(), seed, say
        self.watch = tuple(sorted({*watch, *attestation.RUNNERS.values()}))
        self._logs = self.results / "logs" / scenario.name
        self._scratch = Scratch(self.results / RUNNING, scenario.name)
        self._here = self._scratch.folder
        self._idle = gpus.used()

    @staticmethod
    @abstractmethod
    def faults(scenario: Scenario) -> list[str]:
        """The faults of a scenario that show before anything is made, one sentence each."""

    @staticmethod
    @abstractmethod
    def workload_from(scenario: Scenario) -> AnyWorkload:
        """The scenario's workload."""

    @abstractmethod
    def check(self) -> None:
        """Raises `BadInput` for faults that only show once the builds are ready."""

    @abstractmethod
    def _attempt(self, trial: TrialRun) -> None:
        """Runs the trial and puts its results into it; a `CannotRun` ends this trial only."""

    def trials(self, block: Block, arms: Sequence[str]) -> Iterator[Record]:
        """Runs one trial of each of the arms named, in that order; every trial leaves a record, also one that fails."""
        of = {arm.name: arm for arm in self.scenario.arms}
        for name in arms:
            yield self._trial(block, of[name])

    def rest(self) -> None:
        """Nothing to end: every trial is a process of its own."""

    def close(self) -> None:
        """Removes the temporary files of the trials."""
        self._scratch.close()

    def _trial(self, block: Block, arm: Arm) -> Record:
        build = self._build(arm)
        trial = start_trial(block, arm, build)
        try:
            self._attempt(trial)
        except CannotRun as error:
            trial.record_error(error)
        trial.finish(build)
        return trial.record(seed=self.seed, how=self.how, results=self.results)

    def _start(self, trial: TrialRun, command: Sequence[str | Path], variables: Mapping[str, str], arguments: Sequence[str]) -> Running:
        """Starts a trial's process; the trial keeps its log, its environment and its arguments.

        Raises `MemoryKept` where a GPU still holds the memory of an earlier trial.
        """
        gpus.wait_free(self._idle)
        trial.log = next_log(self._logs, trial.arm.name)
        recorded_words = {"arguments": shown([scrub(word) for word in arguments])}
        trial.environment |= {**environment.of_build(self._build(trial.arm), variables), **recorded_words}
        words = [str(word) for word in command]
        return start(words, environment=variables, log=trial.log, folder=self._here, grace=5.0)

    def _folder(self, name: str) -> Path:
        """A new folder, which is removed when the runner closes."""
        folder = self._scratch.folder / f"{name}-{len(list(self._scratch.folder.iterdir()))}"
        folder.mkdir()
        return folder

    def _build(self, arm: Arm) -> ReadyBuild:
        return self.builds[arm.build]


class ModelProcessRunner(ProcessRunner[Loaded]):
    """A runner whose trials load a model, and run in a folder with nothing but the model."""

    def __init__(
        self, scenario: Scenario, builds: Mapping[str, ReadyBuild], results: Path, *, seed: int, watch: Iterable[str], say: Say
    ) -> None:
        super().__init__(scenario, builds, results, seed=seed, watch=watch, say=say)
        models = self._build(scenario.baseline).side.parent / "models"
        self._model = locate_model(self.workload.model, models, self._scratch.folder)
        self._here = self._model.folder

    def hub_faults(self, flags_given: Sequence[str]) -> list[str]:
        """Why a hub's model can't be loaded; `flags_given` are the workload's vLLM arguments. Raises `CannotRun` if the hub is silent."""
        return hub_faults(self.scenario, self._build(self.scenario.baseline), self._model, flags_given, next_log(self._logs, "hub"))
