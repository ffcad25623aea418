"""Carries out a Plan: what is missing is run, every record is kept as it comes, and the looks decide when to stop.

In order: the records that are there are checked against the plan; names, parameters and versions are checked
before anything is made; builds are prepared; blocks run in the plan's order, skipping what is done and what is
decided; blocks that a rule of invalidation threw out are measured again at the end, three times at most. What this refuses: to mix
records of different scenarios, seeds or profiles, and to run beside another run in the same folder or on the same machine.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from suite import store
from suite.analysis.invalidation import NOISE_ALLOWED, STANDARD, Rules, invalid
from suite.analysis.judge import judge_scenario
from suite.analysis.trials import latest
from suite.builds import temporary
from suite.model.errors import BadInput, CannotRun
from suite.model.floor import Floor
from suite.model.plan import Block, Plan
from suite.model.record import Record
from suite.model.scenario import AccuracyWorkload, EqualityWorkload, Scenario
from suite.progress import RunProgress
from suite.run.lane import Lane
from suite.run.room import CAUSES, INTERRUPTED, unwritable
from suite.run.scratch import RUNNING, sweep
from suite.run.standing import Enough, already, decided, missing, of_block, open_blocks, standing
from suite.run.variables import unasked

Say = Callable[[str], None]

MAKE_ROOM = "make room, or raise the limit; every record that was whole is kept, and the same command goes on from there"
AGAIN = 3
"""How often a block that was invalid is measured again, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conducted:
    """What a run did: trials it ran, those that were there already, and the seconds of each phase."""

    ran: int
    found: int
    seconds: Mapping[str, float]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stand:
    """How far the plan is, from the results folder: the records of each scenario, to which those of this run are added, the noise floors,
    and warnings of what doesn't fit. `stamp` is the folder's as it was read."""

    kept: Mapping[str, list[Record]]
    floors: Sequence[Floor]
    warnings: tuple[str, ...]
    stamp: object

    @classmethod
    def of(cls, plan: Plan, results: Path) -> _Stand:
        stamp = store.stamp(results)
        found, warnings = already(plan, results)
        kept = {s.name: standing([record for record in found if record.scenario == s.name]) for s in plan.scenarios}
        return cls(kept=kept, floors=store.read_floors(results), warnings=tuple(warnings), stamp=stamp)

    def by_now(self, plan: Plan, results: Path) -> _Stand:
        """How far it is now: read anew only where another run has written into the folder meanwhile."""
        return self if store.stamp(results) == self.stamp else _Stand.of(plan, results)

    def open(self, plan: Plan, enough: Enough) -> bool:
        """Whether anything is left to measure."""
        return any(open_blocks(plan, self.kept, self.floors, enough))


def at_once(say: Say) -> contextlib.AbstractContextManager[None]:
    """Begins without waiting and without holding anything."""
    return contextlib.nullcontext()


def conduct(
    plan: Plan,
    results: Path,
    open_lanes: Callable[[], contextlib.AbstractContextManager[Callable[[Scenario], Lane]]],
    progress: RunProgress,
    *,
    rules: Rules = STANDARD,
    alone: Callable[[Say], contextlib.AbstractContextManager[object]] = at_once,
    settle: Callable[[Say], object] = at_once,
    budget: float | None = None,
    clock: Callable[[], float] = time.monotonic,
    enough: Enough = decided,
) -> Conducted:
    """Runs what is missing of the plan; every record is on disk before the next trial starts.

    `open_lanes` prepares builds and gives the lane that runs a scenario. `rules` of invalidation are put to what each trial tells of the
    machine, and kept with it. `alone` holds the machine as long as trials may run, `settle` waits for a quiet one, or refuses.
    `budget` is minutes of measuring, after which no block is begun; `clock` gives seconds; `enough` says when a scenario is done, by
    its looks if nobody says otherwise. What a run that was waited for has measured meanwhile is not measured again. Raises `BadInput` for
    records of another plan, `CannotRun` where another run holds the folder or the machine.
    """
    began, tell = clock(), progress.tell
    stand, ran, seconds, skipped = _Stand.of(plan, results), list[Record](), dict[str, float](), list[str]()
    if stand.open(plan, enough):
        with alone(tell), held(results), _swept(results), _full_disk_told(results):
            stand, held_since = stand.by_now(plan, results), clock()
            if stand.open(plan, enough):
                with open_lanes() as lane_of:
                    prepared = clock()
                    settle(tell)
                    waited = held_since - began + clock() - prepared
                    seconds = {"preparing builds": prepared - held_since, "waiting for a quiet machine": waited}
                    _expect(plan, stand.kept, progress)
                    spent = _spent(budget, clock)
                    trials = _Trials(plan=plan, stand=stand, lane_of=lane_of, progress=progress, spent=spent, enough=enough)
                    ran = _measure(trials, results, rules)
                    skipped = trials.skipped()
    there = sum(len(latest(mine)) for mine in stand.kept.values()) - len({record.trial for record in ran})
    took = {**seconds, **_phases(ran), "total": clock() - began}
    return Conducted(ran=len(ran), found=there, seconds=took, warnings=(*stand.warnings, *skipped))


def _measure(trials: _Trials, results: Path, rules: Rules) -> list[Record]:
    """Runs the trials; each is on disk before the next starts. Raises `CannotRun` where the folder takes no more files."""
    ran: list[Record] = []
    untimed = {one.name for one in trials.plan.scenarios if isinstance(one.workload, AccuracyWorkload | EqualityWorkload)}
    for trial in trials.run():
        kept = trials.stand.kept[trial.scenario]
        record = ruled(paired(trial, latest([*kept, trial])), NOISE_ALLOWED if trial.scenario in untimed else rules)
        store.append(results, record)
        kept.append(record)
        ran.append(record)
        trials.progress.trial(record)
        if record.status == "invalid":
            _see_that_there_is_room(results, record)
    return ran


def _see_that_there_is_room(results: Path, spoilt: Record) -> None:
    """Raises `CannotRun` where the folder of a spoilt trial takes no more files, or that for temporary ones, if the trial was interrupted:
    the next trials would fare no better."""
    for folder in (results, *([temporary.folder()] if spoilt.reason.startswith(INTERRUPTED) else [])):
        if cause := unwritable(folder):
            raise CannotRun(f"{folder}: {cause}: {MAKE_ROOM}")


def _expect(plan: Plan, kept: Mapping[str, Sequence[Record]], progress: RunProgress) -> None:
    """Tells the display how many trials of each scenario are still to come."""
    for scenario in plan.scenarios:
        mine = [block for block in plan.blocks if block.scenario is scenario]
        progress.expect(scenario.name, sum(len(missing(block, kept[scenario.name])) for block in mine))


def _spent(budget: float | None, clock: Callable[[], float]) -> Callable[[], bool]:
    """Says, from now on, whether so many minutes are over."""
    began = clock()
    return (lambda: False) if budget is None else (lambda: clock() - began >= 60 * budget)


def _phases(ran: Sequence[Record]) -> dict[str, float]:
    """The seconds of every phase of these trials together."""
    seconds: dict[str, float] = {}
    for record in ran:
        for phase, took in record.seconds.items():
            if phase != "total":
                seconds[phase] = seconds.get(phase, 0.0) + took
    return seconds


def paired(record: Record, others: Sequence[Record]) -> Record:
    """The trial, invalid where its environment differs from that of `others` of its block in what the scenario did not ask for."""
    why = unasked(record, others) if record.status == "ok" else ""
    return dataclasses.replace(record, status="invalid", reason=why) if why else record


def ruled(record: Record, rules: Rules = STANDARD) -> Record:
    """The trial as the rules of invalidation leave it, with the rules that were put to it.

    A trial that failed, or proved nothing, stays what it is: a busy machine excuses no crash.
    """
    kept = dataclasses.replace(record, environment={**record.environment, "rules": dataclasses.asdict(rules)})
    why = invalid(record.environment.get("telemetry", {}), rules)
    return dataclasses.replace(kept, status="invalid", reason=why) if why and record.status == "ok" else kept


@dataclass(slots=True, kw_only=True)
class _Trials:
    """The missing trials in the plan's order. `spent` says whether the time budget is; `stopped` holds decided scenarios."""

    plan: Plan
    stand: _Stand
    lane_of: Callable[[Scenario], Lane]
    progress: RunProgress
    spent: Callable[[], bool]
    enough: Enough
    stopped: set[str] = field(default_factory=set)
    left: list[Block] = field(default_factory=list)

    def run(self) -> Iterator[Record]:
        """Each record, as its trial ends; the caller keeps it before asking for the next."""
        for block in self.plan.blocks:
            name = block.scenario.name
            if name in self.stopped:
                continue
            mine = self.stand.kept[name]
            if missing(block, mine):
                yield from self._block(block, mine)
            if mine and self.enough(judge_scenario(name, mine, final=False, floors=self.stand.floors)):
                self.stopped.add(name)
                self.progress.done(name)
        for _ in range(AGAIN):
            for block in self.plan.blocks:
                mine = of_block(block, latest(self.stand.kept[block.scenario.name]))
                if block.scenario.name not in self.stopped and any(record.status == "invalid" for record in mine):
                    if not self.spent():
                        self.progress.say(f"{block.scenario.name}: block {block.number} was invalid and is measured again")
                    yield from self._block(block, [])

    def _block(self, block: Block, kept: Sequence[Record]) -> Iterator[Record]:
        if self.spent():
            self.left.append(block)
        else:
            yield from _run_block(block, kept, self.lane_of, self.progress)

    def skipped(self) -> list[str]:
        """What the time budget left undone: a sentence a scenario."""
        counts = {s.name: len({block.number for block in self.left if block.scenario is s}) for s in self.plan.scenarios}
        return [
            f"{name}: the time budget is spent: {count} of {next(s.most_blocks for s in self.plan.scenarios if s.name == name)} blocks "
            "were not measured; the same command without it goes on from here"
            for name, count in counts.items()
            if count
        ]


def _run_block(block: Block, kept: Sequence[Record], lane_of: Callable[[Scenario], Lane], progress: RunProgress) -> Iterator[Record]:
    arms = missing(block, kept)
    if arms:
        progress.block(block)
        yield from lane_of(block.scenario).trials(block, arms)


@contextlib.contextmanager
def _swept(results: Path) -> Iterator[None]:
    """What a run that was killed left in the results folder is gone before this one begins."""
    sweep(results / RUNNING)
    yield


@contextlib.contextmanager
def _full_disk_told(results: Path) -> Iterator[None]:
    """A disk that is full, wherever it was met, becomes `CannotRun` with what to do."""
    try:
        yield
    except OSError as error:
        cause = CAUSES.get(error.errno or 0)
        if cause is None:
            raise
        where = error.filename or results
        raise CannotRun(f"{where}: {cause}: {MAKE_ROOM}") from error


@contextlib.contextmanager
def held(results: Path) -> Iterator[None]:
    """Holds the results folder, so that two runs never write into it at once."""
    store.check_folder(results)
    try:
        results.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{results}: can't be made: {error.strerror}") from error
    lock = FileLock(results / ".lock")
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
        yield
    finally:
        lock.release()
