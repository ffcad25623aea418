"""Custom JSON of github-action-benchmark: a list of entries with name, unit and value. A file is one run.

What its values were made of isn't said.

Directions come from names and units, for the file has none: what has no known direction is shown and not judged. Of what perfproof exported
("scenario / metric / arm") the metric's own holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from perfproof.importers.result_files.fields import Fields, refuse, with_values
from perfproof.importers.result_files.format import Format
from perfproof.importers.result_files.source import Source
from perfproof.model.base.untrusted import line
from perfproof.model.records.result_runs import ResultRun
from perfproof.model.scenarios import metric_directions
from perfproof.model.scenarios.metrics import METRICS, Better, base_name

KEYS = frozenset(["name", "unit", "value", "range", "extra"])
NEEDED = frozenset(["name", "unit", "value"])


def recognises(source: Source) -> bool:
    """Whether it is one list of objects with a name, a unit, a value, and nothing that such an entry has not."""
    found = source.documents
    entries = found[0][1] if len(found) == 1 else None
    return isinstance(entries, list) and bool(entries) and all(isinstance(each, dict) and NEEDED <= each.keys() <= KEYS for each in entries)


def runs(source: Source) -> list[ResultRun]:
    """The run of a file; raises `BadInput` with every fault, a name that is there twice among them."""
    where, entries = source.documents[0]
    whole = Fields(where=where, members={})
    for number, entry in enumerate(entries, 1):
        _entry(Fields(where=f"{where}, entry {number}", members=entry), whole)
    names = Counter(value.metric for value in whole.values)
    whole.faults += [f"{where}: {name} is there twice: nobody can tell which of the two is compared" for name in names if names[name] > 1]
    refuse(whole.faults)
    run = ResultRun(source=where, values=tuple(whole.values), inside="what each value was made of", left_out=tuple(whole.left_out))
    return with_values([run], where)


def _entry(entry: Fields, whole: Fields) -> None:
    said: Mapping[str, Any] = entry.members
    name, unit = said["name"], said["unit"]
    if not isinstance(name, str) or not name.strip() or not isinstance(unit, str):
        whole.faults.append(f"{entry.where}: expected texts for name and unit")
        return
    name, unit = line(name, 200), line(unit, 40)
    better = _better(name, unit)
    entry.take("value", name, "" if unit == "1" else unit, headline=better is not None, better=better)
    whole.join(entry, name)


def _better(name: str, unit: str) -> Better | None:
    parts = name.split(" / ")
    if len(parts) == 3 and (row := METRICS.get(base_name(parts[1]))) is not None:
        return row.better
    return metric_directions.better(f"{name} ({unit})" if unit else name)


GITHUB_ACTION = Format(name="github-action-benchmark (custom JSON)", trial="one file", recognises=recognises, runs=runs)
