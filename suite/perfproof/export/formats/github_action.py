"""Custom JSON of github-action-benchmark: a list of entries, in two files, for the tool has one direction a file."""

from __future__ import annotations

from typing import Any

from perfproof.analysis.stats.number_format import count
from perfproof.export.format import Exported, Files, Format
from perfproof.export.trials import TrialSeries, build_of, series
from perfproof.model.base.json_numbers import plain_json
from perfproof.model.base.untrusted import line

TOOLS = {"lower": "customSmallerIsBetter", "higher": "customBiggerIsBetter"}
"""The action's `tool` for each direction; its name is the file's, so that nobody mistakes one for the other."""


def files(exported: Exported) -> Files:
    found = series(exported.trials)
    sides = {tool: [_entry(one) for one in found if one.metric.better == better] for better, tool in TOOLS.items()}
    return {f"{tool}.json": plain_json(entries) + "\n" for tool, entries in sides.items() if entries}


def _entry(one: TrialSeries) -> dict[str, Any]:
    entry = {
        "name": line(f"{one.scenario} / {one.name} / {one.arm}"),
        "unit": one.metric.unit,
        "value": one.typical,
        "extra": f"{count(len(one.values), 'trial')}\n{build_of(one.trials[-1])}",
    }
    return entry if one.deviation is None else {**entry, "range": f"± {one.deviation:.6g}"}


GITHUB_ACTION = Format(name="github-action-benchmark", files=files)
