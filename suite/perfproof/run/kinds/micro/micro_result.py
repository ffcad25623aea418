"""Reads and judges the files of a micro trial.

pytest-benchmark writes `benchmark.json`; `suite/perfproof/child/micro.py` writes `trial.json`, which says how every test ended and how
long it took. A trial that measured nothing gets a reason.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from perfproof.model.records.record import INTERRUPTED, Status
from perfproof.model.scenarios.metrics import is_timed
from perfproof.run.kinds.micro import round_checks
from perfproof.run.processes.trial_process import tail
from perfproof.run.servers.log_diagnosis import interrupted

KILLED = "was ended by SIGKILL"
NOT_HERE = "not in this version"
NOTHING = "the benchmark measured nothing"
SKIPPED = "Skipped: "
"""How the reason begins of a benchmark that skipped itself while it was counted."""
NO_TESTS = "the benchmark has no test that takes the fixture benchmark; write one: def test_mine(benchmark): benchmark(function)"
MOST_ROUNDS = 1000
"""The most rounds of a metric that a record keeps; of more, every second, third and so on. The median is over all rounds."""
OF_VLLM = ("_C", "_moe_C", "_vllm", "vllm")
"""How the names of vLLM's own compiled operators begin."""
PASSED, NO_TEST = 0, 5
"""Exit codes of pytest."""
UNWRITTEN = "the trial found no room for the files that it leaves: a full disk, a spent quota, or a limit on their size (ulimit -f)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a trial's files say: a value and the raw rounds for each metric, witnesses, work, the counted round of each case; `reason` if
    it measured nothing."""

    measurements: Mapping[str, float]
    raw: Mapping[str, Sequence[float]]
    witnesses: Mapping[str, float]
    work: Mapping[str, int]
    warnings: Sequence[str]
    reason: str
    counts: Mapping[str, Any]
    rounds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """All rounds of each metric, of which `raw` may hold every second, third and so on."""
    untouched: str = ""
    """Why it measures nothing of vLLM: no test calls a function of vLLM in its round; "" if one does, or nobody looked."""


def read_trial(folder: Path, cases: Mapping[str, Mapping[str, Any]], *, explains: bool = True, by_ids: bool = False) -> Reading:
    """Reads `benchmark.json` and `trial.json`; each metric is the median of its rounds, in seconds.

    The n-th benchmark of a test is the n-th case. A test names its metric in `extra_info["metric"]` (default: `round_time`); what it
    measured besides its rounds (device time) is in `extra_info["measurements"]`. What a test leaves there is somebody else's unless the
    benchmark `explains` what it measures. `by_ids` says that the tests' ids are the cases; a single test has none.
    """
    told, benchmarks = _json(folder / "trial.json"), _json(folder / "benchmark.json").get("benchmarks", [])
    alone = len(told.get("benchmarks", [])) == 1
    counted = told.get("counted", {})
    names, seen = list(cases), dict[str, int]()
    every: dict[str, list[float]] = {}
    medians: dict[str, float] = {}
    other_measurements: dict[str, float] = {}
    witnesses: dict[str, float] = {}
    work: dict[str, int] = {}
    twice: list[str] = []
    warnings = [f"{test['name']}: {test['why']}" for test in told.get("tests", []) if test["outcome"] == "skipped"]
    warnings += counted.get("warnings", [])
    warnings += [f"{test}: its round calls no function of vLLM" for test, calls in counted.get("observed", {}).items() if not calls]
    of_test: dict[str, str] = {}
    for one in benchmarks:
        test = one["name"].partition("[")[0]
        place = seen.get(test, 0)
        seen[test] = place + 1
        own_id = one.get("fullname", "").partition("::")[2]
        of_parameters = one.get("param") if place >= len(names) else names[place]
        case = ("" if alone else own_id) if by_ids else of_parameters
        of_test[own_id] = case or ""
        extra = one["extra_info"] if explains else {}
        metric = _at(extra.get("metric", "round_time"), case)
        if metric in every:
            twice.append(f"two tests of the benchmark measure {metric}: one must name another in extra_info['metric']")
        rounds = one["stats"]["data"]
        every[metric], medians[metric] = rounds, median(rounds)
        warnings += round_checks.warnings(metric, rounds, int(one["stats"].get("iterations", 1)))
        other_measurements |= {_at(key, case): float(value) for key, value in extra.get("measurements", {}).items()}
        for kept, name in ((witnesses, "witnesses"), (work, "work")):
            for key, value in extra.get(name, {}).items():
                if kept.setdefault(_at(key, case), value) != value:
                    warnings.append(
                        f"{test}: {name} {_at(key, case)} is {value}, another test of the same trial has {kept[_at(key, case)]}"
                    )
    return Reading(
        measurements=medians | other_measurements,
        raw={metric: rounds[:: -(-len(rounds) // MOST_ROUNDS)] for metric, rounds in every.items()},
        rounds=every,
        witnesses=witnesses,
        work=work,
        warnings=warnings,
        reason=_why_nothing(told, bool(every)) or "; ".join(twice[:1]),
        counts={of_test.get(test, test): table for test, table in counted.get("counts", {}).items()},
        untouched=_untouched(counted),
    )


def read_counted(folder: Path) -> Reading:
    """Reads `trial.json` of a trial that only counted; it says why, if no case was counted."""
    told = _json(folder / "trial.json")
    counted = told.get("counted", {})
    counts, left_out = counted.get("counts", {}), counted.get("left_out", {})
    why = next(iter(left_out.values()), "the trial counted nothing")
    return Reading(
        measurements={},
        raw={},
        witnesses={},
        work={},
        warnings=counted.get("warnings", []) if counts else [],
        reason=told.get("fault") or ("" if counts else why.removeprefix(SKIPPED)),
        counts=counts,
    )


def read_collected(folder: Path) -> tuple[list[str], str]:
    """The ids of the tests that a trial only collected, and why they can't be measured: there are none, or their imports failed."""
    told = _json(folder / "trial.json")
    tests: list[str] = told.get("benchmarks", [])
    failed = [test["why"] for test in told.get("tests", []) if test["outcome"] == "failed"]
    lines = tail(folder / "trial.log", 8)
    unread = "" if told.get("pytest") in (PASSED, NO_TEST) else f"its tests can't be collected:\n{lines}"
    return tests, (failed or [told.get("fault") or unread or ("" if tests else NO_TESTS)])[0]


def without_metrics(reading: Reading, wanted: Sequence[str]) -> Reading:
    """The reading of a trial whose tests' ids are its cases; with a reason if the scenario asks for times of tests that are none."""
    absent = [name for name in wanted if is_timed(name) and name not in reading.measurements]
    if not absent or reading.reason:
        return reading
    test = absent[0].rpartition("@")[2].rpartition("::")[2]
    skipped = [warning for warning in reading.warnings if warning.startswith(f"{test}: ")]
    there = "; ".join(reading.measurements) or "none"
    why = skipped[0] if skipped else f"metrics.{absent[0]}: the benchmark has no such test; write one of: {there}"
    return dataclasses.replace(reading, reason=why)


def _untouched(counted: Mapping[str, Any]) -> str:
    observed = counted.get("observed", {})
    compiled = any(operator.startswith(OF_VLLM) for table in counted.get("counts", {}).values() for operator in table["operators"])
    if not observed or any(observed.values()) or compiled:
        return ""
    return "no round of the benchmark calls a function of vLLM: what it measures is the same in every build"


def _at(name: str, case: str | None) -> str:
    return f"{name}@{case}" if case else name


def _why_nothing(outcome: Mapping[str, Any], measured: bool) -> str:
    """Why the trial has no measurement that counts; "" if it has one."""
    failed = [f"{test['name']}: {test['why']}" for test in outcome.get("tests", []) if test["outcome"] == "failed"]
    if outcome.get("fault") or failed:
        return outcome.get("fault") or failed[0]
    skipped = [test["why"] for test in outcome.get("tests", []) if test["outcome"] == "skipped"]
    if outcome.get("pytest") in (PASSED, NO_TEST) and not skipped and not outcome.get("benchmarks"):
        return NO_TESTS
    if not measured:
        return skipped[0] if skipped else f"{NOTHING} (pytest ended with {outcome.get('pytest', 'nothing')})"
    return ""


def judge(reading: Reading, fault: str, unattested: str, folder: Path, log: Path) -> tuple[Status, str]:
    """The trial's status, with the reason in words.

    A kill from outside and a full disk are not the arm's fault: the block is invalid, not failed.
    """
    if KILLED in fault or fault == UNWRITTEN:
        return "invalid", f"{INTERRUPTED}: {fault}"
    if fault or reading.reason:
        cause = reading.reason if reading.reason and (not fault or (folder / "trial.json").exists()) else fault
        lines = tail(log, 8) if (fault and not cause.startswith((NOT_HERE, "PatchRefused"))) or cause.startswith(NOTHING) else ""
        reason = cause.removeprefix("PatchRefused: ") + (f"\n{lines}" if lines and lines not in cause else "")
        outside = interrupted(reason)
        return ("invalid", outside) if outside else ("failed", reason)
    if unattested:
        return "unattested", unattested
    return "ok", ""


def phases(folder: Path, reading: Reading, imports: float, spent: float) -> dict[str, float]:
    """Where the trial's seconds went: its share of the imports, building state, timed rounds, counting, and all else."""
    spent_by_phase = _json(folder / "trial.json").get("seconds", {})
    counted = {"count": float(spent_by_phase["count"])} if "count" in spent_by_phase else {}
    measured = sum(sum(values) for values in reading.raw.values())
    setup = max(0.0, float(spent_by_phase.get("tests", 0.0)) - measured)
    shares = {
        "import": imports,
        "setup": setup,
        "measure": measured,
        **counted,
        "overhead": max(0.0, spent - setup - measured - sum(counted.values())),
        "total": imports + spent,
    }
    return {name: round(seconds, 4) for name, seconds in shares.items()}


def _json(path: Path) -> dict[str, Any]:
    """A file's JSON object; empty where the trial did not write it."""
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return content
