"""Trials whose answers are scored: lm_eval runs the same tasks on every arm, through its server or offline in its build.

In order: lm_eval is put beside the interpreters, and it checks the names of those tasks that are its own. Then each trial is one evaluation
of one arm, for the baseline two. The second evaluation of the baseline is the noise floor: the same questions, asked in the same way.
lm_eval's own results and samples files are kept unchanged, in `results/<scenario>.accuracy/<arm>` and `<arm>-again`. The record keeps
every item's score, id and digest, so that verdicts need the records alone.

It refuses a trial that did not prove what it ran, and one with an item that has no answer or no numeric score.
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
from perfproof.run.processes import attestation, model_infos
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
"""Seconds after which an evaluation is stopped."""
DYING = 5.0
"""Seconds to wait for the end of a server whose requests failed."""
KEPT = ".accuracy"
"""Ending of the name of a scenario's folder of lm_eval's own files."""


class AccuracyRunner(ModelProcessRunner[AccuracyWorkload]):
    """Runs the trials of one accuracy scenario; with shared launches servers stay up until `close`."""

    faults = staticmethod(scenario_faults)
    workload_from = staticmethod(workload_of)

    def __init__(
        self, scenario: Scenario, builds: Mapping[str, ReadyBuild], results: Path, *, seed: int, watch: Iterable[str], say: Say
    ) -> None:
        super().__init__(scenario, builds, results, seed=seed, watch=watch, say=say)
        self._servers: ServerPool | None = None
        self._tools: dict[str, Path] = {}
        if self.workload.through == "server":
            self.how = f"{self.workload.launches} server"

    # --- checks --------------------------------------------------------------------------------------

    def check(self) -> None:
        """Checks that the hub has the model, puts lm_eval beside the interpreters and asks it for those tasks that are its own.

        Raises `BadInput` for a model or a task that does not exist, `CannotRun` where the hub does not answer.
        """
        if missing := self.hub_faults(self.workload.server_arguments):
            raise BadInput(*missing)
        for build in self._evaluating():
            self._tools[build.id] = lm_eval_folder(build, self.say)
        task_names = [task.name for task in self.workload.tasks]
        if set(task_names) <= set(self.workload.own):
            return
        self.say(f"{self.scenario.name}: lm_eval looks up its tasks")
        answer, running = self._child({"do": "check"}, self._build(self.scenario.baseline), "tasks", {})
        if answer is None or "fault" in answer:
            raise CannotRun(f"{self.scenario.source}: lm_eval {ending(running, answer['fault'] if answer else '')}")
        near = {name: f", did you mean {', '.join(names)}?" if names else "" for name, names in answer.get("unknown", {}).items()}
        if near:
            raise BadInput(*(f"{self.scenario.source}: workload.tasks: unknown task {name!r}{words}" for name, words in near.items()))
        faults = answers_fault(self.workload, answer["tasks"])
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
        """Evaluates the arm, the baseline twice: with the same engine or server if launches are shared, else with a new one each time."""
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
        """Evaluates once for each of the runs; returns whether the trial counts."""
        outputs = [self._kept(trial.arm, run) for run in runs]
        ask = self._through_server if self.workload.through == "server" else self._offline
        answer = ask(trial, outputs)
        if answer is None:
            return False
        trial.environment["lm_eval"] = answer["lm_eval"]
        for run, output, evaluated in zip(runs, outputs, answer["evaluations"], strict=True):
            trial.seconds["measuring"] = trial.seconds.get("measuring", 0.0) + evaluated["seconds"]
            self._take(trial, run, output, evaluated)
        return trial.prove(self._build(trial.arm))

    def _offline(self, trial: TrialRun, outputs: Sequence[Path]) -> dict[str, Any] | None:
        """Runs engine and lm_eval in one process of the arm's build; None where it failed, with the reason in the trial."""
        build, attests = self._build(trial.arm), self._folder("attest")
        variables = {
            **ENGINE_INSIDE,
            **server_environment(build, trial.arm, served(self.workload), offline=self._alone, attests=attests, watch=self.watch),
        }
        order = order_for(self.workload, trial.arm, self._model, self.scenario.seed, outputs)
        gpus.wait_free(self._idle)
        answer, running = self._child(order, build, trial.arm.name, variables)
        self._describe(trial, build, variables, order, answer, running.log)
        trial.attestation = attestation.read(attests, build, trial.arm)
        if answer is None or not answer["ok"]:
            trial.process_died(running, answer["fault"] if answer else cause_of(running, attests), "lm_eval ")
            return None
        return answer

    def _through_server(self, trial: TrialRun, outputs: Sequence[Path]) -> dict[str, Any] | None:
        """Runs lm_eval, beside the baseline's interpreter, against the arm's server; None where it failed, with the reason in the trial."""
        server = self._server(trial)
        before = moment_of(server)
        order = order_for(self.workload, trial.arm, self._model, self.scenario.seed, outputs, server.launch)
        build = self._build(self.scenario.baseline)
        variables = build_environment(build, threads=environment.usable_cores(), hub=not self._alone)
        answer, running = self._child(order, build, f"lm-eval-{trial.arm.name}", variables)
        server.check_well(0.0 if answer and answer["ok"] else DYING)
        done = between(before, moment_of(server))
        attested = attestation.read(server.launch.attest, self._build(trial.arm), trial.arm)
        trial.attestation = None if attested is None else dataclasses.replace(attested, counts=done.calls)
        self._describe(trial, self._build(trial.arm), server.launch.environment, order, answer, server.launch.log)
        trial.environment["server_counted"] = dict(done.counters)
        if answer is None or not answer["ok"]:
            trial.process_died(running, answer["fault"] if answer else "", "lm_eval ")
            return None
        return answer

    def _server(self, trial: TrialRun) -> Server:
        """The arm's server; with fresh launches, a new one that has served no request."""
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
        if not self.workload.servers_together:
            self._servers.close()
        server, warnings = self._servers.ready(trial.arm)
        trial.seconds["server starts"] = trial.seconds.get("server starts", 0.0) + time.monotonic() - began
        trial.warnings += warnings
        server.check_identity()
        return server

    # --- lm_eval's process and its answer -------------------------------------------------------------------

    def _child(
        self, order: Mapping[str, Any], build: ReadyBuild, name: str, variables: Mapping[str, str]
    ) -> tuple[dict[str, Any] | None, Running]:
        """Runs lm_eval's child process once; its answer (None if it left none), and how it ended."""
        here = self._folder("order")
        order_file, result, folder = here / "order.json", here / "result.json", here / "work"
        work_folder(folder, self.workload, self._model)
        whole = {**order_for(self.workload, self.scenario.baseline, self._model, 0, []), **order}
        order_file.write_text(json.dumps({**whole, "tools": str(self._tools[build.id]), "result": str(result)}))
        environ = {**(variables or build_environment(build, threads=1, hub=not self._alone)), **self._data(build)}
        command = [build.interpreter, build.child / "accuracy.py", order_file]
        model_infos.share(build, environ)
        with start(command, environment=environ, log=next_log(self._logs, name), folder=folder, grace=5.0) as running:
            for _ in looks(running, self.say, f"{self.scenario.name}: lm_eval asks {name}", LONGEST_TRIAL):
                pass
        return (json.loads(result.read_text()) if result.exists() else None), running

    @property
    def _alone(self) -> bool:
        """Whether neither the model nor the tasks need a hub."""
        return self._model.offline and {task.name for task in self.workload.tasks} <= set(self.workload.own)

    def _data(self, build: ReadyBuild) -> dict[str, str]:
        """Where lm_eval keeps its data sets if no hub is needed: a folder per build, below the builds."""
        if not self._alone:
            return {}
        folder = build.side.parent / "cache" / build.id / "datasets"
        return {"HF_DATASETS_CACHE": str(folder), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}

    def _describe(
        self,
        trial: TrialRun,
        build: ReadyBuild,
        variables: Mapping[str, str],
        order: Mapping[str, Any],
        answer: Mapping[str, Any] | None,
        log: Path,
    ) -> None:
        """Puts arguments, seconds and log of lm_eval's process into the trial."""
        arguments = {name: value for name, value in order["model_arguments"].items() if name not in ("base_url", "model")}
        words = [f"--model={order['model']}", *(shown(scrub(f"{name}={value}")) for name, value in arguments.items())]
        trial.environment |= {**environment.of_build(build, variables), "arguments": words}
        for name, spent in (answer or {}).get("seconds", {}).items():
            trial.seconds[name] = trial.seconds.get(name, 0.0) + spent
        trial.log = log

    def _take(self, trial: TrialRun, run: str, output: Path, evaluated: Mapping[str, Any]) -> None:
        """Puts the items of one evaluation into the trial; raises `CannotRun` for an item without an answer or without a numeric score."""
        where = f"arm {trial.arm.name}{' again' if run == AGAIN else ''}"
        if evaluated["missing"]:
            raise CannotRun(f"{where}: the server gave no answer to {evaluated['missing']} items, which lm_eval counts as wrong answers")
        for task, count in evaluated["not_numbers"].items():
            raise CannotRun(f"{where}: {task}: {count} items have a logprob that is not a number (NaN)")
        if evaluated["retried"]:
            trial.warnings.append(f"{where}: {evaluated['retried']} requests failed and were sent again")
        try:
            scored, warnings = lm_eval.read(output, {task.name: task.passage for task in self.workload.tasks if task.passage})
        except BadInput as error:
            raise CannotRun(f"{where}: {'; '.join(error.faults[:3])}".replace(str(self.results), "")) from error
        trial.warnings += [f"{where}: {warning}" for warning in warnings]
        for task in scored:
            wanted = evaluated["items"].get(task.task)
            if wanted is not None and wanted != len(task.items):
                raise CannotRun(f"{where}: {task.name}: {len(task.items)} of {wanted} items have a score")
        trial.raw |= raw_of(scored, run)
        chosen = self._chosen(scored, evaluated["higher_is_better"])
        if run == FIRST:
            trial.work |= {f"items {task.task}": len(task.items) for task in scored}
            trial.measurements |= {f"accuracy@{task.task}": task.mean for task in scored if chosen[task.task] == (task.filter, task.metric)}

    def _chosen(self, scored: Sequence[TaskItems], higher: Mapping[str, Mapping[str, bool]]) -> Mapping[str, tuple[str, str]]:
        """The filter and metric that decide, by task; raises `CannotRun` where a task has none."""
        chosen = deciding(self.workload.tasks, ((task.task, task.filter, task.metric) for task in scored))
        for name in [task.name for task in self.workload.tasks if task.name in {one.task for one in scored} - chosen.keys()]:
            has = ", ".join(f"{task.metric} (filter {task.filter})" for task in scored if task.task == name)
            raise CannotRun(f"workload.tasks.{name}: lm_eval wrote no such metric or filter; it wrote {has}")
        for name, (_, metric) in chosen.items():
            better = direction(metric, higher.get(name, {}).get(metric))
            if better != "higher":
                what = f"of {metric} less is better" if better else f"lm_eval does not say whether more or less of {metric} is better"
                raise CannotRun(f"workload.tasks.{name}: {what}; name a metric of which more is better")
        return chosen

    def _kept(self, arm: Arm, run: str) -> Path:
        """An empty folder for lm_eval's files of one evaluation."""
        folder = self.results / f"{self.scenario.name}{KEPT}" / (arm.name if run == FIRST else f"{arm.name}-again")
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def _evaluating(self) -> list[ReadyBuild]:
        """The builds whose interpreters run lm_eval: every arm's if offline, else the baseline's."""
        arms = self.scenario.arms if self.workload.through == "offline" else (self.scenario.baseline,)
        return list({build.id: build for build in (self._build(arm) for arm in [self.scenario.baseline, *arms])}.values())


RUNNER = RunnerKind(kind=ACCURACY, faults=scenario_faults, open=one_each(AccuracyRunner, catalog.watched))
