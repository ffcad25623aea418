"""Trials of any command: a fresh process of the arm's build a trial, in a folder of its own with a copy of the scenario's files.

A trial counts only if its processes proved which vLLM they imported. A script that puts another vLLM before the arm's own is found out by
that. A command that never ends is ended; what it leaves running goes with it.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from perfproof.analysis.trials.invalidation import ONLY_COUNTED
from perfproof.builds.install.packages_beside import beside, versions
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.overlays.commit_files import laid_out
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.base.name_lists import few
from perfproof.model.kinds.command.command_document import COMMAND
from perfproof.model.kinds.command.command_workload import MODEL, PYTHON, CommandWorkload
from perfproof.model.records.private_paths import shown
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import Arm, Model, Scenario
from perfproof.model.workloads.file_folder import CommitFiles, FileFolder
from perfproof.run.checks import catalog
from perfproof.run.host import environment, telemetry
from perfproof.run.host.environment import usable_cores
from perfproof.run.host.instruction_counter import OfChildren
from perfproof.run.kinds.command.printed_numbers import MOST_BYTES, read, whole
from perfproof.run.kinds.command.python_counts import BLOCKS, MOST, agree, counted_round, read_counted
from perfproof.run.processes import attestation
from perfproof.run.processes.trial_process import arm_variables, build_environment, scrub, start
from perfproof.run.servers.launch_spec import HERE, locate_model, model_faults
from perfproof.run.servers.server import resident
from perfproof.run.servers.server_pool import next_log
from perfproof.run.trials.runner import RunnerKind, one_each
from perfproof.run.trials.runner_base import ProcessRunner
from perfproof.run.trials.trial_run import TrialRun, ending, looks, start_trial

NEVER_IMPORTED = (
    "no process of the command imported vLLM: it proves nothing of the arm's build; run it with {python}, without -I, -E and -S, "
    "and have it import vllm"
)


LONGER = "if that is no fault of it, allow more seconds (--timeout of perfproof ab, workload.timeout of a scenario)"
"""What to do about a command that does not end in time."""
BESIDE = "PERFPROOF_BESIDE"
"""The folder of packages that goes to the end of `sys.path`."""


def scenario_faults(scenario: Scenario) -> list[str]:
    """The faults of a command's scenario that show before anything is made: a model that can't be built."""
    model = workload_of(scenario).model
    return [] if model is None else [f"{scenario.source}: workload.{fault}" for fault in model_faults(model)]


def workload_of(scenario: Scenario) -> CommandWorkload:
    """The scenario's workload; `TypeError` for one that is no command."""
    return CommandWorkload.of(scenario.workload)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ran:
    """What is known of one run: its output, the folder that it ran in, and what its processes took (seconds, bytes, instructions)."""

    output: str
    folder: Path
    seconds: float
    cpu_seconds: float
    peak: int
    instructions: int | None


class CommandRunner(ProcessRunner[CommandWorkload]):
    """Runs the trials of one command; nothing is kept alive between them."""

    faults = staticmethod(scenario_faults)
    workload_from = staticmethod(workload_of)

    def check(self) -> None:
        """Lays out the files of commits, and the packages beside the builds. Raises `BadInput` for files that are no longer there, and for
        a program of this machine that is to run in an image."""
        if outside := [arm.name for arm in self.scenario.arms if self._build(arm).container and self.workload.run[0] != PYTHON]:
            raise BadInput(
                f"{self.scenario.source}: workload.run: begins with {self.workload.run[0]!r}, a program of this machine, and the build of "
                f"{' and '.join(outside)} is a container image: begin with {PYTHON} (of 'vllm bench ...': {PYTHON} -m "
                "vllm.entrypoints.cli.main bench ...)"
            )
        self._files = {arm.name: self._files_of(arm) for arm in self.scenario.arms}
        wanted = self.workload.packages
        self._beside = {arm.build: beside(self._build(arm), wanted, self.say) for arm in self.scenario.arms} if wanted else {}
        self._given_up: set[str] = set()
        self._first: dict[str, tuple[dict[str, Any], list[str]]] = {}

    def _files_of(self, arm: Arm) -> FileFolder | None:
        """The folder that the arm's trials run in copies of: its own files, or the workload's."""
        files = arm.files or self.workload.files
        where = f"{self.scenario.source}: {'workload' if arm.files is None else f'arms.{arm.name}'}.files"
        if isinstance(files, CommitFiles):
            return laid_out(where, files, self._folder("commit"))
        if files is not None and not Path(files.path).is_dir():
            raise BadInput(f"{where}: {files.path}: there is no such folder")
        return files

    def _attempt(self, trial: TrialRun) -> None:
        """Runs the command, reads what it printed, and judges whether that counts."""
        build = self._build(trial.arm)
        for number in range(self.workload.warmups):
            self._run(trial, build, self._folder("attest"), f"warm-up {number + 1} of {self.workload.warmups}")
        attests = self._folder("attest")
        ran = self._run(trial, build, attests, "")
        trial.measurements |= {"wall_time": ran.seconds}
        trial.measurements |= {"peak_memory": float(ran.peak)} if ran.peak else {}
        if build.container:
            trial.warnings.append("its wall time has the start of its container in it; CPU time and instructions are not measured there")
        else:
            trial.measurements |= {"cpu_time": ran.cpu_seconds}
            trial.measurements |= {} if ran.instructions is None else {"instructions": float(ran.instructions)}
        trial.seconds["command"] = ran.seconds
        trial.attestation = attestation.read(attests, build, trial.arm)
        if trial.attestation is None:
            trial.status, trial.reason = "unattested", NEVER_IMPORTED
            return
        for name, printed in self.workload.metrics.items():
            trial.measurements[name] = read(name.partition("@")[2], printed, ran.output, ran.folder)
        trial.work |= {name: whole(name, printed, ran.output, ran.folder) for name, printed in self.workload.counts.items()}
        if trial.prove(build) and self.workload.count_python:
            self._count(trial, build)

    def _run(self, trial: TrialRun, build: ReadyBuild, attests: Path, what: str) -> _Ran:
        """One run from its start to its end.

        Raises `CannotRun` where it did not end in time, or not with an exit code that is allowed.
        """
        folder = self._laid_out(trial.arm)
        words = self._words(self.workload.run, build, folder)
        quiet, sampler = telemetry.read(), telemetry.Sampler()
        peak, doing = 0, f"arm {trial.arm.name}: {what or 'the command'} runs"
        self._here, began = folder, _cpu_seconds()
        counter = OfChildren()
        with self._start(trial, words, self._variables(build, trial.arm, attests), self.workload.run) as running:
            for _ in looks(running, self.say, doing, self.workload.timeout, LONGER):
                sampler.look()
                peak = max(peak, resident(running.processes()))
        instructions, used = counter.stop(), _cpu_seconds() - began
        trial.environment |= telemetry.meanwhile(quiet, sampler)
        trial.environment |= {"packages_beside": versions(self._beside[trial.arm.build])} if self._beside else {}
        if not what:
            trial.warnings += telemetry.warnings(trial.environment)
        code = running.poll()
        if code not in self.workload.exit_codes:
            raise CannotRun(f"arm {trial.arm.name}: the command {ending(running, '')}")
        return _Ran(
            output=_text(running.log), folder=folder, seconds=running.seconds, cpu_seconds=used, peak=peak, instructions=instructions
        )

    # --- its Python, counted -----------------------------------------------------------------------------

    def count_first(self, block: Block, arms: Sequence[str], before: Sequence[Record]) -> Iterator[Record]:
        """See `CountsFirst`. What was counted counts only if its process proved which vLLM it imported; else the timed trial counts."""
        self._first |= {one.arm: (dict(one.counts), list(one.warnings)) for one in before}
        of = {arm.name: arm for arm in self.scenario.arms}
        for arm in (of[name] for name in arms if name not in self._first):
            build = self._build(arm)
            trial = start_trial(block, arm, build)
            attests = self._count_now(trial, build)
            warnings = trial.warnings[len(build.warnings) :]
            if not trial.counts:
                self._first[arm.name] = ({}, warnings)
                continue
            trial.attestation = attestation.read(attests, build, arm)
            if trial.attestation is None or not trial.prove(build):
                continue
            trial.environment |= {**environment.of_build(build, self._variables(build, arm, attests)), **self._recorded(arm)}
            trial.finish(build)
            if trial.status == "ok":
                trial.failed(ONLY_COUNTED, outside=True)
                self._first[arm.name] = (trial.counts, warnings)
                yield trial.record(seed=self.seed, how=self.how, results=self.results)

    def _recorded(self, arm: Arm) -> dict[str, Any]:
        """What a record says of the command itself."""
        beside = {"packages_beside": versions(self._beside[arm.build])} if self._beside else {}
        return {"arguments": shown([scrub(word) for word in self.workload.run]), **beside}

    def _count(self, trial: TrialRun, build: ReadyBuild) -> None:
        """The counts of a timed trial: those of `count_first`, else counted now."""
        first = self._first.get(trial.arm.name) if trial.block.number == 1 else None
        if first is not None:
            trial.counts = first[0]
            trial.warnings += first[1]
        elif trial.block.number <= BLOCKS and trial.arm.name not in self._given_up:
            self._count_now(trial, build)

    def _count_now(self, trial: TrialRun, build: ReadyBuild) -> Path:
        """Counts the command's Python in runs of their own, until two agree; a warning says why there is no count. Returns the folder in
        which the last of them attested."""
        began, runs = time.monotonic(), list[dict[str, Any]]()
        others: list[str] = []
        attests = self._folder("attest")
        try:
            while len(runs) < MOST and not (runs and agree(runs)):
                attests = self._folder("attest")
                document, others = read_counted(self._counted_run(trial, build, attests))
                runs.append(document)
        except CannotRun as error:
            self._given_up.add(trial.arm.name)
            trial.warnings.append(f"its Python was not counted: {error}")
            return attests
        finally:
            trial.seconds["counting"] = time.monotonic() - began
        at = {"command": " ".join(self.workload.count_run[1:])} if self.workload.count_run else {}
        trial.counts = {"": counted_round(runs, at)}
        if others:
            trial.warnings.append(f"its Python was counted in its first process alone; beside it: {few(sorted(set(others)), 3)}")
        return attests

    def _counted_run(self, trial: TrialRun, build: ReadyBuild, attests: Path) -> Path:
        """The file that a counted run left. What it attests proves nothing of a timed run. Raises `CannotRun` as `_run` does."""
        arm, folder, file = trial.arm, self._laid_out(trial.arm), self._folder("count") / "count.json"
        words = self._words(self.workload.count_run or self.workload.run, build, folder)
        variables = {**self._variables(build, arm, attests), "PERFPROOF_COUNT": str(file)}
        doing = f"arm {arm.name}: the command is counted"
        with start(words, environment=variables, log=next_log(self._logs, f"{arm.name}-counted"), folder=folder, grace=5.0) as running:
            for _ in looks(running, self.say, doing, self.workload.timeout, LONGER):
                pass
        if running.poll() not in self.workload.exit_codes:
            raise CannotRun(f"a run with the counter {ending(running, '')}")
        return file

    # --- what it runs in ---------------------------------------------------------------------------------

    def _words(self, run: Sequence[str], build: ReadyBuild, folder: Path) -> list[str]:
        """The command line, with the build's interpreter and the model in their places."""
        named = "" if self.workload.model is None else self._model_in(self.workload.model, folder)
        return [word.replace(PYTHON, str(build.interpreter)).replace(MODEL, named) for word in run]

    def _model_in(self, model: Model, folder: Path) -> str:
        """What a run in that folder calls the model: a link below it, or a hub's name."""
        at = locate_model(model, self._build(self.scenario.baseline).side.parent / "models", folder)
        return str(PurePath(HERE, at.name)) if at.offline else at.name

    def _variables(self, build: ReadyBuild, arm: Arm, attests: Path) -> Mapping[str, str]:
        model = self.workload.model
        hub = isinstance(model, str) and not Path(model).expanduser().is_dir()
        base = build_environment(build, arm, threads=usable_cores(), hub=hub)
        base |= {} if model is None or hub else {"HF_HUB_OFFLINE": "1"}
        first = os.pathsep.join(filter(None, [str(build.child / "command"), base.get("PYTHONPATH", "")]))
        own = arm_variables(arm, attest=attests, watch=self.watch)
        last = {BESIDE: str(self._beside[arm.build])} if self._beside else {}
        return {**base, **last, **self.workload.environment, **own, "PYTHONPATH": first}

    def _laid_out(self, arm: Arm) -> Path:
        """A new folder with a copy of the arm's files: what a trial writes there, no other one finds."""
        folder, files = self._folder("files"), self._files[arm.name]
        if files is not None:
            files.copy_to(folder)
        return folder


def _cpu_seconds() -> float:
    """The CPU time of all our children that have ended, and of theirs: a supervisor takes leave of every process of its command."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _text(log: Path) -> str:
    """What a command printed; where it is much, the end of it, from the first whole line on."""
    with open(log, "rb") as file:
        if os.fstat(file.fileno()).st_size > MOST_BYTES:
            file.seek(-MOST_BYTES, os.SEEK_END)
            file.readline()
        return file.read().decode(errors="replace")


RUNNER = RunnerKind(kind=COMMAND, faults=scenario_faults, open=one_each(CommandRunner, catalog.watched))
