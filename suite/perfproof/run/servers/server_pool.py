"""The servers of one scenario, shared over its blocks, new for every block or new for every trial.

With shared launches the servers of all arms are up before the first is measured, so that none starts while another is measured; a server
that ended between trials is launched again, with a warning in the trial. They start at the same time, but one after another if a server
makes its KV cache as large as the free memory: it would count the others' memory as its own. With blockwise launches it is the same for the
trials of one block, and the next block's servers are launched once the GPU memory is free again. With fresh launches a server lives for one
trial, and the next is launched then. Earlier starts set the limit for how long a start may take.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.scenarios.scenario import Arm, Scenario
from perfproof.run.host import gpus
from perfproof.run.host.ports import free_port
from perfproof.run.processes import model_infos
from perfproof.run.processes.scratch_folders import Scratch
from perfproof.run.servers import switched_delay
from perfproof.run.servers.launch_spec import (
    Launch,
    ModelAt,
    measures_memory,
    server_environment,
    server_words,
    without_worker,
    workload_of,
)
from perfproof.run.servers.log_diagnosis import PORT_TAKEN
from perfproof.run.servers.server import BROKEN_GRACE, GRACE, Say, Server, ServerEnded
from perfproof.run.servers.startup_history import Starts, patience, start_key

ATTEMPTS = 3
"""How often a server is launched if its port is taken between the choice and the start."""


class ServerPool:
    """Launches, keeps and ends servers.

    `builds` maps the scenario's build names to ready ones; `idle` are the bytes that GPUs hold without servers; `scratch` takes temporary
    files, `logs` those that are kept; `watch` are functions of vLLM whose calls are counted in every arm. `last` is each arm's last launch,
    also one that did not become ready.
    """

    def __init__(
        self,
        scenario: Scenario,
        builds: Mapping[str, ReadyBuild],
        model: ModelAt,
        *,
        idle: Sequence[int],
        scratch: Scratch,
        logs: Path,
        watch: Iterable[str],
        say: Say,
        ready_timeout: float,
        pick_port: Callable[[], int] = free_port,
    ) -> None:
        self._scenario = scenario
        self._workload = workload_of(scenario)
        self._builds = builds
        self._model = model
        self._scratch = scratch
        self._logs = logs
        self._watch = tuple(watch)
        self._say = say
        self._timeout = ready_timeout
        self._pick_port = pick_port
        self._idle = tuple(idle)
        self._block = 0
        self._up: dict[str, Server] = {}
        self._keys: dict[str, tuple[Starts, str]] = {}
        self._broken: set[str] = set()
        self._failed_starts: dict[str, ServerEnded] = {}
        self.last: dict[str, Launch] = {}

    def begin_block(self, number: int) -> None:
        """Ends the servers of the block before, where each block has its own."""
        if self._workload.launches == "blockwise" and number != self._block:
            self.close()
            self._broken.clear()
            self._failed_starts.clear()
        self._block = number

    def host_of(self, arm: Arm) -> Arm:
        """The arm by whose name the arm's server is known here: its own, unless they share one (`switched_delay`)."""
        return switched_delay.host_of(self._scenario, arm, together=self._workload.servers_together)

    def ready(self, arm: Arm) -> tuple[Server, list[str]]:
        """The server of an arm (`host_of`), ready to be measured, and warnings. Raises `ServerEnded` if it does not become ready.

        If a server failed while the servers of all arms started, the next trial of its own arm raises that error; before, it is not tried
        again.
        """
        self._raise_failed_start(arm)
        hosts = {host.name: host for host in map(self.host_of, self._scenario.arms)}.values()
        sound = [one for one in hosts if one.name not in self._broken or one.name == arm.name]
        wanted = sound if self._workload.servers_together else [arm]
        warnings = [f"the server of arm {name} had ended between trials and was launched again" for name in self._bury()]
        missing = [one for one in wanted if one.name not in self._up]
        for group in self._groups(missing):
            self._start(group)
        self._raise_failed_start(arm)
        return self._up[arm.name], warnings

    def _groups(self, missing: Sequence[Arm]) -> list[Sequence[Arm]]:
        """The arms in groups whose servers may start at the same time, in order."""
        measuring = any(measures_memory(self._builds[one.build], self._workload, one) for one in missing)
        if not measuring or len(missing) < 2:
            return [missing]
        self._say("the servers start one after another: without --kv-cache-memory-bytes each measures what the GPU has free")
        return [[one] for one in missing]

    def _start(self, group: Sequence[Arm]) -> None:
        """Launches the servers of these arms, then waits for all of them; a failed start is kept for the trial of its arm."""
        for one in group:
            self._broken.discard(one.name)
            self._attempt(one, self._launch)
        for one in group:
            if one.name in self._up:
                self._attempt(one, self._wait)

    def _raise_failed_start(self, arm: Arm) -> None:
        """Raises the error of the arm's failed start, once."""
        if arm.name in self._failed_starts:
            raise self._failed_starts.pop(arm.name)

    def _bury(self) -> list[str]:
        """Drops servers that have ended, and waits until their GPU memory is free; returns the names of their arms."""
        ended = [name for name, server in self._up.items() if not server.whole]
        for name in ended:
            self.drop(name, lost=True)
        if ended and self._up:
            gpus.wait_steady()
        return ended

    def _attempt(self, arm: Arm, what: Callable[[Arm], None]) -> None:
        """Keeps a server's error for the trial of its own arm; the other arms may still be measured."""
        try:
            what(arm)
        except ServerEnded as error:
            self._broken.add(arm.name)
            self._failed_starts[arm.name] = error
            self.drop(arm.name, lost=True)

    def _wait(self, arm: Arm) -> None:
        starts, key = self._keys[arm.name]
        starts.add(key, self._wait_with(arm, starts.known(key), ATTEMPTS))

    def _wait_with(self, arm: Arm, known: Sequence[float], attempts: int) -> float:
        """Waits for the server, whose earlier starts took `known` seconds, and launches it again if its port was taken meanwhile."""
        try:
            return self._up[arm.name].wait_ready(self._say, patience(known, self._timeout), known[-1] if known else None)
        except ServerEnded as error:
            if PORT_TAKEN not in str(error) or attempts == 1:
                raise
        self._say(f"arm {arm.name}: port {self._up[arm.name].launch.port} was taken meanwhile; it is launched again on another")
        self.drop(arm.name, lost=True)
        self._launch(arm)
        return self._wait_with(arm, known, attempts - 1)

    def _launch(self, arm: Arm) -> None:
        """Launches the arm's server. Raises `MemoryKept` where a GPU still holds the memory of an earlier server."""
        if not self._up:
            gpus.wait_free(self._idle)
        build, port, mark = self._builds[arm.build], self._pick_port(), uuid.uuid4().hex[:8]
        name = f"perfproof-{self._scenario.name}-{arm.name}-{mark}"
        attests = self._scratch.folder / f"attest-{arm.name}-{mark}"
        attests.mkdir(parents=True)
        environment = server_environment(
            build, arm, self._workload, offline=self._model.offline, attests=attests.absolute(), watch=self._watch
        )
        words = server_words(self._workload, arm, self._model, name, port)
        if build.fingerprint.device == "cpu":
            words, environment = without_worker(words, environment)
        key_words = [word for word in words if word not in (f"--port={port}", f"--served-model-name={name}")]
        cache = Path(environment["VLLM_CACHE_ROOT"])
        self._keys[arm.name] = Starts(cache.parent / "starts.json"), start_key(cache.name, *key_words)
        self.last[arm.name] = Launch(
            arm=arm.name,
            name=name,
            port=port,
            command=[str(build.interpreter), *words],
            environment={"VLLM_RPC_BASE_PATH": str(self._scratch.sockets()), **environment},
            log=next_log(self._logs, f"server-{arm.name}"),
            attest=attests,
            folder=self._model.folder,
        )
        model_infos.share(build, environment)
        self._up[arm.name] = Server(self.last[arm.name])

    def drop(self, arm: str, *, lost: bool = False) -> None:
        """Ends an arm's server, if it has one; without the usual wait if it is lost already."""
        server = self._up.pop(arm, None)
        if server is not None:
            server.stop(BROKEN_GRACE if lost else GRACE)

    def close(self) -> None:
        """Ends all servers: asks all of them first, then waits."""
        stop_all(list(self._up.values()))
        self._up.clear()


def stop_all(servers: Sequence[Server]) -> None:
    for server in servers:
        server.ask_to_end()
    for server in servers:
        server.stop()


def next_log(folder: Path, what: str) -> Path:
    """The path of a new log: every start has its own."""
    number = 1
    while (folder / f"{what}-{number}.log").exists():
        number += 1
    return folder / f"{what}-{number}.log"
