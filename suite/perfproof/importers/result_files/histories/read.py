"""Which format a history is of, and its points in the order of time."""

from __future__ import annotations

import re
from pathlib import Path

from perfproof.importers.result_files.fields import refuse
from perfproof.importers.result_files.histories.format import HistoryFormat
from perfproof.importers.result_files.histories.github_action import GITHUB_ACTION
from perfproof.importers.result_files.histories.perf_eval import PERF_EVAL
from perfproof.importers.result_files.histories.pytorch_hud import PYTORCH_HUD
from perfproof.importers.result_files.source import Source, open_source
from perfproof.model.base.errors import BadInput
from perfproof.model.history.foreign_points import ForeignHistory

FORMATS: tuple[HistoryFormat, ...] = (GITHUB_ACTION, PYTORCH_HUD, PERF_EVAL)
MOST_NOTES = 20
_SCRIPT = re.compile(r"\s*window\.BENCHMARK_DATA\s*=\s*")
"""How data.js begins, which a page loads as a script."""


def is_json(path: Path) -> bool:
    """Whether a file begins as JSON does, or as data.js does: a history of another tool, and no table. False where it can't be read."""
    try:
        with open(path, "rb") as file:
            head = file.read(200).decode("utf-8-sig", "replace")
    except OSError:
        return False
    return head.lstrip()[:1] in ("{", "[") or bool(_SCRIPT.match(head))


def read(path: Path) -> ForeignHistory:
    """The points of a file. Raises `BadInput` where no format recognises it, or with every fault of it."""
    source = open_source(path)
    if begun := _SCRIPT.match(source.text):
        source = Source(path=path, text=source.text[begun.end() :].rstrip().removesuffix(";"))
    form = next((one for one in FORMATS if one.recognises(source)), None)
    if form is None:
        named = ", ".join(one.name for one in FORMATS)
        raise BadInput(f"{path}: no history that can be read; the formats are {named}, and a CSV with point,value (docs/tracking.md)")
    found = form.points(source)
    refuse(found.faults)
    if not found.points:
        raise BadInput(f"{path}: is a file of {form.name} without a point" + (f": {found.notes[0]}" if found.notes else ""))
    more = [f"and {len(found.notes) - MOST_NOTES} more were left out"] if len(found.notes) > MOST_NOTES else []
    points = tuple(sorted(found.points, key=lambda point: point.at))
    return ForeignHistory(tool=form.name, points=points, notes=(*found.notes[:MOST_NOTES], *more))
