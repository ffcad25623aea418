"""Totals of lm_eval: the scores and standard errors of a results file, for a run that left no samples.

Which items changed is not in them, so two runs can only be compared unpaired.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfproof.importers.lm_eval import lm_eval_runs
from perfproof.importers.lm_eval.lm_eval_runs import MOST_NAMED, REMEDY
from perfproof.model.base.errors import BadInput
from perfproof.model.base.name_lists import few
from perfproof.model.base.number_range import is_number
from perfproof.model.base.regular_files import checked
from perfproof.model.base.untrusted import line
from perfproof.model.records.eval_items import Total
from perfproof.model.records.eval_settings import Settings
from perfproof.model.scenarios.eval_metrics import direction

_SCORE = re.compile(r"(?P<metric>[^,]+?)(?P<error>_stderr)?,(?P<filter>.+)")
_NO_SCORES = ("alias", "name", "sample_len", "samples")


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """A run's totals, what was asked by task, how many items each task has as far as that is known, and what was left out, in words."""

    totals: tuple[Total, ...]
    settings: Mapping[str, Settings]
    items: Mapping[str, int]
    left_out: tuple[str, ...]


def alone(path: Path) -> bool:
    """Whether a run, a folder or a results file, has results and no samples."""
    if path.is_dir():
        return not any(path.rglob("samples_*.jsonl")) and any(path.rglob("results*.json"))
    if path.suffix != ".json":
        return False
    document = lm_eval_runs.document(path)
    return document is not None and "results" in document and not lm_eval_runs.beside(path)


def read(path: Path) -> Totals:
    """The totals of a results file, or of a folder with one. Raises `BadInput` for what is none, and for a folder with several."""
    file = results_file(path)
    document = lm_eval_runs.document(file)
    results = document.get("results") if document else None
    if not isinstance(document, Mapping) or not isinstance(results, Mapping) or not results:
        raise BadInput(f"{file}: is no results file of lm_eval: results is missing or empty")
    left_out: list[str] = []
    found = [total for task, scores in results.items() for total in _totals(str(task), scores, document, left_out)]
    if not found:
        raise BadInput(f"{file}: no score of it has a standard error, so nothing can be compared; {REMEDY}", *left_out[:MOST_NAMED])
    tasks = dict.fromkeys(total.task for total in found)
    settings = {task: lm_eval_runs.settings(lm_eval_runs.SamplesFile(task=task, path=file, results=file)) for task in tasks}
    return Totals(
        totals=tuple(found),
        settings=settings,
        items={task: count for task in tasks if (count := _items(document, task))},
        left_out=tuple(f"{file}: {each}" for each in left_out),
    )


def results_file(path: Path) -> Path:
    """The results file itself, or the one of a folder; raises `BadInput` where a folder has several."""
    if not path.is_dir():
        return path
    files = [checked(file) for file in sorted(path.rglob("results*.json"))]
    if len(files) != 1:
        raise BadInput(f"{path}: holds {len(files)} results files of lm_eval; name one: {few([str(file) for file in files], MOST_NAMED)}")
    return files[0]


def _totals(task: str, scores: Any, document: Mapping[str, Any], left_out: list[str]) -> Iterator[Total]:
    """The scores of one task that have a standard error; others are left out by name."""
    scores = scores if isinstance(scores, Mapping) else {}
    higher = lm_eval_runs.part(document, "higher_is_better", task)
    for key, value in scores.items():
        matched = _SCORE.fullmatch(str(key))
        if matched is None or matched["error"]:
            if matched is None and key not in _NO_SCORES:
                left_out.append(f"{line(task, 60)}, {line(key, 60)}: is no metric with its filter")
            continue
        metric, which = matched["metric"], matched["filter"]
        error = scores.get(f"{metric}_stderr,{which}")
        if not is_number(value) or not is_number(error) or error < 0:
            left_out.append(f"{line(task, 60)}, {line(metric, 60)}: {line(value, 40)} has no standard error ({line(error, 40)})")
            continue
        yield Total(
            side="",
            task=line(task),
            filter=line(which),
            metric=line(metric),
            value=float(value),
            error=float(error),
            better=direction(metric, higher.get(metric)),
        )


def _items(document: Mapping[str, Any], task: str) -> int | None:
    count = lm_eval_runs.part(document, "n-samples", task).get("effective")
    return count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else None
