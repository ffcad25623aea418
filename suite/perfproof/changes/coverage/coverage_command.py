"""`perfproof coverage`: everything runs once under the counter, and the command says what of vLLM's host code was called, by what.

In order: the build is made; the features of the counted engine are counted, their engines are watched while they are made, and a server is
watched from its start to its end, unless that is known of this very vLLM; every microbenchmark that perfproof brings runs a round under
the counter, all forked from one import; the functions that the build's sources define, and those that differ from an earlier vLLM, are
read; the figures are printed. Nothing depends on times: the machine may be busy.
"""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.prepare import prepare
from perfproof.changes.coverage.coverage_figures import Coverage, covered
from perfproof.changes.coverage.coverage_page import document, page, sentences
from perfproof.changes.coverage.vllm_functions import differing, functions_below
from perfproof.changes.observed.call_table import CallTable, write_table
from perfproof.changes.observed.observed_calls import (
    FEATURE,
    SERVER,
    START,
    calls_in_count,
    calls_in_records,
    calls_of,
    keep_calls,
    names_of_vllm,
    table_of,
    tables_for,
    whatever,
)
from perfproof.child.engine.features import FEATURES
from perfproof.commands.run_scenarios import load
from perfproof.model.base.errors import EXIT_PASS, EXIT_UNTESTABLE, BadInput
from perfproof.model.installed.scenario_folders import scenario_files
from perfproof.model.records.record import Record
from perfproof.model.scenarios.build import Build
from perfproof.model.scenarios.plan import Block, Plan
from perfproof.model.scenarios.scenario import Scenario
from perfproof.run.trials.engine_counting import Wanted, count
from perfproof.run.trials.engine_starts import calls_at_start, calls_of_server
from perfproof.runners import build_faults, opened
from perfproof.tracking.released_scenario import NamedBuild, alone, named_build

V1 = "v1"
"""The folder of vLLM whose functions are looked at."""
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageRequest:
    """The build to look at by its spec, the earlier one that it is compared with (None: none), the folder of builds; whether the engine is
    looked at again although it is known; where the page and the table of observed calls go, if they are wanted."""

    build: str
    since: str | None
    builds: Path
    again: bool = False
    as_json: bool = False
    page: Path | None = None
    table: Path | None = None


def perform(request: CoverageRequest, console: Console | None = None) -> int:
    """Observes, and prints the figures. Returns the exit code: 3 if something could not be observed.

    Raises `BadInput` for faulty builds.
    """
    console = console or Console()
    say = partial(Console(stderr=True).print if request.as_json else console.print, highlight=False, markup=False, soft_wrap=True)
    build = _made(request.build, request.builds, say)
    earlier = None if request.since is None else _made(request.since, request.builds, say)
    table, unseen = observed(request, build, say)
    found = coverage_of(table, build.fingerprint.package, earlier.fingerprint.package if earlier else None, since=request.since or "")
    if request.table is not None:
        write_table(table, request.table)
    if request.page is not None:
        request.page.write_text(page(found, request.build), encoding="utf-8")
    if request.as_json:
        print(json.dumps(document(found, unseen), indent=1))
    else:
        for line in [*sentences(found), *unseen]:
            console.print(line, highlight=False, markup=False, soft_wrap=True)
    return EXIT_UNTESTABLE if unseen else EXIT_PASS


def coverage_of(table: CallTable, package: Path, earlier: Path | None, *, since: str) -> Coverage:
    """The coverage of a table, of a vLLM whose package lies there, against another one if there is one."""
    functions = functions_below(package, V1)
    changed = None if earlier is None else differing(functions_below(earlier, V1), functions)
    return covered(table, functions, changed=changed, since=since)


def _made(spec: str, builds: Path, say: Say) -> ReadyBuild:
    build = _noun(spec)
    if faults := build_faults(build):
        raise BadInput(*faults)
    return prepare(build, builds, say)


def _noun(spec: str) -> Build:
    """The build of a spec."""
    named = named_build(spec, Path.cwd())
    return next(iter(alone(load(scenario_files()[:1], "quick", None)[0], named).builds.values()))


# --- what calls what -----------------------------------------------------------------------------------------------


def observed(request: CoverageRequest, build: ReadyBuild, say: Say) -> tuple[CallTable, list[str]]:
    """What every feature and every microbenchmark calls, and sentences on what could not be observed."""
    engine, unseen = _of_engine(request, build, say)
    scenarios = benchmarks(named_build(request.build, Path.cwd()))
    records = list(trials(scenarios, request.builds, say))
    seen = calls_in_records(build, scenarios, records)
    calls = {**engine, **{subject: names for subject, names in seen.items() if whatever(subject) == subject}}
    unseen += [
        f"not observed: {subject}: {record.reason or '; '.join(record.warnings) or 'its work was not counted'}"
        for scenario, record in zip(scenarios, records, strict=True)
        for subject in map(whatever, scenario.workload.observed_as)
        if subject not in calls and not record.reason.startswith("not in this version")
    ]
    return table_of(build, dict(sorted(calls.items()))), list(dict.fromkeys(unseen))


def _of_engine(request: CoverageRequest, build: ReadyBuild, say: Say) -> tuple[dict[str, frozenset[str]], list[str]]:
    """What the features call, those that count a start among them, what making the others' engines does, and what a server calls. What is
    known of this very vLLM is not looked at again, unless asked."""
    features = {FEATURE + one.name: one for one in FEATURES if not one.positions}
    tables = [] if request.again else [table for table in tables_for(build, request.builds) if table[1]]
    known = {subject: seen.functions for subject in (*features, START, SERVER) if (seen := calls_of(tables, [subject])) is not None}
    unseen = []
    if missing := {one.name: one.sizes[:1] for subject, one in features.items() if subject not in known}:
        counted = count([Wanted(build=build, cells=missing)], request.builds, say)[0]
        known |= calls_in_count(counted)
        unseen = [f"not observed: feature {one.feature}: {one.why}" for one in counted.left_out if one.kind == "fault"]
    if START not in known:
        started, faults = calls_at_start(build, [one.name for one in features.values() if not one.starts], request.builds)
        known[START] = names_of_vllm(started)
        unseen += [f"not observed: {fault}" for fault in faults]
    if SERVER not in known:
        called, faults = calls_of_server(build, request.builds)
        known[SERVER] = names_of_vllm(called)
        unseen += [f"not observed: {fault}" for fault in faults]
    if not unseen:
        keep_calls(build, known, request.builds)
    return known, unseen


def benchmarks(named: NamedBuild) -> list[Scenario]:
    """A scenario of each workload of a microbenchmark that runs on a CPU, as released, with a single round."""
    found: dict[str, Scenario] = {}
    for one in load(scenario_files(), "quick", None):
        if one.workload.benchmark and one.device in (None, "cpu"):
            found.setdefault(json.dumps(one.definition["workload"], sort_keys=True), alone(one, named))
    return [dataclasses.replace(one, workload=one.workload.for_counts()) for one in found.values()]


def trials(scenarios: Sequence[Scenario], builds: Path, say: Say) -> Iterator[Record]:
    """A trial of each, all forked from one import."""
    blocks = tuple(Block(scenario=one, number=1, order=tuple(arm.name for arm in one.arms), seed=0) for one in scenarios)
    plan = Plan(scenarios=tuple(scenarios), blocks=blocks, seed=0)
    with (
        tempfile.TemporaryDirectory(prefix="perfproof-coverage-") as results,
        opened(plan, builds, Path(results), say, itself=True) as runner_for,
    ):
        for block in blocks:
            yield from runner_for(block.scenario).trials(block, block.order)
