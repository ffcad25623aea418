"""The steps of an install: every one named, timed, logged, and told in words when it fails."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from suite.builds.process import Finished, inherited, run_to_end
from suite.model.errors import CannotRun

Say = Callable[[str], None]
STEP_LIMIT = 1800.0
"""Seconds that one step may take: an hour's download is told as a fault."""

_NETWORK = re.compile(
    r"dns error|failed to lookup|Connection refused|Network is unreachable|timed out|Temporary failure|client error", re.I
)


@dataclass(slots=True, kw_only=True)
class Installer:
    """Runs uv and pip for one thing that is made: `what` names it, `log` takes all output."""

    what: str
    builds: Path
    log: Path
    say: Say
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """What installers may know: the user's pip and uv settings, and a download cache that all builds share by hard links."""
        found = inherited(prefixes=("LC_", "PIP_", "UV_"))
        found.pop("UV_PYTHON", None)
        found.setdefault("UV_CACHE_DIR", str(self.builds / ".cache" / "uv"))
        return {**found, "UV_NO_PROGRESS": "1", "UV_PYTHON_DOWNLOADS": "never", "PIP_NO_INPUT": "1", "PYTHONNOUSERSITE": "1"}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Times what happens inside and tells the user what is being done."""
        self.say(f"{self.what}: {name}")
        with open(self.log, "a") as file:
            file.write(f"--- {name}\n")
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - began

    def run(self, command: Sequence[str | Path], **more: str) -> Finished:
        """Runs one command to its end, with `more` environment variables; the caller looks at how it ended."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        start = self.log.stat().st_size if self.log.exists() else 0
        finished = run_to_end(command, environment={**self.environment, **more}, log=self.log, timeout=STEP_LIMIT)
        self._said = _since(self.log, start)
        return finished

    _said: str = ""

    @property
    def said(self) -> str:
        """What the last command printed."""
        return self._said

    def uv(self, *words: str | Path, **more: str) -> Finished:
        import uv  # only where something is installed: an interpreter that is there needs none

        return self.run([uv.find_uv_bin(), *words], **more)

    def uv_install(self, interpreter: Path, *words: str | Path, **more: str) -> Finished:
        return self.uv("pip", "install", "--python", interpreter, *words, **more)

    def must(self, finished: Finished, step: str, remedy: str) -> None:
        """Raises `CannotRun` for a command that failed: the step, its last lines, what to do."""
        if finished.ok:
            return
        if _NETWORK.search(self.said):
            remedy = "the package index can't be reached: look at network, proxy and pip or uv settings, or name an interpreter (python:)"
        if "No space left" in self.said or "os error 28" in self.said:
            remedy = f"the disk is full: make room beside {self.builds}; what was half made is made again next time"
        lines = "\n".join(f"    {line}" for line in self.said.rstrip().splitlines()[-12:])
        raise CannotRun(f"{self.what}: step '{step}' {finished.how()}:\n{lines}\n  what to do: {remedy}\n  whole output: {self.log}")


def _since(log: Path, start: int) -> str:
    """What was appended to a log; scrubbing may have shortened it, so never less than the last lines."""
    with open(log, "rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(min(start, max(0, file.tell() - 2000)))
        return file.read().decode(errors="replace")
