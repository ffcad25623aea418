"""One trial: a new process that runs the wanted benchmarks in one side's checkout, and its records.

The process uses the session's own interpreter; it runs pytest with the session's arguments, without those that would disturb
(`trial_arguments`). Its environment is the session's own, because a project's tests may need any of it. A trial reports which files of its
checkout were loaded; a trial that loaded the other side's files, or an installed copy of modules that the change touches, proves nothing.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from perfproof.builds.processes.supervised_process import Finished
from perfproof.model.base import clock
from perfproof.model.base.name_lists import few
from perfproof.model.records.record import INTERRUPTED, SCHEMA, Record, Status
from perfproof.model.scenarios.scenario import Scenario
from perfproof.pytest_plugin import INSIDE, node_ids, trial_arguments
from perfproof.pytest_plugin.worktrees import Change
from perfproof.run.host import environment, telemetry
from perfproof.run.kinds.micro.round_checks import warnings as round_warnings
from perfproof.run.processes.trial_process import run_to_end, scrub, tail
from perfproof.run.servers.log_diagnosis import interrupted

CHILD = Path(__file__).resolve().parents[1] / "child" / "benchmarks.py"
LIMIT = 3600.0
"""Seconds after which a trial is ended and counts as failed."""
PACKAGES = ("pytest", "pytest-benchmark", "numpy", "torch", "vllm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One arm: its name, its label, its checkout, and the checkout from which nothing may be imported."""

    arm: str
    label: str
    tree: Path
    other: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The session's arguments; its working folder, its rootdir and its import folders, relative to the top; its plugins; and the modules
    that the change touches."""

    given: tuple[str, ...]
    here: Path
    rootdir: str
    plugins: frozenset[str]
    folders: tuple[str, ...]
    modules: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A trial that has ended: the report of its process (empty if there is none), and the machine's state meanwhile."""

    report: Mapping[str, Any]
    finished: Finished
    started: str
    seen: Mapping[str, float]
    before: Mapping[str, Any]
    variables: Mapping[str, str]

    @property
    def sources(self) -> Mapping[str, str]:
        """The hashes of the checkout's files that it loaded."""
        hashes: dict[str, str] = self.report.get("sources", {})
        return hashes


def run(
    change: Change, session: Session, side: Side, wanted: Sequence[str] | None, folder: Path, hash_seed: int, *, count: bool = False
) -> Ran:
    """Runs the wanted tests of one side, each once; None collects only. `folder`, empty, takes what the process leaves. With `count` their
    work is counted, and nothing is timed."""
    folder.mkdir(parents=True)
    words = trial_arguments.of_trial(session.given, change.root, change.root / session.here, side.tree, folder, session.plugins)
    rootdir = os.path.normpath(side.tree / session.rootdir)
    order = {
        "arguments": [*words, f"--rootdir={rootdir}", *(["--collect-only"] if wanted is None else [])],
        "wanted": None if wanted is None else list(wanted),
        "folder": str(folder),
        "passing": node_ids.PASSING,
        "count": count,
        "tree": str(side.tree),
        "other": str(side.other),
        "modules": list(session.modules),
    }
    (folder / "order.json").write_text(json.dumps(order))
    variables = trial_arguments.environment(os.environ, session.folders, change.root, side.tree, hash_seed)
    started, before, quiet = clock.now(), environment.moment(), telemetry.read()
    done = run_to_end(
        [sys.executable, CHILD, folder / "order.json"],
        environment={**variables, INSIDE: "1"},
        log=folder / "trial.log",
        timeout=LIMIT,
        folder=side.tree / session.here,
    )
    seen = telemetry.between(quiet, telemetry.read(gpus=True))
    return Ran(report=_read_report(folder / "trial.json"), finished=done, started=started, seen=seen, before=before, variables=variables)


def why_none(ran: Ran) -> str:
    """Why a trial has no report about its tests; "" if it has one."""
    if "tests" not in ran.report:
        return f"the process {ran.finished.how()}:\n{tail(ran.finished.log, 8)}"
    if ran.report["faults"] and not ran.report["found"]:
        return f"the tests could not be collected: {ran.report['faults'][0]}"
    code = int(ran.report["pytest"])
    return f"pytest ended with {code}:\n{tail(ran.finished.log, 8)}" if code not in (0, 1, 5) else ""


def records(ran: Ran, scenarios: Mapping[str, Scenario], side: Side, block: int, order: Sequence[str], seed: int, log: str) -> list[Record]:
    """A record for each of the benchmarks that the trial was to run; `scenarios` are by node id."""
    none, unproved = why_none(ran), _unproved(ran, side)
    return [
        _record(
            ran,
            scenario,
            _Place(side=side, block=block, order=tuple(order), seed=seed, share=len(scenarios), log=log),
            test,
            none,
            unproved,
        )
        for test, scenario in scenarios.items()
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The position of a record: side, block and order; `share` benchmarks shared the process."""

    side: Side
    block: int
    order: tuple[str, ...]
    seed: int
    share: int
    log: str


def _record(ran: Ran, scenario: Scenario, place: _Place, test: str, none: str, unproved: str) -> Record:
    measured: dict[str, Any] = ran.report.get("benchmarks", {}).get(test, {})
    status, reason = _status(ran, test, bool(measured), none, unproved)
    seconds = ran.finished.seconds / place.share
    rounds = measured.get("rounds", [])
    return Record(
        schema=SCHEMA,
        scenario=scenario.name,
        digest=scenario.digest,
        definition=scenario.definition,
        profile=scenario.profile,
        seed=place.seed,
        block=place.block,
        position=place.order.index(place.side.arm),
        order=place.order,
        arm=place.side.arm,
        started=ran.started,
        status=status,
        reason=scrub(reason),
        how="process",
        measurements={"round_time": float(measured["median"])} if measured else {},
        raw={"round_time": rounds} if measured else {},
        witnesses={},
        work={},
        seconds={"total": round(seconds, 4)},
        warnings=tuple(round_warnings("round_time", rounds, int(measured.get("iterations", 1)))),
        attestation=None,
        environment={
            **environment.machine(),
            "before": ran.before,
            "after": environment.moment(),
            "variables": environment.kept(ran.variables),
            "build": place.side.label,
            "python": sys.version.partition(" ")[0],
            "packages": dict(_versions()),
            "telemetry": ran.seen,
        },
        log=place.log,
    )


def _status(ran: Ran, test: str, measured: bool, none: str, unproved: str) -> tuple[Status, str]:
    if none:
        outside = interrupted(none) or (f"{INTERRUPTED}: the process was ended by SIGKILL" if "SIGKILL" in none else "")
        return ("invalid", outside) if outside else ("failed", none)
    if test not in ran.report["found"] and not ran.report["faults"]:
        return "unattested", node_ids.MOVING
    outcome = ran.report["tests"].get(test, {"outcome": "failed", "why": "it was not run"})
    if outcome["outcome"] != "passed":
        return "failed", f"{outcome['outcome']}: {outcome['why']}"
    if not measured:
        return "failed", "it passed but measured nothing: its benchmark fixture was not called, or benchmarks are switched off here"
    return ("unattested", unproved) if unproved else ("ok", "")


def _unproved(ran: Ran, side: Side) -> str:
    """Why the trial does not prove that it measured its side; "" if it does."""
    strangers, installed = ran.report.get("strangers", ()), ran.report.get("installed", ())
    if strangers:
        return (
            f"{few(strangers, 3)} came from the other side's checkout, not from {side.label}: this installation points there; "
            'set the folder that the project is imported from (pythonpath = ["src"] in pytest\'s configuration, or python -m pytest)'
        )
    if installed:
        return (
            f"{few(installed, 3)} came from an installed copy, so that no side's checkout was measured: "
            "install the project editable (pip install -e .), or set its import folder (pythonpath in pytest's configuration)"
        )
    return ""


def _versions() -> Iterable[tuple[str, str]]:
    for name in PACKAGES:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            continue


def _read_report(path: Path) -> dict[str, Any]:
    try:
        report: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return report
