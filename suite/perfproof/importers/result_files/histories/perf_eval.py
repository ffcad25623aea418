"""Rows of vLLM's performance dashboard, as vllm-project/perf-eval sends them: an object a run of `vllm bench serve`, or one a line.

What tells series apart is all that a row says of its load, its precision and its parallelism. Throughputs are those of one GPU.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from perfproof.importers.result_files.fields import Fields
from perfproof.importers.result_files.histories.format import NAMELESS, Found, HistoryFormat, of_rows, word
from perfproof.importers.result_files.source import Source
from perfproof.model.base import timestamps
from perfproof.model.history.foreign_points import ForeignPoint
from perfproof.model.scenarios.metrics import Better

NEEDED = frozenset(["date", "device", "image", "model", "tput_per_gpu"])
LOAD = ("model", "conc", "isl", "osl", "tp", "ep", "dp_attention", "precision", "framework", "spec_decoding", "disagg", "is_multinode")
FIGURES: Mapping[str, tuple[str, Better]] = {
    "tput_per_gpu": ("tok/s", "higher"),
    "output_tput_per_gpu": ("tok/s", "higher"),
    "input_tput_per_gpu": ("tok/s", "higher"),
}
_LATENCY = re.compile(r"(mean|median|p[0-9.]+)_(ttft|tpot|itl|e2el|intvty)")


def recognises(source: Source) -> bool:
    """Whether every object has what such a row has."""
    found = source.objects
    return bool(found) and all(each.keys() >= NEEDED for _, each in found)


def points(source: Source) -> Found:
    """A point a figure of every row."""
    return of_rows(source, _row)


def _row(where: str, row: Mapping[str, Any], found: Found) -> None:
    at = timestamps.moment(row["date"])
    image = word(row, "image")
    if at is None or not image:
        what = "date: expected a moment such as 2026-01-31 12:00:00" if at is None else "image: expected a text"
        found.faults.append(f"{where}: {what}, for its place in the history")
        return
    fields = Fields(where=where, members=row)
    devices = row["tp"] if type(row.get("tp")) is int and row["tp"] > 0 else 1
    load = ", ".join(f"{key} {said}" for key in LOAD if (said := word(row, key, 100)))
    for key in row:
        unit, better = _figure(key)
        if better is None or (value := fields.number(key)) is None:
            continue
        if value <= 0:
            fields.left_out.append(f"{key} is {value:g}, which is no measurement of it")
            continue
        found.points.append(
            ForeignPoint(
                scenario=load,
                metric=key,
                arm="",
                machine=word(row, "device", 100),
                build=_build(image, at),
                version="",
                unit=unit,
                better=better,
                values=(value,),
                devices=devices if key in FIGURES else 1,
                at=at,
                where=where,
            )
        )
    found.take(fields)


def _figure(key: str) -> tuple[str, Better | None]:
    """The unit and the direction of a member that is a figure; no direction for one that is none."""
    if key in FIGURES:
        return FIGURES[key]
    if matched := _LATENCY.fullmatch(key):
        return ("tok/s", "higher") if matched[2] == "intvty" else ("s", "lower")
    return "", None


def _build(image: str, at: float) -> str:
    """The image, or the day where its name is that of many builds: "nightly of 2026-01-31"."""
    tag = image.rpartition(":")[2].casefold()
    return f"{tag} of {datetime.fromtimestamp(at, UTC).date()}" if tag in NAMELESS else image


PERF_EVAL = HistoryFormat(name="rows of vLLM's performance dashboard (perf-eval)", recognises=recognises, points=points)
