"""Trials against real servers: `vllm serve` measured by `vllm bench serve`.

In order: the scenario's flags are checked by the client's own parser, the model is written, servers are launched and
recognised, and then each trial is one run of the client, with the server's counters, CPU time and attestation
taken before and after. With shared launches both arms' servers stay up for all blocks, one idle while the other is
measured; with fresh ones every trial has a server of its own.

A trial counts only if every request completed with the length asked for, and if the server proved, from the inside, that it
ran what its arm names and that the patched function was called during this very trial.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import hashlib
import json
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from suite.builds.ready import ReadyBuild
from suite.model.errors import BadInput, CannotRun
from suite.model.plan import Block
from suite.model.record import SCHEMA, Attestation, Record, Status
from suite.model.scenario import Arm, Scenario, ServeWorkload, ToyModel
from suite.run import attest, environment
from suite.run.bench_result import BenchResult, read_result, warnings_for
from suite.run.client import Client, ClientEnded, arguments_for, client_faults
from suite.run.process import arm_variables, build_environment, scrub_file, tail
from suite.run.server import HOST, READY_TIMEOUT, Launch, Say, Server, ServerEnded, free_port, unique_flags
from suite.run.toy_model import faults_of, write_toy_model

OWNED_BY_SUITE = frozenset(["--host", "--port", "--served-model-name", "--model", "--uds", "--api-key", "--root-path", "--ssl-keyfile"])
LONGEST_TRIAL = 3600.0
"""Seconds after which a run of the client is given up."""
STALLED = 180.0
"""Seconds without CPU time in the server's processes, during a measurement, after which it is taken to hang."""
COUNTERS: Mapping[str, str] = {
    "prompt_tokens": "vllm:prompt_tokens_total",
    "generation_tokens": "vllm:generation_tokens_total",
    "prefix_cache_hits": "vllm:prefix_cache_hits_total",
    "preemptions": "vllm:num_preemptions_total",
}
"""What both arms of a block must have done alike, by the server's own count, warm-ups included."""


def scenario_faults(scenario: Scenario) -> list[str]:
    """What is wrong with a serve scenario, as far as can be seen before anything is made; one sentence each."""
    workload = _workload(scenario)
    found = client_faults(workload.client)
    found += [f"workload.{fault}" for fault in (faults_of(workload.model) if isinstance(workload.model, ToyModel) else [])]
    said = {"workload": workload.server_arguments, **{f"arms.{arm.name}": arm.server_arguments for arm in scenario.arms}}
    for where, arguments in said.items():
        found += [f"{where}.server_arguments: {flag} is set by the suite" for flag in sorted(unique_flags(arguments) & OWNED_BY_SUITE)]
    return [f"{scenario.source}: {fault}" for fault in found]


def _workload(scenario: Scenario) -> ServeWorkload:
    if not isinstance(scenario.workload, ServeWorkload):
        raise TypeError(f"{scenario.name} is no serve scenario")
    return scenario.workload


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAt:
    """Where servers and client find the model: `name`, as told from `folder`, in which they run; `offline` if no hub is needed."""

    name: str
    folder: Path
    arguments: tuple[str, ...]
    offline: bool


def locate_model(model: str | ToyModel, models: Path, idle: Path) -> ModelAt:
    """The model, written below `models` if it is a toy.

    A folder is named from its parent, so that no path of this machine gets into a record or a log.
    """
    if isinstance(model, ToyModel):
        folder = write_toy_model(model, models)
        return ModelAt(name=folder.name, folder=folder.parent, arguments=("--load-format=dummy",), offline=True)
    if Path(model).is_dir():
        real = Path(model).resolve()
        return ModelAt(name=real.name, folder=real.parent, arguments=(), offline=True)
    return ModelAt(name=model, folder=idle, arguments=(), offline=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What a server had done at one moment."""

    counters: Mapping[str, float]
    counts: Mapping[str, int]
    cpu_seconds: float


@dataclass(slots=True, kw_only=True)
class _Trial:
    """What is known of a trial so far; it becomes a Record when it ends, however it ends."""

    block: Block
    arm: Arm
    started: str
    began: float
    seconds: dict[str, float]
    warnings: list[str]
    environment: dict[str, Any]
    log: str = ""
    status: Status = "failed"
    reason: str = ""
    attestation: Attestation | None = None
    measurements: Mapping[str, float] = dataclasses.field(default_factory=dict)
    raw: Mapping[str, Sequence[float]] = dataclasses.field(default_factory=dict)
    work: Mapping[str, int] = dataclasses.field(default_factory=dict)


class ServeLane:
    """Runs the trials of one serve scenario; keeps the client, and with shared launches the servers, until `close`.

    `builds` maps the scenario's build names to ready ones; `watch` are functions of vLLM whose calls are counted in every
    arm; `seed` is the plan's. Logs and the client's result files are kept under `results`; `say` is told what takes long.
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
        ready_timeout: float = READY_TIMEOUT,
        pick_port: Callable[[], int] = free_port,
    ) -> None:
        faults = scenario_faults(scenario)
        if faults:
            raise BadInput(*faults)
        self.scenario = scenario
        self.workload = _workload(scenario)
        self.builds = builds
        self.results = results
        self.seed = seed
        self.watch = tuple(sorted({*watch, *attest.RUNNERS.values()}))
        self.say = say
        self.ready_timeout = ready_timeout
        self.pick_port = pick_port
        self.files = results / f"{scenario.name}.trials"
        self._scratch = results / ".running" / f"{scenario.name}-{uuid.uuid4().hex[:8]}"
        self._model: ModelAt | None = None
        self._client: Client | None = None
        self._servers: dict[str, Server] = {}
        self._broken: dict[str, ServerEnded] = {}
        self._launches: dict[str, int] = {}
        self._spent: dict[str, float] = {}

    # --- the way in --------------------------------------------------------------------------

    def check(self) -> None:
        """Starts the client and has its own parser look at the scenario's flags; raises `BadInput` if it refuses them."""
        self._ready_client().check(self._arguments("http://127.0.0.1:1", "check", self.scenario.seed, self._scratch / "check.json"))

    def trials(self, block: Block, arms: Sequence[str]) -> Iterator[Record]:
        """One trial of each of the arms named, in that order; every one leaves a record, whatever becomes of it."""
        if self._client is None:
            self.check()
        of = {arm.name: arm for arm in self.scenario.arms}
        for name in arms:
            yield self._trial(block, of[name])

    def close(self) -> None:
        """Ends servers and client, and removes what was only needed while they ran."""
        for server in self._servers.values():
            server.stop()
        self._servers.clear()
        self._drop_client()
        shutil.rmtree(self._scratch, ignore_errors=True)
        with contextlib.suppress(OSError):
            self._scratch.parent.rmdir()

    # --- a trial --------------------------------------------------------------------------------

    def _trial(self, block: Block, arm: Arm) -> Record:
        trial = _Trial(
            block=block,
            arm=arm,
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            began=time.monotonic(),
            seconds={},
            warnings=[],
            environment={**environment.machine(), "before": environment.moment(), "block_seed": block.seed},
        )
        try:
            client = self._ready_client()
            server = self._ready_server(arm, trial)
            self._measure(trial, client, server)
        except (ServerEnded, ClientEnded) as error:
            self._lost(trial, error)
        except CannotRun as error:
            trial.reason = str(error)
        finally:
            if self.workload.launches == "fresh":
                self._drop_server(arm.name)
        return self._record(trial)

    def _measure(self, trial: _Trial, client: Client, server: Server) -> None:
        """Runs the client once and judges whether what it measured counts."""
        server.check_identity()
        trial.log = str(server.launch.log.relative_to(self.results))
        result = self._scratch / f"block-{trial.block.number:03}-{trial.arm.name}.json"
        result.parent.mkdir(parents=True, exist_ok=True)
        before, watcher = _state(server), _Watcher(server)
        answer = client.measure(
            self._arguments(server.launch.url, server.launch.name, trial.block.seed, result), timeout=LONGEST_TRIAL, watch=watcher.look
        )
        after = _state(server)
        server.check_alive()
        trial.attestation = self._attestation(server, trial.arm, before)
        if not answer["ok"]:
            trial.reason = f"the client failed: {answer['fault']}; the end of its log:\n{tail(client.running.log)}"
            return
        found = read_result(json.loads(result.read_text()), self.workload)
        self._keep(result)
        self._fill(trial, found, before, after, answer, watcher)
        proof = attest.verify(trial.attestation, trial.arm, self._build(trial.arm), tail(server.launch.log, 20_000))
        if proof:
            trial.status, trial.reason = "unattested", proof
        elif found.fault:
            trial.status, trial.reason = "invalid", found.fault
        else:
            trial.status = "ok"

    def _fill(
        self, trial: _Trial, found: BenchResult, before: _State, after: _State, answer: Mapping[str, Any], watcher: _Watcher
    ) -> None:
        """Measurements, counts of work, seconds and warnings of a run that ended."""
        counted = {
            name: round(after.counters.get(key, 0.0) - before.counters.get(key, 0.0)) for name, key in COUNTERS.items() if key in after.counters
        }
        tokens = counted.get("generation_tokens", 0)
        measured = {**found.measurements, "peak_memory": float(watcher.peak)}
        if tokens:
            measured["cpu_time_per_token"] = (after.cpu_seconds - before.cpu_seconds) / tokens
        server = self._servers[trial.arm.name]
        if self.workload.launches == "fresh" and server.ready_after is not None:
            measured["start_time"] = server.ready_after
        trial.measurements, trial.raw = measured, found.raw
        trial.work = {**found.work, **{f"server_{name}": count for name, count in counted.items()}}
        trial.seconds |= {"warming up": max(0.0, float(answer["seconds"]) - found.seconds), "measuring": found.seconds}
        load = float(answer["cpu_seconds"]) / max(1e-9, float(answer["seconds"]))
        trial.warnings += warnings_for(self.workload, found, client_load=load, server=counted)

    def _attestation(self, server: Server, arm: Arm, before: _State) -> Attestation | None:
        """What the server's processes said, with the counts of this trial alone."""
        said = attest.read(server.launch.attest, self._build(arm))
        if said is None:
            return None
        counts = {name: count - before.counts.get(name, 0) for name, count in said.counts.items()}
        runners = [name for name, target in attest.RUNNERS.items() if counts.get(f"calls {target}")]
        return dataclasses.replace(said, counts=counts, runner=" and ".join(runners))

    def _lost(self, trial: _Trial, error: ServerEnded | ClientEnded) -> None:
        """A trial whose server or client ended. Killed from outside is nobody's fault: the block is measured again."""
        trial.reason = str(error)
        if error.killed:
            trial.status = "invalid"
        if isinstance(error, ClientEnded):
            self._drop_client()
        self._drop_server(trial.arm.name)

    def _record(self, trial: _Trial) -> Record:
        trial.environment["after"] = environment.moment()
        trial.seconds = {**self._spent, **trial.seconds, "total": time.monotonic() - trial.began - sum(self._spent.values())}
        self._spent = {}
        block, scenario = trial.block, self.scenario
        return Record(
            schema=SCHEMA,
            scenario=scenario.name,
            digest=scenario.digest,
            definition=scenario.definition,
            profile=scenario.profile,
            seed=self.seed,
            block=block.number,
            position=block.order.index(trial.arm.name),
            order=list(block.order),
            arm=trial.arm.name,
            started=trial.started,
            status=trial.status,
            reason=trial.reason,
            how=f"{self.workload.launches} server",
            measurements=trial.measurements,
            raw=trial.raw,
            witnesses={},
            work=trial.work,
            seconds={name: round(spent, 3) for name, spent in trial.seconds.items()},
            warnings=trial.warnings,
            attestation=trial.attestation,
            environment=trial.environment,
            log=trial.log,
        )

    def _keep(self, result: Path) -> None:
        """The client's own file, compressed, beside the records."""
        self.files.mkdir(parents=True, exist_ok=True)
        scrub_file(result)
        with gzip.GzipFile(self.files / f"{result.name}.gz", "wb", mtime=0) as kept:
            kept.write(result.read_bytes())
        result.unlink()

    def _arguments(self, url: str, name: str, seed: int, result: Path) -> list[str]:
        return arguments_for(self.workload, model=self._model_at().name, url=url, name=name, seed=seed, result=result.absolute())

    # --- servers and client -------------------------------------------------------------------------

    def _build(self, arm: Arm) -> ReadyBuild:
        return self.builds[arm.build]

    def _model_at(self) -> ModelAt:
        if self._model is None:
            self._scratch.mkdir(parents=True, exist_ok=True)
            models = self._build(self.scenario.baseline).side.parent / "models"
            self._model = locate_model(self.workload.model, models, self._scratch)
        return self._model

    def _ready_client(self) -> Client:
        """The client of the baseline's build, started again if it has died."""
        if self._client is not None and not self._client.alive:
            self._drop_client()
        if self._client is None:
            model, began = self._model_at(), time.monotonic()
            self.say(f"{self.scenario.name}: the client imports vLLM")
            self._client = Client(
                self._build(self.scenario.baseline), log=self._log("client"), folder=model.folder, offline=model.offline
            )
            try:
                self._client.wait_ready()
            except CannotRun:
                self._drop_client()
                raise
            self._spend("client imports", time.monotonic() - began)
        return self._client

    def _ready_server(self, arm: Arm, trial: _Trial) -> Server:
        """The arm's server, ready; with shared launches all arms' servers are up and none is still starting."""
        wanted = [arm] if self.workload.launches == "fresh" else list(self.scenario.arms)
        for name in [name for name, server in self._servers.items() if server.running.poll() is not None]:
            trial.warnings.append(f"the server of arm {name} had ended between trials and was launched again")
            self._drop_server(name)
        began = time.monotonic()
        missing = [one for one in wanted if one.name not in self._servers]
        for one in missing:
            self._attempt(one, lambda one=one: self._launch(one))  # type: ignore[misc]
        for one in missing:
            if one.name in self._servers:
                self._attempt(one, lambda one=one: self._servers[one.name].wait_ready(self.say, self.ready_timeout))  # type: ignore[misc]
        if missing:
            self._spend("server starts", time.monotonic() - began)
        if arm.name in self._broken:
            raise self._broken.pop(arm.name)
        return self._servers[arm.name]

    def _attempt(self, arm: Arm, what: Callable[[], object]) -> None:
        """Keeps what went wrong with a server for the trial of its own arm."""
        self._broken.pop(arm.name, None)
        try:
            what()
        except ServerEnded as error:
            self._broken[arm.name] = error
            self._drop_server(arm.name)

    def _launch(self, arm: Arm) -> None:
        build, model = self._build(arm), self._model_at()
        self._launches[arm.name] = self._launches.get(arm.name, 0) + 1
        number = self._launches[arm.name]
        name, port = f"perfproof-{self.scenario.name}-{arm.name}-{uuid.uuid4().hex[:8]}", self.pick_port()
        attests = self._scratch / f"attest-{arm.name}-{number}"
        attests.mkdir(parents=True)
        self._servers[arm.name] = Server(
            Launch(
                arm=arm.name,
                name=name,
                port=port,
                command=[str(build.interpreter), *server_words(self.workload, arm, model, name, port)],
                environment=server_environment(build, arm, self.workload, offline=model.offline, attests=attests.absolute(), watch=self.watch),
                log=self._log(f"server-{arm.name}"),
                attest=attests,
                folder=model.folder,
            )
        )

    def _log(self, what: str) -> Path:
        """Every start has a log of its own."""
        folder = self.results / f"{self.scenario.name}.logs"
        number = 1
        while (folder / f"{what}-{number}.log").exists():
            number += 1
        return folder / f"{what}-{number}.log"

    def _drop_server(self, arm: str) -> None:
        server = self._servers.pop(arm, None)
        if server is not None:
            server.stop()

    def _drop_client(self) -> None:
        if self._client is not None:
            self._client.close()
        self._client = None

    def _spend(self, phase: str, seconds: float) -> None:
        """Time that no single trial is to blame for; told with the next record."""
        self._spent[phase] = self._spent.get(phase, 0.0) + seconds


def server_words(workload: ServeWorkload, arm: Arm, model: ModelAt, name: str, port: int) -> list[str]:
    """The words after the interpreter. The prefix cache is off unless the scenario speaks of it: it would answer the second run from the first."""
    asked = [*workload.server_arguments, *arm.server_arguments]
    given = unique_flags(asked)
    cache = [] if given & {"--enable-prefix-caching", "--no-enable-prefix-caching"} else ["--no-enable-prefix-caching"]
    defaults = [word for word in model.arguments if word.partition("=")[0] not in given]
    command = ["-m", "vllm.entrypoints.cli.main", "serve", model.name, f"--host={HOST}", f"--port={port}", f"--served-model-name={name}"]
    return [*command, *defaults, *cache, *asked]


def server_environment(
    build: ReadyBuild, arm: Arm, workload: ServeWorkload, *, offline: bool, attests: Path, watch: Iterable[str]
) -> dict[str, str]:
    """The whole environment of an arm's server.

    Each set of patches has a cache of its own, because vLLM's compile cache does not see that a function was replaced.
    """
    toy = isinstance(workload.model, ToyModel)
    cache = hashlib.sha256(f"{build.side.name} {' '.join(sorted(arm.patches))}".encode()).hexdigest()[:8]
    return {
        **build_environment(build, threads=environment.usable_cores()),
        "VLLM_CACHE_ROOT": str(build.side.parent / "cache" / f"{build.id}-{cache}"),
        **({"HF_HUB_OFFLINE": "1"} if offline else {}),
        **({"VLLM_CPU_KVCACHE_SPACE": "1"} if toy and build.fingerprint.device == "cpu" else {}),
        **arm_variables(arm, attest=attests, watch=watch),
    }


def _state(server: Server) -> _State:
    counts = attest.total(attest.read_counts(file) for file in server.launch.attest.glob("*.counts"))
    return _State(counters=server.counters(), counts=counts, cpu_seconds=server.cpu_seconds())


class _Watcher:
    """Looks at a server while it is measured: its memory, that it lives, that it works."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.peak = server.memory()
        self._cpu = server.cpu_seconds()
        self._moved = time.monotonic()

    def look(self) -> None:
        """Raises `ServerEnded` if the server has ended or hangs."""
        self.server.check_alive()
        self.peak = max(self.peak, self.server.memory())
        cpu, now = self.server.cpu_seconds(), time.monotonic()
        if cpu - self._cpu > 0.02:
            self._cpu, self._moved = cpu, now
        elif now - self._moved > STALLED:
            raise ServerEnded(f"arm {self.server.arm}: the server hangs: no CPU time for {STALLED:.0f} s in the midst of a measurement")
