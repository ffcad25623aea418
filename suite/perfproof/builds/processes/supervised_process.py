"""Starts, watches and ends other programs.

Every program runs under a supervisor (`suite/perfproof/child/supervisor.py`) in its own session, without standard input, with its output in
a log file and an environment made from scratch. The supervisor holds the reading end of a pipe whose writing end is here: if this process
dies, even by `kill -9`, the program and all its descendants are killed. If the supervisor itself is killed, the next look at the program
finds its remaining processes, by their session or by the mark in their environment (`PERFPROOF_MARK`), and kills them. A program that runs
in a container (`containers`) is ended with its container. Only these two modules import `subprocess`.

Kept logs are shortened (`long_logs`) and scrubbed (`redact`) when their program ends.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from perfproof.builds.processes import containers, long_logs, temp_files
from perfproof.builds.processes.channel import Channel as Channel
from perfproof.builds.processes.redact import scrub, scrub_file
from perfproof.model.base.errors import CannotRun

SUPERVISOR = Path(__file__).resolve().parents[2] / "child" / "supervisor.py"
GRACE = 10.0
"""Seconds between the request to end and the kill."""
HURRY = threading.Event()
"""While it is set, programs that are stopped are killed at once: the time for waiting is over."""

INHERITED = frozenset(
    [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "TMP",
        "TEMP",
        "LD_LIBRARY_PATH",
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "all_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "ALL_PROXY",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "NETRC",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_CONFIG_DIRS",
        "XDG_DATA_HOME",
        "CUDA_HOME",
        "CUDA_VISIBLE_DEVICES",
    ]
)
"""The variables that every program inherits from ours; none of their values is recorded unchanged."""


def inherited(*, also: Iterable[str] = (), prefixes: tuple[str, ...] = ("LC_",)) -> dict[str, str]:
    """Our environment variables for a program: the common ones, those named, and those with one of the prefixes."""
    names = INHERITED | set(also)
    return {name: value for name, value in os.environ.items() if name in names or name.startswith(prefixes)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a program ended. `code` is its exit code, -N where signal N ended it, None if it ran out of time."""

    command: Sequence[str]
    code: int | None
    seconds: float
    log: Path

    @property
    def ok(self) -> bool:
        return self.code == 0

    def how(self) -> str:
        """How it ended, in words."""
        return how_ended(self.code, self.seconds)

    def tail(self, lines: int = 12) -> str:
        return tail(self.log, lines)


OUT_OF_TIME = "ran out of time"


def how_ended(code: int | None, seconds: float) -> str:
    if code is None:
        return f"{OUT_OF_TIME} after {seconds:.0f} s"
    if code < 0:
        return f"was ended by {signal_name(-code)}"
    return f"exited with code {code}"


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def tail(log: Path, lines: int = 12) -> str:
    """The last lines of a log, scrubbed; only the end of a large log is read."""
    try:
        with open(log, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 200 * lines - 4096))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    return scrub("\n".join(text.rstrip().splitlines()[-lines:]))


class Running:
    """A running program with all its descendants. As a context manager it is stopped on leaving.

    `pid` is the supervisor's; `log` takes both outputs. Made by `start`.
    """

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        mark: str,
        supervisor: subprocess.Popen[bytes],
        lifeline: int,
        empty: Path | None = None,
        container: containers.Container | None = None,
    ) -> None:
        self.command = tuple(command)
        self.log = log
        self.started = time.monotonic()
        self._mark = mark
        self._supervisor = supervisor
        self._lifeline: int | None = lifeline
        self._ended: float | None = None
        self._empty = empty
        self._container = container
        self._inside: psutil.Process | None = None
        self._ask_again = 0.0

    @property
    def pid(self) -> int:
        return self._supervisor.pid

    @property
    def seconds(self) -> float:
        """How long it has run, or ran in all."""
        return (self._ended or time.monotonic()) - self.started

    def poll(self) -> int | None:
        """None while it runs, else its exit code (-N for signal N)."""
        code = self._supervisor.poll()
        if code is None:
            long_logs.give_back(self.log)
            return None
        self._settle()
        return 128 - code if code > 128 else code

    def wait(self, timeout: float | None = None) -> int | None:
        """Waits for its end; returns its exit code, None if it has not ended within `timeout` seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._supervisor.wait(left_after_its_end(self.pid, timeout) if self._supervisor.returncode is None else 0)
        return self.poll()

    def processes(self) -> list[psutil.Process]:
        """The program and its descendants, also those that have left its session; without the supervisor, and without the runtime of a
        container and its first process."""
        try:
            root = psutil.Process(self.pid) if self._container is None else self._first_inside(self._container)
            return root.children(recursive=True) if root else []
        except psutil.NoSuchProcess:
            return []

    def _first_inside(self, container: containers.Container) -> psutil.Process | None:
        """The container's first process; the runtime is asked once a second until there is one."""
        if self._inside is None and time.monotonic() >= self._ask_again and self._ended is None:
            pid = container.pid()
            self._inside = psutil.Process(pid) if pid else None
            self._ask_again = time.monotonic() + 1.0
        return self._inside

    def kill_now(self) -> None:
        """Kills the program and its descendants at once."""
        self._close_lifeline()
        if self.wait(GRACE if self._container is None else 3 * GRACE) is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self._supervisor.wait()
            self.poll()

    def stop(self, grace: float = GRACE) -> int:
        """Asks the program to end, kills it and all its descendants `grace` seconds later; returns its exit code."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self._supervisor.terminate()
            if self.wait(0.0 if HURRY.is_set() else grace) is None:
                self.kill_now()
        code = self.poll()
        return code if code is not None else -signal.SIGKILL

    def finished(self) -> Finished:
        return Finished(command=self.command, code=self.poll(), seconds=self.seconds, log=self.log)

    def _settle(self) -> None:
        """Cleans up, once, after the supervisor has ended."""
        if self._ended is None:
            self._ended = time.monotonic()
            self._close_lifeline()
            kill_marked(self._mark, self.pid)
            if self._container is not None:
                containers.ended(self._container)
            if self._container is not None and self._supervisor.returncode == -signal.SIGKILL:
                self._container.remove()
            long_logs.shorten(self.log)
            scrub_file(self.log)
            if self._empty is not None:
                shutil.rmtree(self._empty, ignore_errors=True)

    def _close_lifeline(self) -> None:
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


def start(
    command: Sequence[str | Path],
    *,
    environment: Mapping[str, str],
    log: Path,
    folder: Path | None = None,
    grace: float = GRACE,
    channel: Channel | None = None,
) -> Running:
    """Starts a program under a supervisor, with `environment` and nothing else.

    `log` is appended to. The program runs in `folder`; None makes an empty one that is removed with it, because Python imports files of the
    working folder first, and ours may hold anything. Raises `CannotRun` if not even the supervisor starts.
    """
    words = [str(word.absolute() if isinstance(word, Path) and folder is None else word) for word in command]
    empty = None if folder is not None else _empty_folder(words[0])
    mark = uuid.uuid4().hex
    reader, lifeline = os.pipe()
    passed = (reader, *(channel.theirs if channel else ()))
    container = containers.of_program(words[0], mark)
    given = {**environment, "PERFPROOF_MARK": mark, **(containers.variables(container) if container else {})}
    if channel:
        given["PERFPROOF_CHANNEL"] = ",".join(str(end) for end in channel.theirs)
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        with open(log, "ab") as output:
            supervisor = subprocess.Popen(  # noqa: S603 (no shell; the words are ours)
                [sys.executable, "-I", "-S", str(SUPERVISOR), str(reader), str(grace), *words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=given,
                cwd=folder or empty,
                start_new_session=True,
                pass_fds=passed,
            )
    except OSError as error:
        os.close(lifeline)
        if empty is not None:
            empty.rmdir()
        raise CannotRun(f"cannot start {words[0]}: {error.strerror}") from error
    finally:
        os.close(reader)
        if channel:
            channel.started()
    if container is not None:
        containers.began(container)
    return Running(words, log, mark, supervisor, lifeline, empty, container)


def _empty_folder(program: str) -> Path:
    """A new folder to run a program in. Raises `CannotRun` if it can't be made."""
    try:
        return Path(tempfile.mkdtemp(prefix="perfproof-", dir=temp_files.folder()))
    except OSError as error:
        raise CannotRun(f"cannot make a folder to start {program} in: {error.strerror}") from error


def run_to_end(
    command: Sequence[str | Path], *, environment: Mapping[str, str], log: Path, timeout: float, folder: Path | None = None
) -> Finished:
    """Runs a program to its end, or kills it after `timeout` seconds; Ctrl-C ends it too."""
    running = start(command, environment=environment, log=log, folder=folder)
    try:
        if running.wait(timeout) is None:
            seconds = running.seconds
            running.stop(grace=2.0)
            return Finished(command=running.command, code=None, seconds=seconds, log=log)
        return running.finished()
    finally:
        running.kill_now()


def left_after_its_end(pid: int, timeout: float | None) -> float | None:
    """Sleeps until one of our children has ended, or `timeout` seconds have passed; returns the rest of them.

    `Popen.wait` with a timeout looks only every 50 ms. On systems other than Linux this does not wait.
    """
    if not hasattr(os, "pidfd_open"):
        return timeout
    began = time.monotonic()
    try:
        end = os.pidfd_open(pid)
    except OSError:
        return timeout
    try:
        watch = select.poll()
        watch.register(end, select.POLLIN)
        watch.poll(None if timeout is None else math.ceil(1000 * timeout))
    finally:
        os.close(end)
    return None if timeout is None else max(0.0, timeout - (time.monotonic() - began))


def kill_marked(mark: str, session: int) -> None:
    """Kills every process with the mark or in the session: the processes that a killed supervisor left behind.

    Either may be missing: a program that renames itself, as vLLM's engine does, overwrites its visible environment, and a process may leave
    its session. No other process gets the session's number while one of the session lives.
    """
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and (os.getsid(process.pid) == session or process.environ().get("PERFPROOF_MARK") == mark):
                process.kill()
