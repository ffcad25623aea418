"""What a command finds around it, and must not trip over: closed streams, a small address space, foreign packages on its path."""

from __future__ import annotations

import io
import os
import resource
import sys
import traceback
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import TextIO

from perfproof.model.base.errors import CannotRun

LEAST_SPACE = 2**30
"""Bytes of address space below which numpy's linear algebra, which asks for tens of megabytes a thread, spins for ever on being refused."""


def open_streams() -> None:
    """Streams that the caller closed lead nowhere: else the next file that is opened would get their number, and what is printed.

    A terminal that lacks a character (ASCII, Latin-1), or a name that is no UTF-8, ends no command: it is spelled out.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(_nowhere(number), "w" if number else "r", closefd=False))  # noqa: SIM115 (for the process's life)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _nowhere(number: int) -> int:
    """The null device under that number, or under another where a file has taken it already."""
    null = os.open(os.devnull, os.O_RDWR)
    try:
        os.fstat(number)
    except OSError:
        os.dup2(null, number)
        os.close(null)
        return number
    return null


def tell(text: str) -> None:
    """A line on standard error; where that takes nothing, the exit code has to do."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        forget(sys.stderr)


def forget(stream: TextIO) -> None:
    """Nobody gets what Python would still write to a stream at its end, nor its words on failing to."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def see_to_address_space() -> None:
    """Raises `CannotRun` where this process may not have the address space that it needs; a small one is spared what threads take."""
    limits = [resource.getrlimit(which)[0] for which in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    finite = [limit for limit in limits if limit != resource.RLIM_INFINITY]
    if not finite:
        return
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if min(finite) < LEAST_SPACE:
        raise CannotRun(
            f"this process may have {min(finite) / 2**20:.0f} MiB of address space, perfproof needs {LEAST_SPACE // 2**20} MiB: raise the "
            "limit (ulimit -v, ulimit -d)"
        )


def foreign(error: BaseException) -> str:
    """Why an unforeseen fault is none of perfproof's: a package that it needs comes from `PYTHONPATH`, or can't be imported; "" else."""
    for name, file in _shadowing(error).items():
        return f"{name} comes from PYTHONPATH ({file}), where it is another one or broken: unset PYTHONPATH"
    module = (error.name or "").partition(".")[0] if isinstance(error, ImportError) else ""
    if module and module in _needed():
        return f"the package {module} can't be imported here: install perfproof's environment again (make setup)"
    return ""


def _shadowing(error: BaseException) -> dict[str, str]:
    """The packages, with a file, that the suite needs and that lie in a folder of `PYTHONPATH`, or are in the way of the fault."""
    folders = [Path(folder).resolve() for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    files = [str(file) for name, module in list(sys.modules.items()) if name in _needed() and (file := getattr(module, "__file__", None))]
    files += [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, ImportError) and error.path:
        files.append(error.path)
    found: dict[str, str] = {}
    for file in files:
        real = Path(file).resolve()
        for folder in folders:
            if real.is_relative_to(folder) and (name := real.relative_to(folder).parts[0].partition(".")[0]) in _needed():
                found[name] = file
    return found


def _needed() -> frozenset[str]:
    """The names by which the packages that perfproof requires are imported, as far as they are those of the distributions."""
    try:
        wanted = requires("perfproof") or []
    except PackageNotFoundError:
        wanted = []
    names = ("".join(letter if letter.isalnum() or letter in "-_." else " " for letter in one).split()[0] for one in wanted)
    return frozenset(["numpy", "scipy", "yaml", *(name.replace("-", "_").lower() for name in names)])
