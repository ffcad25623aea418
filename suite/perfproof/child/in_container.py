"""The first process of a container: starts the build's Python as its child, and ends with its exit code.

`python -I -S in_container.py PIPES CORES WORDS...`. PIPES are the two named pipes of the channel ("" without one), which the child finds
open, as outside, in `PERFPROOF_CHANNEL`; CORES are those that the program may use, for a runtime with a daemon starts it on all of them.
The kernel spares the first process of a container signals that it does not handle, and orphans become its children: so the program itself
is its child, gets every SIGTERM, and the rest is reaped. All processes of the container end with this one.

It runs inside the image and imports only the standard library.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys


def start(pipes: str, words: list[str]) -> int:
    """Forks and executes the program; returns its number."""
    pid = os.fork()
    if pid:
        return pid
    if pipes:
        orders, answers = pipes.split(",")
        ends = (os.open(orders, os.O_RDONLY), os.open(answers, os.O_WRONLY))
        for end in ends:
            os.set_inheritable(end, True)
        os.environ["PERFPROOF_CHANNEL"] = ",".join(map(str, ends))
    try:
        os.execvp(words[0], words)  # noqa: S606 (a shell is not wanted)
    except OSError as error:
        os.write(2, f"cannot run {words[0]}: {error.strerror}\n".encode())
    os._exit(127)


def send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def main(argv: list[str]) -> int:
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, {int(core) for core in argv[1].split(",")})
    pid = start(argv[0], argv[2:])
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda given, _: send(pid, given))
    while True:
        ended, status = os.wait()
        if ended == pid:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
