"""`perfproof track`: scenarios over many builds, interleaved in rounds and kept as points of a history.

In order: every scenario is put on every build, and all names are checked. In each round every build, in random order, is made if needed and
runs one trial of every scenario. Trials that a busy machine spoilt are measured again at the end. Then each build's trials become points of
the history. Every record is on disk before the next trial starts, so the same command continues after a kill. A build that can't be made,
or a scenario that it does not support, is reported and left out; nothing is made up for it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import random
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from functools import partial
from itertools import pairwise
from pathlib import Path

from rich.console import Console

from perfproof import history, store
from perfproof.analysis.stats.number_format import count, duration
from perfproof.analysis.trials.paired_trials import latest
from perfproof.builds import prepare
from perfproof.builds.install.available_releases import Releases
from perfproof.executor import AGAIN, held, ruled
from perfproof.model.base.errors import EXIT_PASS, EXIT_UNTESTABLE, BadInput, CannotRun
from perfproof.model.base.first_words import first_words
from perfproof.model.history.point import Entry, Point
from perfproof.model.kinds import kind_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import is_timed
from perfproof.model.scenarios.plan import Plan
from perfproof.model.scenarios.scenario import ReleaseBuild, Scenario
from perfproof.run.host.environment import usable_cores
from perfproof.run.host.preflight import Start
from perfproof.run.kinds.micro.micro_result import NOT_HERE
from perfproof.run.processes.scratch_folders import RUNNING, sweep
from perfproof.runners import check_names
from perfproof.tracking.console import blame_offer
from perfproof.tracking.released_scenario import (
    ARM,
    NamedBuild,
    OpenRunners,
    Say,
    alone,
    block,
    build_of,
    named_build,
    runners_on,
    trials,
)

COUNTED = "counted"
"""The folder below the results for runs that only count; their times are not kept."""
REMOVED = (
    "--remove: every build is measured in all its rounds at once and then removed, so the rounds are not interleaved: a change of the "
    "machine can look like a step of the times; counts are not affected"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How to track.

    `rounds` is the number of trials per build. With `count_only` there is one trial, without times, and a busy machine does not matter.
    `remove` measures one build after another and removes each. `start` says how the run starts (None: at once).
    """

    rounds: int
    seed: int
    results: Path
    builds: Path
    history: Path
    count_only: bool
    remove: bool
    start: Start | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracked:
    """One build with every scenario on it, and the folder of its records. `lost` holds sentences that say why it was left out."""

    build: NamedBuild
    scenarios: tuple[Scenario, ...]
    folder: Path
    lost: list[str]

    def records(self) -> list[Record]:
        """Its records so far, of exactly these scenarios."""
        if not any(self.folder.glob("*.jsonl")):
            return []
        digests = {scenario.name: scenario.digest for scenario in self.scenarios}
        return [record for record in store.read(self.folder).records if digests.get(record.scenario) == record.digest]


def track(
    scenarios: Sequence[Scenario],
    builds: Sequence[NamedBuild],
    wanted: Wanted,
    console: Console | None = None,
    runners: OpenRunners | None = None,
) -> int:
    """Measures what is missing and appends the points; untestable if a build or a trial failed.

    `runners` opens the runners of a plan; tests pass their own. Raises `BadInput` for faults that are known before anything is made,
    `CannotRun` where another run holds the folder or the machine.
    """
    console = console or Console()
    say: Say = partial(console.print, highlight=False, markup=False, soft_wrap=True)
    rows = [_tracked(scenarios, build, wanted) for build in builds]
    _check(rows)
    open_runners = runners or runners_on(wanted.builds, say)
    if wanted.remove:
        say(REMOVED)
    timed = not wanted.count_only and not all(map(_exact, scenarios))
    with _begun(wanted, timed, say), held(wanted.results) as folder:
        for part in [[row] for row in rows] if wanted.remove else [rows]:
            _measure(part, wanted, say, open_runners)
            folder.check()
            if wanted.remove:
                _remove(part[0], wanted.builds, say)
    return _remember(rows, wanted, say)


def _tracked(scenarios: Sequence[Scenario], build: NamedBuild, wanted: Wanted) -> Tracked:
    made = [alone(one, build) for one in scenarios]
    if wanted.count_only:
        made = [dataclasses.replace(one, workload=one.workload.for_counts()) for one in made]
    return Tracked(build=build, scenarios=tuple(made), folder=_folder(wanted) / build.slug, lost=[])


def _folder(wanted: Wanted) -> Path:
    """The folder of the builds' records, which have one each in it."""
    return wanted.results / COUNTED if wanted.count_only else wanted.results


def _check(rows: Sequence[Tracked]) -> None:
    """All faults of all builds and scenarios at once, before anything is made."""
    words = [row.build.word for row in rows]
    faults = [f"{word}: named twice" for word in dict.fromkeys(words) if words.count(word) > 1]
    slugs = [row.build.slug for row in rows]
    faults += [f"{row.build.word}: its folder {row.build.slug} is another build's, too" for row in rows if slugs.count(row.build.slug) > 1]
    for row in rows:
        try:
            check_names(Plan(scenarios=row.scenarios, blocks=tuple(block(one, 1, 0) for one in row.scenarios), seed=0))
        except BadInput as error:
            faults += error.faults
    if faults:
        raise BadInput(*dict.fromkeys(faults))


# --- builds ---------------------------------------------------------------------------------------------------


TODAY = "today"
"""The word for the newest release that the index has now."""
_VERSION = re.compile(r"\d+(\.\d+)*[A-Za-z0-9.]*")


def builds_of(text: str, releases: Releases, here: Path) -> list[NamedBuild]:
    """The builds in a list with commas: versions, ranges of them (`0.19.0..0.26.0`), `today`, or anything that `named_build` takes.

    Raises `BadInput` for anything else, `CannotRun` where the package index is needed and does not answer.
    """
    specs: list[str] = []
    for word in filter(None, (part.strip() for part in text.split(","))):
        first, dots, last = word.partition("..")
        if word == TODAY:
            specs.append(f"{releases.distribution}=={releases.newest()}")
        elif dots and os.sep not in word:
            ends = [end.removeprefix(f"{releases.distribution}==") for end in (first, last)]
            specs += [f"{releases.distribution}=={version}" for version in releases.between(*ends)]
        else:
            specs.append(f"{releases.distribution}=={word}" if _VERSION.fullmatch(word.partition("+")[0]) else word)
    if not specs:
        raise BadInput("--builds: expected versions with commas between them, such as 0.25.1,0.26.0, or a range such as 0.19.0..0.26.0")
    return [named_build(spec, here) for spec in dict.fromkeys(specs)]


def builds_since(day: date, releases: Releases, here: Path) -> list[NamedBuild]:
    """The releases uploaded on a day or later. Raises `BadInput` where there are none."""
    versions = releases.since(day)
    if not versions:
        raise BadInput(f"--since {day}: the newest release of {releases.distribution}, {releases.newest()}, is older")
    return [named_build(f"{releases.distribution}=={version}", here) for version in versions]


# --- measuring ------------------------------------------------------------------------------------------------


def _measure(rows: Sequence[Tracked], wanted: Wanted, say: Say, runners: OpenRunners) -> None:
    """Runs every round of every build, then invalid trials again, at most `AGAIN` times."""
    rounds = 1 if wanted.count_only else wanted.rounds
    if wanted.count_only:
        _count_together(rows, wanted, say, runners)
    for number in () if wanted.count_only else range(1, rounds + 1):
        order = random.Random(f"{wanted.seed}/round/{number}").sample(list(rows), len(rows))
        for place, row in enumerate(order, 1):
            _round(row, number, wanted, say, runners, f"round {number} of {rounds}, build {place} of {len(rows)}")
    for again in range(1, AGAIN + 1):
        for number in range(1, rounds + 1):
            for row in rows:
                if any(_invalid(row, number)):
                    _round(row, number, wanted, say, runners, f"round {number}, measured again ({again} of {AGAIN})", again=True)


def _count_together(rows: Sequence[Tracked], wanted: Wanted, say: Say, runners: OpenRunners) -> None:
    """Counts the builds, as many at a time as there are cores: none of them minds the others. After an interruption each ends its trial."""
    ended = threading.Event()
    with ThreadPoolExecutor(max_workers=max(1, min(len(rows), usable_cores()))) as pool:
        try:
            for counting in [
                pool.submit(_round, row, 1, wanted, say, runners, f"build {place} of {len(rows)}", ended=ended)
                for place, row in enumerate(rows, 1)
            ]:
                counting.result()
        finally:
            ended.set()


def _round(
    row: Tracked,
    number: int,
    wanted: Wanted,
    say: Say,
    runners: OpenRunners,
    words: str,
    *,
    again: bool = False,
    ended: threading.Event | None = None,
) -> None:
    """Runs one round of one build: a trial of each scenario that has none yet, until it is `ended` from outside. A build that can't be made
    is reported and left out."""
    there = {record.scenario for record in latest(row.records()) if record.block == number and not (again and record.status == "invalid")}
    asked_of = [scenario for scenario in row.scenarios if number == 1 or not _exact(scenario)]
    missing = [scenario for scenario in asked_of if scenario.name not in there]
    if not missing or row.lost or (ended is not None and ended.is_set()):
        return
    say(f"{words}: {row.build.word}")
    sweep(row.folder / RUNNING)
    try:
        for record in trials(missing, number, wanted.seed, row.folder, runners):
            kept = _counted(record) if wanted.count_only else ruled(record)
            store.append(row.folder, kept)
            say(f"  {f'{row.build.word}, ' if wanted.count_only else ''}{_trial_line(kept)}")
            if ended is not None and ended.is_set():
                return
    except BadInput as error:
        row.lost.append(f"{row.build.word}: {'; '.join(error.faults)}")
    except CannotRun as error:
        row.lost.append(f"{row.build.word}: {error}")
    for sentence in row.lost:
        say(f"  left out: {sentence}")


def _exact(scenario: Scenario) -> bool:
    """Whether one round says all that there is to know."""
    return kind_of(scenario.workload).exact


def _counted(record: Record) -> Record:
    """The trial with its counts alone: its times are not kept, because other work may have run beside it."""
    return dataclasses.replace(record, measurements={}, raw={})


def _trial_line(record: Record) -> str:
    """The result of a trial in one line."""
    took = duration(record.took / 60)
    if record.status != "ok":
        return f"{record.scenario}: {record.status}: {first_words(record.reason) if record.reason else 'no reason was given'} ({took})"
    counts = "".join(f", {name} {value:,g}" for name, value in record.witnesses.items() if "@" not in name)
    return f"{record.scenario}: {took}{counts}"


def _invalid(row: Tracked, number: int) -> Iterator[str]:
    return (record.scenario for record in latest(row.records()) if record.block == number and record.status == "invalid")


# --- remembering ----------------------------------------------------------------------------------------------


def _remember(rows: Sequence[Tracked], wanted: Wanted, say: Say) -> int:
    """Appends the points of every build and says what is missing. Returns the exit code."""
    new, failed = 0, False
    for row in rows:
        records = row.records()
        new += history.append(wanted.history, points_of(records, count_only=wanted.count_only))
        gone = [record for record in latest(records) if record.status != "ok"]
        failed = failed or any(not record.reason.startswith(NOT_HERE) for record in gone)
        whys = ((record.scenario, first_words(record.reason) if record.reason else record.status) for record in gone)
        for scenario, why in dict.fromkeys(whys):
            say(f"{row.build.word}: {scenario}: no point: {why}")
        for sentence in row.lost:
            say(f"left out: {sentence}")
    say(f"{count(new, 'new line')} in {wanted.history}")
    if any(_exact(scenario) for row in rows for scenario in row.scenarios):
        say(f"the functions behind each step: perfproof history counts {_folder(wanted)}")
    for sentence in _offers(rows):
        say(sentence)
    return EXIT_UNTESTABLE if failed or any(row.lost for row in rows) else EXIT_PASS


def _offers(rows: Sequence[Tracked]) -> Iterator[str]:
    """For each scenario the largest change of a primary count from one build to the next, with the command that finds its functions."""
    for place, scenario in enumerate(rows[0].scenarios if rows else ()):
        names = [choice.name for choice in scenario.primaries if not is_timed(choice.name)]
        found = list[tuple[float, str]]()
        for before, after in pairwise(rows):
            was, now = (_witnesses(row, row.scenarios[place]) for row in (before, after))
            for name in [name for name in was if name in now and name.partition("@")[0] in names]:
                if abs(now[name] - was[name]) <= scenario.count_margin(name) * abs(was[name]):
                    continue
                offer = blame_offer(scenario.name, before.build.word, after.build.word, name)
                words = f"{scenario.name}, {name}: {was[name]:,g} in {before.build.word}, {now[name]:,g} in {after.build.word}; {offer}"
                found.append((abs(math.log((now[name] or 0.1) / (was[name] or 0.1))), words))
        if found:
            yield max(found)[1]


def _witnesses(row: Tracked, scenario: Scenario) -> Mapping[str, float]:
    return next((one.witnesses for one in latest(row.records()) if one.scenario == scenario.name and one.status == "ok"), {})


def points_of(records: Sequence[Record], *, count_only: bool) -> list[Entry]:
    """The points of one build's trials, all of the arm as released; counts alone where only these were kept."""
    made = history.entries_of(records, arm_name=lambda _: ARM)
    return [entry for entry in made if not (count_only and isinstance(entry, Point) and is_timed(entry.metric))]


# --- start and end --------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _begun(wanted: Wanted, timed: bool, say: Say) -> Iterator[None]:
    """Alone on the machine, and on a quiet one where times are kept."""
    if wanted.start is None:
        yield
        return
    with wanted.start.alone(say):
        if timed:
            wanted.start.settle(say)
        yield


def _remove(row: Tracked, builds: Path, say: Say) -> None:
    """Removes a measured release. Its packages stay in the download cache and the lock, so that it can be made again."""
    build = build_of(row.scenarios[0])
    folder = builds / prepare.identity(build)
    if isinstance(build, ReleaseBuild) and folder.is_dir():
        prepare.remove(folder)
        say(f"{row.build.word}: removed; 'uv cache clean {build.distribution}' also frees its download cache")
