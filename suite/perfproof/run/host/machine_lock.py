"""Allows one run at a time on a machine, and on a GPU: two runs would disturb each other.

The operating system holds one lock for the machine and one for every GPU, in a folder that all users of the machine share; it frees them
when their holder dies, however it dies. A file beside each lock says who holds it, for a run that has to wait. Containers that share a
machine or its GPUs do not run at the same time if `PERFPROOF_LOCKS` names a folder that they share.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from perfproof.builds.processes import temp_files
from perfproof.model.base.errors import CannotRun

FOLDER = "PERFPROOF_LOCKS"
WAIT = 60.0
"""Seconds to wait for another run to end before this one is refused."""
PAUSE = 1.0

Say = Callable[[str], None]


def folder() -> Path:
    """The folder of the locks. Raises `CannotRun` where no folder for temporary files is writable."""
    named = os.environ.get(FOLDER)
    return Path(named) if named else temp_files.shared() / "perfproof-locks"


@contextlib.contextmanager
def alone(
    what: str,
    say: Say,
    *,
    gpus: Sequence[str] = (),
    wait: float = WAIT,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.time,
) -> Iterator[None]:
    """Holds the machine and the GPUs named while the context lasts; a run that has to wait gets `what` as the holder's description.

    Waits up to `wait` seconds for another run to end. Raises `CannotRun` if it does not, or if the locks can't be made.
    """
    deadline = now() + wait
    with contextlib.ExitStack() as stack:
        for name in ("machine", *(f"gpu-{uuid}" for uuid in gpus)):
            stack.enter_context(_held(name, what, say, deadline, sleep, now))
        yield


@contextlib.contextmanager
def _held(name: str, what: str, say: Say, deadline: float, sleep: Callable[[float], None], now: Callable[[], float]) -> Iterator[None]:
    lock, announced = _lock(name), False
    while not _taken(lock):
        left = deadline - now()
        who = _holder(name)
        if left <= 0:
            raise CannotRun(
                f"another run holds this {_noun(name)}: {who}; two runs at once would measure each other: "
                "wait for it, or give this one longer with --wait MINUTES"
            )
        if not announced:
            say(f"another run holds this {_noun(name)}: {who}; waiting up to {left:.0f} s for it to end")
            announced = True
        sleep(PAUSE)
    try:
        _write_holder(name, what)
        yield
    finally:
        with contextlib.suppress(OSError):
            _holder_file(name).unlink()
        lock.release()


def _noun(name: str) -> str:
    return "machine" if name == "machine" else "GPU"


def _lock(name: str) -> FileLock:
    """The lock's file, with permissions that let other users of the machine lock it too."""
    try:
        if not folder().is_dir():
            folder().mkdir(parents=True)
            folder().chmod(0o777)
        file = folder() / f"{name}.lock"
        with contextlib.suppress(FileExistsError):
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            file.chmod(0o666)
    except OSError as error:
        raise CannotRun(f"{folder()}: the lock of this machine can't be made: {error.strerror}; {FOLDER} names another folder") from error
    return FileLock(file, mode=0o666)


def _taken(lock: FileLock) -> bool:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return False
    except OSError as error:
        raise CannotRun(f"{lock.lock_file}: can't be locked: {error.strerror}; {FOLDER} names another folder") from error
    return True


def _holder_file(name: str) -> Path:
    return folder() / f"{name}.holder"


def _write_holder(name: str, what: str) -> None:
    holder = {"pid": os.getpid(), "what": what, "since": time.strftime("%H:%M")}
    with contextlib.suppress(OSError), open(_holder_file(name), "w", encoding="utf-8", opener=_through_no_link) as file:
        json.dump(holder, file)


def _through_no_link(path: str, flags: int) -> int:
    """Opens a file that anybody may have made, but never follows a link."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o644)


def _holder(name: str) -> str:
    """The holder in words; it may just have begun or ended."""
    try:
        holder = json.loads(_holder_file(name).read_text())
        return f"{str(holder['what'])[:200]} (process {int(holder['pid'])}, since {str(holder['since'])[:5]})"
    except (OSError, ValueError, KeyError, TypeError):
        return "a run without a description"
