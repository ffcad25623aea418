"""The steps of an install: every one named, timed, logged, and told in words when it fails."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from perfproof.builds.processes import temp_files
from perfproof.builds.processes.redact import scrub
from perfproof.builds.processes.supervised_process import Finished, inherited, run_to_end
from perfproof.model.base.errors import CannotRun

Say = Callable[[str], None]
STEP_LIMIT = 1800.0
"""Seconds that one step may take: an hour's download is told as a fault."""
LEAST_ROOM = 16 * 2**20
"""Bytes below which a step that failed has failed for want of room."""
NO_UV = (
    "something would have to be installed, and there is no uv here: a bundle brings none\n"
    "  what to do: bring what is missing along in the bundle (docs/gpu.md), or install uv"
)

_NETWORK = re.compile(
    r"dns error|failed to lookup|Connection refused|Network is unreachable|timed out|Temporary failure|client error|network was disabled"
    r"|error sending request|Could not connect",
    re.I,
)
_FULL = re.compile(r"No space left|os error 28|File too large|os error 27|Disk quota exceeded", re.I)
_BROKEN = re.compile(
    r"hash mismatch|failed to (?:extract|unzip|read (?:the )?metadata)|invalid (?:zip|wheel|metadata|Header)|not a valid (?:zip|wheel)"
    r"|bad (?:zip|CRC)|corrupt|unable to locate the end of central directory|\.dist-info directory",
    re.I,
)


@dataclass(slots=True, kw_only=True)
class Installer:
    """Runs uv and pip for one thing that is made: `what` names it, `log` takes all output, it is made in `into` (None: below `builds`)."""

    what: str
    builds: Path
    log: Path
    say: Say
    into: Path | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """What installers may know: the user's pip and uv settings, and a download cache that all builds share by hard links."""
        found = inherited(prefixes=("LC_", "PIP_", "UV_"))
        found.pop("UV_PYTHON", None)
        found.setdefault("UV_CACHE_DIR", str(self.builds.absolute() / ".cache" / "uv"))
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
        """Runs one command to its end, with `more` environment variables; the caller looks at how it ended.

        Raises `CannotRun` where there is no room for its temporary files.
        """
        temp_files.folder()
        self.log.parent.mkdir(parents=True, exist_ok=True)
        start = self.log.stat().st_size if self.log.exists() else 0
        finished = run_to_end(command, environment={**self.environment, **more}, log=self.log, timeout=STEP_LIMIT)
        self._said, self._last = _since(self.log, start), finished
        return finished

    _said: str = ""
    _last: Finished | None = None

    @property
    def said(self) -> str:
        """What the last command printed."""
        return self._said

    def uv(self, *words: str | Path, **more: str) -> Finished:
        try:
            import uv  # only where something is installed: an interpreter that is there needs none
        except ModuleNotFoundError as error:
            raise CannotRun(f"{self.what}: {NO_UV}") from error
        return self.run([uv.find_uv_bin(), *words], **more)

    def uv_install(self, interpreter: Path, *words: str | Path, **more: str) -> Finished:
        return self.uv("pip", "install", "--python", interpreter, *words, **more)

    def must(self, finished: Finished, step: str, remedy: str) -> None:
        """Raises `CannotRun` for a command that failed: the step, its last lines, what to do."""
        if not finished.ok:
            raise CannotRun(self.words(step, remedy))

    def words(self, step: str, remedy: str) -> str:
        """How the last command failed: the step, its last lines, what to do: `remedy`, unless the output shows a common cause."""
        how = self._last.how() if self._last else "failed"
        lines = "\n".join(f"    {line}" for line in scrub(self.said).rstrip().splitlines()[-12:])
        told = self._common_cause() or remedy
        return f"{self.what}: step '{step}' {how}:\n{lines}\n  what to do: {told}\n  whole output: {self.log}"

    @property
    def full(self) -> Path | None:
        """Where the last command found no room, if it said that it did or could not even say so: its log may lie on that disk."""
        places = (self.into or self.builds, temp_files.folder())
        short = [place for place in places if shutil.disk_usage(place).free < LEAST_ROOM]
        if _FULL.search(self.said):
            return next(iter(short), places[0])
        return places[0] if places[0] in short else None

    def _common_cause(self) -> str:
        """What to do where the output shows a full disk, a network that is not there, or a file that is not what it should be."""
        if full := self.full:
            return f"the disk is full: make room beside {full}; what was half made is made again next time"
        if _NETWORK.search(self.said):
            return "the package index can't be reached: look at network, proxy and pip or uv settings, or name an interpreter (python:)"
        if _BROKEN.search(self.said):
            return (
                "a file is not what its index says, or broken: empty the cache (uv cache clean) and try again; if it stays so, the index "
                "itself serves it"
            )
        return ""


def _since(log: Path, start: int) -> str:
    """What was appended to a log; what stood there before was scrubbed already, so it has not changed its length."""
    with open(log, "rb") as file:
        file.seek(start)
        return file.read().decode(errors="replace")
