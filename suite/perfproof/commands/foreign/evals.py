"""The verb on other people's evaluations: samples of lm_eval. No vLLM is needed here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from perfproof import __version__
from perfproof.analysis.judging.apply_policy import decide
from perfproof.analysis.sides import eval_totals
from perfproof.analysis.verdicts import eval_runs
from perfproof.analysis.verdicts.eval_runs import Run
from perfproof.commands import record_verdicts
from perfproof.importers import lm_eval
from perfproof.model.base.errors import BadInput
from perfproof.model.base.name_lists import few
from perfproof.model.verdicts.judged import Judged
from perfproof.model.verdicts.policy import DEFAULT_POLICY

_MOMENT = b'"date": '
"""The key of a results file's time, which differs between any two runs."""


def accuracy(
    baseline: Path, candidate: Path, *, margin: float, passage: str | None = None, as_json: bool, console: Console | None = None
) -> int:
    """Judges two runs of lm_eval, item by item; every task, filter and metric that both have shares the error rate.

    `passage` is the key of a document with the text that several items are about. A different model is named first. Where a run left no
    samples, the totals are compared, unpaired.
    """
    if lacking := [path for path in (baseline, candidate) if lm_eval.totals.alone(path)]:
        return _accuracy_of_totals(baseline, candidate, lacking, margin=margin, as_json=as_json, console=console)
    if shared := {file.resolve() for file in lm_eval.files(baseline)} & {file.resolve() for file in lm_eval.files(candidate)}:
        raise BadInput(f"{candidate}: is the baseline itself ({min(shared).name} is read for both): name another run")
    if copied := _copied(baseline, candidate):
        raise BadInput(f"{candidate}: is a copy of the baseline ({copied} is byte-identical): name another run")
    (first, left), (second, other) = (_run(path, passage) for path in (baseline, candidate))
    if not {one.task for one in first.items} & {one.task for one in second.items}:
        raise BadInput(f"{candidate}: none of its tasks is in {baseline}: {_listed(second)} against {_listed(first)}")
    result = eval_runs.compare(first, second, margin=margin)
    for note in [*left, *other, *result.notes]:
        print(f"perfproof: note: {note}", file=sys.stderr)
    if as_json:
        record_verdicts.print_json(result.rows, models=result.models, notes=result.notes, left_out=[*left, *other])
    else:
        for models in result.models:
            (console or Console()).print(f"Not the same model: {models}", highlight=False, markup=False, soft_wrap=True)
        show(result.rows, console)
    return decide(result.rows, DEFAULT_POLICY).exit_code


def _accuracy_of_totals(
    baseline: Path, candidate: Path, lacking: Sequence[Path], *, margin: float, as_json: bool, console: Console | None
) -> int:
    """Judges two runs by their totals, and says what that loses."""
    files = [
        lm_eval.totals.results_file(path if path in lacking else next(iter(lm_eval.results(path)), path)) for path in (baseline, candidate)
    ]
    if files[0].read_bytes() == files[1].read_bytes():
        raise BadInput(f"{candidate}: is the baseline itself, or a copy of it ({files[1].name}, to the last byte): name another run")
    first, second = (lm_eval.totals.read(file) for file in files)
    found = eval_totals.compare(first.totals, second.totals, first.settings, second.settings, items=first.items, margin=margin)
    left = [*first.left_out, *second.left_out]
    lost = f"{few([str(path) for path in lacking], 2)}: no samples there, so {eval_totals.LOST}; {lm_eval.REMEDY}"
    for told in [lost, *left, *found.notes]:
        print(f"perfproof: note: {told}", file=sys.stderr)
    if as_json:
        record_verdicts.print_json(found.rows, models=found.models, notes=[lost, *found.notes], left_out=left)
    else:
        for models in found.models:
            (console or Console()).print(f"Not the same model: {models}", highlight=False, markup=False, soft_wrap=True)
        show(found.rows, console)
    return decide(found.rows, DEFAULT_POLICY).exit_code


def _copied(baseline: Path, candidate: Path) -> str:
    """A results file that is byte-identical in both runs, including its times: then one run is a copy of the other; "" without one."""
    sides = [{file.read_bytes(): file.name for file in lm_eval.results(path)} for path in (baseline, candidate)]
    return next((name for content, name in sides[0].items() if content in sides[1] and _MOMENT in content), "")


def _run(path: Path, passage: str | None) -> tuple[Run, list[str]]:
    """A run of lm_eval, and notes on what was left out."""
    items, warnings = lm_eval.read(path, dict.fromkeys(lm_eval.tasks(path), passage) if passage else {})
    return Run(items=tuple(items), settings=lm_eval.settings(path)), [f"{path}: {warning}" for warning in warnings]


def _listed(run: Run) -> str:
    return "; ".join(sorted(run.by_name)[:5])


def show(rows: Sequence[Judged], console: Console | None) -> None:
    """Prints judged metrics as a table."""
    from perfproof.report import view
    from perfproof.report.formats import terminal

    terminal.show(view.build(rows, (), made="", version=__version__), console or Console())
