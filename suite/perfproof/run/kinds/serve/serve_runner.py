"""Trials against real servers: `vllm serve` measured by `vllm bench serve`.

In order: the client's own parser checks the scenario's flags, the model is written, and servers are launched and identified. Then each
trial is one run of the client, with the server's counters, CPU time and attested calls read before and after. With shared launches both
arms' servers stay up for all blocks, with blockwise ones for one block, one idle while the other is measured. With fresh launches every
trial has its own server.

A trial counts only if every request completed with the length asked for, and if the server proved, from the inside, that it ran what its
arm names and that the patched function was called during this very trial. If a server or client is killed from outside, that is not the
arm's fault: its block is invalid and measured again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.kinds.serve import SERVE
from perfproof.model.records.private_paths import shown
from perfproof.model.records.record import Attestation, Record
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import Arm, Scenario
from perfproof.model.workloads.parallelism import parallelism
from perfproof.patches.planted.step_delay import VARIABLE
from perfproof.run.checks import catalog
from perfproof.run.host import environment, gpus, host_cost, telemetry
from perfproof.run.host.instruction_counter import Instructions
from perfproof.run.host.ports import free_port
from perfproof.run.kinds.serve.output_lengths import UNKNOWN, asked_for
from perfproof.run.kinds.serve.request_accounting import disagreement
from perfproof.run.kinds.serve.serve_checks import scenario_faults
from perfproof.run.kinds.serve.serve_result import BenchResult, read_result, warnings_for
from perfproof.run.models.prompt_dataset import write_dataset
from perfproof.run.processes import attestation
from perfproof.run.processes.scratch_folders import RUNNING, Scratch
from perfproof.run.processes.trial_process import scrub, scrub_file
from perfproof.run.servers import flag_validation, switched_delay
from perfproof.run.servers.bench_client import Client, ClientEnded, arguments_for
from perfproof.run.servers.hub_models import hub_faults
from perfproof.run.servers.launch_spec import Launch, ModelAt, locate_model, with_arm_flags, workload_of
from perfproof.run.servers.server import Say, Server, ServerEnded
from perfproof.run.servers.server_pool import ServerPool, next_log
from perfproof.run.servers.server_snapshot import Moment, Watcher, between, moment_of
from perfproof.run.servers.startup_history import FIRST
from perfproof.run.trials.runner import RunnerKind, one_each
from perfproof.run.trials.trial_run import TrialRun, start_trial

__all__ = ["ServeRunner", "scenario_faults"]

LONGEST_TRIAL = 3600.0
"""Seconds after which a run of the client is stopped."""
GIVEN_UP = 10.0
"""Seconds that a client gets to end a run whose server was lost, before a new client replaces it."""
DYING = 5.0
"""Seconds to wait for the end of a server whose requests failed."""


class ServeRunner:
    """Runs the trials of one serve scenario; keeps the client until `close`, and the servers as long as its launches say.

    `builds` maps the scenario's build names to ready ones; `watch` are functions of vLLM whose calls are counted in every
    arm; `seed` is the plan's. Logs and the client's result files are kept under `results/logs/<scenario>`; `say` gets
    messages about slow steps.
    """

    def __init__(
        self,
        scenario: Scenario,
        builds: Mapping[str, ReadyBuild],
        results: Path,
        *,
        seed: int,
        watch: Iterable[str],
        say: Say,
        ready_timeout: float = FIRST,
        pick_port: Callable[[], int] = free_port,
    ) -> None:
        faults = scenario_faults(scenario)
        if faults:
            raise BadInput(*faults)
        self.scenario = scenario
        self.workload = workload_of(scenario)
        self.builds = builds
        self.results = results.resolve()
        self.seed = seed
        self.watch = tuple(sorted({*watch, *attestation.RUNNERS.values()}))
        self.say = say
        self._logs = self.results / "logs" / scenario.name
        self._scratch = Scratch(self.results / RUNNING, scenario.name)
        self._ready_timeout, self._pick_port = ready_timeout, pick_port
        self._model: ModelAt | None = None
        self._client: Client | None = None
        self._client_log: Path | None = None
        self._servers: ServerPool | None = None
        self._spent: dict[str, float] = {}
        self._idle = gpus.used()

    # --- checks ------------------------------------------------------------------------------

    def check(self) -> None:
        """Checks that the hub has the model, starts the client, and has its own parser and the servers' check the scenario's flags.

        Raises `BadInput` if one of them refuses, `CannotRun` where the hub does not answer.
        """
        baseline, flags_given = self._build(self.scenario.baseline), self.workload.server_arguments
        faults = hub_faults(self.scenario, baseline, self._model_at(), flags_given, next_log(self._logs, "hub"))
        with contextlib.ExitStack() as stack:
            others = [
                stack.enter_context(contextlib.closing(self._parser_of(build)))
                for build in flag_validation.other_builds(self.scenario, self._build)
            ]
            client = self._ready_client()
            faults += [*self._client_faults(client), *self._server_faults(client)]
            for other in others:
                with contextlib.suppress(CannotRun):  # if there is no parser to ask, the server will refuse the flags
                    faults += self._server_faults(other)
        if faults:
            raise BadInput(*faults)

    def _client_faults(self, client: Client) -> list[str]:
        """What the client's own parser refuses, by its place in the scenario; what all arms share is named once."""
        unmeant = ("http://127.0.0.1:1", "check", self.scenario.seed, self._scratch.folder / "check.json")
        faults: dict[str, str] = {}
        for arm in self.scenario.arms:
            where = f"arms.{arm.name}.client" if arm.client else "workload.client"
            if fault := client.fault(self._arguments(arm, *unmeant)):
                faults[where] = f"{self.scenario.source}: {where}: {fault}"
        return list(faults.values())

    def _server_faults(self, client: Client) -> list[str]:
        return flag_validation.server_faults(self.scenario, client, self._build, self._model_at())

    def _parser_of(self, build: ReadyBuild) -> Client:
        """A client of that build, only for the server's parser in it; it imports vLLM while the arms' own client does."""
        self.say(f"{self.scenario.name}: {build.label} checks its server's flags")
        return flag_validation.parser_of(build, self._model_at(), self._logs)

    def trials(self, block: Block, arms: Sequence[str]) -> Iterator[Record]:
        """Runs one trial of each of the arms named, in that order; every trial leaves a record, also one that fails."""
        if self._client is None:
            self.check()
        of = {arm.name: arm for arm in self.scenario.arms}
        for name in arms:
            yield self._trial(block, of[name])

    def rest(self) -> None:
        """Ends the servers; the client stays."""
        if self._servers is not None:
            self._servers.close()

    def close(self) -> None:
        """Ends servers and client, and removes their temporary files."""
        self.rest()
        self._drop_client()
        self._scratch.close()

    # --- a trial --------------------------------------------------------------------------------

    def _trial(self, block: Block, arm: Arm) -> Record:
        trial = start_trial(block, arm, self._build(arm))
        waited = sum(self._spent.values())
        try:
            client = self._ready_client()
            self._measure(trial, client, self._ready_server(trial))
        except (ServerEnded, ClientEnded) as error:
            self._lost(trial, error)
        except CannotRun as error:
            trial.record_error(error)
        finally:
            if self._servers is not None and not self.workload.servers_together:
                stopping = time.monotonic()
                self._servers.drop(arm.name)
                trial.seconds["stopping the server"] = time.monotonic() - stopping
        trial.finish(self._build(arm))
        trial.seconds["total"] -= sum(self._spent.values()) - waited
        trial.log = trial.log or self._client_log
        return self._record(trial)

    def _ready_server(self, trial: TrialRun) -> Server:
        began, launches = time.monotonic(), self._ready_launches()
        host = launches.host_of(trial.arm)
        try:
            launches.begin_block(trial.block.number)
            server, warnings = launches.ready(host)
        finally:
            self._spend("server starts", time.monotonic() - began)
            if launch := launches.last.get(host.name):
                trial.log = launch.log
                trial.environment |= self._describe(launch)
        trial.warnings += warnings
        switched_delay.switch(server, trial.arm)
        server.check_identity()
        return server

    def _measure(self, trial: TrialRun, client: Client, server: Server) -> None:
        """Runs the client once and judges whether its measurement counts."""
        result = self._scratch.folder / f"block{trial.block.number:03d}-{trial.arm.name}.json"
        before, watcher = moment_of(server), Watcher(server)
        answer = self._answer(trial, client, watcher, result)
        measured = self._read(result, trial.arm, answer) if answer["ok"] else None
        server.check_well(DYING if measured is None or measured.fault else 0.0)
        done = between(before, moment_of(server))
        trial.attestation = self._attestation(server, trial.arm, done)
        if measured is None:
            trial.failed(f"the client failed: {answer['fault']}; {client.log_end()}")
            return
        self._keep(result)
        self._fill(trial, measured, done, answer)
        trial.measurements = {
            **trial.measurements,
            "peak_memory": float(watcher.peak),
            **self._start_time(server),
            **host_cost.kv_blocks(server.metrics()),
            **host_cost.gpu_memory(trial.environment.get("while_measuring", {})),
        }
        fault = measured.fault or disagreement(with_arm_flags(self.workload, trial.arm), done.counters)
        if trial.prove(self._build(trial.arm)) and fault:
            trial.status, trial.reason = "invalid", fault

    def _answer(self, trial: TrialRun, client: Client, watcher: Watcher, result: Path) -> Mapping[str, Any]:
        """The client's answer about one run that is to write `result`; the trial gets what machine and server did meanwhile."""
        launch = watcher.server.launch
        arguments = self._arguments(trial.arm, launch.url, launch.name, trial.block.seed, result)
        counting = Instructions(process.pid for process in watcher.server.processes())
        sampler, quiet = telemetry.Sampler(), telemetry.read()

        def look() -> None:
            watcher.look()
            sampler.look()

        result.unlink(missing_ok=True)
        self.say(f"arm {trial.arm.name}: {self.workload.warmups} warm-ups, then {self.workload.requests} requests")
        answer = client.measure(arguments, timeout=LONGEST_TRIAL, watch=look)
        trial.environment |= telemetry.meanwhile(quiet, sampler)
        trial.warnings += telemetry.warnings(trial.environment)
        counted = counting.stop()
        trial.environment |= {"no_instructions": counting.why} if counted is None else {"instructions": counted}
        if answer["ok"] and not result.exists():  # it ends like this when its server dies
            return {"ok": False, "fault": "it ended without a result file"}
        return answer

    def _read(self, result: Path, arm: Arm, answer: Mapping[str, Any]) -> BenchResult:
        """Reads the client's result file; raises `CannotRun` for content that `vllm bench serve` is not known to write."""
        try:
            noted = {"requested": answer["asked_lengths"], "ignored": answer["ignore_eos"]}
            return read_result(json.loads(result.read_text()), with_arm_flags(self.workload, arm), **noted)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise CannotRun(f"the result file of 'vllm bench serve' can't be read: {type(error).__name__}: {error}") from error

    def _fill(self, trial: TrialRun, measured: BenchResult, done: Moment, answer: Mapping[str, Any]) -> None:
        """Puts measurements, counts of work, seconds and warnings of a run into the trial.

        The server's CPU time covers the warm-ups too, and so does the number of tokens that divides it.
        """
        tokens = done.counters.get("generation_tokens", 0)
        sent = self.workload.requests + self.workload.warmups
        host = host_cost.per_unit(done.cpu_seconds, trial.environment.get("instructions"), tokens=tokens, requests=sent)
        trial.measurements, trial.raw = {**measured.measurements, **host}, dict(measured.raw)
        trial.work = {**measured.work, **{f"server_{name}": count for name, count in done.counters.items()}}
        together = parallelism(self.workload, trial.arm.server_arguments).per_step
        steps = sum(attestation.workers_of(done.calls_by_process.values())) // together
        trial.environment["server_counted"] = {**done.informative, "engine_steps": steps}
        whole = float(answer["seconds"])
        trial.seconds |= {"warming up": max(0.0, whole - measured.seconds), "measuring": measured.seconds}
        load = float(answer["cpu_seconds"]) / max(1e-9, whole)
        workload, profile = with_arm_flags(self.workload, trial.arm), self.scenario.profile
        trial.warnings += warnings_for(workload, measured, profile=profile, client_load=load, server=done.counters, steps=steps)
        trial.warnings += [UNKNOWN] if measured.longest and asked_for(workload, answer["asked_lengths"]) is None else []

    def _start_time(self, server: Server) -> dict[str, float]:
        """Launch to ready, where no other server started at the same time."""
        fresh = self.workload.launches == "fresh" and server.ready_after is not None
        return {"start_time": float(server.ready_after or 0.0)} if fresh else {}

    def _attestation(self, server: Server, arm: Arm, done: Moment) -> Attestation | None:
        """The attestation of the server's processes, with the calls of this trial alone."""
        launched = next(one for one in self.scenario.arms if one.name == server.launch.arm)
        attested = attestation.read(server.launch.attest, self._build(arm), launched)
        if attested is None:
            return None
        variables = {**attested.variables, **({VARIABLE: why} if (why := switched_delay.fault(arm, done.calls)) else {})}
        return dataclasses.replace(
            attested,
            counts=done.calls,
            runner=attestation.runner_of(done.calls),
            workers=attestation.workers_of(done.calls_by_process.values()),
            variables=variables,
        )

    def _lost(self, trial: TrialRun, error: ServerEnded | ClientEnded) -> None:
        """Drops the server or client that ended during a trial: it is not used again."""
        trial.record_error(error)
        if isinstance(error, ClientEnded):
            self._drop_client()
        if self._servers is not None:
            self._servers.drop(self._servers.host_of(trial.arm).name, lost=isinstance(error, ServerEnded))

    def _describe(self, launch: Launch) -> dict[str, Any]:
        """The arm's part of a record's environment; variables by the allow-list only."""
        build = self._build(next(arm for arm in self.scenario.arms if arm.name == launch.arm))
        return {
            **environment.of_build(build, launch.environment),
            "client": self._build(self.scenario.baseline).label,
            "server_arguments": shown([scrub(word) for word in launch.command[1:]]),
        }

    def _record(self, trial: TrialRun) -> Record:
        trial.seconds, self._spent = {**self._spent, **trial.seconds}, {}
        trial.environment["block_seed"] = trial.block.seed
        return trial.record(seed=self.seed, how=f"{self.workload.launches} server", results=self.results)

    def _keep(self, result: Path) -> None:
        """The client's own file, compressed, beside the logs."""
        scrub_file(result)
        with gzip.GzipFile(self._logs / f"{result.name}.gz", "wb", mtime=0) as kept:
            kept.write(result.read_bytes())
        result.unlink()

    # --- what is kept between trials -----------------------------------------------------------------

    def _build(self, arm: Arm) -> ReadyBuild:
        return self.builds[arm.build]

    def _arguments(self, arm: Arm, url: str, name: str, seed: int, result: Path) -> list[str]:
        made = self.workload.dataset
        dataset = None if made is None else write_dataset(made, self.workload.requests, seed, result.with_name("dataset.jsonl"))
        return arguments_for(self.workload, arm, model=self._model_at().name, url=url, name=name, seed=seed, result=result, dataset=dataset)

    def _model_at(self) -> ModelAt:
        if self._model is None:
            models = self._build(self.scenario.baseline).side.parent / "models"
            self._model = locate_model(self.workload.model, models, self._scratch.folder)
        return self._model

    def _ready_launches(self) -> ServerPool:
        if self._servers is None:
            self._servers = ServerPool(
                self.scenario,
                self.builds,
                self._model_at(),
                idle=self._idle,
                scratch=self._scratch,
                logs=self._logs,
                watch=self.watch,
                say=self.say,
                ready_timeout=self._ready_timeout,
                pick_port=self._pick_port,
            )
        return self._servers

    def _ready_client(self) -> Client:
        """The client of the baseline's build, started again if it has died."""
        if self._client is not None and not (self._client.alive and self._is_idle(self._client)):
            self._drop_client()
        if self._client is None:
            model, build, began = self._model_at(), self._build(self.scenario.baseline), time.monotonic()
            self.say(f"{self.scenario.name}: the client imports vLLM")
            self._client_log = next_log(self._logs, "client")
            self._client = Client(build, log=self._client_log, folder=model.folder, offline=model.offline)
            try:
                self._client.wait_ready()
            except CannotRun:
                self._drop_client()
                raise
            self._spend("client imports", time.monotonic() - began)
        return self._client

    @staticmethod
    def _is_idle(client: Client) -> bool:
        """Whether the client waits for orders: after a lost server its run ends soon, or not at all."""
        try:
            return client.idle(GIVEN_UP)
        except ClientEnded:
            return False

    def _drop_client(self) -> None:
        if self._client is not None:
            self._client.close()
        self._client = None

    def _spend(self, phase: str, seconds: float) -> None:
        """Notes time that no single trial caused; the next record has it."""
        if seconds >= 0.05:
            self._spent[phase] = self._spent.get(phase, 0.0) + seconds


RUNNER = RunnerKind(kind=SERVE, faults=scenario_faults, open=one_each(ServeRunner, catalog.watched))
