"""Checks of a command's surroundings: closed streams, a small address space, missing and foreign packages."""

from __future__ import annotations

import argparse
import io
import os
import resource
import sys
import traceback
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import TextIO

from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.installed import extras

LEAST_SPACE = 2**30
"""Bytes of address space below which numpy's linear algebra, which needs tens of megabytes per thread, loops for ever when refused."""


def open_streams() -> None:
    """Opens closed streams on the null device: else the next opened file would get their number, and the printed text.

    A character that the terminal lacks (ASCII, Latin-1), or a name that is not UTF-8, is written as an escape and ends no command.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(_nowhere(number), "w" if number else "r", closefd=False))  # noqa: SIM115 (for the process's life)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _nowhere(number: int) -> int:
    """The null device under this number, or under another one if a file has taken it already."""
    null = os.open(os.devnull, os.O_RDWR)
    try:
        os.fstat(number)
    except OSError:
        os.dup2(null, number)
        os.close(null)
        return number
    return null


def tell(text: str) -> None:
    """Prints a line on standard error, and ignores a standard error that accepts nothing."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        forget(sys.stderr)


def forget(stream: TextIO) -> None:
    """Drops what Python would still write to a stream at its end, and the error if that fails."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def see_to_address_space() -> None:
    """Raises `CannotRun` where this process can't have enough address space; in a small one, numpy gets one thread."""
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


def see_to_extras(arguments: argparse.Namespace) -> None:
    """Raises `BadInput` where a page is asked for that this install can't draw, before anything is measured."""
    if "report" in vars(arguments).get("given", set()):
        extras.need("report", "--report")


def refuse_for_extra(error: ModuleNotFoundError) -> None:
    """Raises `BadInput` where a package of an extra is missing."""
    extra = extras.extra_with(error.name or "")
    if extra and (modules := extras.lacking(extra)):
        raise BadInput(f"this command {extras.without(extra, modules)}") from error


def foreign(error: BaseException) -> str:
    """Why an unexpected fault is not perfproof's: a required package comes from `PYTHONPATH`, or can't be imported; else ""."""
    for name, file in _shadowing(error).items():
        return f"{name} comes from PYTHONPATH ({file}), and is another package or broken: unset PYTHONPATH"
    module = (error.name or "").partition(".")[0] if isinstance(error, ImportError) else ""
    if module and module in _needed():
        return f"the package {module} can't be imported here: install perfproof's environment again (make setup)"
    return ""


def _shadowing(error: BaseException) -> dict[str, str]:
    """The required packages, each with a file, that lie in a folder of `PYTHONPATH` or appear in the fault's traceback."""
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
    """The import names of the required packages, as far as they equal the names of the distributions."""
    try:
        wanted = requires("perfproof") or []
    except PackageNotFoundError:
        wanted = []
    names = ("".join(letter if letter.isalnum() or letter in "-_." else " " for letter in one).split()[0] for one in wanted)
    return frozenset(["numpy", "scipy", "yaml", *(name.replace("-", "_").lower() for name in names)]) - {"perfproof"}
