"""The verbs that need only records: verdicts, the decision and the report of a results folder.

They need no vLLM, torch or GPU. Each returns its exit code.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from perfproof import __version__, store
from perfproof.analysis.equality import equality_verdict
from perfproof.analysis.judging import accuracy_tasks
from perfproof.analysis.judging import judge as judging
from perfproof.analysis.judging.apply_policy import decide
from perfproof.analysis.judging.repeats import doubted
from perfproof.analysis.trials.size_sweeps import sweeps
from perfproof.analysis.trials.trial_groups import kept_apart
from perfproof.analysis.verdicts import unpaired
from perfproof.analysis.verdicts.error_rates import judge_rate_table
from perfproof.commands import counted_scenarios
from perfproof.commands.kept_blames import blames
from perfproof.commands.repeats import repeats
from perfproof.model.base import clock
from perfproof.model.base.errors import EXIT_PASS, BadInput, CannotRun, PerfproofError
from perfproof.model.base.json_numbers import plain_json
from perfproof.model.base.untrusted import line
from perfproof.model.documents.decode import scenario_of
from perfproof.model.kinds import kind_in
from perfproof.model.records.record import Record
from perfproof.model.scenarios import metric_directions
from perfproof.model.scenarios.metrics import Better
from perfproof.model.scenarios.scenario import Scenario
from perfproof.model.verdicts.equality_details import EqualityDetails
from perfproof.model.verdicts.gate_decision import Decision
from perfproof.model.verdicts.judged import EXPLORATORY, Judged
from perfproof.model.verdicts.noise_floor import Floor
from perfproof.model.verdicts.policy import DEFAULT_POLICY, Policy, policed

if TYPE_CHECKING:
    from perfproof.importers.trials_csv import Row, Table
    from perfproof.report.base.page_model import Page


def show(results: Path, console: Console, report: Path | None, only: set[str] | None = None) -> int:
    """Prints the verdicts of a results folder and writes its report. Returns the exit code of the default policy."""
    from perfproof.report.formats import terminal

    page, judged = page_of(results, only)
    terminal.show(page, console)
    if report is not None:
        write_html(page, report)
        console.print(f"report: {report}", highlight=False)
    return decide(judged, DEFAULT_POLICY).exit_code


def show_change(
    results: Path,
    read: store.Read,
    console: Console,
    *,
    report: Path | None,
    text: Path,
    only: set[str],
    about: Callable[[Sequence[Judged]], tuple[str, Sequence[str]]],
    command: str,
    counts: Mapping[str, Any] | None = None,
) -> tuple[str, Decision]:
    """Like `show`, for a change. Writes the text, and returns it with the decision of the default policy.

    `read` holds the folder's records. `about` gives, for the judged metrics, what is to be read before the result ("" for nothing), and
    notes on what the change touches. `command` measures the change again, and `counts` are its counts of the host's work, in the form of
    the JSON.
    """
    from perfproof.report.base import formatting
    from perfproof.report.formats import pr_comment, terminal

    page, judged = page_of(results, only, read=read)
    again = tuple(dataclasses.replace(one, commands=(line(command), *one.commands[1:])) for one in page.scenarios)
    first, notes = about(judged)
    page = dataclasses.replace(page, scenarios=again, notes=tuple(formatting.sentence(note) for note in notes))
    if first := formatting.sentence(first[:1].upper() + first[1:]):
        page = dataclasses.replace(page, before=first, headline=f"{first}; {page.headline}")
    page = with_counts(page, counts)
    terminal.show(page, console)
    block = pr_comment.render(page)
    write(block, text)
    if report is not None:
        write_html(page, report)
    return block, decide(judged, DEFAULT_POLICY)


def with_counts(page: Page, counts: Mapping[str, Any] | None) -> Page:
    """The page with what a change costs the host, as JSON has it, before what scenarios counted."""
    from perfproof.report.extract import host_work

    return dataclasses.replace(page, counts=counts, host_work=(*host_work.all_of(counts, ()), *page.host_work))


def show_counted(headline: str, notes: Sequence[str], *, counts: Mapping[str, Any] | None, report: Path | None, text: Path | None) -> str:
    """Like `show_change`, for a change that was counted and not timed. Returns the text; without a file nothing is written."""
    from perfproof.report import view
    from perfproof.report.base import formatting
    from perfproof.report.formats import pr_comment

    page = view.build((), (), made=clock.minute(), version=__version__)
    texts = tuple(formatting.sentence(note) for note in notes)
    page = dataclasses.replace(page, headline=formatting.sentence(headline[0].upper() + headline[1:]), notes=texts)
    page = with_counts(page, counts)
    block = pr_comment.render(page)
    if text is not None:
        write(block, text)
    if report is not None:
        write_html(page, report)
    return block


def show_blame(headline: str, notes: Sequence[str], document: Mapping[str, Any], diff: str, report: Path) -> None:
    """Writes the page of a blame: its JSON document, and the diff that takes the change back."""
    from perfproof.report import view
    from perfproof.report.base import formatting
    from perfproof.report.extract import blamed

    page = view.build((), (), made=clock.minute(), version=__version__)
    texts = tuple(formatting.sentence(note) for note in notes)
    write_html(
        dataclasses.replace(page, headline=formatting.sentence(headline), notes=texts, blames=(blamed.of_document(document, diff),)), report
    )


def compare(results: Path, *, as_json: bool, console: Console | None = None) -> int:
    """Prints the verdicts of a results folder. The exit code is always 0: the gate decides."""
    console = console or Console()
    if as_json:
        read = store.read(results)
        if not read.records:
            raise nothing_left(results, read, None)
        for warning in read.warnings:
            print(f"perfproof: warning: {warning}", file=sys.stderr)
        records = kept_apart(read.records)
        judged = judging.judge_records(records, floors=store.read_floors(results))
        comparisons = [comparison(row) for one in judged for row in one.judged]
        growths = [entry for one in judged for entry in _growths(one.scenario, records)]
        print(plain_json({"schema": 1, "comparisons": comparisons, "growths": growths}))
        return EXIT_PASS
    from perfproof.report.formats import terminal

    page, _ = page_of(results, None)
    terminal.show(page, console)
    return EXIT_PASS


def print_json(rows: Sequence[Judged], beside: Sequence[Mapping[str, Any]] = (), **more: Any) -> None:
    """Prints judged metrics as `compare --json` does, and more values by their names; `beside` has further keys of each metric."""
    print_whole([{**comparison(row), **extra} for row, extra in zip(rows, beside or [{}] * len(rows), strict=True)], **more)


def print_whole(comparisons: Sequence[dict[str, Any]], **more: Any) -> None:
    """Prints entries that were made already, and more values by their names."""
    print(plain_json({"schema": 1, "comparisons": comparisons, **more}))


def comparison(row: Judged) -> dict[str, Any]:
    """One entry of `compare --json`."""
    return {
        "scenario": row.scenario,
        "metric": row.metric,
        "unit": row.unit,
        "better": row.better,
        "primary": row.primary,
        "baseline": row.baseline,
        "candidate": row.candidate,
        "blocks": row.blocks,
        "effect": row.effect,
        "interval": list(row.interval) if row.interval else None,
        "level": row.level,
        "margin": row.margin,
        "mde": row.mde,
        "verdict": row.verdict or EXPLORATORY,
        "reason": row.reason,
        "warnings": list(row.warnings),
        "q": row.q,
    }


def _growths(scenario: Scenario, records: Sequence[Record]) -> Iterator[dict[str, Any]]:
    """The entries of `compare --json` for one scenario's sweeps: one per arm, the baseline first."""
    arms = [scenario.baseline.name, *(arm.name for arm in scenario.candidates)]
    for sweep in sweeps(arms, [record for record in records if record.scenario == scenario.name]):
        claims = dict(sweep.claims)
        for arm, costs, growth in zip(sweep.arms, sweep.costs, sweep.growths, strict=True):
            yield {
                "scenario": scenario.name,
                "metric": sweep.metric,
                "parameter": sweep.parameter,
                "arm": arm,
                "exact": sweep.exact,
                "sizes": list(sweep.sizes),
                "costs": list(costs),
                "exponent": growth.exponent if growth and math.isfinite(growth.exponent) else None,
                "interval": list(growth.interval) if growth and growth.interval else None,
                "factor": growth.factor if growth and math.isfinite(growth.factor) else None,
                "factor_interval": list(growth.factor_interval) if growth and growth.factor_interval else None,
                "shape": growth.shape if growth else None,
                "claim": claims.get(arm),
            }


def judge(
    file: Path,
    *,
    better: Better,
    margin: float,
    unit: str,
    as_json: bool,
    explain: bool,
    baseline: str | None = None,
    metric: str | None = None,
    interleaved: bool = False,
    console: Console | None = None,
) -> int:
    """Judges the numbers of a CSV, all its blocks as one look, each metric by itself; the metrics share the error.

    `metric` is the name of the values (by default the file's stem), or the metric of the table to judge. A line names the baseline, unless
    `baseline` does. `interleaved` says that the arms were measured in turns, whatever the order of the lines.
    """
    from perfproof.importers import trials_csv

    console = console or Console()
    read = trials_csv.read(file, unit)
    base = trials_csv.baseline_of(file, read.rows, baseline)
    for note in (base.told, *read.notes):
        if note:
            print(line(note), file=sys.stderr if as_json else console.file)
    judged: list[Judged] = []
    sentences: list[str] = []
    rates = any(row.requests is not None for row in read.rows)
    chosen = _chosen_metrics(file, read.metrics, metric, None if rates else better)
    for note in _odd_units(read, chosen, better) if not rates else ():
        print(line(note), file=sys.stderr if as_json else console.file)
    for name in chosen:
        rows = [row for row in read.rows if row.metric == name]
        named = name or metric or file.stem
        rows_of, told_of = _judge_rows(file, rows, named, base.arm, better, margin, read.units[name], interleaved, len(chosen))
        judged, sentences = [*judged, *rows_of], [*sentences, *told_of]
    if as_json:
        print_json(judged)
    elif not rates:
        from perfproof.report import view
        from perfproof.report.formats import terminal

        terminal.show(view.build(judged, (), made="", version=__version__), console)
    for sentence in sentences if not as_json and (explain or rates) else ():
        console.print(line(sentence), highlight=False, markup=False)
    return decide(judged, DEFAULT_POLICY).exit_code


def _chosen_metrics(file: Path, metrics: Sequence[str], metric: str | None, better: Better | None) -> list[str]:
    """The metrics of the table to judge: the named one, else all.

    Raises `BadInput` for an unknown name, and where a metric's own name contradicts the direction; `better` is None for rates of errors.
    """
    if metrics == ("",):
        called = metric or file.stem
        if better and metric_directions.better(called) not in (None, better):
            raise BadInput(
                f"{file}: --better {better}: of {called}, {metric_directions.better(called)} is better: use --better "
                f"{metric_directions.better(called)}, "
                "or name the values with --metric NAME"
            )
        return [""]
    if metric is not None:
        if metric not in metrics:
            raise BadInput(f"{file}: --metric {metric}: there is no such metric; the metrics are {', '.join(metrics)}")
        metrics = [metric]
    for name in metrics:
        if better and metric_directions.better(name) not in (None, better):
            raise BadInput(
                f"{file}: --better {better}: of {name}, {metric_directions.better(name)} is better; --metric {name} --better "
                f"{metric_directions.better(name)} judges it alone"
            )
    return list(metrics)


def _odd_units(table: Table, metrics: Sequence[str], better: Better) -> list[str]:
    """One sentence for each unit whose usual direction is the other one."""
    units = dict.fromkeys(table.units[name] for name in metrics if metric_directions.better(name) is None)
    return [
        f"of values in {unit}, {other} is usually better; they are judged with --better {better}"
        for unit in units
        if (other := metric_directions.better(f"({unit})")) not in (None, better)
    ]


def _judge_rows(
    file: Path,
    rows: Sequence[Row],
    name: str,
    baseline: str,
    better: Better,
    margin: float,
    unit: str,
    interleaved: bool,
    metrics: int,
) -> tuple[list[Judged], list[str]]:
    """The lines of one metric, and the reasoning in sentences; error rates are compared by difference, in percentage points."""
    counted = [(row.block, row.arm, int(row.value), row.requests) for row in rows if row.requests is not None]
    if counted and better != "lower":
        raise BadInput(f"{file}: --better {better}: of errors, fewer are better")
    if counted:
        judged, reasoning = judge_rate_table(counted, scenario=file.stem, name=name, baseline=baseline, margin=margin, metrics=metrics)
    else:
        plain = [(row.block, row.arm, row.value) for row in rows]
        judged, reasoning = judging.judge_table(
            plain, scenario=file.stem, name=name, baseline=baseline, better=better, margin=margin, unit=unit, metrics=metrics
        )
    seen = [unpaired.Seen(block=row.block, arm=row.arm, value=row.value / (row.requests or 1), at=row.at) for row in rows]
    sides = [unpaired.as_sides(one, seen, interleaved) for one in judged]
    explained = [own if one is other else unpaired.explain(one) for one, other, own in zip(sides, judged, reasoning, strict=True)]
    return sides, [sentence for own in explained for sentence in own]


def report(results: Path, *, out: Path | None, pull_request: bool, junit: Path | None = None) -> int:
    """Writes the HTML file and the JUnit file, or prints the pull request's text."""
    page, _ = page_of(results, None)
    if pull_request:
        from perfproof.report.formats import pr_comment

        print(pr_comment.render(page))
    if out is not None:
        write_html(page, out)
        print(f"report: {out}")
    if junit is not None:
        from perfproof.report.formats import junit as forms

        write(forms.render(page), junit)
        print(f"junit: {junit}")
    return EXIT_PASS


def page_of(
    results: Path,
    only: set[str] | None,
    policy: Policy = DEFAULT_POLICY,
    rows: Sequence[Judged] | None = None,
    read: store.Read | None = None,
) -> tuple[Page, list[Judged]]:
    """The report's view model of a results folder (only of the named scenarios), and the judged metrics behind it.

    The policy sets the primary metrics and their margins; `rows` are shown instead, if given. `read` holds the folder's records, if they
    were read already. Others see the page, so an absolute path of the results folder is shown by its last part alone.
    """
    from perfproof.report import view
    from perfproof.report.extract import blamed, host_work

    read = read or store.read(results)
    records = kept_apart([record for record in read.records if only is None or record.scenario in only])
    if not records:
        raise nothing_left(results, read, only)
    scenarios = [] if rows is not None else _judged([_policed(record, policy) for record in records], results)
    judged = list(rows) if rows is not None else [row for one in scenarios for row in one.judged]
    named = results.name if results.is_absolute() else str(results)
    counted, not_shown = counted_scenarios.documents(results, records)
    warnings = [warning.replace(str(results), named) for warning in (*read.warnings, *not_shown)]
    again = repeats(results, records, judged) if rows is None else {}
    page = view.build(
        judged,
        records,
        made=clock.minute(),
        version=__version__,
        results=named,
        warnings=warnings,
        floors=_floors(results),
        equality=_equality(records),
        accuracy=accuracy_tasks.details(records),
        unlisted=[row for one in scenarios for row in one.unlisted],
        worse=[row for one in scenarios for row in one.worse],
        repeats=again,
    )
    found = tuple(blamed.of_document(*one) for one in blames(results, {record.scenario for record in records}))
    taken = [doubted(row, again.get(row.scenario, ())) for row in judged]
    return dataclasses.replace(page, host_work=host_work.all_of(None, counted), blames=found), taken


TOLD = 5
"""The most faults of lines that are listed where no line can be used."""


def nothing_left(results: Path, read: store.Read, only: set[str] | None) -> PerfproofError:
    """The error that says why there is nothing to judge: no records of these scenarios, or no line that is a record, with the faults."""
    if only and (read.records or not read.warnings):
        return CannotRun(f"{results}: there is no record of {', '.join(sorted(only))}")
    faults = [warning.removesuffix(store.REMEDY).removesuffix(store.SKIPPED) for warning in read.warnings]
    if not faults:
        return BadInput(f"{results}: its files (*.jsonl) hold no records")
    rest = [f"and {len(faults) - TOLD:,} lines more"] if len(faults) > TOLD else []
    return BadInput(f"{results}: none of its {len(faults):,} lines is a record of perfproof", *faults[:TOLD], *rest)


def _equality(records: Sequence[Record]) -> list[EqualityDetails]:
    """The details behind the verdicts of the equality scenarios in these records."""
    equal = [record for record in records if (kind := kind_in(record.definition)) is not None and kind.judged_by == "bits"]
    of_name = {name: [record for record in equal if record.scenario == name] for name in dict.fromkeys(record.scenario for record in equal)}
    scenarios = {
        name: dataclasses.replace(scenario_of(own[0].definition, source=f"the records of {name}"), name=name)
        for name, own in of_name.items()
    }
    return [each for name, scenario in scenarios.items() for each in equality_verdict.details(scenario, of_name[name])]


def _floors(results: Path) -> tuple[Floor, ...]:
    """The folder's noise floors; for an A/A's own folder, those of the folder for which it was made."""
    above = store.read_floors(results.parent.parent) if results.parent.name == "calibration" else ()
    return (*above, *store.read_floors(results))


def _policed(record: Record, policy: Policy) -> Record:
    """The record as if its scenario had been run under the policy."""
    return record if policy is DEFAULT_POLICY else dataclasses.replace(record, definition=policed(record.definition, policy))


def _judged(records: Sequence[Record], results: Path) -> list[judging.JudgedScenario]:
    """Every judged metric of these records, with the folder's A/A runs applied."""
    return judging.judge_records(records, floors=store.read_floors(results))


def write_html(page: Page, out: Path) -> None:
    from perfproof.report import html

    write(html.render(page), out)


def write(content: str | bytes, out: Path) -> None:
    """Writes a page, a decision or a table whole, by way of a rename.

    What is no file (a terminal, a pipe, /dev/null) is written into as it is.

    Where `out` is a link, its target is written.
    """
    data = content.encode() if isinstance(content, str) else content
    real = Path(os.path.realpath(out))
    draft = real.with_name(real.name + ".new")
    try:
        if not _replaceable(out):
            with open(out, "ab") as file:
                file.write(data)
            return
        real.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(data)
        draft.replace(real)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise CannotRun(f"{out}: could not be written: {error.strerror}") from error


def clear(*outs: Path | None) -> None:
    """Removes files of an earlier command with these names, so that nobody takes them for this one's result if it ends early."""
    for out in outs:
        if out is not None and out.is_file() and _replaceable(out):
            os.unlink(os.path.realpath(out))


def _replaceable(out: Path) -> bool:
    """Whether another file may replace this one: never a device, nor a command's own output."""
    return not Path(os.path.abspath(out)).is_relative_to("/dev") and (out.is_file() or not out.exists())
