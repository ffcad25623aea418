"""One run at a time on a machine, and on a GPU: two would measure each other.

A lock of the operating system for the machine and one for every GPU, in a folder that all users of the machine share; both are let
go when their holder dies, however it dies. Beside each stands who holds it, for the one that is kept out. Containers that share a machine
or its GPUs keep out of each other's way if `PERFPROOF_LOCKS` names a folder that they share.
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
"""Seconds in which another run may end before this one is refused."""
PAUSE = 1.0

Say = Callable[[str], None]


def folder() -> Path:
    """Where the locks are. Raises `CannotRun` where no folder for temporary files can be written to."""
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
    """Holds the machine and the GPUs named while the context lasts; `what` is told to whoever is kept out.

    Waits up to `wait` seconds for another run to end. Raises `CannotRun` where it does not, and where the locks can't be made.
    """
    deadline = now() + wait
    with contextlib.ExitStack() as stack:
        for name in ("machine", *(f"gpu-{uuid}" for uuid in gpus)):
            stack.enter_context(_held(name, what, say, deadline, sleep, now))
        yield


@contextlib.contextmanager
def _held(name: str, what: str, say: Say, deadline: float, sleep: Callable[[float], None], now: Callable[[], float]) -> Iterator[None]:
    lock, told = _lock(name), False
    while not _taken(lock):
        left = deadline - now()
        who = _holder(name)
        if left <= 0:
            raise CannotRun(
                f"another run holds this {_noun(name)}: {who}; two runs at once would measure each other: "
                "wait for it, or give this one longer with --wait MINUTES"
            )
        if not told:
            say(f"another run holds this {_noun(name)}: {who}; waiting up to {left:.0f} s for it to end")
            told = True
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
    """The lock's file, made so that other users of the machine can lock it too."""
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
    said = {"pid": os.getpid(), "what": what, "since": time.strftime("%H:%M")}
    with contextlib.suppress(OSError), open(_holder_file(name), "w", encoding="utf-8", opener=_through_no_link) as file:
        json.dump(said, file)


def _through_no_link(path: str, flags: int) -> int:
    """Opens a file that anybody may have made: never one elsewhere that a link there leads to."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o644)


def _holder(name: str) -> str:
    """Who holds it, in words; it may just have begun or ended."""
    try:
        said = json.loads(_holder_file(name).read_text())
        return f"{str(said['what'])[:200]} (process {int(said['pid'])}, since {str(said['since'])[:5]})"
    except (OSError, ValueError, KeyError, TypeError):
        return "one that does not say what it is"
