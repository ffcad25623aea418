"""Carries out a plan: runs the missing trials, keeps every record at once, and stops when the looks decide.

In order: existing records are checked against the plan; names, parameters and versions are checked before anything is made; builds are
prepared; blocks run in the plan's order, except those that are done or decided; blocks that a rule of invalidation excluded are measured
again at the end, three times at most. It never mixes records of different scenarios, seeds or profiles, and never runs beside another run
in the same folder or on the same machine.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from perfproof import store
from perfproof.analysis.judging.judge import judge_scenario
from perfproof.analysis.trials.invalidation import NOISE_ALLOWED, STANDARD, Rules, invalid
from perfproof.analysis.trials.model_runners import seen
from perfproof.analysis.trials.paired_trials import latest, only_counted
from perfproof.builds.install.integrity import CHANGED
from perfproof.builds.processes import temp_files
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.kinds import kind_of
from perfproof.model.records.record import INTERRUPTED, SPREAD, Record
from perfproof.model.scenarios.plan import Block, Plan
from perfproof.model.scenarios.scenario import Scenario
from perfproof.model.verdicts.noise_floor import Floor
from perfproof.model.workloads.file_folder import LOCK
from perfproof.progress import RunProgress
from perfproof.run.checks.gpu_choice import choose_gpus
from perfproof.run.checks.resume import Enough, already, decided, missing, of_block, open_blocks, standing
from perfproof.run.host.disk_space import CAUSES, unwritable
from perfproof.run.host.preflight import MachineBusy
from perfproof.run.host.time_budget import NothingMeasured, Spent, ends_after, nothing_measured
from perfproof.run.processes.env_vars import unasked
from perfproof.run.processes.scratch_folders import RUNNING, sweep
from perfproof.run.trials.runner import CountsFirst, Runner

Say = Callable[[str], None]

MAKE_ROOM = "make room, or raise the limit; every complete record is kept, and the same command continues from there"
NOTHING: Mapping[str, float] = {}
AGAIN = 3
"""How often an invalid block is measured again, at most."""
COUNTED_BLOCKS = 2
"""The blocks that are run for their counts alone on a machine that is too busy for times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conducted:
    """What a run did: the number of trials run and of `existing` ones, and the seconds of each phase."""

    ran: int
    existing: int
    seconds: Mapping[str, float]
    warnings: tuple[str, ...]

    def with_trials(self, budget: float | None) -> Conducted:
        """Itself. Raises `NothingMeasured` where no trial was there and the budget, in minutes, let none begin."""
        if not self.ran and not self.existing:
            raise NothingMeasured("; ".join(self.warnings) or nothing_measured(budget or 0.0))
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stand:
    """The progress of the plan in the results folder: the records of each scenario, including those of this run, trials that were only
    counted, the noise floors, and warnings. `stamp` identifies the state of the folder when it was read."""

    kept: Mapping[str, list[Record]]
    counted: list[Record]
    floors: Sequence[Floor]
    warnings: tuple[str, ...]
    stamp: object

    @classmethod
    def of(cls, plan: Plan, results: Path) -> _Stand:
        stamp = store.stamp(results)
        found, warnings = already(plan, results)
        kept = {s.name: standing([record for record in found if record.scenario == s.name]) for s in plan.scenarios}
        counted = [record for record in found if only_counted(record)]
        return cls(kept=kept, counted=counted, floors=store.read_floors(results), warnings=tuple(warnings), stamp=stamp)

    def by_now(self, plan: Plan, results: Path) -> _Stand:
        """The progress now: read again only if another run has written into the folder meanwhile."""
        return self if store.stamp(results) == self.stamp else _Stand.of(plan, results)

    def open(self, plan: Plan, enough: Enough) -> bool:
        """Whether anything is left to measure."""
        return any(open_blocks(plan, self.kept, self.floors, enough))


def at_once(say: Say) -> contextlib.AbstractContextManager[None]:
    """Starts without waiting and without holding anything."""
    return contextlib.nullcontext()


def conduct(
    plan: Plan,
    results: Path,
    open_runners: Callable[[], contextlib.AbstractContextManager[Callable[[Scenario], Runner]]],
    progress: RunProgress,
    *,
    rules: Rules = STANDARD,
    alone: Callable[[Say], contextlib.AbstractContextManager[object]] = at_once,
    settle: Callable[[Say], object] = at_once,
    budget: float | None = None,
    clock: Callable[[], float] = time.monotonic,
    enough: Enough = decided,
    seconds: Mapping[str, float] = NOTHING,
    count_anyhow: bool = False,
    spread: bool = False,
) -> Conducted:
    """Runs the missing trials of the plan; every record is on disk before the next trial starts.

    `open_runners` prepares builds and gives each scenario its runner. The `rules` of invalidation are applied to each trial's telemetry and
    kept with it. `alone` holds the machine while trials may run; `settle` waits for a quiet machine, or refuses. `budget` is minutes for
    everything, including waiting and builds: no block starts that would not end within it, and a trial that still runs then is ended.
    `clock` gives seconds; `enough` says when a scenario is done, by default by its looks; `seconds` are those that a block of a scenario is
    expected to take, until one was measured; `spread` says in each record that the plan's other blocks may run on other hosts. With
    `count_anyhow` work that can be counted apart from timed trials is counted before the wait for a quiet machine, and a machine that is
    too busy for times runs the first blocks of the scenarios that count work, for their counts. Trials that another run has made during
    the wait are not measured again. Raises `BadInput` for records of another plan, `CannotRun` where another run holds the folder or the
    machine, and where the budget was spent with nothing measured.
    """
    began, tell = clock(), progress.tell
    choose_gpus(plan.scenarios, tell)
    stand, ran, took, skipped = _Stand.of(plan, results), list[Record](), dict[str, float](), list[str]()
    for warning in stand.warnings:
        tell(warning)
    if stand.open(plan, enough):
        with contextlib.ExitStack() as stack:
            try:
                with ends_after(None if budget is None else 60 * budget):
                    stack.enter_context(alone(tell))
                    folder = stack.enter_context(held(results))
                    stack.enter_context(_swept(results))
                    stack.enter_context(_full_disk_told(results, folder))
                    stand, held_since = stand.by_now(plan, results), clock()
                    if stand.open(plan, enough):
                        runner_for, prepared = stack.enter_context(open_runners()), clock()
                        if count_anyhow:
                            _count_first(plan, stand, runner_for, results, folder, tell)
                        counted = clock()
                        measured, again, refused = plan, AGAIN, list[str]()
                        try:
                            if not all(kind_of(one.workload).exact for one in plan.scenarios):
                                settle(tell)
                        except MachineBusy as busy:
                            measured, again, refused = _for_counts(plan, busy, asked=count_anyhow), 0, [str(busy)]
                            tell(f"{busy}. Counts hold on a busy machine: {COUNTED_BLOCKS} blocks are run for them")
                        waited = held_since - began + clock() - counted
                        took = {
                            "preparing builds": prepared - held_since,
                            "counting first": counted - prepared,
                            "waiting for a quiet machine": waited,
                        }
                        _expect(plan, stand.kept, progress)
                        spent = _spent(budget, began, clock)
                        trials = _Trials(
                            plan=measured,
                            again=again,
                            stand=stand,
                            runner_for=runner_for,
                            progress=progress,
                            spent=spent,
                            clock=clock,
                            enough=enough,
                            expected=seconds,
                        )
                        _measure(trials, results, folder, rules, ran, spread)
                        skipped = [*refused, *trials.skipped()]
            except Spent as over:
                if not any(stand.kept.values()) and not _counted_whole(plan, stand):
                    raise NothingMeasured(nothing_measured(budget or 0.0)) from over
                skipped = _undone(plan, list(open_blocks(plan, stand.kept, stand.floors, enough)), stand.kept)
    there = sum(len(latest(records)) for records in stand.kept.values()) - len({record.trial for record in ran})
    phases = {**took, **_phases(ran), "total": clock() - began}
    return Conducted(ran=len(ran), existing=there, seconds=phases, warnings=(*stand.warnings, *skipped))


def _count_first(
    plan: Plan, stand: _Stand, runner_for: Callable[[Scenario], Runner], results: Path, folder: Held, tell: Callable[[str], object]
) -> None:
    """Counts the work of the first blocks that are missing, where that can be done apart from timed trials; each record is on disk before
    the next run starts."""
    for block in plan.blocks:
        kept = stand.kept[block.scenario.name]
        arms = missing(block, kept) if block.number == 1 and block.scenario.workload.counted else ()
        runner = runner_for(block.scenario) if arms else None
        if isinstance(runner, CountsFirst):
            tell(f"{block.scenario.name}: counting first, for counts need no quiet machine")
            before = [record for record in stand.counted if record.scenario == block.scenario.name]
            for record in runner.count_first(block, arms, before):
                folder.check()
                store.append(results, record, after=bool(kept or before))
                before.append(record)
                stand.counted.append(record)


def _counted_whole(plan: Plan, stand: _Stand) -> bool:
    """Whether all arms of a scenario were counted, which is an answer without any time."""
    there = {(record.scenario, record.arm) for record in stand.counted}
    return any(all((one.name, arm.name) in there for arm in one.arms) for one in plan.scenarios)


def _for_counts(plan: Plan, busy: MachineBusy, *, asked: bool) -> Plan:
    """The part of a plan that counts work. Raises `busy` where there is none, or where nobody asked for it."""
    blocks = tuple(one for one in plan.blocks if one.number <= COUNTED_BLOCKS and one.scenario.workload.counted)
    if not blocks or not asked:
        raise busy
    return dataclasses.replace(plan, blocks=blocks)


def _measure(trials: _Trials, results: Path, folder: Held, rules: Rules, ran: list[Record], spread: bool) -> None:
    """Runs the trials and adds them to `ran`, marked if they are `spread`; each is on disk before the next starts. Raises `CannotRun`
    where the folder accepts no more files or is gone, and where a build has changed."""
    untimed = {one.name for one in trials.plan.scenarios if kind_of(one.workload).untimed}
    for trial in trials.run():
        kept = trials.stand.kept[trial.scenario]
        record = ruled(paired(trial, latest([*kept, trial])), NOISE_ALLOWED if trial.scenario in untimed else rules)
        record = dataclasses.replace(record, environment={**record.environment, SPREAD: True}) if spread else record
        folder.check()
        _check_runner(record, kept, results)
        store.append(results, record, after=bool(kept))
        kept.append(record)
        ran.append(record)
        trials.progress.trial(record)
        if record.status == "invalid":
            _see_that_there_is_room(results, record)
            if CHANGED in record.reason:
                raise CannotRun(f"{record.reason}; leave it alone meanwhile: the same command makes it ready again and says how to go on")


def _check_runner(record: Record, kept: Sequence[Record], results: Path) -> None:
    """Raises `CannotRun` where a trial ran on another model runner than the earlier ones of its arm, before it is kept."""
    ran, before = (", ".join(seen(records, record.arm) - {""}) for records in ([record], kept))
    if ran and before and ran != before:
        raise CannotRun(
            f"{store.records_file(results, record.scenario)}: arm {record.arm} ran on vLLM's model runner {ran}, its earlier trials on "
            f"{before}: trials of different runners don't mix, and this one was not kept; name another --results folder, or delete that "
            f"file to start again; 'runner: {before.lower()}' in every arm measures {before} there"
        )


def _see_that_there_is_room(results: Path, spoilt: Record) -> None:
    """Raises `CannotRun` where the folder of a spoilt trial accepts no more files, or the temporary folder, if the trial was interrupted:
    the next trials would fail too."""
    for folder in (results, *([temp_files.folder()] if spoilt.reason.startswith(INTERRUPTED) else [])):
        if cause := unwritable(folder):
            raise CannotRun(f"{folder}: {cause}: {MAKE_ROOM}")


def _expect(plan: Plan, kept: Mapping[str, Sequence[Record]], progress: RunProgress) -> None:
    """Gives the display the number of missing trials of each scenario."""
    for scenario in plan.scenarios:
        blocks = [block for block in plan.blocks if block.scenario is scenario]
        progress.expect(scenario.name, sum(len(missing(block, kept[scenario.name])) for block in blocks))


def _spent(budget: float | None, began: float, clock: Callable[[], float]) -> Callable[[float], bool]:
    """A function that says whether work of some seconds would end after the budget, which began at `began`."""
    end = None if budget is None else began + 60 * budget
    return lambda needed: end is not None and (clock() >= end or clock() + needed > end)


def _phases(ran: Sequence[Record]) -> dict[str, float]:
    """The seconds of every phase of these trials together."""
    seconds: dict[str, float] = {}
    for record in ran:
        for phase, took in record.seconds.items():
            if phase != "total":
                seconds[phase] = seconds.get(phase, 0.0) + took
    return seconds


def paired(record: Record, others: Sequence[Record]) -> Record:
    """The trial, invalid if its environment differs from that of the `others` of its block in ways that the scenario did not request."""
    why = unasked(record, others) if record.status == "ok" else ""
    return dataclasses.replace(record, status="invalid", reason=why) if why else record


def ruled(record: Record, rules: Rules = STANDARD) -> Record:
    """The trial after the rules of invalidation, with the applied rules.

    A failed or unattested trial keeps its status: a busy machine does not excuse a crash.
    """
    kept = dataclasses.replace(record, environment={**record.environment, "rules": dataclasses.asdict(rules)})
    why = invalid(record.environment.get("telemetry", {}), rules)
    return dataclasses.replace(kept, status="invalid", reason=why) if why and record.status == "ok" else kept


@dataclass(slots=True, kw_only=True)
class _Trials:
    """The missing trials in the plan's order, invalid blocks up to `again` times more. `spent` says whether the time budget is too small
    for a block of some seconds; `stopped` holds decided scenarios, `longest` the seconds of each one's longest block, `expected` those that
    a first one should take."""

    plan: Plan
    again: int
    stand: _Stand
    runner_for: Callable[[Scenario], Runner]
    progress: RunProgress
    spent: Callable[[float], bool]
    clock: Callable[[], float]
    enough: Enough
    expected: Mapping[str, float]
    longest: dict[str, float] = field(default_factory=dict)
    stopped: set[str] = field(default_factory=set)
    left: list[Block] = field(default_factory=list)

    def run(self) -> Iterator[Record]:
        """Yields each record as its trial ends; the caller keeps it before it takes the next."""
        for block in self.plan.blocks:
            name = block.scenario.name
            if name in self.stopped:
                continue
            records = self.stand.kept[name]
            if missing(block, records):
                yield from self._block(block, records)
            if records and self.enough(judge_scenario(name, records, final=False, floors=self.stand.floors)):
                self.stopped.add(name)
                self.progress.done(name)
        for _ in range(self.again):
            for block in self.plan.blocks:
                records = of_block(block, latest(self.stand.kept[block.scenario.name]))
                if block.scenario.name not in self.stopped and any(record.status == "invalid" for record in records):
                    if not self._is_spent(block):
                        self.progress.say(f"{block.scenario.name}: block {block.number} was invalid and is measured again")
                    yield from self._block(block, [])

    def _block(self, block: Block, kept: Sequence[Record]) -> Iterator[Record]:
        if self._is_spent(block):
            self.left.append(block)
            return
        began, name = self.clock(), block.scenario.name
        yield from _run_block(block, kept, self.runner_for, self.progress)
        self.longest[name] = max(self.longest.get(name, 0.0), self.clock() - began)

    def _is_spent(self, block: Block) -> bool:
        """Whether the time budget would end before another block of that scenario."""
        name = block.scenario.name
        return self.spent(self.longest.get(name, self.expected.get(name, 0.0)))

    def skipped(self) -> list[str]:
        """What the time budget left undone: one sentence per scenario."""
        return _undone(self.plan, self.left, self.stand.kept)


def _undone(plan: Plan, blocks: Sequence[Block], kept: Mapping[str, Sequence[Record]]) -> list[str]:
    """One sentence per scenario that says that the time budget was spent before these blocks; those that were measured, but excluded, are
    told apart."""
    sentences = []
    for one in plan.scenarios:
        mine = {block.number for block in blocks if block.scenario.name == one.name}
        again = mine & {record.block for record in kept[one.name]}
        never = len(mine - again)
        parts = [f"{never} of {one.most_blocks} blocks were not measured"] if never or not again else []
        parts += [f"{len(again)} that were excluded or broken off were not measured again"] if again else []
        if mine:
            sentences.append(f"{one.name}: the time budget is spent: {', and '.join(parts)}; the same command without it goes on from here")
    return sentences


def _run_block(block: Block, kept: Sequence[Record], runner_for: Callable[[Scenario], Runner], progress: RunProgress) -> Iterator[Record]:
    arms = missing(block, kept)
    if arms:
        progress.block(block)
        yield from runner_for(block.scenario).trials(block, arms)


@contextlib.contextmanager
def _swept(results: Path) -> Iterator[None]:
    """Removes the leftovers of a killed run from the results folder before this one starts."""
    sweep(results / RUNNING)
    yield


@contextlib.contextmanager
def _full_disk_told(results: Path, folder: Held) -> Iterator[None]:
    """Turns a full disk, wherever it was met, into `CannotRun` with the remedy; also a results folder that is gone."""
    try:
        yield
    except OSError as error:
        folder.check()
        cause = CAUSES.get(error.errno or 0)
        if cause is None:
            raise
        where = error.filename or results
        raise CannotRun(f"{where}: {cause}: {MAKE_ROOM}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A results folder while a run holds it, with the `lock` file and its inode."""

    lock: Path
    node: tuple[int, int]

    @classmethod
    def by(cls, lock: Path) -> Held:
        at = lock.stat()
        return cls(lock=lock, node=(at.st_dev, at.st_ino))

    def check(self) -> None:
        """Raises `CannotRun` where it is no longer the held folder: the records so far are lost with it."""
        try:
            there = Held.by(self.lock) == self
        except FileNotFoundError:
            there = False
        if not there:
            raise CannotRun(f"{self.lock.parent}: {store.LOST}")


@contextlib.contextmanager
def held(results: Path) -> Iterator[Held]:
    """Holds the results folder, so that two runs never write into it at once."""
    store.check_folder(results)
    try:
        results.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{results}: can't be made: {error.strerror}") from error
    lock = FileLock(results / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise CannotRun(
            f"{results}: another run is writing here, one that has other locks (PERFPROOF_LOCKS) or another machine; wait for it, "
            "or name another --results folder"
        ) from error
    except OSError as error:
        raise BadInput(f"{results}: can't be written to: {error.strerror}") from error
    try:
        yield Held.by(results / LOCK)
    finally:
        lock.release()
