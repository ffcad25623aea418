"""Trials of any command: a fresh process of the arm's build a trial, in a folder of its own with a copy of the scenario's files.

A trial counts only if its processes proved which vLLM they imported. A script that puts another vLLM before the arm's own is found out by
that. A command that never ends is ended; what it leaves running goes with it.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Mapping
from pathlib import Path

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.kinds.command.command_document import COMMAND
from perfproof.model.kinds.command.command_workload import PYTHON, CommandWorkload
from perfproof.model.scenarios.scenario import Arm, Scenario
from perfproof.run.checks import catalog
from perfproof.run.host import telemetry
from perfproof.run.host.environment import usable_cores
from perfproof.run.kinds.command.printed_numbers import MOST_BYTES, read
from perfproof.run.processes import attestation
from perfproof.run.processes.trial_process import arm_variables, build_environment
from perfproof.run.servers.server import resident
from perfproof.run.trials.runner import RunnerKind, one_each
from perfproof.run.trials.runner_base import ProcessRunner
from perfproof.run.trials.trial_run import TrialRun, ending, looks

NEVER_IMPORTED = (
    "no process of the command imported vLLM: it proves nothing of the arm's build; run it with {python}, without -I, -E and -S, "
    "and have it import vllm"
)


def scenario_faults(scenario: Scenario) -> list[str]:
    """What is wrong with a scenario of a command before anything is made: nothing that its document does not say."""
    return []


def workload_of(scenario: Scenario) -> CommandWorkload:
    """The scenario's workload; `TypeError` for one that is no command."""
    return CommandWorkload.of(scenario.workload)


class CommandRunner(ProcessRunner[CommandWorkload]):
    """Runs the trials of one command; nothing is kept alive between them."""

    faults = staticmethod(scenario_faults)
    workload_from = staticmethod(workload_of)

    def check(self) -> None:
        """Raises `BadInput` for files that are no longer there."""
        files = self.workload.files
        if files is not None and not Path(files.path).is_dir():
            raise BadInput(f"{self.scenario.source}: workload.files: {files.path}: there is no such folder")

    def _attempt(self, trial: TrialRun) -> None:
        """Runs the command, reads what it printed, and judges whether that counts."""
        build = self._build(trial.arm)
        for number in range(self.workload.warmups):
            self._run(trial, build, self._folder("attest"), f"warm-up {number + 1} of {self.workload.warmups}")
        attests = self._folder("attest")
        began, before = time.monotonic(), _cpu_seconds()
        output, folder, peak, lived = self._run(trial, build, attests, "")
        trial.measurements |= {"wall_time": lived, "cpu_time": _cpu_seconds() - before}
        trial.measurements |= {"peak_memory": float(peak)} if peak else {}
        trial.seconds["command"] = time.monotonic() - began
        trial.attestation = attestation.read(attests, build, trial.arm)
        if trial.attestation is None:
            trial.status, trial.reason = "unattested", NEVER_IMPORTED
            return
        for name, printed in self.workload.metrics.items():
            trial.measurements[name] = read(name.partition("@")[2], printed, output, folder)
        trial.work |= {name: int(read(name, printed, output, folder)) for name, printed in self.workload.counts.items()}
        trial.prove(build)

    def _run(self, trial: TrialRun, build: ReadyBuild, attests: Path, what: str) -> tuple[str, Path, int, float]:
        """One run from its start to its end: its output, where it ran, the most memory that its processes held, and its seconds.

        Raises `CannotRun` where it did not end in time, or not with an exit code that is allowed.
        """
        folder = self._laid_out()
        words = [word.replace(PYTHON, str(build.interpreter)) for word in self.workload.run]
        quiet, sampler = telemetry.read(), telemetry.Sampler()
        peak, doing = 0, f"arm {trial.arm.name}: {what or 'the command'} runs"
        self._here = folder
        with self._start(trial, words, self._variables(build, trial.arm, attests), self.workload.run) as running:
            for _ in looks(running, self.say, doing, self.workload.timeout):
                sampler.look()
                peak = max(peak, resident(running.processes()))
        trial.environment |= telemetry.meanwhile(quiet, sampler)
        if not what:
            trial.warnings += telemetry.warnings(trial.environment)
        code = running.poll()
        if code not in self.workload.exit_codes:
            raise CannotRun(f"arm {trial.arm.name}: the command {ending(running, '')}")
        return _text(running.log), folder, peak, running.seconds

    def _variables(self, build: ReadyBuild, arm: Arm, attests: Path) -> Mapping[str, str]:
        base = build_environment(build, arm, threads=usable_cores())
        first = os.pathsep.join(filter(None, [str(build.child / "command"), base.get("PYTHONPATH", "")]))
        own = arm_variables(arm, attest=attests, watch=self.watch)
        return {**base, **self.workload.environment, **own, "PYTHONPATH": first}

    def _laid_out(self) -> Path:
        """A new folder with a copy of the scenario's files: what a trial writes there, no other one finds."""
        folder = self._folder("files")
        if self.workload.files is not None:
            self.workload.files.copy_to(folder)
        return folder


def _cpu_seconds() -> float:
    """The CPU time of all our children that have ended, and of theirs: a supervisor takes leave of every process of its command."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _text(log: Path) -> str:
    """What a command printed, the end of it where it is much."""
    with open(log, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - MOST_BYTES))
        return file.read().decode(errors="replace")


RUNNER = RunnerKind(kind=COMMAND, faults=scenario_faults, open=one_each(CommandRunner, catalog.watched))
