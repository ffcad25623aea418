"""Trials as rows of a table, the same for every format that is one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfproof.export.trials import build_of, gpus_of, is_baseline, values_of, version_of
from perfproof.model.base.untrusted import line
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import METRICS, base_name

COLUMNS = ("scenario", "metric", "unit", "better", "block", "arm", "value", "baseline", "position", "started", "build", "version", "gpus")
Row = tuple[str, str, str, str, int, str, float, bool, int, str, str, str, str]
"""A cell a column of `COLUMNS`."""


def rows(trials: Sequence[Record]) -> Iterator[Row]:
    """A row for each value of each trial, in base units; a plain number has no unit."""
    for trial in trials:
        for name, value in values_of(trial):
            metric = METRICS[base_name(name)]
            unit = "" if metric.unit == "1" else metric.unit
            said = (line(trial.scenario, 200), line(name, 200), unit, metric.better, trial.block, line(trial.arm, 200), value)
            what = (build_of(trial), version_of(trial), ", ".join(gpus_of(trial)))
            yield (*said, is_baseline(trial), trial.position, trial.started, *what)
