"""Counting processes: one per build, all at the same time, each with a file of counts that is kept.

A file is named by what the count depends on: vLLM's files, Python, PyTorch and all packages of the build, the counter's own files, the
functions whose lines are counted, the GPUs and the processor's instruction set: vLLM chooses kernels by it, and Python calls them. What
is in the file is not counted again, so an interrupted command continues where it stopped. Counts don't depend on the machine's load:
there is no wait for an idle machine, and both sides run at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.records.count_lines import count_of, read_count
from perfproof.model.records.counts import Count, of_requests
from perfproof.model.scenarios import model_runner
from perfproof.model.scenarios.model_runner import ModelRunner
from perfproof.model.workloads.model_source import ToyModel
from perfproof.run.host import gpus
from perfproof.run.host.environment import instruction_set
from perfproof.run.models.toy_model import write_toy_model
from perfproof.run.processes.scratch_folders import Scratch
from perfproof.run.processes.trial_process import Running, build_environment, start
from perfproof.run.trials.count_claims import Claims

MODEL = ToyModel(layers=2, hidden=64, heads=2, vocabulary=512, context=8192)
"""The generated model: the host's work in a step hardly depends on its dimensions."""
FOLDER = "counts"
"""The folder of counts, below the builds."""
ENGINE = 900.0
"""Seconds that one engine with all its features may take."""
LONGEST_FAULT = 400
"""Characters of a fault that are shown."""
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
    """What to count in a build: features with their numbers of requests. `closely` are functions whose lines are counted, `modules` those
    whose import is looked at; `process` separates a second process from the first, whose counts it has to confirm; `runner` is vLLM's
    model runner."""

    build: ReadyBuild
    cells: Cells
    closely: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    process: int = 1
    runner: ModelRunner = "default"


def count(
    wanted: Sequence[Wanted],
    builds: Path,
    say: Say,
    *,
    seconds: float | None = None,
    enough: Callable[[Sequence[Count]], bool] | None = None,
    about: str = "",
) -> list[Count]:
    """The count of each, in order; missing counts are made now, all at the same time, and `about` is said before they are. What is kept
    needs no lock. Counting ends after `seconds`, or once `enough` accepts the counts so far; these are kept. A build that can't be imported
    ends the others at once.

    Raises `CannotRun` for a build whose vLLM can't be imported, or could not within the time.
    """
    files = [kept_file(one, builds.resolve()) for one in wanted]
    kept = [read_count(file).only(one.cells) for file, one in zip(files, wanted, strict=True)]
    if all(one.holds(each.cells) for one, each in zip(kept, wanted, strict=True)) or (enough is not None and enough(kept)):
        return kept
    if about:
        say(about)
    ends = None if seconds is None else time.monotonic() + seconds
    with contextlib.ExitStack() as stack:
        runs = {file: stack.enter_context(_Run(one, builds, say)) for file, one in dict(zip(files, wanted, strict=True)).items()}
        going, seen = True, -1
        while going:
            looks = [run.going() for run in runs.values()]
            if fault := next((run.fault for run in runs.values() if run.fault), ""):
                raise CannotRun(fault)
            going = any(looks) and (ends is None or time.monotonic() < ends)
            if going and enough is not None and (now := sum(run.looks for run in runs.values())) != seen:
                seen = now
                going = not enough([runs[file].so_far() for file in files])
    return [runs[file].count() for file in files]


def order_for(
    models: Path, cells: Cells, closely: Sequence[str], scratch: Path, *, modules: Sequence[str] = (), confirms: bool = False
) -> dict[str, Any]:
    """The order for a counting process; the model is written below `models`. `confirms` says that another process counted the same, or
    that nobody asks for times: these are left out, and of long outputs one wave is enough."""
    return {
        "model": str(write_toy_model(MODEL, models)),
        "vocabulary": MODEL.vocabulary,
        "cells": {name: list(sizes) for name, sizes in cells.items()},
        "closely": list(closely),
        "modules": list(modules),
        "scratch": str(scratch),
        "timeout": ENGINE,
        "confirms": confirms,
    }


def kept_file(wanted: Wanted, builds: Path) -> Path:
    """The file with the count of a build."""
    print_ = wanted.build.fingerprint
    packages = wanted.build.lock or [print_.installed, wanted.build.compiled]
    defining = [print_.sources, print_.python, print_.torch_version, sorted(print_.packages.items()), packages]
    machine = [instruction_set(), [one["name"] for one in gpus.describe()]]
    key = json.dumps(
        [defining, _counter_files(wanted.build), sorted(wanted.closely), sorted(wanted.modules), wanted.runner, machine], default=str
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
    """One build's counting in this command: its own process for the features that no other command counts, then those of the others, as
    they end. As a context manager it ends its process and frees its claims on leaving."""

    def __init__(self, wanted: Wanted, builds: Path, say: Say) -> None:
        self._wanted, self._say, self._builds = wanted, say, builds.resolve()
        self._file = kept_file(wanted, self._builds)
        self._claims = Claims(self._file)
        self._stack = contextlib.ExitStack()
        self._running: Running | None = None
        self._tried: set[str] = set()
        self._told: set[str] = set()
        self._result = self._file
        self._read = 0
        self.looks = 0
        self.fault = self._broken = ""

    def __enter__(self) -> _Run:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, *error: object) -> None:
        self._end()

    def _end(self) -> None:
        """Ends the process, if it still runs, and keeps what it has counted."""
        if self._running is not None:
            self._running.kill_now()
            self._take_lines()
            self._running = None
        self._claims.close()
        self._stack.close()

    def _missing(self) -> dict[str, list[int]]:
        """What is not counted yet, without the features that this command has tried."""
        there = read_count(self._file)
        cells = {name: [size for size in sizes if not there.has(name, size)] for name, sizes in self._wanted.cells.items()}
        return {name: sizes for name, sizes in cells.items() if sizes and name not in self._tried}

    def going(self) -> bool:
        """Waits a moment, and takes what was counted meanwhile; False once everything is there, or this build can't be counted."""
        if self._running is not None:
            ended = self._running.wait(PAUSE) is not None
            self._take_lines()
            if ended or self._broken:
                self.fault = self._broken or self._why_not()
                self._end()
            return not self.fault
        missing = self._missing()
        if not missing:
            return False
        ours = [feature for feature in missing if self._claims.take(feature)]
        missing = self._missing()  # another command may have counted one just before its claim was free
        for feature in [feature for feature in ours if feature not in missing]:
            self._claims.give_back(feature)
        if mine := {feature: missing[feature] for feature in ours if feature in missing}:
            self._start(mine)
        else:
            self._tell_waiting(missing)
            time.sleep(PAUSE)
        return True

    def _tell_waiting(self, missing: Iterable[str]) -> None:
        """Says once of each feature who counts it at present."""
        by_holder: dict[str, list[str]] = {}
        for feature in missing:
            if feature not in self._told:
                by_holder.setdefault(self._claims.holder(feature), []).append(feature)
        for holder, features in by_holder.items():
            self._say(f"{self._wanted.build.label}: {', '.join(features)}: another command counts this ({holder}); waiting for it")
            self._told.update(features)

    def _start(self, cells: Mapping[str, Sequence[int]]) -> None:
        build, scratch = self._wanted.build, Scratch(self._builds / FOLDER / ".running", "count")
        self._stack.callback(scratch.close)
        self._tried.update(cells)
        self._result, self._read = scratch.folder / "counted.jsonl", 0
        order_file = scratch.folder / "order.json"
        order = order_for(
            self._builds / "models",
            cells,
            self._wanted.closely,
            scratch.folder,
            modules=self._wanted.modules,
            confirms=self._wanted.process > 1,
        )
        order_file.write_text(json.dumps(order))
        self._running = start(
            [build.interpreter, build.child / "engine" / "run.py", order_file, self._result],
            environment={**environment_of(build, self._wanted.runner), COMPILED: str(self._builds / FOLDER / ".inductor")},
            log=self._log,
        )

    @property
    def _log(self) -> Path:
        return self._file.with_suffix(".log")

    def _take_lines(self) -> None:
        """Takes the whole lines that the process has written meanwhile to the kept file, and frees the features that are counted.

        Lines that are none of a count are a fault of what was counted, and are not kept.
        """
        text = self._result.read_bytes() if self._result.exists() else b""
        new = text[self._read : text.rfind(b"\n") + 1]
        try:
            count_of(new.decode(), str(self._result))
        except (BadInput, UnicodeDecodeError) as error:
            said = " ".join(str(error).split())[:LONGEST_FAULT]
            self._broken = f"{self._wanted.build.label}: the counting process wrote what is no count: {said}"
            return
        entries = [json.loads(line) for line in new.splitlines()]
        if not new or any("importing" in entry and "fault" in entry for entry in entries):
            return  # why an import failed may be gone next time
        self._read += len(new)
        with FileLock(self._file.with_suffix(".lock")):
            _cut_off_end(self._file)
            with self._file.open("ab") as kept:
                kept.write(new)
        for entry in entries:
            if "took" in entry:
                what = f"{entry['feature']}{of_requests(entry['requests'])}"
                self._say(f"{self._wanted.build.label}: {what}: counted in {entry['took']:.0f} s")
        missing, there = self._wanted.cells, read_count(self._file)
        for feature in {entry["feature"] for entry in entries if "feature" in entry} & missing.keys():
            if all(there.has(feature, size) for size in missing[feature]):
                self._claims.give_back(feature)
        self.looks += 1

    def _why_not(self) -> str:
        """Why the process that ended counted nothing; "" where it could."""
        own, label = read_count(self._result), self._wanted.build.label
        if own.refused:
            return f"{label}: vLLM does not import: {own.refused}"
        if not own.vllm and self._running is not None:
            return f"{label}: the counting process {self._running.finished().how()} before vLLM was imported; its log: {self._log}"
        return ""

    def so_far(self) -> Count:
        """The count of the build so far."""
        return read_count(self._file).only(self._wanted.cells)

    def count(self) -> Count:
        """The final count of the build. Raises `CannotRun` where nothing was counted."""
        counted = read_count(self._file)
        if not counted.vllm:
            raise CannotRun(f"{self._wanted.build.label}: the time was over before vLLM was imported; its log: {self._log}")
        return counted.only(self._wanted.cells)


def _cut_off_end(file: Path) -> None:
    """Removes the incomplete last line of a command that was ended while it wrote."""
    if file.exists() and not (text := file.read_bytes()).endswith(b"\n"):
        file.write_bytes(text[: text.rfind(b"\n") + 1])
