"""Files of lines that several processes can append to at once, without a loss: one write under a lock, complete or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfproof.model.base import strict_json
from perfproof.model.base.errors import BadInput, CannotRun

_ID = re.compile(rb'"id":"([0-9a-f]+)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a file without its end, and its number from 1."""

    number: int
    text: bytes

    def parsed(self) -> Any:
        """Its JSON; raises `ValueError` if it is not valid, as after a crash in the middle of a write, or has a key twice."""
        try:
            return strict_json.loads(self.text)
        except strict_json.Twice as twice:
            raise ValueError(f"the key {str(twice)[:80]!r} stands twice") from twice
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
        except ValueError as error:
            raise ValueError("not a complete line") from error


Change = Callable[[Line], bytes | None]
"""The new text of a line, the same or another, or None to remove it."""


def lines(path: Path) -> Iterator[Line]:
    """The non-empty lines of a file; raises `BadInput` if it can't be read."""
    try:
        with open(path, "rb") as file:
            for number, text in enumerate(file, start=1):
                if text.strip():
                    yield Line(number=number, text=text.rstrip(b"\n"))
    except OSError as error:
        raise BadInput(f"{path}: can't be read: {error.strerror}") from error


def append_lines(path: Path, new: Mapping[str, bytes]) -> int:
    """Appends the lines whose ids the file does not have yet, in one write; returns how many.

    Raises `CannotRun` if that fails; the file then ends where it ended before.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path) as file:
            known = set(_ID.findall(_content(file)))
            fresh = [text for key, text in new.items() if key.encode() not in known]
            if fresh:
                _write_whole(file, fresh)
            return len(fresh)
    except OSError as error:
        message = f"{path}: {len(new)} line{'s' * (len(new) != 1)} could not be written: {error.strerror}; the old lines are kept"
        raise CannotRun(message) from error


def _write_whole(file: int, fresh: list[bytes]) -> None:
    size = os.fstat(file).st_size
    cut_off = size > 0 and os.pread(file, 1, size - 1) != b"\n"
    rest = memoryview((b"\n" if cut_off else b"") + b"\n".join(fresh) + b"\n")
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
        os.fsync(file)
    except OSError:
        os.ftruncate(file, size)
        raise


def _content(file: int) -> bytes:
    return os.pread(file, os.fstat(file).st_size, 0)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[int]:
    """The file, opened to append and locked against other processes; it is the file of that name at the time of the lock."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if _is(path, file):
                yield file
                return
        finally:
            os.close(file)


def _is(path: Path, file: int) -> bool:
    """Whether the name still belongs to the open file: a rewrite replaces the file."""
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return False
    here = os.fstat(file)
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def rewrite(path: Path, change: Change, *, dry: bool) -> int:
    """Replaces the file by one with changed lines, and returns how many changed; if none does, nothing is written.

    The new file is written beside it and renamed, while appending waits. Raises `CannotRun` if that fails; then nothing changed.
    """
    draft = path.with_name(path.name + ".new")
    try:
        with _locked(path):
            kept = [(line.text, change(line)) for line in lines(path)]
            changed = sum(old != new for old, new in kept)
            if changed and not dry:
                _replace(path, draft, b"".join(new + b"\n" for _, new in kept if new is not None))
            return changed
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise CannotRun(f"{path}: could not be rewritten: {error.strerror}; it is unchanged") from error


def _replace(path: Path, draft: Path, content: bytes) -> None:
    with open(draft, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
