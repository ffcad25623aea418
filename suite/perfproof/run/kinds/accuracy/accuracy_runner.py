"""Trials whose answers are scored: lm_eval puts the same tasks to every arm, through its server or offline in its build.

In order: what is asked is checked, names of tasks by lm_eval itself where they are its own; lm_eval is put beside the interpreters; and
each trial is one evaluation of one arm, for the baseline two. The second is the floor: the baseline asked again by the same road.
lm_eval's own results and samples files are kept as they are, in `results/<scenario>.accuracy/<arm>` and `<arm>-again`; the record keeps
every item's score, id and digest, so that verdicts need the records alone.

What this refuses: a trial that did not prove what it ran, and one whose items were not all answered with numbers.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.lm_eval_env import lm_eval_folder
from perfproof.importers import lm_eval
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.kinds.accuracy.accuracy_document import ACCURACY
from perfproof.model.kinds.accuracy.accuracy_workload import AccuracyWorkload, deciding
from perfproof.model.records.eval_items import AGAIN, FIRST, TaskItems, raw_of
from perfproof.model.records.private_paths import shown
from perfproof.model.scenarios.eval_metrics import direction
from perfproof.model.scenarios.scenario import Arm, Scenario
from perfproof.run.checks import catalog
from perfproof.run.host import environment, gpus
from perfproof.run.kinds.accuracy.lm_eval_request import (
    ENGINE_INSIDE,
    answers_fault,
    order_for,
    scenario_faults,
    served,
    work_folder,
    workload_of,
)
from perfproof.run.processes import attestation
from perfproof.run.processes.trial_process import Running, build_environment, scrub, start
from perfproof.run.servers.launch_spec import server_environment
from perfproof.run.servers.server import Server, ServerEnded
from perfproof.run.servers.server_pool import ServerPool, next_log
from perfproof.run.servers.server_snapshot import between, moment_of
from perfproof.run.servers.startup_history import FIRST as FIRST_START
from perfproof.run.trials.runner import RunnerKind, Say, one_each
from perfproof.run.trials.runner_base import ModelProcessRunner
from perfproof.run.trials.trial_run import TrialRun, cause_of, ending, looks

__all__ = ["AccuracyRunner", "scenario_faults"]

LONGEST_TRIAL = 6 * 3600.0
"""Seconds after which an evaluation is given up."""
DYING = 5.0
"""Seconds in which a server whose requests failed may turn out to have ended."""
KEPT = ".accuracy"
"""What a scenario's folder of lm_eval's own files ends with."""


class AccuracyRunner(ModelProcessRunner[AccuracyWorkload]):
    """Runs the trials of one accuracy scenario; with shared launches servers stay up until `close`."""

    faults = staticmethod(scenario_faults)
    asked = staticmethod(workload_of)

    def __init__(
        self, scenario: Scenario, builds: Mapping[str, ReadyBuild], results: Path, *, seed: int, watch: Iterable[str], say: Say
    ) -> None:
        super().__init__(scenario, builds, results, seed=seed, watch=watch, say=say)
        self._servers: ServerPool | None = None
        self._tools: dict[str, Path] = {}
        if self.workload.through == "server":
            self.how = f"{self.workload.launches} server"

    # --- the way in ----------------------------------------------------------------------------------

    def check(self) -> None:
        """Has a hub say that it has the model, puts lm_eval beside the interpreters and asks it for tasks that are its own.

        Raises `BadInput` for a model or a task that there is not, `CannotRun` where the hub does not answer.
        """
        if missing := self.hub_faults(self.workload.server_arguments):
            raise BadInput(*missing)
        for build in self._evaluating():
            self._tools[build.id] = lm_eval_folder(build, self.say)
        asked = [task.name for task in self.workload.tasks]
        if set(asked) <= set(self.workload.own):
            return
        self.say(f"{self.scenario.name}: lm_eval is asked for its tasks")
        said, running = self._child({"do": "check"}, self._build(self.scenario.baseline), "tasks", {})
        if said is None or "fault" in said:
            raise CannotRun(f"{self.scenario.source}: lm_eval {ending(running, said['fault'] if said else '')}")
        near = {name: f", did you mean {', '.join(names)}?" if names else "" for name, names in said.get("unknown", {}).items()}
        if near:
            raise BadInput(*(f"{self.scenario.source}: workload.tasks: unknown task {name!r}{words}" for name, words in near.items()))
        faults = answers_fault(self.workload, said["tasks"])
        if faults:
            raise BadInput(*(f"{self.scenario.source}: {fault}" for fault in faults))

    def rest(self) -> None:
        """Ends the servers."""
        if self._servers is not None:
            self._servers.close()

    def close(self) -> None:
        """Ends the servers, and removes what was only needed while they ran."""
        self.rest()
        super().close()

    # --- a trial -------------------------------------------------------------------------------------

    def _attempt(self, trial: TrialRun) -> None:
        """Evaluates the arm, the baseline twice: of the same engine or server with shared launches, else of one each."""
        runs = (FIRST, AGAIN) if trial.arm.baseline else (FIRST,)
        together = [runs] if self.workload.launches == "shared" else [(run,) for run in runs]
        try:
            for each in together:
                if not self._evaluate(trial, each):
                    return
        except ServerEnded:
            if self._servers is not None:
                self._servers.drop(trial.arm.name, lost=True)
            raise

    def _evaluate(self, trial: TrialRun, runs: Sequence[str]) -> bool:
        """Evaluates once for each of the runs; whether what came of it counts."""
        outputs = [self._kept(trial.arm, run) for run in runs]
        ask = self._through_server if self.workload.through == "server" else self._offline
        said = ask(trial, outputs)
        if said is None:
            return False
        trial.environment["lm_eval"] = said["lm_eval"]
        for run, output, evaluated in zip(runs, outputs, said["evaluations"], strict=True):
            trial.seconds["measuring"] = trial.seconds.get("measuring", 0.0) + evaluated["seconds"]
            self._take(trial, run, output, evaluated)
        return trial.prove(self._build(trial.arm))

    def _offline(self, trial: TrialRun, outputs: Sequence[Path]) -> dict[str, Any] | None:
        """One process of the arm's build, engine and lm_eval in one; None, with the reason in the trial, where it failed."""
        build, attests = self._build(trial.arm), self._folder("attest")
        variables = {
            **ENGINE_INSIDE,
            **server_environment(build, trial.arm, served(self.workload), offline=self._alone, attests=attests, watch=self.watch),
        }
        order = order_for(self.workload, trial.arm, self._model, self.scenario.seed, outputs)
        gpus.wait_free(self._idle)
        said, running = self._child(order, build, trial.arm.name, variables)
        self._tell(trial, build, variables, order, said, running.log)
        trial.attestation = attestation.read(attests, build, trial.arm)
        if said is None or not said["ok"]:
            trial.process_died(running, said["fault"] if said else cause_of(running, attests), "lm_eval ")
            return None
        return said

    def _through_server(self, trial: TrialRun, outputs: Sequence[Path]) -> dict[str, Any] | None:
        """lm_eval beside the baseline's interpreter asks the arm's server; None, with the reason in the trial, where it failed."""
        server = self._server(trial)
        before = moment_of(server)
        order = order_for(self.workload, trial.arm, self._model, self.scenario.seed, outputs, server.launch)
        build = self._build(self.scenario.baseline)
        variables = build_environment(build, threads=environment.usable_cores(), hub=not self._alone)
        said, running = self._child(order, build, f"lm-eval-{trial.arm.name}", variables)
        server.check_well(0.0 if said and said["ok"] else DYING)
        done = between(before, moment_of(server))
        found = attestation.read(server.launch.attest, self._build(trial.arm), trial.arm)
        trial.attestation = None if found is None else dataclasses.replace(found, counts=done.calls)
        self._tell(trial, self._build(trial.arm), server.launch.environment, order, said, server.launch.log)
        trial.environment["server_counted"] = dict(done.counters)
        if said is None or not said["ok"]:
            trial.process_died(running, said["fault"] if said else "", "lm_eval ")
            return None
        return said

    def _server(self, trial: TrialRun) -> Server:
        """The arm's server; with fresh launches one that nobody has asked before."""
        if self._servers is None:
            self._servers = ServerPool(
                dataclasses.replace(self.scenario, workload=served(self.workload)),
                self.builds,
                self._model,
                idle=self._idle,
                scratch=self._scratch,
                logs=self._logs,
                watch=self.watch,
                say=self.say,
                ready_timeout=FIRST_START,
            )
        began = time.monotonic()
        if not self._servers.shared:
            self._servers.close()
        server, warnings = self._servers.ready(trial.arm)
        trial.seconds["server starts"] = trial.seconds.get("server starts", 0.0) + time.monotonic() - began
        trial.warnings += warnings
        server.check_identity()
        return server

    # --- what is asked and what comes back ------------------------------------------------------------------

    def _child(
        self, order: Mapping[str, Any], build: ReadyBuild, name: str, variables: Mapping[str, str]
    ) -> tuple[dict[str, Any] | None, Running]:
        """One run of lm_eval's child; what it said (None if nothing), and how it ended."""
        here = self._folder("asked")
        asked, result, folder = here / "order.json", here / "result.json", here / "work"
        work_folder(folder, self.workload, self._model)
        whole = {**order_for(self.workload, self.scenario.baseline, self._model, 0, []), **order}
        asked.write_text(json.dumps({**whole, "tools": str(self._tools[build.id]), "result": str(result)}))
        environ = {**(variables or build_environment(build, threads=1, hub=not self._alone)), **self._data(build)}
        command = [build.interpreter, build.child / "accuracy.py", asked]
        with start(command, environment=environ, log=next_log(self._logs, name), folder=folder, grace=5.0) as running:
            for _ in looks(running, self.say, f"{self.scenario.name}: lm_eval asks {name}", LONGEST_TRIAL):
                pass
        return (json.loads(result.read_text()) if result.exists() else None), running

    @property
    def _alone(self) -> bool:
        """Whether no hub is needed, neither for the model nor for the tasks."""
        return self._model.offline and {task.name for task in self.workload.tasks} <= set(self.workload.own)

    def _data(self, build: ReadyBuild) -> dict[str, str]:
        """Where lm_eval's data sets are kept: below the builds, one place a build, where no hub is needed."""
        if not self._alone:
            return {}
        folder = build.side.parent / "cache" / build.id / "datasets"
        return {"HF_DATASETS_CACHE": str(folder), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}

    def _tell(
        self,
        trial: TrialRun,
        build: ReadyBuild,
        variables: Mapping[str, str],
        order: Mapping[str, Any],
        said: Mapping[str, Any] | None,
        log: Path,
    ) -> None:
        asked = {name: value for name, value in order["model_arguments"].items() if name not in ("base_url", "model")}
        words = [f"--model={order['model']}", *(shown(scrub(f"{name}={value}")) for name, value in asked.items())]
        trial.environment |= {**environment.of_build(build, variables), "arguments": words}
        for name, spent in (said or {}).get("seconds", {}).items():
            trial.seconds[name] = trial.seconds.get(name, 0.0) + spent
        trial.log = log

    def _take(self, trial: TrialRun, run: str, output: Path, evaluated: Mapping[str, Any]) -> None:
        """The items of one evaluation; raises `CannotRun` where not all of them were answered with numbers."""
        where = f"arm {trial.arm.name}{' again' if run == AGAIN else ''}"
        if evaluated["missing"]:
            raise CannotRun(f"{where}: the server gave no answer to {evaluated['missing']} items, which lm_eval counts as wrong ones")
        for task, count in evaluated["not_numbers"].items():
            raise CannotRun(f"{where}: {task}: {count} items have a logprob that is no number (NaN)")
        if evaluated["retried"]:
            trial.warnings.append(f"{where}: {evaluated['retried']} requests failed and were sent again")
        try:
            found, warnings = lm_eval.read(output, {task.name: task.passage for task in self.workload.tasks if task.passage})
        except BadInput as error:
            raise CannotRun(f"{where}: {'; '.join(error.faults[:3])}".replace(str(self.results), "")) from error
        trial.warnings += [f"{where}: {warning}" for warning in warnings]
        for task in found:
            asked = evaluated["items"].get(task.task)
            if asked is not None and asked != len(task.items):
                raise CannotRun(f"{where}: {task.name}: {len(task.items)} of {asked} items have a score")
        trial.raw |= raw_of(found, run)
        chosen = self._chosen(found, evaluated["higher_is_better"])
        if run == FIRST:
            trial.work |= {f"items {task.task}": len(task.items) for task in found}
            trial.measurements |= {f"accuracy@{task.task}": task.mean for task in found if chosen[task.task] == (task.filter, task.metric)}

    def _chosen(self, found: Sequence[TaskItems], higher: Mapping[str, Mapping[str, bool]]) -> Mapping[str, tuple[str, str]]:
        """The filter and metric that decide, by task; raises `CannotRun` where they can't."""
        chosen = deciding(self.workload.tasks, ((task.task, task.filter, task.metric) for task in found))
        for name in [task.name for task in self.workload.tasks if task.name in {one.task for one in found} - chosen.keys()]:
            has = ", ".join(f"{task.metric} (filter {task.filter})" for task in found if task.task == name)
            raise CannotRun(f"workload.tasks.{name}: lm_eval wrote no such metric or filter; it wrote {has}")
        for name, (_, metric) in chosen.items():
            better = direction(metric, higher.get(name, {}).get(metric))
            if better != "higher":
                what = f"of {metric} less is better" if better else f"lm_eval does not say whether more or less of {metric} is better"
                raise CannotRun(f"workload.tasks.{name}: {what}; name a metric of which more is better")
        return chosen

    def _kept(self, arm: Arm, run: str) -> Path:
        """The folder for lm_eval's files of one evaluation, empty."""
        folder = self.results / f"{self.scenario.name}{KEPT}" / (arm.name if run == FIRST else f"{arm.name}-again")
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def _evaluating(self) -> list[ReadyBuild]:
        """The builds whose interpreters run lm_eval: offline every arm's, else the baseline's."""
        arms = self.scenario.arms if self.workload.through == "offline" else (self.scenario.baseline,)
        return list({build.id: build for build in (self._build(arm) for arm in [self.scenario.baseline, *arms])}.values())


RUNNER = RunnerKind(kind=ACCURACY, faults=scenario_faults, open=one_each(AccuracyRunner, catalog.watched))
