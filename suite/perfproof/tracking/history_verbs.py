"""The verbs of a history: add and prune points, find and acknowledge steps, write the page. Each returns its exit code.

They need no vLLM, torch or GPU.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.text import Text

from perfproof import __version__, store
from perfproof import history as histories
from perfproof.analysis import steps as detection
from perfproof.analysis.stats.number_format import count
from perfproof.commands.record_verdicts import write
from perfproof.history import EVERYTHING, TrackSteps, Wanted
from perfproof.importers import series_csv
from perfproof.importers.result_files import histories as result_histories
from perfproof.model.base import clock
from perfproof.model.base.errors import EXIT_PASS, BadInput
from perfproof.model.base.untrusted import line
from perfproof.model.history.measured_series import Measured
from perfproof.model.history.point import POINT_SCHEMA, Acknowledgement, Point, Series, identified
from perfproof.model.history.step import STEPS_SCHEMA, Confirm, Label, Step, step_entry
from perfproof.model.history.upstream_notes import load_upstream
from perfproof.model.scenarios.metrics import METRICS, base_name, is_timed
from perfproof.report.history.history_model import HistoryPage, SteppedSeries
from perfproof.tracking import foreign_histories, name_suggestions
from perfproof.tracking.console import blame_offer, print_json, say, warn

NAMELESS = ("unknown", "n/a", "na", "none", "null", "-", "?", "head", "latest", "nightly", "main", "master", "dev", "dirty")
"""Labels of points that many builds share."""

# --- history ------------------------------------------------------------------------------------------


def add(results: Sequence[Path], folder: Path, console: Console | None = None) -> int:
    """Adds points from the records of results folders; existing points stay unchanged."""
    console = console or Console()
    for one in results:
        if one.is_file():
            _add_foreign(one, folder, console)
            continue
        read = store.read(one)
        entries = histories.entries_of(read.records)
        new = histories.append(folder, entries)
        made = sum(isinstance(entry, Point) for entry in entries)
        say(console, f"{one}: {count(made, 'point')}, {count(new, 'new line')} in {folder}")
        for warning in (*read.warnings, *histories.left_out(read.records)):
            warn(warning)
    return EXIT_PASS


def _add_foreign(file: Path, folder: Path, console: Console) -> None:
    """Points from another tool's history, of the metrics that the registry knows; the rest is named."""
    entries, notes = foreign_histories.entries(file)
    new = histories.append(folder, entries)
    made = sum(isinstance(entry, Point) for entry in entries)
    say(console, f"{file}: {count(made, 'point')}, {count(new, 'new line')} in {folder}")
    warn(*notes)


def prune(folder: Path, wanted: Wanted, *, before: str | None, keep: int | None, dry: bool = False, console: Console | None = None) -> int:
    """Removes wanted points measured before a day, or all but the newest `keep` of each series; duplicate lines go too."""
    if before is None and keep is None and wanted != EVERYTHING:
        raise BadInput("history prune: expected --before DATE or --keep N (the newest N of each series), to say which points go")
    name_suggestions.check(folder, wanted)
    gone, warnings = histories.prune(folder, wanted, _going(folder, wanted, before, keep), dry=dry)
    say(console or Console(), f"{count(gone, 'line')} {'would go' if dry else 'gone'} from {folder}; acknowledgements always stay")
    warn(*warnings)
    return EXIT_PASS


def _going(folder: Path, wanted: Wanted, before: str | None, keep: int | None) -> Callable[[Point], bool]:
    if keep is None:
        return lambda point: before is not None and point.when < before
    newest: set[str] = set()
    for track in histories.tracks(histories.read(folder, wanted)):
        by_time = sorted(track.points, key=lambda point: point.when)
        newest.update(point.id for point in by_time[len(by_time) - keep :])
    return lambda point: point.id not in newest and (before is None or point.when < before)


def migrate(folder: Path, console: Console | None = None) -> int:
    """Rewrites lines of an older schema in the current one. Reading does not need this."""
    changed, warnings = histories.migrate(folder)
    say(console or Console(), f"{count(changed, 'line')} of {folder} rewritten in schema {POINT_SCHEMA}")
    warn(*warnings)
    return EXIT_PASS


def acknowledge(
    folder: Path, wanted: Wanted, *, at: str, reason: str, now: Callable[[], str] = clock.now, console: Console | None = None
) -> int:
    """Accepts the steps of the wanted series at this build, with a reason."""
    if not reason.strip():
        raise BadInput("--reason: expected why the step is accepted; the report always shows it")
    name_suggestions.check(folder, wanted)
    history = histories.read(folder, wanted)
    series = histories.steps_of(history, floor=0.0)
    there = [one for one in series if any(build.label == at for build in one.track.builds)]
    if not there:
        labels = dict.fromkeys(build.label for one in series for build in one.track.builds)
        raise BadInput(f"--at {at}: no such build in these series; there are {', '.join(labels) or 'none'}")
    new = histories.append(folder, [_acknowledgement(one, at, reason.strip(), now()) for one in there])
    console = console or Console()
    for one in there:
        step = "" if any(step.at == at for step in one.steps) else " (there is no step there so far)"
        say(console, f"acknowledged: {one.track.series.label} at {at}{step}")
    say(console, f"{count(new, 'new line')} in {folder}")
    warn(*history.warnings)
    return EXIT_PASS


def _acknowledgement(one: TrackSteps, at: str, reason: str, when: str) -> Acknowledgement:
    series = one.track.series
    fields = {
        "scenario": series.scenario,
        "metric": series.metric,
        "arm": series.arm,
        "machine": series.machine,
        "at": at,
        "reason": reason,
    }
    return Acknowledgement(schema=POINT_SCHEMA, id=identified(**fields), when=when, **fields)


# --- steps --------------------------------------------------------------------------------------------


def steps_of_file(file: Path, *, floor: float, kind: detection.Kind, as_json: bool, console: Console | None = None) -> int:
    """Prints the steps of a CSV, or of another tool's history, machine by machine and metric by metric."""
    table = foreign_histories.table(file) if result_histories.is_json(file) else series_csv.read(file)
    steps: list[Step] = []
    warnings: list[str] = [f"{file}: its lines were taken {table.order}"] if table.sorted else []
    warnings += [f"{file}: {note}" for note in (*table.notes, *_repeated(table.rows))]
    series = list(dict.fromkeys((row.machine, row.metric) for row in table.rows))
    for machine, metric in series:
        rows = [row for row in table.rows if (row.machine, row.metric) == (machine, metric)]
        own = detection.steps(_groups(rows), floor=floor, kind=kind, describe=_environments, unit=rows[0].unit)
        names = {"machine": machine, "metric": metric}
        prefix = "".join(f"{name} {value}: " for name, value in names.items() if len({getattr(row, name) for row in table.rows}) > 1)
        steps += [dataclasses.replace(step, reason=prefix + step.reason) for step in own.steps]
        warnings += [prefix + warning for warning in own.warnings]
    if as_json:
        print_json("steps", [step_entry(step) for step in steps], warnings, STEPS_SCHEMA, order=table.order)
        return EXIT_PASS
    console = console or Console()
    _show_steps(console, steps, None)
    say(console, f"{file}: {count(len(steps), 'step')} in {count(len(table.rows), 'measurement')}, {table.order}")
    warn(*warnings)
    return EXIT_PASS


def _groups(rows: Sequence[Measured]) -> list[detection.Group]:
    """The builds of one machine, in the order of their first lines; without groups, the lines of one point are one build."""
    apart: dict[tuple[str, str | int], list[Measured]] = {}
    for row in rows:
        apart.setdefault((row.environment, _build(row)), []).append(row)
    whole = all(row.point.isascii() and row.point.isdigit() and str(int(row.point)) == row.point for row in rows)
    return [
        detection.Group(
            label=_label(own[0].point, whole),
            environment=own[0].environment,
            values=np.array([row.value for row in own]),
        )
        for own in apart.values()
    ]


def _build(row: Measured) -> str | int:
    """The build of a line: its group, else its point. A point without a name, such as "unknown", is a new build on every line."""
    return row.group or (row.line if row.point.casefold() in NAMELESS else row.point)


def _repeated(rows: Sequence[Measured]) -> list[str]:
    """A sentence on points that stand on several lines of a series without groups."""
    places = Counter((row.machine, row.metric, row.environment, row.point) for row in rows if not row.group and _build(row) == row.point)
    several = list(dict.fromkeys(point for (*_, point), lines in places.items() if lines > 1))
    named = ", ".join(several[:3]) + (" and so on" if len(several) > 3 else "")
    return [f"lines of one point were taken as measurements of one build ({named}); a column group can separate them"] if several else []


def _label(point: str, whole: bool) -> Label:
    return int(point) if whole else point


def _environments(before: str, after: str) -> str:
    return f"{before or 'unnamed'} to {after or 'unnamed'}"


def steps_of_history(
    folder: Path,
    wanted: Wanted = EVERYTHING,
    *,
    floor: float,
    as_json: bool,
    confirm: Confirm | None = None,
    console: Console | None = None,
) -> int:
    """Prints the steps of every wanted series of a history; `confirm` measures the builds beside steps that are not acknowledged."""
    name_suggestions.check(folder, wanted)
    history = histories.read(folder, wanted)
    series = histories.steps_of(history, floor=floor, confirm=confirm)
    warnings = [*history.warnings, *_folded(series)]
    if as_json:
        entries = [{**step_entry(step), "series": dataclasses.asdict(one.track.series)} for one in series for step in one.steps]
        print_json("steps", entries, warnings, STEPS_SCHEMA)
        return EXIT_PASS
    console = console or Console()
    for one in series:
        _show_steps(console, one.steps, one.track.series)
    total = sum(len(one.steps) for one in series)
    say(console, f"{folder}: {count(total, 'step')} in {len(series)} series of {count(len(history.points), 'point')}")
    warn(*warnings)
    return EXIT_PASS


def _folded(series: Sequence[TrackSteps]) -> list[str]:
    """The warnings of the series; the series that are too short share one sentence."""
    pairs = [(one.track.series.label, warning) for one in series for warning in one.warnings]
    short = sum(warning.endswith(detection.TOO_SHORT) for _, warning in pairs)
    sentences = [f"{short} timed series too short: {detection.TOO_SHORT}"] if short else []
    return sentences + [f"{label}: {warning}" for label, warning in pairs if not warning.endswith(detection.TOO_SHORT)]


def _show_steps(console: Console, steps: Iterable[Step], series: Series | None) -> None:
    """Prints steps under the name of their series; of exact counts, and of times that were confirmed, with how to find what is behind
    them."""
    for place, step in enumerate(steps):
        if series is not None and not place:
            console.print(Text(line(series.label), style="bold"), soft_wrap=True)
        style = "dim" if step.acknowledged else "bold"
        confirmed = {None: "", True: ", confirmed", False: ", not confirmed"}[step.confirmed]
        console.print(Text.assemble((f"  {step.direction}", style), f" at {line(step.at)}{confirmed}: {line(step.reason)}"), soft_wrap=True)
        specs = [str(label).replace(" ", "==", 1) for label in (step.last, step.at)]
        sure = series is not None and (_counted(series.metric) or step.confirmed)
        if series is not None and sure and not step.acknowledged and all(map(_RELEASE.fullmatch, specs)):
            say(console, f"    {blame_offer(series.scenario, specs[0], specs[1], series.metric)}")


_RELEASE = re.compile(r"vllm(-cpu)?==[0-9][A-Za-z0-9.]*")
"""A build that can be made again from its label."""


def _counted(name: str) -> bool:
    """Whether a metric is an exact count of our own."""
    return base_name(name) in METRICS and not is_timed(name)


# --- report -------------------------------------------------------------------------------------------


def report(
    folder: Path,
    out: Path,
    *,
    floor: float,
    confirm: Confirm | None = None,
    now: Callable[[], str] = clock.now,
    console: Console | None = None,
) -> int:
    """Writes the page of a history. `floor` is the smallest relative change of a time that is a step; `confirm` gives the answers of
    paired runs."""
    from perfproof.report.history import history_page

    shown = _page(folder, floor, now(), confirm)
    write(history_page.render(shown), out)
    say(console or Console(), f"{shown.headline}: {out}")
    return EXIT_PASS


def markdown(folder: Path, *, floor: float) -> int:
    """Prints a history as tables in markdown, one row per build."""
    from perfproof.report.history import history_markdown

    print(history_markdown.render(_page(folder, floor, "")), end="")
    return EXIT_PASS


def _page(folder: Path, floor: float, made: str, confirm: Confirm | None = None) -> HistoryPage:
    """The page's view model of a history folder; an absolute path is shown by its last part alone."""
    from perfproof.report.history import history_view

    history = histories.read(folder)
    named = folder.name if folder.is_absolute() else str(folder)
    warnings = [warning.replace(str(folder), named) for warning in history.warnings]
    series = [_stepped_series(one) for one in histories.steps_of(history, floor=floor, confirm=confirm)]
    return history_view.build(series, made=made, version=__version__, folder=named, upstream=load_upstream(folder), warnings=warnings)


def _stepped_series(one: TrackSteps) -> SteppedSeries:
    builds = [(build.label, build.points) for build in one.track.builds]
    return SteppedSeries(series=one.track.series, builds=builds, steps=one.steps, warnings=one.warnings)
