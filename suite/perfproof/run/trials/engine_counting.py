"""Counting processes: one per build, all at the same time, each with a file of counts that is kept.

A file is named by what the count depends on: vLLM's files, Python, PyTorch and the packages of the build, the counter's own files, and the
functions whose lines are counted. What is in the file is not counted again, so an interrupted command continues where it stopped. Counts
don't depend on the machine's load: there is no wait for an idle machine, and both sides run at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.errors import CannotRun
from perfproof.model.records.count_lines import read_count
from perfproof.model.records.counts import Count
from perfproof.model.scenarios import model_runner
from perfproof.model.scenarios.model_runner import ModelRunner
from perfproof.model.workloads.model_source import ToyModel
from perfproof.run.host import gpus
from perfproof.run.models.toy_model import write_toy_model
from perfproof.run.processes.scratch_folders import Scratch
from perfproof.run.processes.trial_process import Running, build_environment, start

MODEL = ToyModel(layers=2, hidden=64, heads=2, vocabulary=512, context=8192)
"""The generated model: the host's work in a step hardly depends on its dimensions."""
FOLDER = "counts"
"""The folder of counts, below the builds."""
ENGINE = 900.0
"""Seconds that one engine with all its features may take."""
PAUSE = 0.5
"""Seconds between two looks at the counts so far."""
QUIET: Mapping[str, str] = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_DISABLE_REQUEST_ID_RANDOMIZATION": "1",
    "VLLM_LOG_STATS_INTERVAL": "1000000",
    "HF_HUB_OFFLINE": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
}
"""Variables of a counting process besides its build's environment: the engine in the process, and nothing that depends on a clock or a
random name."""

COMPILED = "TORCHINDUCTOR_CACHE_DIR"
"""Where PyTorch keeps what it compiles, by its content: builds that are counted share it, and a change's does not compile it again."""

Cells = Mapping[str, Sequence[int]]
Say = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to count in a build: features with their numbers of requests. `closely` are functions whose lines are counted;
    `process` separates a second process from the first, whose counts it has to confirm; `runner` is vLLM's model runner."""

    build: ReadyBuild
    cells: Cells
    closely: tuple[str, ...] = ()
    process: int = 1
    runner: ModelRunner = "default"


def count(
    wanted: Sequence[Wanted],
    builds: Path,
    say: Say,
    *,
    seconds: float | None = None,
    enough: Callable[[Sequence[Count]], bool] | None = None,
) -> list[Count]:
    """The count of each, in order; missing counts are made now, all at the same time. Counting ends after `seconds`, or once `enough`
    accepts the counts so far; these are kept. Raises `CannotRun` for a build whose vLLM can't be imported, or could not within the time."""
    files = [kept_file(one, builds.resolve()) for one in wanted]
    ends = None if seconds is None else time.monotonic() + seconds
    if enough is not None and enough(kept := [read_count(file).only(one.cells) for file, one in zip(files, wanted, strict=True)]):
        return kept
    with contextlib.ExitStack() as stack:
        runs = {file: stack.enter_context(_Run(one, builds, say, ends)) for file, one in dict(zip(files, wanted, strict=True)).items()}
        going, seen = True, -1
        while going:
            looks = [run.going() for run in runs.values()]
            going = any(looks) and (ends is None or time.monotonic() < ends)
            if going and enough is not None and (now := sum(run.lines_read for run in runs.values())) != seen:
                seen = now
                going = not enough([runs[file].so_far() for file in files])
    return [runs[file].count() for file in files]


def order_for(models: Path, cells: Cells, closely: Sequence[str], scratch: Path, *, confirms: bool = False) -> dict[str, Any]:
    """The order for a counting process; the model is written below `models`. `confirms` says that another process counted the same."""
    return {
        "model": str(write_toy_model(MODEL, models)),
        "vocabulary": MODEL.vocabulary,
        "cells": {name: list(sizes) for name, sizes in cells.items()},
        "closely": list(closely),
        "scratch": str(scratch),
        "timeout": ENGINE,
        "confirms": confirms,
    }


def kept_file(wanted: Wanted, builds: Path) -> Path:
    """The file with the count of a build."""
    print_ = wanted.build.fingerprint
    defining = [print_.sources, print_.python, print_.torch_version, sorted(print_.packages.items()), wanted.build.lock]
    key = json.dumps(
        [defining, _counter_files(wanted.build), sorted(wanted.closely), wanted.runner, [one["name"] for one in gpus.describe()]],
        default=str,
    )
    return builds / FOLDER / f"{wanted.build.id}-{hashlib.sha256(key.encode()).hexdigest()[:12]}-{wanted.process}.jsonl"


def _counter_files(build: ReadyBuild) -> str:
    """A hash over the counter's own files, as the build's processes see them."""
    total = hashlib.sha256()
    for room in ("counting", "engine"):
        for file in sorted((build.child / room).glob("*.py")):
            total.update(f"{room}/{file.name}\0".encode() + file.read_bytes())
    return total.hexdigest()


def environment_of(build: ReadyBuild, runner: ModelRunner) -> dict[str, str]:
    """The variables of a counting process. Its model runner is the release's own choice unless one is named."""
    return {**build_environment(build, threads=1), **QUIET, **model_runner.variables(runner)}


class _Run:
    """One build's process while it counts. As a context manager it locks its file, and it is ended on leaving."""

    def __init__(self, wanted: Wanted, builds: Path, say: Say, ends: float | None) -> None:
        self._wanted, self._say, self._builds, self._ends = wanted, say, builds.resolve(), ends
        self._file = kept_file(wanted, self._builds)
        self._stack = contextlib.ExitStack()
        self._running: Running | None = None
        self.lines_read = 0

    def __enter__(self) -> _Run:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._stack.enter_context(self._held())
        if missing := self._missing():
            self._cut_off_end()
            self._start(missing)
        return self

    def __exit__(self, *error: object) -> None:
        if self._running is not None:
            self._running.kill_now()
        self._stack.close()

    def _held(self) -> contextlib.AbstractContextManager[object]:
        """A lock on the file, so that no other command counts the same. Raises `CannotRun` where that takes longer than there is time."""
        lock, label = FileLock(self._file.with_suffix(".lock")), self._wanted.build.label
        try:
            return lock.acquire(timeout=0)
        except Timeout:
            self._say(f"{label}: another command is counting it; waiting for that one")
        try:
            return lock.acquire(timeout=-1 if self._ends is None else max(0.0, self._ends - time.monotonic()))
        except Timeout:
            raise CannotRun(f"{label}: another command is still counting it; the same command again continues from there") from None

    def _missing(self) -> dict[str, list[int]]:
        there = read_count(self._file)
        cells = {name: [size for size in sizes if not there.has(name, size)] for name, sizes in self._wanted.cells.items()}
        return {name: sizes for name, sizes in cells.items() if sizes}

    def _cut_off_end(self) -> None:
        """Removes the incomplete last line of a process that was ended."""
        if self._file.exists() and not (text := self._file.read_bytes()).endswith(b"\n"):
            self._file.write_bytes(text[: text.rfind(b"\n") + 1])

    def _start(self, missing: Mapping[str, Sequence[int]]) -> None:
        build, scratch = self._wanted.build, Scratch(self._builds / FOLDER / ".running", "count")
        self._stack.callback(scratch.close)
        order_file = scratch.folder / "order.json"
        order = order_for(self._builds / "models", missing, self._wanted.closely, scratch.folder, confirms=self._wanted.process > 1)
        order_file.write_text(json.dumps(order))
        self.told = self._lines()
        self._running = start(
            [build.interpreter, build.child / "engine" / "run.py", order_file, self._file],
            environment={**environment_of(build, self._wanted.runner), COMPILED: str(self._builds / FOLDER / ".inductor")},
            log=self._log,
        )

    @property
    def _log(self) -> Path:
        return self._file.with_suffix(".log")

    def _lines(self) -> int:
        return self._file.read_bytes().count(b"\n") if self._file.exists() else 0

    def going(self) -> bool:
        """Waits a moment for the process and reports what it has counted meanwhile; False once it has ended."""
        if self._running is None:
            return False
        ended = self._running.wait(PAUSE) is not None
        self._report_lines()
        return not ended

    def _report_lines(self) -> None:
        lines = self._file.read_text().split("\n")[:-1] if self._file.exists() else []
        for line in lines[self.lines_read :]:
            entry = json.loads(line)
            if "took" in entry:
                self._say(f"{self._wanted.build.label}: {entry['feature']}, {entry['requests']} requests: counted in {entry['took']:.0f} s")
        self.lines_read = len(lines)

    def so_far(self) -> Count:
        """The count of the build so far."""
        return read_count(self._file).only(self._wanted.cells)

    def count(self) -> Count:
        """The final count of the build. Raises `CannotRun` where its process counted nothing."""
        counted, label = read_count(self._file), self._wanted.build.label
        if counted.refused:
            self._file.unlink()  # the reason of the failed import may be gone next time
            raise CannotRun(f"{label}: vLLM does not import: {counted.refused}")
        if not counted.vllm:
            how = self._running.finished().how() if self._running else "was not started"
            raise CannotRun(f"{label}: the counting process {how} before vLLM was imported; its log: {self._log}")
        return counted.only(self._wanted.cells)
