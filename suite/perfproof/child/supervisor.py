"""Runs one command and ensures that none of its processes outlives the process that started it.

`python -I -S supervisor.py LIFELINE GRACE COMMAND...`. LIFELINE is the reading end of a pipe whose writing end only the starting process
holds: it closes when that process dies, however it dies, and then every descendant is killed at once. On SIGTERM the command itself is
asked to end, and killed with all its descendants after GRACE seconds. When the command ends by itself, the processes that it left are
killed. `PERFPROOF_AT_END` may have one more command, as a list in JSON, that removes what is no descendant: the command's container.

The supervisor adopts orphans (Linux), so that a server's engine process stays its descendant after the server's end, in any session or
group. It exits with the command's code, or with 128 + N for signal N. It runs under the starting process's interpreter and imports only the
standard library.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
ADOPTS = sys.platform.startswith("linux")


def prctl(option: int, value: int) -> None:
    if ADOPTS:
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def parents() -> dict[int, int]:
    """Every process of this machine with its parent; empty where there is no /proc."""
    parent_of = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else []:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent_of[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
            except OSError:
                continue
    return parent_of


def descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for pid, parent in parents().items():
        children.setdefault(parent, []).append(pid)
    pids, rest = [], list(children.get(root, ()))
    while rest:
        pid = rest.pop()
        pids.append(pid)
        rest.extend(children.get(pid, ()))
    return pids


def send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def reap(command: int) -> int | None:
    """Reaps every child that has ended; returns the command's wait status if it is one of them."""
    ended = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        if pid == command:
            ended = status


def kill_all(command: int) -> None:
    """Kills every descendant until none is left: the supervisor adopts children of killed processes, and kills them in the next turn."""
    while True:
        left = set(descendants(os.getpid())) or ({command} if not ADOPTS else set())
        for pid in left:
            send(pid, signal.SIGKILL)
        reap(command)
        if not ADOPTS or not left:
            return
        time.sleep(0.005)


AT_END_LIMIT = 10.0
"""Seconds for the command at the end."""


def remove_rest(command: list[str]) -> None:
    """Runs the command at the end, if there is one, without output and for a limited time."""
    if not command:
        return
    with open(os.devnull, "w") as nothing, contextlib.suppress(OSError):
        files = [(os.POSIX_SPAWN_DUP2, nothing.fileno(), 1), (os.POSIX_SPAWN_DUP2, nothing.fileno(), 2)]
        pid = os.posix_spawnp(command[0], command, os.environ, file_actions=files)
        deadline = time.monotonic() + AT_END_LIMIT
        while os.waitpid(pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > deadline:
                send(pid, signal.SIGKILL)
            time.sleep(0.005)


def start(command: list[str]) -> int:
    """Forks and executes the command; it dies with the supervisor."""
    pid = os.fork()
    if pid:
        return pid
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)  # noqa: S606 (a shell is not wanted)
    except OSError as error:
        os.write(2, f"cannot run {command[0]}: {error.strerror}\n".encode())
        os._exit(127)


def watch(lifeline: int, grace: float, command: list[str], at_end: list[str]) -> int:
    """Runs the command to its end, and `at_end` before its descendants are killed; returns the exit code."""
    wake_reader, wake_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC) if ADOPTS else os.pipe()
    os.set_blocking(wake_reader, False)
    os.set_blocking(wake_writer, False)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.set_wakeup_fd(wake_writer, warn_on_full_buffer=False)
    os.set_inheritable(lifeline, False)
    pid = start(command)
    deadline: float | None = None
    while True:
        status = reap(pid)
        if status is not None:
            remove_rest(at_end)
            kill_all(pid)
            return os.waitstatus_to_exitcode(status)
        timeout = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select([lifeline, wake_reader], [], [], timeout)
        if lifeline in ready or (deadline is not None and time.monotonic() >= deadline):
            remove_rest(at_end)
            kill_all(pid)
            remove_rest(at_end)  # it may have been about to be made
            return -signal.SIGKILL
        if wake_reader in ready and signal.SIGTERM in os.read(wake_reader, 4096) and deadline is None:
            deadline = time.monotonic() + grace
            send(pid, signal.SIGTERM)


def command_at_end(text: str) -> list[str]:
    """The command at the end; nothing is imported for most programs, which have none: a supervisor starts before each."""
    if not text:
        return []
    import json

    return [str(word) for word in json.loads(text)]


def main(argv: list[str]) -> int:
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    code = watch(int(argv[0]), float(argv[1]), argv[2:], command_at_end(os.environ.pop("PERFPROOF_AT_END", "")))
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
