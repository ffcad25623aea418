"""The servers of one scenario, shared over its blocks or fresh for every trial.

With shared launches all arms' servers are up before the first is measured, so that none starts while another is
measured; one that has ended between trials is launched again, and the trial says so. With fresh launches a server
lives for one trial.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from suite.builds.ready import ReadyBuild
from suite.model.scenario import Arm, Scenario
from suite.run.launch import Launch, ModelAt, server_environment, server_words, workload_of
from suite.run.server import READY_TIMEOUT, Say, Server, ServerEnded, free_port


class Launches:
    """Launches, keeps and ends servers.

    `builds` maps the scenario's build names to ready ones; `scratch` takes what is needed only while they run, `logs` what is kept;
    `watch` are functions of vLLM whose calls are counted in every arm.
    """

    def __init__(
        self,
        scenario: Scenario,
        builds: Mapping[str, ReadyBuild],
        model: ModelAt,
        *,
        scratch: Path,
        logs: Path,
        watch: Iterable[str],
        say: Say,
        ready_timeout: float = READY_TIMEOUT,
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
        self._up: dict[str, Server] = {}
        self._broken: dict[str, ServerEnded] = {}

    @property
    def shared(self) -> bool:
        return self._workload.launches == "shared"

    def ready(self, arm: Arm) -> tuple[Server, list[str]]:
        """The arm's server, ready to be measured, and what to be warned of. Raises `ServerEnded` if it does not become so."""
        wanted = list(self._scenario.arms) if self.shared else [arm]
        warnings = [f"the server of arm {name} had ended between trials and was launched again" for name in self._bury()]
        missing = [one for one in wanted if one.name not in self._up]
        for one in missing:
            self._broken.pop(one.name, None)
            self._attempt(one, self._launch)
        for one in missing:
            if one.name in self._up:
                self._attempt(one, self._wait)
        if arm.name in self._broken:
            raise self._broken.pop(arm.name)
        return self._up[arm.name], warnings

    def _bury(self) -> list[str]:
        """Forgets servers that have ended; the names of their arms."""
        ended = [name for name, server in self._up.items() if not server.whole]
        for name in ended:
            self.drop(name)
        return ended

    def _attempt(self, arm: Arm, what: Callable[[Arm], None]) -> None:
        """What goes wrong with a server is kept for the trial of its own arm; the others may still be measured."""
        try:
            what(arm)
        except ServerEnded as error:
            self._broken[arm.name] = error
            self.drop(arm.name)

    def _wait(self, arm: Arm) -> None:
        self._up[arm.name].wait_ready(self._say, self._timeout)

    def _launch(self, arm: Arm) -> None:
        build, port, mark = self._builds[arm.build], self._pick_port(), uuid.uuid4().hex[:8]
        name = f"perfproof-{self._scenario.name}-{arm.name}-{mark}"
        attests = self._scratch / f"attest-{arm.name}-{mark}"
        attests.mkdir(parents=True)
        environment = server_environment(
            build, arm, self._workload, offline=self._model.offline, attests=attests.absolute(), watch=self._watch
        )
        self._up[arm.name] = Server(
            Launch(
                arm=arm.name,
                name=name,
                port=port,
                command=[str(build.interpreter), *server_words(self._workload, arm, self._model, name, port)],
                environment=environment,
                log=next_log(self._logs, f"server-{arm.name}"),
                attest=attests,
                folder=self._model.folder,
            )
        )

    def drop(self, arm: str) -> None:
        """Ends an arm's server, if it has one."""
        server = self._up.pop(arm, None)
        if server is not None:
            server.stop()

    def close(self) -> None:
        """Ends all of them, asking all before waiting for any."""
        stop_all(list(self._up.values()))
        self._up.clear()


def stop_all(servers: Sequence[Server]) -> None:
    for server in servers:
        server.ask_to_end()
    for server in servers:
        server.stop()


def next_log(folder: Path, what: str) -> Path:
    """A log that is not there yet: every start has one of its own."""
    number = 1
    while (folder / f"{what}-{number}.log").exists():
        number += 1
    return folder / f"{what}-{number}.log"
