"""The life of one `vllm serve`: launch, start, identity check, state, stop.

A server is only measured after `/v1/models` has shown that it is the launched one: its name is unique, so another program on the port is
detected. Its output is kept. For a server that ends by itself the error has the last lines of its log and, if it is a common one, the
cause.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import time
import urllib.request
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import psutil

from perfproof.run.host.ports import answers, shared_with_others
from perfproof.run.processes import attestation
from perfproof.run.processes.trial_process import Ended, Running, signal_name, start, tail
from perfproof.run.servers.launch_spec import Launch
from perfproof.run.servers.log_diagnosis import LAST, diagnose, last_words
from perfproof.run.servers.startup_history import FIRST

GRACE = 45.0
"""Seconds between the request to end and the kill."""
BROKEN_GRACE = 2.0
"""The same for a server that is lost already: a server that hangs does not react to the request."""
LAST_BREATH = 2.0
"""Seconds to wait for the end of a server that does not answer."""
STOPPED_WORDS = "the server was stopped from outside (SIGSTOP) and did not go on"
STOPPED = 5.0
"""Seconds for which a server's process may be stopped (SIGSTOP) before it counts as stopped from outside."""
LOOKED_THROUGH = 400
"""Lines at the end of a log that are searched for the cause of an end."""

Say = Callable[[str], None]


class ServerEnded(Ended):
    """A server has ended, or never became ready."""


class Server:
    """One launched server; `stop` ends it and everything that it started."""

    def __init__(self, launch: Launch) -> None:
        if answers(launch.port):
            raise ServerEnded(f"arm {launch.arm}: another program answered on port {launch.port} before the launch")
        self.launch = launch
        self.running: Running = start(launch.command, environment=launch.environment, log=launch.log, folder=launch.folder, grace=GRACE)
        self.ready_after: float | None = None
        self._stopped = Patience(STOPPED)
        self._shared_memory: set[str] = set()

    @property
    def arm(self) -> str:
        return self.launch.arm

    def wait_ready(self, say: Say, timeout: float = FIRST, usual: float | None = None) -> float:
        """Waits until it is ready and checks its identity; returns the seconds since the launch. `usual` is the time of earlier starts.

        Raises `ServerEnded` if it ends, is not ours, is stopped from outside, or takes longer than `timeout`.
        """
        tell_at, before = 0.0, f" ({usual:.0f} s the last time)" if usual else ""
        while not self._healthy():
            self.check_alive()
            self.check_running(self.processes())
            seconds = self.running.seconds
            if seconds > timeout:
                raise ServerEnded(f"arm {self.arm}: the server was not ready after {timeout:.0f} s{before}; {self._log_end()}")
            if seconds >= tell_at:
                say(f"arm {self.arm}: the server starts, {seconds:.0f} s so far{before}")
                tell_at = seconds + max(5.0, seconds / 4)
            time.sleep(0.25)
        self.check_identity()
        self.ready_after = self.running.seconds
        self._shared_memory |= shared_memory(self.processes())
        say(f"arm {self.arm}: the server is ready after {self.ready_after:.0f} s")
        return self.ready_after

    def check_alive(self, grace: float = 0.0) -> None:
        """Raises `ServerEnded`, with the cause if the log names one, if the server has ended or ends within `grace` seconds."""
        code = self.running.wait(grace) if grace else self.running.poll()
        if code is not None:
            raise self._ended(f"the server {self.running.finished().how()}", killed=code == -signal.SIGKILL)

    def check_whole(self, grace: float = 0.0) -> None:
        """As `check_alive`; a server that lost a process to a signal also counts as ended, even if the rest of it still answers."""
        self.check_alive(grace)
        if self._signals():
            raise self._ended("the server has lost a process")

    def check_well(self, grace: float = 0.0) -> None:
        """As `check_whole`; a server that is stopped now, after a failed request, counts as ended too."""
        self.check_whole(grace)
        if self._is_stopped(self.processes()):
            raise self._ended(STOPPED_WORDS, killed=True)

    def _is_stopped(self, processes: Sequence[psutil.Process]) -> bool:
        return any(_of_each(processes, lambda process: process.status() == psutil.STATUS_STOPPED))

    def check_running(self, processes: Sequence[psutil.Process]) -> None:
        """Raises `ServerEnded`, as killed from outside, if one of the processes is stopped and stays stopped."""
        if self._stopped.over(not self._is_stopped(processes)):
            raise self._ended(STOPPED_WORDS, killed=True)

    def _ended(self, how: str, *, killed: bool = False) -> ServerEnded:
        """The error for its end: how it ended, the signal that ended a process of it, the cause, the end of its log."""
        signals = self._signals()
        own = [-code for code in [self.running.poll()] if code is not None and code < 0]
        cause = diagnose(tail(self.launch.log, LOOKED_THROUGH), [*signals, *own])
        lost = [f"; before that {signal_name(number)} had ended a process that it had started" for number in signals[:1]]
        return ServerEnded(
            f"arm {self.arm}: {how} after {self.running.seconds:.0f} s"
            + "".join(lost)
            + (f": {cause}" if cause else "")
            + f"; {self._log_end()}",
            killed=killed or signals[:1] == (signal.SIGKILL,),
        )

    @property
    def whole(self) -> bool:
        """Whether it runs and has lost no process to a signal."""
        return self.running.poll() is None and not self._signals()

    def _signals(self) -> tuple[int, ...]:
        return attestation.signals(self.launch.attest)

    def check_identity(self) -> None:
        """Raises `ServerEnded` unless the program on the port serves our model name and our processes live."""
        self.check_whole()
        try:
            served = [str(entry["id"]) for entry in json.loads(self.get("/v1/models"))["data"]]
        except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException) as error:
            self.check_well(LAST_BREATH)
            raise self._foreign(f"it does not answer /v1/models as vLLM does ({error})") from error
        if self.launch.name not in served:
            raise self._foreign(f"it serves {', '.join(served) or 'nothing'}, not {self.launch.name}")
        if shared_with_others(self.launch.port, [process.pid for process in self.processes()]):
            self.check_well(LAST_BREATH)  # a process of ours that was ended meanwhile leaves a socket that seems to have no owner
            raise self._foreign("another program listens there too, and the kernel spreads the requests over both")

    def _foreign(self, why: str) -> ServerEnded:
        return ServerEnded(f"arm {self.arm}: the server that answers on port {self.launch.port} is not ours: {why}")

    def get(self, path: str, timeout: float = 30.0) -> str:
        """The body of a page of the server, without any proxy. Raises `OSError` where it does not answer."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.launch.url + path, timeout=timeout) as response:
            body: bytes = response.read()
        return body.decode(errors="replace")

    def _healthy(self) -> bool:
        try:
            self.get("/health", timeout=5.0)
        except (OSError, http.client.HTTPException):
            return False
        return True

    def counters(self) -> dict[str, float]:
        """The counters of `/metrics`, summed over their labels; empty if the page is not available."""
        return parse_metrics(self.metrics())

    def metrics(self) -> str:
        """The page `/metrics`; "" if it is not available."""
        try:
            return self.get("/metrics")
        except (OSError, http.client.HTTPException):
            return ""

    def processes(self) -> list[psutil.Process]:
        """The server's processes now. Finding them takes milliseconds: call this once, then reuse the list."""
        return self.running.processes()

    def _log_end(self) -> str:
        """The end of its log, and the log's path relative to the results folder."""
        return f"the end of its log, {Path(*self.launch.log.parts[-3:])} in the results folder:\n{self.tail()}"

    def tail(self, lines: int = LAST) -> str:
        """The last useful lines of its log."""
        return last_words(tail(self.launch.log, LOOKED_THROUGH), lines)

    def ask_to_end(self) -> None:
        """Asks it to end without waiting, so that several servers can end at the same time."""
        if self.running.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.running.pid, signal.SIGTERM)

    def stop(self, grace: float = GRACE) -> None:
        """Asks it to end, waits up to `grace` seconds, kills the rest, and removes its shared memory."""
        processes = self.processes()
        self._shared_memory |= shared_memory(processes)
        if self._is_stopped(processes):
            grace = min(grace, BROKEN_GRACE)
        self.running.stop(grace=grace + (5.0 if grace >= GRACE else 0.0))
        remove_unused(self._shared_memory)


def cpu_seconds(processes: Sequence[psutil.Process]) -> float:
    """User and system CPU time of the processes so far, with that of their ended children."""
    return sum(_of_each(processes, lambda process: sum(process.cpu_times()[:4])))


def resident(processes: Sequence[psutil.Process]) -> int:
    """Resident bytes of the processes now; shared pages count once per process."""
    return int(sum(_of_each(processes, lambda process: process.memory_info().rss)))


class Patience:
    """A time limit for a bad state. Time without a look does not count, for example while this process itself was stopped."""

    def __init__(self, seconds: float, longest: float = 2.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds, self._longest, self._clock = seconds, longest, clock
        self._spent, self._looked = 0.0, clock()

    def over(self, well: bool) -> bool:
        """Whether the bad state has lasted too long; `well` says that all is well now."""
        now = self._clock()
        self._spent = 0.0 if well else self._spent + min(now - self._looked, self._longest)
        self._looked = now
        return self._spent > self.seconds


SHARED = Path("/dev/shm")  # noqa: S108 (nothing is written there; only files of our servers are removed)


def shared_memory(processes: Iterable[psutil.Process]) -> set[str]:
    """The names of the shared-memory segments that the processes have mapped."""
    names = set()
    for process in processes:
        with contextlib.suppress(OSError):
            maps = Path(f"/proc/{process.pid}/maps").read_text(errors="replace")
            names |= {
                line.rpartition(f"{SHARED}/")[2] for line in maps.splitlines() if f" {SHARED}/" in line and not line.endswith("(deleted)")
            }
    return {name for name in names if "/" not in name}


def remove_unused(names: set[str]) -> None:
    """Removes the segments that still exist and that no process has mapped: a killed process leaves its segments."""
    left = {name for name in names if (SHARED / name).exists()}
    if left:
        for name in left - shared_memory(psutil.process_iter()):
            with contextlib.suppress(OSError):
                (SHARED / name).unlink()


def _of_each(processes: Sequence[psutil.Process], what: Callable[[psutil.Process], float]) -> list[float]:
    values = []
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            values.append(what(process))
    return values


_SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{[^}]*\})?\s+(\S+)", re.MULTILINE)


def parse_metrics(page: str) -> dict[str, float]:
    """A Prometheus page as name to value, summed over labels; lines that are not samples are skipped."""
    totals: dict[str, float] = {}
    for name, text in _SAMPLE.findall(page):
        with contextlib.suppress(ValueError):
            totals[name] = totals.get(name, 0.0) + float(text)
    return totals
