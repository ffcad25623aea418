"""What runners share whose trials are attempts: what they are made of, and that every trial leaves a record, whatever becomes of it."""

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

Asked = TypeVar("Asked", bound=Workload)
Loaded = TypeVar("Loaded", bound=ModelWorkload)


class ProcessRunner(ABC, Generic[Asked]):
    """A runner whose trials are attempts; a kind of workload says what is wrong with a scenario of it, and how one is attempted.

    `builds` maps the scenario's build names to ready ones; `watch` are functions of vLLM whose calls are counted in every arm; `seed` is
    the plan's. Logs are kept under `results/logs/<scenario>`; `say` is told what takes long. Raises `BadInput` for a scenario with faults.
    """

    how = "process"
    """How a trial is isolated, as its record tells it."""

    def __init__(
        self, scenario: Scenario, builds: Mapping[str, ReadyBuild], results: Path, *, seed: int, watch: Iterable[str], say: Say
    ) -> None:
        if faults := self.faults(scenario):
            raise BadInput(*faults)
        self.workload: Asked = self.asked(scenario)
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
        """What is wrong with a scenario, as far as can be seen before anything is made; one sentence each."""

    @staticmethod
    @abstractmethod
    def asked(scenario: Scenario) -> Asked:
        """The scenario's workload."""

    @abstractmethod
    def check(self) -> None:
        """Raises `BadInput` for what only shows once the builds are ready."""

    @abstractmethod
    def _attempt(self, trial: TrialRun) -> None:
        """Does what the trial is for, and keeps in it what came of that; `CannotRun` ends the trial alone."""

    def trials(self, block: Block, arms: Sequence[str]) -> Iterator[Record]:
        """One trial of each of the arms named, in that order; every one leaves a record, whatever becomes of it."""
        of = {arm.name: arm for arm in self.scenario.arms}
        for name in arms:
            yield self._trial(block, of[name])

    def rest(self) -> None:
        """Nothing, where every trial is a process of its own."""

    def close(self) -> None:
        """Removes what was only needed while trials ran."""
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

    def _start(self, trial: TrialRun, command: Sequence[str | Path], variables: Mapping[str, str], told: Sequence[str]) -> Running:
        """Starts a trial's process; the trial keeps its log, its environment and what it was told.

        Raises `MemoryKept` where a GPU still holds the memory of a trial before.
        """
        gpus.wait_free(self._idle)
        trial.log = next_log(self._logs, trial.arm.name)
        told_of = {"arguments": shown([scrub(word) for word in told])}
        trial.environment |= {**environment.of_build(self._build(trial.arm), variables), **told_of}
        words = [str(word) for word in command]
        return start(words, environment=variables, log=trial.log, folder=self._here, grace=5.0)

    def _folder(self, name: str) -> Path:
        """A new folder that goes with the runner."""
        folder = self._scratch.folder / f"{name}-{len(list(self._scratch.folder.iterdir()))}"
        folder.mkdir()
        return folder

    def _build(self, arm: Arm) -> ReadyBuild:
        return self.builds[arm.build]


class ModelProcessRunner(ProcessRunner[Loaded]):
    """A runner whose trials load a model, and run where it is and nothing else lies."""

    def __init__(
        self, scenario: Scenario, builds: Mapping[str, ReadyBuild], results: Path, *, seed: int, watch: Iterable[str], say: Say
    ) -> None:
        super().__init__(scenario, builds, results, seed=seed, watch=watch, say=say)
        models = self._build(scenario.baseline).side.parent / "models"
        self._model = locate_model(self.workload.model, models, self._scratch.folder)
        self._here = self._model.folder

    def hub_faults(self, said: Sequence[str]) -> list[str]:
        """Why a hub's model can't be loaded; `said` is what the workload says of vLLM's arguments. Raises `CannotRun` for a silent hub."""
        return hub_faults(self.scenario, self._build(self.scenario.baseline), self._model, said, next_log(self._logs, "hub"))
