"""Trials of microbenchmarks: forked from a parent that has only imported, the parent fresh for every block.

For a block, one parent is started for every build (and for every set of environment variables that its
arms ask for, since vLLM reads some of them while it is imported), all parents import at the same time, and
then the arms run one after the other in the block's order. A trial is a fork of its parent: it takes the arm's
plugins, runs the benchmark under pytest-benchmark, and dies. What it left is read, its attestation verified,
and a Record made of it. Blocks of the same number of several scenarios share their parents, because importing
vLLM takes longer than most trials; a parent never lives into the next number.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from suite.builds.ready import ReadyBuild
from suite.model.errors import CannotRun
from suite.model.plan import Block
from suite.model.record import SCHEMA, Record, Status
from suite.model.scenario import Arm, MicroWorkload
from suite.run import attest, catalog, environment
from suite.run.catalog import Bench
from suite.run.process import ATTEST_PLUGIN, Channel, Running, arm_variables, build_environment, how_ended, scrub, scrub_file, start, tail

IMPORT_LIMIT = 600.0
TRIAL_LIMIT = 1800.0
"""Seconds after which an import or a trial is ended and told as failed."""

KILLED = "was ended by SIGKILL"
NOT_HERE = "not in this version"
NOTHING = "the benchmark measured nothing"


class Parent:
    """A process of one build that has imported what a benchmark needs, and forks a trial for every order."""

    def __init__(self, build: ReadyBuild, benches: Sequence[str], variables: Mapping[str, str], log: Path) -> None:
        self.build = build
        self._channel = Channel()
        words = [build.interpreter, build.child / "micro.py", build.tools or "", *(build.bench / f"{bench}.py" for bench in benches)]
        self._running: Running = start(words, environment=variables, log=log, channel=self._channel)
        self.seconds = 0.0
        self.threads = 0
        self.faults: Sequence[str] = ()

    def ready(self, limit: float = IMPORT_LIMIT) -> None:
        """Waits until it has imported. Raises `CannotRun` if it can't."""
        said = self._hear(limit, "importing vLLM")
        self.seconds, self.threads, self.faults = float(said["seconds"]), int(said["threads"]), said["faults"]

    def trial(self, bench: str, variables: Mapping[str, str], seed: int, folder: Path, log: Path) -> int:
        """Runs one trial, its random numbers seeded with `seed`; its exit code, -N for signal N. Raises `CannotRun` if the parent died or time ran out."""
        try:
            said = {"bench": str(self.build.bench / f"{bench}.py"), "seed": seed, "folder": str(folder), "log": str(log)}
            self._channel.send({**said, "environment": dict(variables)})
        except BrokenPipeError:
            raise CannotRun(f"the process that imports vLLM {self._end()}") from None
        return int(self._hear(TRIAL_LIMIT, "the trial")["code"])

    def _hear(self, limit: float, what: str) -> dict[str, Any]:
        try:
            said = self._channel.receive(limit)
        except EOFError:
            raise CannotRun(f"the process that imports vLLM {self._end()}") from None
        if said is None:
            self._running.kill_now()
            raise CannotRun(f"{what} {how_ended(None, limit)}")
        return said

    def _end(self) -> str:
        """How it ended, with the last lines of its log."""
        code = self._running.wait(10.0)
        lines = tail(self._running.log)
        return how_ended(code, self._running.seconds) + (f":\n{lines}" if lines else "")

    @property
    def alive(self) -> bool:
        return self._running.poll() is None

    def close(self) -> None:
        self._running.kill_now()
        self._channel.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a trial's files say: a value and the raw rounds for each metric, witnesses, work; `reason` if it measured nothing."""

    measurements: Mapping[str, float]
    raw: Mapping[str, Sequence[float]]
    witnesses: Mapping[str, float]
    work: Mapping[str, int]
    warnings: Sequence[str]
    reason: str


class MicroLane:
    """Runs blocks of micro scenarios.

    `builds` maps a build's label to the ready build; `folder`, in the results folder, takes what the trials leave.
    `seed` is the plan's; `benches` are all that it will run, for which its parents import. `threads` is `OMP_NUM_THREADS` in
    every arm, the usable cores if None. `bench_of` finds a benchmark by name.
    """

    def __init__(
        self,
        builds: Mapping[str, ReadyBuild],
        folder: Path,
        *,
        seed: int,
        benches: Sequence[str] = (),
        threads: int | None = None,
        bench_of: Callable[[str], Bench] = catalog.bench,
    ) -> None:
        self._builds = builds
        self._folder = folder.resolve()
        self._seed = seed
        self._benches = tuple(dict.fromkeys(benches))
        self._threads = threads or environment.usable_cores()
        self._bench_of = bench_of
        self._parents: dict[tuple[str, str], Parent | str] = {}
        self._round: int | None = None
        self._hash_seed = 0

    def trials(self, block: Block, arms: Sequence[str]) -> Iterator[Record]:
        """Runs a trial of each of `arms` in that order, yielding each record as its trial ends."""
        began = time.monotonic()
        if block.number != self._round:
            self.close()
            self._round, self._hash_seed = block.number, block.seed
        self._start(block, arms)
        imports = time.monotonic() - began
        for name in arms:
            parent = self._parents[_key(block, _arm(block, name))]
            if isinstance(parent, Parent) and not parent.alive:
                self._start(block, (name,))
            yield self._trial(block, _arm(block, name), imports / len(arms))

    def close(self) -> None:
        """Ends every parent, and the trial in hand with it."""
        parents, self._parents, self._round = self._parents, {}, None
        for parent in parents.values():
            if isinstance(parent, Parent):
                parent.close()

    def _start(self, block: Block, arms: Sequence[str]) -> None:
        """Starts the parents that these arms lack, together, and waits until all have imported; one that can't leaves its reason."""
        starting: dict[tuple[str, str], Parent] = {}
        for name in arms:
            arm = _arm(block, name)
            key = _key(block, arm)
            known = self._parents.get(key)
            if known is None or not (isinstance(known, Parent) and known.alive):
                build = self._build(block, arm)
                variables = {**build_environment(build, threads=self._threads, hash_seed=self._hash_seed), **arm.environment}
                variables["VLLM_PLUGINS"] = ATTEST_PLUGIN
                log = self._folder / "imports" / f"block{block.number:03d}-{len(self._parents)}.log"
                log.unlink(missing_ok=True)
                starting[key] = self._parents[key] = Parent(build, self._benches or (_workload(block).bench,), variables, log)
        for key, parent in starting.items():
            try:
                parent.ready()
            except CannotRun as error:
                parent.close()
                self._parents[key] = str(error)

    def _build(self, block: Block, arm: Arm) -> ReadyBuild:
        return self._builds[block.scenario.builds[arm.build].label]

    def _trial(self, block: Block, arm: Arm, imports: float) -> Record:
        build, scenario = self._build(block, arm), block.scenario
        folder = self._folder / scenario.name / f"block{block.number:03d}-{arm.name}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        log = folder / "trial.log"
        variables = self._variables(block, arm, folder)
        started, began, before = _now(), time.monotonic(), environment.moment()
        parent = self._parents[_key(block, arm)]
        fault = parent if isinstance(parent, str) else _run(parent, block, variables, folder, log)
        spent = time.monotonic() - began
        scrub_file(log)
        text = log.read_text(errors="replace") if log.exists() else ""
        bench = self._bench_of(_workload(block).bench)
        reading = read_trial(folder, _cases(block, bench))
        attestation = attest.read(folder / "attest", build)
        status, reason = judge(reading, fault, attest.verify(attestation, arm, build, text, bench.exercises), folder, log)
        return Record(
            schema=SCHEMA,
            scenario=scenario.name,
            digest=scenario.digest,
            definition=scenario.definition,
            profile=scenario.profile,
            seed=self._seed,
            block=block.number,
            position=block.order.index(arm.name),
            order=block.order,
            arm=arm.name,
            started=started,
            status=status,
            reason=reason,
            how="forked",
            measurements=reading.measurements,
            raw=reading.raw,
            witnesses=reading.witnesses,
            work=reading.work,
            seconds=phases(folder, reading, imports, spent),
            warnings=(*build.warnings, *reading.warnings, *_parent_warnings(parent)),
            attestation=attestation,
            environment=self._describe(block, build, variables, before),
            log=str(log.relative_to(self._folder.parent)),
        )

    def _variables(self, block: Block, arm: Arm, folder: Path) -> dict[str, str]:
        bench = self._bench_of(_workload(block).bench)
        watch = {*bench.exercises, *catalog.targets_of(block.scenario.arms)}
        return {
            **arm_variables(arm, attest=folder / "attest", watch=watch),
            "PERFPROOF_CASES": json.dumps(list(_cases(block, bench).values())),
        }

    def _describe(self, block: Block, build: ReadyBuild, variables: Mapping[str, str], before: Mapping[str, Any]) -> dict[str, Any]:
        everything = {**build_environment(build, threads=self._threads, hash_seed=self._hash_seed), **variables}
        return {
            **environment.machine(),
            "before": before,
            "after": environment.moment(),
            "variables": environment.kept(everything),
            "build": scrub(build.label),
            "device": build.fingerprint.device,
            "packages": dict(build.fingerprint.packages),
        }


def _arm(block: Block, name: str) -> Arm:
    return next(arm for arm in block.scenario.arms if arm.name == name)


def _key(block: Block, arm: Arm) -> tuple[str, str]:
    """Arms with the same build and the same variables of their own share a parent."""
    return block.scenario.builds[arm.build].label, json.dumps(dict(arm.environment), sort_keys=True)


def _workload(block: Block) -> MicroWorkload:
    workload = block.scenario.workload
    assert isinstance(workload, MicroWorkload)  # noqa: S101 (the caller chose this lane by it)
    return workload


def _cases(block: Block, bench: Bench) -> dict[str, dict[str, Any]]:
    """The parameters of every case by its name; one alone has the name ""."""
    workload = _workload(block)
    cases = workload.cases or ({},)
    if len(cases) == 1:
        return {"": {**workload.parameters, **cases[0]}}
    return {catalog.case_name(case): {**workload.parameters, **case} for case in cases}


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _run(parent: Parent, block: Block, variables: Mapping[str, str], folder: Path, log: Path) -> str:
    """Runs a trial to its end; how it failed, "" if it did not."""
    try:
        code = parent.trial(_workload(block).bench, variables, block.seed, folder, log)
    except CannotRun as error:
        return str(error)
    return "" if code == 0 else f"the trial {how_ended(code, 0.0)}"


def _parent_warnings(parent: Parent | str) -> list[str]:
    if isinstance(parent, str) or not parent.faults:
        return []
    return [f"did not import: {fault}" for fault in parent.faults]


# --- reading what a trial left ------------------------------------------------------------------------------


def read_trial(folder: Path, cases: Mapping[str, Mapping[str, Any]]) -> Reading:
    """Reads `benchmark.json` and `trial.json`; each metric is the median of its rounds, in seconds.

    The n-th benchmark of a test is the n-th case. What a test calls its rounds is its own affair
    (`extra_info["metric"]`, `round_time` unless it says so).
    """
    told, benchmarks = _json(folder / "trial.json"), _json(folder / "benchmark.json").get("benchmarks", [])
    names, seen = list(cases), dict[str, int]()
    raw: dict[str, list[float]] = {}
    witnesses: dict[str, float] = {}
    work: dict[str, int] = {}
    twice: list[str] = []
    warnings = [f"{test['name']}: {test['why']}" for test in told.get("tests", []) if test["outcome"] == "skipped"]
    for one in benchmarks:
        test = one["name"].partition("[")[0]
        place = seen.get(test, 0)
        seen[test] = place + 1
        case = one.get("param") if place >= len(names) else names[place]
        extra = one["extra_info"]
        metric = _at(extra.get("metric", "round_time"), case)
        if metric in raw:
            twice.append(f"two tests of the benchmark measure {metric}: one must name another in extra_info['metric']")
        raw[metric] = one["stats"]["data"]
        for kept, name in ((witnesses, "witnesses"), (work, "work")):
            for key, value in extra.get(name, {}).items():
                if kept.setdefault(_at(key, case), value) != value:
                    warnings.append(
                        f"{test}: {name} {_at(key, case)} is {value}, another test of the same trial has {kept[_at(key, case)]}"
                    )
    return Reading(
        measurements={name: median(rounds) for name, rounds in raw.items()},
        raw=raw,
        witnesses=witnesses,
        work=work,
        warnings=warnings,
        reason=_why_nothing(told, bool(raw)) or "; ".join(twice[:1]),
    )


def _at(name: str, case: str | None) -> str:
    return f"{name}@{case}" if case else name


def _why_nothing(told: Mapping[str, Any], measured: bool) -> str:
    """Why the trial has no measurement that counts; "" if it has."""
    failed = [f"{test['name']}: {test['why']}" for test in told.get("tests", []) if test["outcome"] == "failed"]
    if told.get("fault") or failed:
        return told.get("fault") or failed[0]
    skipped = [test["why"] for test in told.get("tests", []) if test["outcome"] == "skipped"]
    if not measured:
        return skipped[0] if skipped else f"{NOTHING} (pytest ended with {told.get('pytest', 'nothing')})"
    return ""


def judge(reading: Reading, fault: str, unattested: str, folder: Path, log: Path) -> tuple[Status, str]:
    """The trial's status, with the reason in words. A kill from outside says nothing of the arm: the block is invalid, not failed."""
    if KILLED in fault:
        return "invalid", f"interrupted from outside: {fault}"
    if fault or reading.reason:
        told = reading.reason if (folder / "trial.json").exists() and reading.reason else fault
        lines = tail(log, 8) if (fault and not told.startswith((NOT_HERE, "PatchRefused"))) or told.startswith(NOTHING) else ""
        return "failed", told.removeprefix("PatchRefused: ") + (f"\n{lines}" if lines and lines not in told else "")
    if unattested:
        return "unattested", unattested
    return "ok", ""


def phases(folder: Path, reading: Reading, imports: float, spent: float) -> dict[str, float]:
    """Where the trial's seconds went: its share of the imports, building state, timed rounds, and all else."""
    told = _json(folder / "trial.json").get("seconds", {})
    measured = sum(sum(rounds) for rounds in reading.raw.values())
    setup = max(0.0, float(told.get("tests", 0.0)) - measured)
    found = {
        "import": imports,
        "setup": setup,
        "measure": measured,
        "overhead": max(0.0, spent - setup - measured),
        "total": imports + spent,
    }
    return {name: round(seconds, 4) for name, seconds in found.items()}


def _json(path: Path) -> dict[str, Any]:
    """A file's object; empty where the trial did not come to write it."""
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return found
