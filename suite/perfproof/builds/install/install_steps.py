"""The steps of an install: each has a name, a time, a log, and a message if it fails."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from perfproof.builds.processes import temp_files
from perfproof.builds.processes.containers import of_program
from perfproof.builds.processes.redact import scrub
from perfproof.builds.processes.supervised_process import Finished, inherited, run_to_end
from perfproof.model.base.errors import CannotRun

Say = Callable[[str], None]
STEP_LIMIT = 1800.0
"""Seconds that one step may take: an hour's download counts as a fault."""
LEAST_ROOM = 16 * 2**20
"""With less free space than these bytes, a failed step failed because the disk is full."""
NO_UV = (
    "something has to be installed, but there is no uv here: a bundle has none\n"
    "  what to do: add what is missing to the bundle (docs/gpu.md), or install uv"
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
    """Runs uv and pip to make one thing: `what` names it, `log` takes all output, `into` is its folder (None: below `builds`)."""

    what: str
    builds: Path
    log: Path
    say: Say
    into: Path | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """The installers' environment: the user's pip and uv settings, and a download cache that all builds share by hard links."""
        variables = inherited(prefixes=("LC_", "PIP_", "UV_"))
        variables.pop("UV_PYTHON", None)
        variables.setdefault("UV_CACHE_DIR", str(self.builds.absolute() / ".cache" / "uv"))
        return {**variables, "UV_NO_PROGRESS": "1", "UV_PYTHON_DOWNLOADS": "never", "PIP_NO_INPUT": "1", "PYTHONNOUSERSITE": "1"}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Times its context and shows the user the step's name."""
        self.say(f"{self.what}: {name}")
        with open(self.log, "a") as file:
            file.write(f"--- {name}\n")
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - began

    def run(self, command: Sequence[str | Path], **more: str) -> Finished:
        """Runs one command to its end, with `more` environment variables; the caller checks how it ended.

        Raises `CannotRun` where there is no room for its temporary files.
        """
        temp_files.folder()
        self.log.parent.mkdir(parents=True, exist_ok=True)
        start = self.log.stat().st_size if self.log.exists() else 0
        finished = run_to_end(command, environment={**self.environment, **more}, log=self.log, timeout=STEP_LIMIT)
        self._output, self._last = _since(self.log, start), finished
        return finished

    _output: str = ""
    _last: Finished | None = None

    @property
    def output(self) -> str:
        """The output of the last command."""
        return self._output

    def uv(self, *words: str | Path, **more: str) -> Finished:
        try:
            import uv  # only to install something: an existing interpreter needs no uv
        except ModuleNotFoundError as error:
            raise CannotRun(f"{self.what}: {NO_UV}") from error
        return self.run([uv.find_uv_bin(), *words], **more)

    def uv_install(self, interpreter: Path, *words: str | Path, **more: str) -> Finished:
        self.refuse_image(interpreter)
        return self.uv("pip", "install", "--python", interpreter, *words, **more)

    def refuse_image(self, interpreter: Path) -> None:
        """Raises `CannotRun` for the starter of an image: uv can't ask it what it has."""
        if of_program(str(interpreter), ""):
            raise CannotRun(
                f"{self.what}: packages have to be put beside it, and nothing can be installed for a container image from outside\n  "
                "what to do: make an image that has them (FROM this image, RUN pip install), and name that"
            )

    def must(self, finished: Finished, step: str, remedy: str) -> None:
        """Raises `CannotRun` for a command that failed: the step, its last lines, what to do."""
        if not finished.ok:
            raise CannotRun(self.words(step, remedy))

    def words(self, step: str, remedy: str) -> str:
        """How the last command failed: the step, its last lines, and what to do: `remedy`, unless the output shows a common cause."""
        how = self._last.how() if self._last else "failed"
        lines = "\n".join(f"    {line}" for line in scrub(self.output).rstrip().splitlines()[-12:])
        advice = self._common_cause() or remedy
        return f"{self.what}: step '{step}' {how}:\n{lines}\n  what to do: {advice}\n  whole output: {self.log}"

    @property
    def full(self) -> Path | None:
        """The folder on a full disk, if the last command said that the disk is full, or could not even write that to its log."""
        places = (self.into or self.builds, temp_files.folder())
        short = [place for place in places if shutil.disk_usage(place).free < LEAST_ROOM]
        if _FULL.search(self.output):
            return next(iter(short), places[0])
        return places[0] if places[0] in short else None

    def _common_cause(self) -> str:
        """What to do if the output shows a full disk, a missing network, or a broken file."""
        if full := self.full:
            return f"the disk is full: make room beside {full}; half-made files are made again next time"
        if _NETWORK.search(self.output):
            return "the package index can't be reached: check network, proxy and pip or uv settings, or name an interpreter (python:)"
        if _BROKEN.search(self.output):
            return (
                "a file is broken, or differs from its index: empty the cache (uv cache clean) and try again; if that does not help, the "
                "index itself serves a broken file"
            )
        return ""


def _since(log: Path, start: int) -> str:
    """The text appended to a log since `start`; the text before was scrubbed already, so its length has not changed."""
    with open(log, "rb") as file:
        file.seek(start)
        return file.read().decode(errors="replace")
