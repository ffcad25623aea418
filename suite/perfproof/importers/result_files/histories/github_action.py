"""The history of github-action-benchmark, `data.js` (or `data.json`): entries by suite, each of a commit, with its benches.

The direction is that of an entry's tool. What perfproof exported is named "scenario / metric / arm", and taken apart
again. A bench that stands twice in one entry is left out: nobody can tell which is which.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from perfproof.importers.result_files.fields import Fields
from perfproof.importers.result_files.histories.format import Found, HistoryFormat, part, word
from perfproof.importers.result_files.source import Source
from perfproof.model.base import timestamps
from perfproof.model.base.untrusted import line
from perfproof.model.history.foreign_points import ForeignPoint
from perfproof.model.scenarios.metric_directions import word_set
from perfproof.model.scenarios.metrics import METRICS, Better, base_name

HIGHER = word_set("custombiggerisbetter benchmarkjs pytest")
LOWER = word_set("customsmallerisbetter cargo criterion go googlecpp catch2 julia jmh benchmarkdotnet benchmarkluau")
"""Values of the action's `tool`, in small letters, by the direction that it takes for them."""
SHORT = 12
"""Digits of a commit in its label."""


def recognises(source: Source) -> bool:
    """Whether it is one object with entries by suite."""
    found = source.objects
    return len(found) == 1 and isinstance(found[0][1].get("entries"), dict)


def points(source: Source) -> Found:
    """A point a bench of every entry."""
    where, members = source.objects[0]
    found = Found()
    for suite, entries in members["entries"].items():
        place = f"{where}: {line(suite, 100)}"
        if not isinstance(entries, list):
            found.faults.append(f"{place}: expected a list of entries")
            continue
        for number, entry in enumerate(entries, 1):
            _entry(f"{place}, entry {number}", line(suite, 200), entry, found)
    return found


def _entry(where: str, suite: str, entry: Any, found: Found) -> None:
    benches = entry.get("benches") if isinstance(entry, dict) else None
    if not isinstance(benches, list):
        found.faults.append(f"{where}: expected an object with a list of benches")
        return
    commit = part(entry, "commit")
    build = word(commit, "id", 80)[:SHORT]
    at = _moment(entry.get("date")) or timestamps.moment(commit.get("timestamp"))
    if not build or at is None:
        found.faults.append(f"{where}: has no {'commit' if not build else 'date'}, so its place in the history is unknown")
        return
    names = Counter(word(each, "name") for each in benches if isinstance(each, dict))
    for bench in benches:
        name = word(bench, "name") if isinstance(bench, dict) else ""
        if not name:
            found.faults.append(f"{where}: a bench without a name")
        elif names[name] > 1:
            found.notes.append(f"{where}: {name}: stands {names[name]} times in one entry, and is left out")
        else:
            _bench(where, suite, bench, (build, at, _better(word(entry, "tool"))), found)
    found.notes[:] = dict.fromkeys(found.notes)


def _bench(where: str, suite: str, bench: Mapping[str, Any], of_entry: tuple[str, float, Better | None], found: Found) -> None:
    build, at, better = of_entry
    name = word(bench, "name")
    fields = Fields(where=f"{where}: {name}", members=bench)
    value = fields.number("value")
    if value is None and "value" not in bench:
        fields.left_out.append("has no value")
    found.take(fields)
    parts = name.split(" / ")
    own = len(parts) == 3 and base_name(parts[1]) in METRICS
    if value is not None:
        found.points.append(
            ForeignPoint(
                scenario=f"{suite}, {parts[0]}" if own else suite,
                metric=parts[1] if own else name,
                arm=parts[2] if own else "",
                machine="",
                build=build,
                version="",
                unit=word(bench, "unit", 40),
                better=better,
                values=(value,),
                at=at,
                where=where,
            )
        )


def _better(tool: str) -> Better | None:
    return "higher" if tool.casefold() in HIGHER else "lower" if tool.casefold() in LOWER else None


def _moment(raw: Any) -> float | None:
    """Milliseconds since 1970."""
    return timestamps.epoch(raw / 1000) if type(raw) in (int, float) else None


GITHUB_ACTION = HistoryFormat(name="github-action-benchmark (data.js)", recognises=recognises, points=points)
