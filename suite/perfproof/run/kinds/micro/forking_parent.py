"""The process of a build that has only imported vLLM, and forks a trial for every order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.errors import CannotRun
from perfproof.run.processes.trial_process import Channel, Running, how_ended, start, tail
from perfproof.run.servers.log_diagnosis import last_words

IMPORT_LIMIT = 600.0
TRIAL_LIMIT = 1800.0
"""Seconds after which an import or a trial is ended and counts as failed."""
NO_ROOM = 74
"""The exit code of a trial that found no disk space for its files; `suite/perfproof/child/micro.py` has the same."""


class Parent:
    """A process of one build that has imported what its benchmarks need, and forks a trial for every order."""

    def __init__(self, build: ReadyBuild, benches: Sequence[Path], variables: Mapping[str, str], log: Path) -> None:
        self.build = build
        self._channel = Channel()
        words = [build.interpreter, build.child / "micro.py", build.tools or "", *benches]
        self._running: Running = start(words, environment=variables, log=log, channel=self._channel)
        self._closed = False
        self.seconds = 0.0
        self.threads = 0
        self.faults: Sequence[str] = ()
        self.fault = ""

    def ready(self, limit: float = IMPORT_LIMIT) -> None:
        """Waits until it has imported; a parent that can't is closed, and `fault` says why."""
        try:
            answer = self._hear(limit, "importing vLLM")
        except CannotRun as error:
            self.fault = str(error)
            self.close()
            return
        self.seconds, self.threads, self.faults = float(answer["seconds"]), int(answer["threads"]), answer["faults"]

    def trial(
        self,
        bench: Path,
        variables: Mapping[str, str],
        seed: int,
        folder: Path,
        log: Path,
        count: Mapping[str, Any] | None,
        *,
        own: bool,
        collect: bool = False,
        turns: Mapping[str, Any] | None = None,
    ) -> int:
        """Runs one trial, its random numbers seeded with `seed`, and counts a round of each case; its exit code, -N for signal N.

        With `collect` its tests are only named. `own` says that the benchmark is the user's own, `turns` where it takes turns with others.

        Raises `CannotRun` if the parent died or time ran out.
        """
        try:
            said = {"bench": str(bench), "own": own, "collect": collect, "seed": seed, "folder": str(folder), "log": str(log)}
            self._channel.send({**said, "environment": dict(variables), "count": count, "turns": turns})
        except BrokenPipeError:
            raise CannotRun(f"the process that imports vLLM {self._end()}") from None
        return int(self._hear(TRIAL_LIMIT, "the trial")["code"])

    def _hear(self, limit: float, what: str) -> dict[str, Any]:
        try:
            answer = self._channel.receive(limit)
        except EOFError:
            raise CannotRun(f"the process that imports vLLM {self._end()}") from None
        if answer is None:
            self._running.kill_now()
            raise CannotRun(f"{what} {how_ended(None, limit)}")
        return answer

    def _end(self) -> str:
        """How it ended, with the last lines of its log."""
        code = self._running.wait(10.0)
        log = tail(self._running.log)
        return how_ended(code, self._running.seconds) + (f"; the end of its log:\n{last_words(log)}" if log else "")

    @property
    def log(self) -> Path:
        return self._running.log

    @property
    def alive(self) -> bool:
        return self._running.poll() is None

    def close(self) -> None:
        """Ends it; a second call does nothing."""
        if not self._closed:
            self._closed = True
            self._running.kill_now()
            self._channel.close()
