"""One session of `pytest --perfproof`, from the collected tests to the exit code."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from perfproof import __version__
from perfproof.analysis.judging.judge import judge_scenario
from perfproof.analysis.trials.paired_trials import latest
from perfproof.model.base import clock
from perfproof.model.base.errors import BadInput, CannotRun, PerfproofError
from perfproof.model.base.name_lists import few
from perfproof.model.base.untrusted import line
from perfproof.model.scenarios.scenario import DEFAULT_MARGIN
from perfproof.model.verdicts.judged import Judged
from perfproof.pytest_plugin import benchmark_outcomes, counted_work, node_ids, trial_arguments, worktrees
from perfproof.pytest_plugin.benchmark_blocks import BASE, CHANGE, Blocks, Design, questions
from perfproof.pytest_plugin.benchmark_outcomes import Finding
from perfproof.pytest_plugin.benchmark_trials import Ran, Session, Side, run, why_none
from perfproof.pytest_plugin.worktrees import Change
from perfproof.report import view
from perfproof.report.formats import terminal
from perfproof.run.host.preflight import Start

VERDICTS = "verdicts.json"
"""The file of findings beside the records, for machines."""
MOST_NAMES = 5
"""The most names in a sentence."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a session: its final text, and its exit code."""

    text: str
    exit_code: int


def measure(session: pytest.Session) -> Outcome:
    """Measures the session's benchmarks and reports each to pytest; an error ends the session with its exit code."""
    config = session.config
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    say: Say = (lambda text: reporter.write_line(line(text))) if reporter else (lambda text: None)
    try:
        with _results(config.getoption("perfproof_results")) as (results, kept):
            return _measured(session, results, kept, say)
    except PerfproofError as error:
        pytest.exit(f"perfproof: {error}", returncode=error.exit_code)


def _measured(session: pytest.Session, results: Path, kept: bool, say: Say) -> Outcome:
    config = session.config
    change = worktrees.find(config.invocation_params.dir, config.getoption("perfproof_base"), results if kept else None)
    tests = {node_ids.stable(item.nodeid): node_ids.stable(_from_top(item, change)) for item in _benchmarks(session)}
    if not tests:
        raise BadInput("none of the tests chosen here uses the fixture `benchmark` of pytest-benchmark: there is nothing to measure")
    ran = _run(config, change, tests, node_ids.twice(node_ids.stable(item.nodeid) for item in _benchmarks(session)), results, say)
    findings = [
        *_findings(ran.blocks, config.getoption("perfproof_fail_on_inconclusive")),
        *(benchmark_outcomes.unmatched(test, why) for test, why in ran.unmatched.items()),
        *(benchmark_outcomes.new(test, change.name) for test in tests if test not in ran.there and test not in ran.unmatched),
    ]
    compared = not ran.there or any(found.judged is not None for found in findings)
    code = benchmark_outcomes.exit_code(findings, compared=compared)
    benchmark_outcomes.report(session, findings, _seconds(ran.blocks), ran.blocks.kept)
    notes = [*_notes(session, change, ran)]
    if kept:
        _write(results / VERDICTS, change, findings, notes, code)
    return Outcome(text=_text(session, ran.blocks, findings, notes, results if kept else None, code), exit_code=code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was run: the blocks, the benchmarks that the base has, those that can't be found on both sides, with why, what of the
    working tree was linked into the base, and the functions that the change touches."""

    blocks: Blocks
    there: Sequence[str]
    unmatched: Mapping[str, str]
    linked: Sequence[str]
    touched: frozenset[str]


def _run(config: pytest.Config, change: Change, tests: Mapping[str, str], shared: Set[str], results: Path, say: Say) -> Measured:
    """Runs the benchmarks that both sides have, alone on this machine; `shared` are ids of more than one benchmark."""
    trial_session, design = _trial_session(config, change), _design(config)
    start = Start(what="pytest --perfproof", profile="quick", wait=60 * config.getoption("perfproof_wait"), anyway=False)
    with start.alone(say), worktrees.checked_out(change) as tree, tempfile.TemporaryDirectory(prefix="perfproof-") as scratch:
        linked, touched = worktrees.link_ignored(change, tree), counted_work.touched_functions(change, tree)
        sides = _sides(change, tree)
        there = _collected(change, trial_session, sides[BASE], Path(scratch) / "collected")
        unmatched = dict.fromkeys(tests.keys() & (shared | node_ids.twice(there)), node_ids.TWICE)
        if lacking := tests.keys() - {*there} - unmatched.keys():
            again = _found(run(change, trial_session, sides[CHANGE], None, Path(scratch) / "again", 0))
            unmatched |= dict.fromkeys(sorted(lacking - {*again}), node_ids.MOVING)
        both = {test: shown for test, shown in tests.items() if test in there and test not in unmatched}
        scenarios = questions(both, change, design)
        blocks = Blocks(change=change, session=trial_session, sides=sides, scenarios=scenarios, design=design, results=results, say=say)
        if scenarios:
            say(f"perfproof: {_count(len(scenarios), 'benchmark')}, {sides[CHANGE].label} against {sides[BASE].label}")
            start.settle(say)
            blocks.run()
    return Measured(blocks=blocks, there=there, unmatched=unmatched, linked=linked, touched=touched)


# --- the request ------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _results(folder_wanted: Path | None) -> Iterator[tuple[Path, bool]]:
    """The folder of the records, and whether it is kept."""
    if folder_wanted is not None:
        try:
            folder_wanted.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"--perfproof-results {folder_wanted}: can't be made: {error.strerror}") from error
        yield folder_wanted, True
        return
    with tempfile.TemporaryDirectory(prefix="perfproof-results-") as folder:
        yield Path(folder), False


def _design(config: pytest.Config) -> Design:
    return Design(
        blocks=config.getoption("perfproof_blocks"),
        margin=config.getoption("perfproof_margin") or DEFAULT_MARGIN,
        seed=config.getoption("perfproof_seed"),
        budget=config.getoption("perfproof_budget"),
    )


def _trial_session(config: pytest.Config, change: Change) -> Session:
    here = config.invocation_params.dir.resolve()
    if not here.is_relative_to(change.root):
        raise BadInput("--perfproof: start pytest inside the repository whose benchmarks you want to measure")
    names = {name for name, plugin in config.pluginmanager.list_name_plugin() if plugin is not None}
    modules = (worktrees.import_name(change.root, file) for file in change.files if (change.root / file).is_file())
    return Session(
        given=tuple(map(str, config.invocation_params.args)),
        here=here.relative_to(change.root),
        rootdir=_rootdir(config, change),
        plugins=frozenset(names),
        folders=tuple(trial_arguments.import_folders(change.root)),
        modules=tuple(filter(None, modules)),
    )


def _from_top(item: pytest.Item, change: Change) -> str:
    """The node id with its file named from the repository's top."""
    path = item.path.resolve()
    return f"{path.relative_to(change.root)}::{item.nodeid.partition('::')[2]}" if path.is_relative_to(change.root) else item.nodeid


def _rootdir(config: pytest.Config, change: Change) -> str:
    """The folder that node ids start from, relative to the repository's top, so that both sides have the same ids."""
    rootdir = config.rootpath.resolve()
    if not rootdir.is_relative_to(change.root.parent):
        raise BadInput(
            f"--perfproof: pytest's rootdir {rootdir} is outside the repository: use --rootdir=., or give pytest a configuration file"
        )
    return os.path.relpath(rootdir, change.root)


def _sides(change: Change, tree: Path) -> Mapping[str, Side]:
    return {
        BASE: Side(arm=BASE, label=f"{change.name} at {change.base[:8]}", tree=tree, other=change.root),
        CHANGE: Side(arm=CHANGE, label="the working tree", tree=change.root, other=tree),
    }


def _collected(change: Change, trial_session: Session, side: Side, folder: Path) -> list[str]:
    """The base's benchmarks. Raises `CannotRun` if its tests can't even be collected."""
    ran = run(change, trial_session, side, None, folder, 0)
    fault = why_none(ran)
    if fault and not ran.report.get("found"):
        raise CannotRun(f"at {side.label}, before any change, {fault}; this is not blamed on the change")
    return _found(ran)


def _found(ran: Ran) -> list[str]:
    """The benchmarks that a trial collected."""
    tests: list[str] = ran.report.get("found", [])
    return tests


# --- the result --------------------------------------------------------------------------------------------------


def _findings(blocks: Blocks, inconclusive_fails: bool) -> Iterator[Finding]:
    for test in blocks.scenarios:
        mine = blocks.kept.get(test, [])
        row, counts = _rows(blocks, test)
        yield benchmark_outcomes.finding(test, row, latest(mine), blocks.change.name, inconclusive_fails=inconclusive_fails, counts=counts)


def _rows(blocks: Blocks, test: str) -> tuple[Judged | None, list[Judged]]:
    """The verdict on a benchmark's time, None where there is no record, and those on its counts."""
    mine = blocks.kept.get(test, [])
    rows = judge_scenario(blocks.scenarios[test].name, mine).judged if mine else ()
    timed = next((row for row in rows if not row.of_host), None)
    return timed, [row for row in rows if row.of_host]


def _seconds(blocks: Blocks) -> dict[str, float]:
    return {test: sum(record.took for record in own_records) for test, own_records in blocks.kept.items()}


def _notes(session: pytest.Session, change: Change, ran: Measured) -> Iterator[str]:
    """Sentences for the reader, beside the verdicts."""
    yield from change.notes
    blocks, chosen = ran.blocks, {node_ids.stable(item.nodeid) for item in session.items}
    if ran.linked:
        yield f"git does not track {few(ran.linked, MOST_NAMES)}: the base ran with the working tree's files"
    gone = [test for test in ran.there if test not in chosen]
    if gone and not any("::" in word for word in blocks.session.given):
        yield f"only at {change.name}, and so not compared: {few(gone, MOST_NAMES)}"
    paths = {node_ids.stable(item.nodeid): item.path for item in session.items}
    changed = [test for test, path in paths.items() if test in blocks.scenarios and _differs(change, path)]
    if changed:
        yield f"the benchmark itself differs between the sides, so the sides may not do the same work: {few(changed, MOST_NAMES)}"
    before, after = blocks.seen[BASE], blocks.seen[CHANGE]
    if before and before == after:
        yield "no Python file that the benchmarks load from the project differs between the sides: only data or compiled code can"
    left = len(session.items) - len(_benchmarks(session))
    if left:
        yield f"{_count(left, 'test')} without the fixture `benchmark` {'was' if left == 1 else 'were'} not run"
    yield from counted_work.on_change(ran.touched, blocks.kept)
    yield from blocks.notes


def _benchmarks(session: pytest.Session) -> list[pytest.Item]:
    return [item for item in session.items if "benchmark" in getattr(item, "fixturenames", ())]


def _differs(change: Change, path: Path) -> bool:
    """Whether the benchmark's own file, or a conftest.py that it gets fixtures from, differs."""
    try:
        own = path.resolve().relative_to(change.root)
    except ValueError:
        return False
    return str(own) in change.files or any(str(folder / "conftest.py") in change.files for folder in own.parents)


def _text(
    session: pytest.Session, blocks: Blocks, findings: Sequence[Finding], notes: Sequence[str], results: Path | None, code: int
) -> str:
    """The verdict table, in the same words as all reports, and the notes."""
    out = StringIO()
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    coloured = bool(reporter and reporter.hasmarkup)
    width = reporter._tw.fullwidth if reporter else 100
    console = Console(file=out, width=width, force_terminal=coloured, color_system="standard" if coloured else None, legacy_windows=False)
    rows = [found.judged for found in findings if found.judged is not None]
    if rows:
        records = [record for test, found in zip(blocks.scenarios, findings, strict=False) if found.judged for record in blocks.kept[test]]
        terminal.show(view.build(rows, records, made=clock.minute(), version=__version__), console)
    said = [f"{found.test}: {found.sentence}" for found in findings if found.judged is None]
    said += [f"{found.test}: {found.counted}" for found in findings if found.judged is not None and found.counted]
    for told in [*said, *notes]:
        console.print(line(told), highlight=False, markup=False, soft_wrap=True)
    if results is not None:
        again = f"perfproof report --results {results} --out report.html"
        console.print(f"records: {results} ({again} draws them)", highlight=False, markup=False, soft_wrap=True)
    else:
        console.print("the records were not kept; use --perfproof-results DIR to keep them", highlight=False, soft_wrap=True)
    console.print(f"perfproof: {'pass' if code == 0 else 'fail'} (exit code {code})", style="bold", highlight=False)
    return out.getvalue()


def _write(path: Path, change: Change, findings: Sequence[Finding], notes: Sequence[str], code: int) -> None:
    content = {
        "schema": 1,
        "base": change.base,
        "change": change.digest,
        "exit_code": code,
        "notes": list(notes),
        "benchmarks": [
            {
                "test": found.test,
                "outcome": found.outcome,
                "told": found.sentence,
                "judged": asdict(found.judged) if found.judged else None,
                "counts": [asdict(row) for row in found.counts],
            }
            for found in findings
        ],
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
