"""What a micro trial left in its folder, read and judged.

`benchmark.json` is pytest-benchmark's, `trial.json` says how every test ended and how long it took
(`suite/perfproof/child/micro.py`). A trial that measured nothing says why.
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

    The n-th benchmark of a test is the n-th case. What a test calls its rounds is its own affair
    (`extra_info["metric"]`, `round_time` unless it says so); what it measured beside them (device time) is in
    `extra_info["measurements"]`.
    """
    told, benchmarks = _json(folder / "trial.json"), _json(folder / "benchmark.json").get("benchmarks", [])
    counted = told.get("counted", {})
    names, seen = list(cases), dict[str, int]()
    raw: dict[str, list[float]] = {}
    told_apart: dict[str, float] = {}
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
        told_apart |= {_at(key, case): float(value) for key, value in extra.get("measurements", {}).items()}
        for kept, name in ((witnesses, "witnesses"), (work, "work")):
            for key, value in extra.get(name, {}).items():
                if kept.setdefault(_at(key, case), value) != value:
                    warnings.append(
                        f"{test}: {name} {_at(key, case)} is {value}, another test of the same trial has {kept[_at(key, case)]}"
                    )
    return Reading(
        measurements={name: median(values) for name, values in raw.items()} | told_apart,
        raw=raw,
        witnesses=witnesses,
        work=work,
        warnings=warnings,
        reason=_why_nothing(told, bool(raw)) or "; ".join(twice[:1]),
        counts=counted.get("counts", {}),
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
    """The trial's status, with the reason in words.

    A kill from outside and a full disk say nothing of the arm: the block is invalid, not failed.
    """
    if KILLED in fault or fault == UNWRITTEN:
        return "invalid", f"{INTERRUPTED}: {fault}"
    if fault or reading.reason:
        told = reading.reason if (folder / "trial.json").exists() and reading.reason else fault
        lines = tail(log, 8) if (fault and not told.startswith((NOT_HERE, "PatchRefused"))) or told.startswith(NOTHING) else ""
        reason = told.removeprefix("PatchRefused: ") + (f"\n{lines}" if lines and lines not in told else "")
        outside = interrupted(reason)
        return ("invalid", outside) if outside else ("failed", reason)
    if unattested:
        return "unattested", unattested
    return "ok", ""


def phases(folder: Path, reading: Reading, imports: float, spent: float) -> dict[str, float]:
    """Where the trial's seconds went: its share of the imports, building state, timed rounds, counting, and all else."""
    told = _json(folder / "trial.json").get("seconds", {})
    counted = {"count": float(told["count"])} if "count" in told else {}
    measured = sum(sum(values) for values in reading.raw.values())
    setup = max(0.0, float(told.get("tests", 0.0)) - measured)
    found = {
        "import": imports,
        "setup": setup,
        "measure": measured,
        **counted,
        "overhead": max(0.0, spent - setup - measured - sum(counted.values())),
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
