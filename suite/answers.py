"""The verbs on other people's evaluations: samples of lm_eval, and what is pasted into pull requests. No vLLM is needed here.

Each returns its exit code.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from suite import __version__, verdicts
from suite.analysis import accuracy as judging
from suite.analysis import words
from suite.analysis.rulings import decide
from suite.importers import lm_eval, pasted
from suite.importers.pasted import Paste
from suite.model.errors import EXIT_PASS, BadInput
from suite.model.items import TaskItems, Total
from suite.model.judged import Judged, Outcome
from suite.model.policy import DEFAULT_POLICY
from suite.model.untrusted import line


def accuracy(
    baseline: Path, candidate: Path, *, margin: float, passage: str | None = None, as_json: bool, console: Console | None = None
) -> int:
    """Judges two runs of lm_eval, item by item; every task, filter and metric that both have shares the error rate.

    `passage` is the key of a document that holds the text which several items ask about.
    """
    first, second = (_tasks(path, passage) for path in (baseline, candidate))
    names = [name for name in first if name in second]
    if not names:
        raise BadInput(f"{candidate}: none of its tasks is in {baseline}: {_listed(second)} against {_listed(first)}")
    for name in [*(name for name in first if name not in second), *(name for name in second if name not in first)]:
        print(f"perfproof: warning: {name}: only one side has it, left out", file=sys.stderr)
    try:
        found = [_judged(judging.match(first[name], second[name]), margin, len(names)) for name in names]
    except judging.Unpairable as error:
        raise BadInput(f"{candidate}: {error}") from error
    rows = [judging.as_judged(one, scenario="accuracy", baseline="baseline", candidate="candidate") for one in found]
    _show(rows, as_json, console)
    return decide(rows, DEFAULT_POLICY).exit_code


def _judged(items: judging.PairedItems, margin: float, tasks: int) -> judging.AccuracyVerdict:
    found = judging.judge_items(items, margin=margin, tasks=tasks)
    why = judging.nothing_to_lose(items, margin)
    return replace(found, outcome=Outcome.UNTESTABLE, reason=why) if why else found


def _tasks(path: Path, passage: str | None) -> dict[str, TaskItems]:
    tasks, warnings = lm_eval.read(path, dict.fromkeys(lm_eval.tasks(path), passage) if passage else {})
    for warning in warnings:
        print(f"perfproof: warning: {path}: {warning}", file=sys.stderr)
    return {task.name: task for task in tasks}


def _listed(tasks: dict[str, TaskItems]) -> str:
    return "; ".join(sorted(tasks)[:5])


def paste(file: Path, *, margin: float, items: int | None, as_json: bool, console: Console | None = None) -> int:
    """Says what a pasted before-and-after shows, and what it could not have seen. Passes: one run a side decides nothing."""
    found = pasted.read(file)
    rows = [
        judging.as_judged(one, scenario=file.stem, baseline=found.sides[0], candidate=side)
        for side in found.sides[1:]
        for one in _totals(found, side, margin, items)
    ]
    if rows:
        _show(rows, as_json, console)
    for sentence in [] if as_json else _single_runs(found):
        (console or Console()).print(sentence, highlight=False, markup=False)
    return EXIT_PASS


def _totals(found: Paste, side: str, margin: float, items: int | None) -> list[judging.AccuracyVerdict]:
    of_side: dict[str, dict[str, Total]] = {each: {t.name: t for t in found.totals if t.side == each} for each in (found.sides[0], side)}
    first, second = of_side.values()
    shared = [name for name in first if name in second]
    return [
        judging.judge_totals(
            name,
            (first[name].value, first[name].error),
            (second[name].value, second[name].error),
            margin=margin,
            tasks=len(shared),
            items=items,
        )
        for name in shared
    ]


def _single_runs(found: Paste) -> list[str]:
    """One sentence a number that both sides printed: the change, and that one run a side has no error bars."""
    blocks = {block.side: block.values for block in found.blocks}
    if len(blocks) < 2:
        return []
    base = next((side for side in found.sides if side in blocks), "")
    told = []
    for side, values in blocks.items():
        for name in values if side != base else ():
            before = blocks[base].get(name)
            if before:
                told.append(
                    line(f"{name}: {before:g} to {values[name]:g} ({words.percent(values[name] / before - 1)}), {side} against {base}")
                )
    end = "one run a side has no error bars, so there is no verdict: two launches of one build have differed by half"
    return [*told, end] if told else []


def _show(rows: Sequence[Judged], as_json: bool, console: Console | None) -> None:
    if as_json:
        verdicts.print_json(rows)
        return
    from suite.report import terminal, view

    terminal.show(view.build(rows, (), made="", version=__version__), console or Console())
