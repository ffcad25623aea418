"""Runs blocks of trials until the looks have decided: the question of each benchmark, and when it is settled.

One process per side and block runs every benchmark that is still open, so that a project is imported only once. Each benchmark is its own
question, with one number per trial, and all of them share the error of the looks. A benchmark that can't be measured on one side is not run
again.
"""

from __future__ import annotations

import hashlib
import random
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from perfproof import store
from perfproof.analysis.judging.judge import judge_scenario
from perfproof.analysis.stats.block_order import orders
from perfproof.analysis.trials.paired_trials import latest
from perfproof.executor import AGAIN, paired, ruled
from perfproof.model.base.errors import BadInput
from perfproof.model.base.first_words import first_words
from perfproof.model.documents.decode import scenario_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.build import shown_path
from perfproof.model.scenarios.scenario import LOOKS, Scenario
from perfproof.pytest_plugin.benchmark_trials import Ran, Session, Side, records, run, why_none
from perfproof.pytest_plugin.worktrees import Change
from perfproof.run.checks.resume import here

BASE, CHANGE = "base", "change"
BUILDS = {BASE: "base_commit", CHANGE: "working_tree"}
"""The arms, and what they are called where builds are told apart: the interpreter is one, the checkouts are two."""
CONFIRMED = 2
"""The block in which a second process of each side counts again what differed in the first."""
LONGEST = 50
"""Characters of a benchmark's short name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """How much to measure, and with which margin; `blocks` is None for the looks, `budget` is in minutes or None."""

    blocks: int | None
    margin: float
    seed: int
    budget: float | None

    @property
    def most(self) -> int:
        return self.blocks or LOOKS[-1]


def questions(tests: Mapping[str, str], change: Change, design: Design) -> dict[str, Scenario]:
    """A scenario for each benchmark, by node id; `tests` maps these to node ids relative to the repository's top."""
    names = short_names(list(tests))
    build = {"kind": "python", "path": shown_path(sys.executable)}
    scenarios = {}
    for test, shown in tests.items():
        definition = {
            "schema": 1,
            "name": names[test],
            "question": f"{shown}: what does the working tree change, against {change.name}?"[:1000],
            "profile": "standard",
            "workload": {"kind": "pytest", "test": shown, "base": change.base, "change": change.digest, "family": len(tests)},
            "builds": {BUILDS[BASE]: build, BUILDS[CHANGE]: build},
            "arms": {BASE: {"baseline": True, "build": BUILDS[BASE]}, CHANGE: {"build": BUILDS[CHANGE]}},
            "metrics": {"round_time": {"primary": True, "margin": design.margin}},
            "blocks": design.blocks,
            "seed": design.seed,
        }
        scenarios[test] = scenario_of(definition, source=test)
    return scenarios


def with_counts(record: Record, test: str, ran: Ran | None) -> Record:
    """The record of a benchmark with what a process counted of it, or why it did not; None where none was to count it."""
    if ran is None:
        return record
    table = ran.report.get("counts", {}).get(test)
    if table is not None:
        return replace(record, counts={"": table})
    why = ran.report.get("uncounted", {}).get(test) or f"its work was not counted: {_uncounted(ran, test)}"
    return replace(record, warnings=(*record.warnings, why))


def _uncounted(ran: Ran, test: str) -> str:
    """Why a process that was to count a benchmark left nothing of it."""
    ended = ran.report.get("tests", {}).get(test, {})
    return first_words(why_none(ran)) or ended.get("why") or "the test did not call its benchmark"


def short_names(tests: Sequence[str]) -> dict[str, str]:
    """A short name for each node id, of small letters, digits and underscores; a name that two would share gets a hash at its end."""
    plain = {test: re.sub(r"[^a-z0-9]+", "_", test.partition("::")[2].lower()).strip("_") for test in tests}
    whole = {test: name if name[:1].isalpha() else f"test_{name}" for test, name in plain.items()}
    twice = [name[:LONGEST] for name in whole.values()]
    return {
        test: name
        if len(name) <= LONGEST and twice.count(name) == 1
        else f"{name[:LONGEST]}_{hashlib.sha256(test.encode()).hexdigest()[:6]}"
        for test, name in whole.items()
    }


@dataclass(slots=True, kw_only=True)
class Blocks:
    """Runs blocks of the two sides; `kept` are the records by node id, `notes` are sentences beside the verdicts."""

    change: Change
    session: Session
    sides: Mapping[str, Side]
    scenarios: Mapping[str, Scenario]
    design: Design
    results: Path
    say: Callable[[str], object]
    kept: dict[str, list[Record]] = field(default_factory=dict)
    seen: dict[str, dict[str, str]] = field(default_factory=lambda: {BASE: {}, CHANGE: {}})
    notes: dict[str, None] = field(default_factory=dict)

    def run(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Runs until every benchmark is decided, broken or out of blocks, or the time is used up; existing records are not measured
        again."""
        began = clock()
        self._find()
        for number, order in enumerate(orders((BASE, CHANGE), self.design.most, self.design.seed, "pytest"), start=1):
            missing = [test for test in self._open() if not self._whole(test, number)]
            if missing and self._spent(clock() - began):
                break
            if missing:
                self._block(number, order, missing)
        for again in range(AGAIN):
            for number, order in enumerate(orders((BASE, CHANGE), self.design.most, self.design.seed, "pytest"), start=1):
                spoilt = [test for test in self._open() if self._invalid(test, number)]
                if spoilt and not self._spent(clock() - began):
                    self.say(f"block {number} was invalid and is measured again ({again + 1} of at most {AGAIN} times)")
                    self._block(number, order, spoilt)

    def _block(self, number: int, order: Sequence[str], tests: Sequence[str]) -> None:
        took = []
        counted = {arm: self._counted(number, arm, tests) for arm in order}  # before the timed ones, which follow each other
        for arm in order:
            ran = self._trial(number, arm, tests)
            took.append(f"{arm} {ran.finished.seconds:.1f} s")
            wanted = {test: self.scenarios[test] for test in tests}
            log = f"logs/block{number:03d}-{arm}/trial.log"
            for test, record in zip(tests, records(ran, wanted, self.sides[arm], number, order, self.design.seed, log), strict=True):
                self._keep(test, with_counts(self._steady(arm, ran, record), test, counted[arm].get(test)))
        left = len(self._open())
        self.say(
            f"block {number} of {self.design.most if self.design.blocks else f'at most {self.design.most}'}: {', '.join(took)}; {left} open"
        )

    def _trial(self, number: int, arm: str, tests: Sequence[str], *, count: bool = False) -> Ran:
        folder = self.results / "logs" / f"block{number:03d}-{arm}{'-counted' if count else ''}"
        shutil.rmtree(folder, ignore_errors=True)
        seed = random.Random(f"{self.design.seed}/block/pytest/{number}").randrange(2**31)
        return run(self.change, self.session, self.sides[arm], tests, folder.resolve(), seed, count=count)

    def _counted(self, number: int, arm: str, tests: Sequence[str]) -> Mapping[str, Ran]:
        """A process of this side that counts benchmarks, by each that it was to count: all in the first block, in the second those that
        differ."""
        wanted = list(tests) if number == 1 else [test for test in tests if self._differs(test)] if number == CONFIRMED else []
        return dict.fromkeys(wanted, self._trial(number, arm, wanted, count=True)) if wanted else {}

    def _differs(self, test: str) -> bool:
        """Whether the two sides counted otherwise in the first block."""
        first = [record for record in self.kept.get(test, []) if record.block == 1]
        rows = judge_scenario(self.scenarios[test].name, first, final=False).judged if first else ()
        return any(row.verdict != "identical" for row in rows if row.of_host)

    def _steady(self, arm: str, ran: Ran, record: Record) -> Record:
        """The record, unattested if a file of its side has changed since an earlier trial."""
        known = self.seen[arm]
        moved = [file for file, digest in ran.sources.items() if known.setdefault(file, digest) != digest]
        if not moved or record.status != "ok":
            return record
        why = f"{moved[0]} was changed while its side was measured: measure again, and do not edit the files meanwhile"
        return replace(record, status="unattested", reason=why)

    def _keep(self, test: str, record: Record) -> None:
        own_records = self.kept.setdefault(test, [])
        kept = ruled(paired(record, latest([*own_records, record])))
        store.append(self.results, kept, after=bool(own_records))
        own_records.append(kept)

    def _open(self) -> list[str]:
        return [test for test in self.scenarios if not self._settled(test)]

    def _settled(self, test: str) -> bool:
        own_records = self.kept.get(test, [])
        broken = any(record.status in ("failed", "unattested") for record in own_records)
        return bool(own_records) and ((broken and self._whole(test, own_records[-1].block)) or bool(self._stop(test, own_records)))

    def _stop(self, test: str, own_records: Sequence[Record]) -> str:
        return judge_scenario(self.scenarios[test].name, own_records, final=False).stop

    def _whole(self, test: str, number: int) -> bool:
        return {record.arm for record in self.kept.get(test, []) if record.block == number} == {BASE, CHANGE}

    def _invalid(self, test: str, number: int) -> bool:
        return any(record.status == "invalid" for record in latest(self.kept.get(test, [])) if record.block == number)

    def _spent(self, seconds: float) -> bool:
        if self.design.budget is None or seconds < 60 * self.design.budget:
            return False
        self.notes[f"the time budget of {self.design.budget:g} minutes is used up: open benchmarks were measured in fewer blocks"] = None
        return True

    def _find(self) -> None:
        """Reads the existing records, which must be of the same questions."""
        if not any(self.results.glob("*.jsonl")):
            return
        of_name = {scenario.name: test for test, scenario in self.scenarios.items()}
        for record in store.read(self.results).records:
            test = of_name.get(record.scenario)
            if test is None or record.digest != self.scenarios[test].digest or record.seed != self.design.seed:
                raise BadInput(
                    f"--perfproof-results {self.results}: holds records of another change, base or choice of benchmarks "
                    f"({record.scenario}): name another folder, or delete this one"
                )
            self.kept.setdefault(test, []).append(record)
        for test, own_records in self.kept.items():
            self.kept[test], notes = here(own_records)
            self.notes |= dict.fromkeys(notes)
