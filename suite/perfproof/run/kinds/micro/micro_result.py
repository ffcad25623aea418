"""Reads and judges the files of a micro trial.

pytest-benchmark writes `benchmark.json`; `suite/perfproof/child/micro.py` writes `trial.json`, which says how every test ended and how
long it took. A trial that measured nothing gets a reason.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from perfproof.model.records.record import Status
from perfproof.run.host.disk_space import INTERRUPTED
from perfproof.run.kinds.micro import round_checks
from perfproof.run.processes.trial_process import tail
from perfproof.run.servers.log_diagnosis import interrupted

KILLED = "was ended by SIGKILL"
NOT_HERE = "not in this version"
NOTHING = "the benchmark measured nothing"
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


def read_trial(folder: Path, cases: Mapping[str, Mapping[str, Any]]) -> Reading:
    """Reads `benchmark.json` and `trial.json`; each metric is the median of its rounds, in seconds.

    The n-th benchmark of a test is the n-th case. A test names its metric in `extra_info["metric"]` (default: `round_time`); what it
    measured besides its rounds (device time) is in `extra_info["measurements"]`.
    """
    told, benchmarks = _json(folder / "trial.json"), _json(folder / "benchmark.json").get("benchmarks", [])
    counted = told.get("counted", {})
    names, seen = list(cases), dict[str, int]()
    raw: dict[str, list[float]] = {}
    other_measurements: dict[str, float] = {}
    witnesses: dict[str, float] = {}
    work: dict[str, int] = {}
    twice: list[str] = []
    warnings = [f"{test['name']}: {test['why']}" for test in told.get("tests", []) if test["outcome"] == "skipped"]
    warnings += counted.get("warnings", [])
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
        warnings += round_checks.warnings(metric, raw[metric], int(one["stats"].get("iterations", 1)))
        other_measurements |= {_at(key, case): float(value) for key, value in extra.get("measurements", {}).items()}
        for kept, name in ((witnesses, "witnesses"), (work, "work")):
            for key, value in extra.get(name, {}).items():
                if kept.setdefault(_at(key, case), value) != value:
                    warnings.append(
                        f"{test}: {name} {_at(key, case)} is {value}, another test of the same trial has {kept[_at(key, case)]}"
                    )
    return Reading(
        measurements={name: median(values) for name, values in raw.items()} | other_measurements,
        raw=raw,
        witnesses=witnesses,
        work=work,
        warnings=warnings,
        reason=_why_nothing(told, bool(raw)) or "; ".join(twice[:1]),
        counts=counted.get("counts", {}),
    )


def _at(name: str, case: str | None) -> str:
    return f"{name}@{case}" if case else name


def _why_nothing(outcome: Mapping[str, Any], measured: bool) -> str:
    """Why the trial has no measurement that counts; "" if it has one."""
    failed = [f"{test['name']}: {test['why']}" for test in outcome.get("tests", []) if test["outcome"] == "failed"]
    if outcome.get("fault") or failed:
        return outcome.get("fault") or failed[0]
    skipped = [test["why"] for test in outcome.get("tests", []) if test["outcome"] == "skipped"]
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
        cause = reading.reason if (folder / "trial.json").exists() and reading.reason else fault
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
