"""Trials of microbenchmarks: forked from a parent that has only imported vLLM; every block has new parents.

A block has one parent for every build and every set of environment variables that its arms set, because vLLM reads some variables while
it is imported. (Variables of the suite's own patches do not count: only a trial reads them.) All parents import at the same time; then the
arms run one after the other in the block's order. A trial is a fork of its parent: it takes the arm's plugins, runs the benchmark under
pytest-benchmark, and ends. Its files are read, its attestation is verified, and it becomes a Record. Blocks of the same number share their
parents over several scenarios, because importing vLLM takes longer than most trials; no parent lives into the next number.

Arms whose rounds alternate have a parent each: their trials run at the same time on one processor, a round each by turns (`turn_taking`).
"""

from __future__ import annotations

import dataclasses
import json
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfproof.builds.install.integrity import changed, lost
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base import clock
from perfproof.model.base.errors import CannotRun
from perfproof.model.kinds.micro import MICRO, MicroWorkload
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import Arm, Scenario
from perfproof.model.workloads.file_folder import FileFolder
from perfproof.run.checks import catalog
from perfproof.run.checks.catalog import Bench
from perfproof.run.host import environment, telemetry
from perfproof.run.host.disk_space import no_room
from perfproof.run.kinds.micro.bench_checks import bench_faults
from perfproof.run.kinds.micro.forking_parent import NO_ROOM, Parent
from perfproof.run.kinds.micro.micro_result import UNWRITTEN, Reading, judge, phases, read_counted, read_trial, without_metrics
from perfproof.run.kinds.micro.own_benchmarks import laid_out
from perfproof.run.kinds.micro.turn_taking import TurnTaking, processor_of, side_by_side
from perfproof.run.processes import attestation as attest
from perfproof.run.processes.trial_process import (
    ATTEST_PLUGIN,
    OUT_OF_TIME,
    arm_variables,
    build_environment,
    how_ended,
    own_variables,
    scrub_file,
)
from perfproof.run.trials.record_builder import recorded
from perfproof.run.trials.runner import Opening, RunnerKind

OURS = "PERFPROOF_"
"""Prefixes of variables that only the suite's own code inside a trial reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """A trial that is to begin: its parent, its folder, the benchmark's file, its variables, and what is counted."""

    arm: Arm
    parent: Parent
    folder: Path
    file: Path
    variables: Mapping[str, str]
    count: Mapping[str, Any]

    @property
    def log(self) -> Path:
        return self.folder / "trial.log"

    def run(self, block: Block, turns: Mapping[str, Any] | None = None) -> _Ended:
        """Runs it to its end."""
        started, before, quiet, began = clock.now(), environment.moment(), telemetry.read(), time.monotonic()
        fault = self.parent.fault or self._ran(block, turns)
        seconds = time.monotonic() - began
        seen = telemetry.between(quiet, telemetry.read(gpus=True))
        return _Ended(started=started, before=before, fault=fault, seconds=seconds, telemetry=seen)

    def _ran(self, block: Block, turns: Mapping[str, Any] | None) -> str:
        """How it failed, "" if it did not."""
        own = _workload(block).files is not None
        try:
            code = self.parent.trial(self.file, self.variables, block.seed, self.folder, self.log, self.count, own=own, turns=turns)
        except CannotRun as error:
            return str(error)
        return "" if code == 0 else UNWRITTEN if code == NO_ROOM else f"the trial {how_ended(code, 0.0)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ended:
    """How a trial ended: when it had `started`, the machine `before` it and meanwhile (`telemetry`), how it failed, its seconds."""

    started: str
    before: Mapping[str, Any]
    fault: str
    seconds: float
    telemetry: Mapping[str, float]
    waited_for: str = ""
    """The arm that had the turn when the time of this trial, which waited, ran out."""


class MicroRunner:
    """Runs blocks of micro scenarios.

    `builds` maps a build's key to the ready build; `folder`, in the results folder, takes the files of the trials.
    `seed` is the plan's; `benches` are all that it will run, and `own` those of the user's own, so that parents import what they need.
    `threads` is `OMP_NUM_THREADS` in every arm, the usable cores if None. `bench_of` finds a benchmark by name.
    """

    def __init__(
        self,
        builds: Mapping[str, ReadyBuild],
        folder: Path,
        *,
        seed: int,
        benches: Sequence[str] = (),
        own: Sequence[MicroWorkload] = (),
        threads: int | None = None,
        bench_of: Callable[[str], Bench] = catalog.bench,
    ) -> None:
        self._builds = builds
        self._folder = folder.resolve()
        self._seed = seed
        self._benches = tuple(dict.fromkeys(benches))
        self._own = tuple(own)
        self._own_benches: dict[Path, Bench] = {}
        self._threads = threads or environment.usable_cores()
        self._bench_of = bench_of
        self._parents: dict[tuple[str, str], Parent] = {}
        self._round: int | None = None
        self._hash_seed = 0

    def trials(self, block: Block, arms: Sequence[str]) -> Iterator[Record]:
        """Runs a trial of each of `arms` in that order, yielding each record as its trial ends."""
        began = time.monotonic()
        if block.number != self._round:
            self.close()
            self._round, self._hash_seed = block.number, _hash_seed(self._seed, block.number)
        self._start(block, arms)
        imports = (time.monotonic() - began) / len(arms)
        if _workload(block).measured_whole:
            yield from self._run_in_turns(block, arms, imports)
            return
        for name in arms:
            parent = self._parents[_key(block, _arm(block, name))]
            if not parent.fault and not parent.alive:
                self._start(block, (name,))
            trial = self._trial(block, _arm(block, name))
            ended = trial.run(block)
            yield self._record(block, trial, ended, self._read(block, trial), imports)

    def _run_in_turns(self, block: Block, arms: Sequence[str], imports: float) -> Iterator[Record]:
        """The trials of these arms at the same time, in turns."""
        trials = [self._trial(block, _arm(block, name)) for name in arms]
        with ThreadPoolExecutor(len(arms)) as pool, TurnTaking(len(arms), processor_of(block.number)) as turns:

            def run(place: int) -> _Ended:
                try:
                    return trials[place].run(block, turns.order(place))
                finally:
                    turns.ended(place)

            try:
                ended = list(pool.map(run, range(len(arms))))
            except BaseException:
                self.close()  # ends the trials that the pool waits for
                raise
        ended = _blamed(trials, ended, turns.held)
        readings = side_by_side([self._read(block, one) for one in trials])
        for trial, end, reading in zip(trials, ended, readings, strict=True):
            yield self._record(block, trial, end, reading, imports)

    def check(self) -> None:
        """Copies the benchmarks of the user's own; else nothing: a benchmark that refuses its parameters fails in its first trial."""
        for files in dict.fromkeys(workload.files for workload in self._own if workload.files is not None):
            self._copy(files)

    def rest(self) -> None:
        """Nothing to end: waiting parents do not disturb what others measure."""

    def close(self) -> None:
        """Ends every parent, and with it the trial that runs."""
        parents, self._parents, self._round = self._parents, {}, None
        for parent in parents.values():
            parent.close()

    def _start(self, block: Block, arms: Sequence[str]) -> None:
        """Starts the missing parents of these arms at the same time, and waits until all have imported; one that can't has a `fault`."""
        starting: dict[tuple[str, str], Parent] = {}
        for name in arms:
            arm = _arm(block, name)
            key = _key(block, arm)
            known = self._parents.get(key)
            if known is None or not known.alive:
                if known is not None:
                    known.close()
                build = self._build(block, arm)
                variables = {**self._environment(block, build, arm), **_of_imports(arm)}
                variables["VLLM_PLUGINS"] = ATTEST_PLUGIN
                log = self._folder / "imports" / f"block{block.number:03d}-{len(self._parents)}.log"
                log.unlink(missing_ok=True)
                starting[key] = self._parents[key] = Parent(build, self._files(build, _workload(block)), variables, log)
        for parent in starting.values():
            parent.ready()

    def _files(self, build: ReadyBuild, workload: MicroWorkload) -> list[Path]:
        """The files of all benchmarks that a parent must be ready for."""
        named = [build.bench / f"{bench}.py" for bench in self._benches]
        own = [self._file(build, one) for one in self._own]
        return [*named, *own] or [self._file(build, workload)]

    def _file(self, build: ReadyBuild, workload: MicroWorkload) -> Path:
        return build.bench / f"{workload.bench}.py" if workload.files is None else self._copy(workload.files) / workload.bench

    def _copy(self, files: FileFolder) -> Path:
        """The copy of the folder of a benchmark of the user's own, which all arms get."""
        return laid_out(files, self._folder / "benchmarks")

    def _bench(self, block: Block) -> Bench:
        workload = _workload(block)
        if workload.files is None:
            return self._bench_of(workload.bench)
        copy = self._copy(workload.files) / workload.bench
        if copy not in self._own_benches:
            self._own_benches[copy] = catalog.bench_at(copy)
        return self._own_benches[copy]

    def _build(self, block: Block, arm: Arm) -> ReadyBuild:
        return self._builds[block.scenario.builds[arm.build].key]

    def _trial(self, block: Block, arm: Arm) -> _Trial:
        """A trial that has not begun: its folder is empty."""
        build, folder, bench = self._build(block, arm), self._empty_folder(block, arm), self._bench(block)
        return _Trial(
            arm=arm,
            parent=self._parents[_key(block, arm)],
            folder=folder,
            file=self._file(build, _workload(block)),
            variables=self._variables(block, arm, folder),
            count=_counting(block, bench),
        )

    def _read(self, block: Block, trial: _Trial) -> Reading:
        """What the files of a trial that ended say."""
        bench = self._bench(block)
        scrub_file(trial.log)
        if _counted_alone(block, bench):
            reading = read_counted(trial.folder)
        else:
            reading = read_trial(trial.folder, _cases(block, bench), explains=bench.explains, by_ids=bench.by_ids)
        return without_metrics(reading, [choice.name for choice in block.scenario.metrics]) if bench.by_ids else reading

    def _record(self, block: Block, trial: _Trial, ended: _Ended, reading: Reading, imports: float) -> Record:
        """The record of a trial that ended: its attestation is verified, and it is judged."""
        arm, parent, folder, log = trial.arm, trial.parent, trial.folder, trial.log
        build, bench = self._build(block, arm), self._bench(block)
        attestation = attest.read(folder / "attest", build, arm)
        unproven = attest.verify(attestation, arm, build, log.read_text(errors="replace") if log.exists() else "", bench.exercises)
        status, reason = judge(reading, ended.fault, unproven or reading.untouched, folder, log)
        if ended.waited_for:
            status, reason = "invalid", f"it waited for its turn until the time of arm {ended.waited_for}, which had it, ran out"
        if status in ("failed", "unattested") and (outside := no_room(folder, reason) or lost(build)):
            status, reason = "invalid", outside
        if status == "ok" and (why := changed(build)):
            status, reason = "invalid", why
        return recorded(
            block,
            arm.name,
            seed=self._seed,
            started=ended.started,
            status=status,
            reason=reason,
            how="forked",
            log=parent.log if parent.fault else log,
            results=self._folder.parent,
            attestation=attestation,
            seconds=phases(folder, reading, imports, ended.seconds),
            known={
                **self._describe(block, build, trial.variables, ended.before),
                "telemetry": ended.telemetry,
                "threads_at_fork": parent.threads or None,
            },
            warnings=[*build.warnings, *reading.warnings, *(f"did not import: {one}" for one in parent.faults)],
            measurements=reading.measurements,
            raw=reading.raw,
            work=reading.work,
            witnesses=reading.witnesses,
            counts=reading.counts,
        )

    def _empty_folder(self, block: Block, arm: Arm) -> Path:
        """The trial's own folder among the logs, emptied of an earlier try's files."""
        folder = self._folder / block.scenario.name / f"block{block.number:03d}-{arm.name}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def _variables(self, block: Block, arm: Arm, folder: Path) -> dict[str, str]:
        bench = self._bench(block)
        watch = {*bench.exercises, *catalog.targets_of(block.scenario.arms)}
        return {
            **arm_variables(arm, attest=folder / "attest", watch=watch),
            "PERFPROOF_CASES": json.dumps(list(_cases(block, bench).values())),
        }

    def _environment(self, block: Block, build: ReadyBuild, arm: Arm | None = None) -> dict[str, str]:
        """A parent's variables; trials on one processor have one thread."""
        return build_environment(build, arm, threads=1 if _workload(block).measured_whole else self._threads, hash_seed=self._hash_seed)

    def _describe(self, block: Block, build: ReadyBuild, variables: Mapping[str, str], before: Mapping[str, Any]) -> dict[str, Any]:
        everything = {**self._environment(block, build), **variables}
        return {
            **environment.machine(),
            "before": before,
            **environment.of_build(build, everything),
        }


def _blamed(trials: Sequence[_Trial], ended: Sequence[_Ended], held: Mapping[int, float]) -> list[_Ended]:
    """How trials that took turns ended: where time ran out for several, it is the fault of the one that had the turn for longest."""
    late = [place for place, one in enumerate(ended) if OUT_OF_TIME in one.fault]
    guilty = max(late, key=lambda place: held.get(place, 0.0), default=None)
    if guilty is None or not held.get(guilty):
        return list(ended)
    name = trials[guilty].arm.name
    return [dataclasses.replace(one, waited_for=name) if place in late and place != guilty else one for place, one in enumerate(ended)]


def _hash_seed(seed: int, number: int) -> int:
    """The hash seed of all blocks of that number, whatever scenario comes first: their trials share imports, also when a block is measured
    again or continued in a later run."""
    return random.Random(f"{seed}/imports/{number}").randrange(2**31)


def _arm(block: Block, name: str) -> Arm:
    return next(arm for arm in block.scenario.arms if arm.name == name)


def _key(block: Block, arm: Arm) -> tuple[str, str]:
    """Arms with the same build and the same variables of their own share a parent, unless their rounds alternate."""
    everything = {name: value for name, value in arm.environment.items() if not name.startswith(OURS)}
    alone = [f"alternating {arm.name}"] if _workload(block).measured_whole else []
    return block.scenario.builds[arm.build].key, json.dumps([everything, *alone], sort_keys=True)


def _of_imports(arm: Arm) -> dict[str, str]:
    """The arm's variables that an import may read; those of the suite's own patches are set and read in the trial."""
    return {name: value for name, value in own_variables(arm).items() if not name.startswith(OURS)}


def _workload(block: Block) -> MicroWorkload:
    return MicroWorkload.of(block.scenario.workload)


def _cases(block: Block, bench: Bench) -> dict[str, dict[str, Any]]:
    """The parameters of every case by its name; a single case has the name ""."""
    workload = _workload(block)
    cases = workload.cases or ({},)
    if len(cases) == 1:
        return {"": {**workload.parameters, **cases[0]}}
    return {catalog.case_name(case): {**workload.parameters, **case} for case in cases}


def _counting(block: Block, bench: Bench) -> dict[str, Any]:
    """The cases of which a round is counted, how large one is at most, by the scenario or else by the benchmark, and whether that is all
    that the trial does."""
    at = {**bench.count_at, **_workload(block).count_at}
    return {"cases": _cases(block, bench), "at": at, "alone": _counted_alone(block, bench)}


def _counted_alone(block: Block, bench: Bench) -> bool:
    """Whether the trial only counts a round of each case: not where timed rounds count something themselves."""
    return _workload(block).counted_alone and bench.counted and not bench.witnesses


def _opened(scenarios: Sequence[Scenario], opening: Opening) -> MicroRunner:
    """One runner for all scenarios, because they share the parents of a block number. Where all only count, threads that wait for one
    another would be in the way of other builds that are counted at the same time."""
    workloads = [MicroWorkload.of(scenario.workload) for scenario in scenarios]
    named = [workload.bench for workload in workloads if workload.files is None]
    own = [workload for workload in workloads if workload.files is not None]
    threads = 1 if all(workload.counted_alone for workload in workloads) else None
    return MicroRunner(opening.ready, opening.results / "logs", benches=named, own=own, seed=opening.seed, threads=threads)


RUNNER = RunnerKind(kind=MICRO, faults=bench_faults, open=_opened, shared=True)
