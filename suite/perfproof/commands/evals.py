"""The verbs on other people's evaluations: samples of lm_eval, and what is pasted into pull requests. No vLLM is needed here.

Each returns its exit code.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from perfproof import __version__
from perfproof.analysis.judging.apply_policy import decide
from perfproof.analysis.sides import eval_totals
from perfproof.analysis.stats import number_format, single_run
from perfproof.analysis.verdicts import accuracy_verdict, eval_runs
from perfproof.analysis.verdicts.eval_runs import Run
from perfproof.commands import record_verdicts
from perfproof.importers import lm_eval, pasted_text
from perfproof.importers.pasted_text import Paste
from perfproof.model.base.errors import EXIT_PASS, BadInput
from perfproof.model.base.name_lists import few
from perfproof.model.base.untrusted import line
from perfproof.model.records.eval_items import Total
from perfproof.model.scenarios.metric_directions import zero_is_ordinary
from perfproof.model.scenarios.side_names import role
from perfproof.model.verdicts.judged import Judged
from perfproof.model.verdicts.policy import DEFAULT_POLICY

SCATTERS = (0.01, 0.05)
"""Scatters of runs of one build for which it is told what a pair of runs could not have seen."""
_MOMENT = b'"date": '
"""The key of a results file's moment, which no two runs have alike."""
LITTLE = 0.01
"""How much more work one side may have done for it to be the same: outputs of other lengths by a few tokens."""
BRACKETS = " (in brackets: how much runs of one build may scatter until the change is no more than noise)"


def accuracy(
    baseline: Path, candidate: Path, *, margin: float, passage: str | None = None, as_json: bool, console: Console | None = None
) -> int:
    """Judges two runs of lm_eval, item by item; every task, filter and metric that both have shares the error rate.

    `passage` is the key of a document that holds the text which several items ask about. Another model is named first. Where a run left
    no samples, the totals are compared, unpaired.
    """
    if lacking := [path for path in (baseline, candidate) if lm_eval.totals.alone(path)]:
        return _accuracy_of_totals(baseline, candidate, lacking, margin=margin, as_json=as_json, console=console)
    if shared := {file.resolve() for file in lm_eval.files(baseline)} & {file.resolve() for file in lm_eval.files(candidate)}:
        raise BadInput(f"{candidate}: is the baseline itself ({min(shared).name} is read for both): name another run")
    if copied := _copied(baseline, candidate):
        raise BadInput(f"{candidate}: is a copy of the baseline ({copied}, to the last byte): name another run")
    (first, left), (second, other) = (_run(path, passage) for path in (baseline, candidate))
    if not {one.task for one in first.items} & {one.task for one in second.items}:
        raise BadInput(f"{candidate}: none of its tasks is in {baseline}: {_listed(second)} against {_listed(first)}")
    found = eval_runs.compare(first, second, margin=margin)
    for told in [*left, *other, *found.notes]:
        print(f"perfproof: note: {told}", file=sys.stderr)
    if as_json:
        record_verdicts.print_json(found.rows, models=found.models, notes=found.notes, left_out=[*left, *other])
    else:
        for models in found.models:
            (console or Console()).print(f"Not the same model: {models}", highlight=False, markup=False, soft_wrap=True)
        _show(found.rows, as_json, console)
    return decide(found.rows, DEFAULT_POLICY).exit_code


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
        _show(found.rows, as_json, console)
    return decide(found.rows, DEFAULT_POLICY).exit_code


def _copied(baseline: Path, candidate: Path) -> str:
    """A results file that both runs have to the last byte, with its moments: then one is a copy of the other; "" without one."""
    sides = [{file.read_bytes(): file.name for file in lm_eval.results(path)} for path in (baseline, candidate)]
    return next((name for said, name in sides[0].items() if said in sides[1] and _MOMENT in said), "")


def _run(path: Path, passage: str | None) -> tuple[Run, list[str]]:
    """A run of lm_eval, and what of it was left out."""
    items, warnings = lm_eval.read(path, dict.fromkeys(lm_eval.tasks(path), passage) if passage else {})
    return Run(items=tuple(items), settings=lm_eval.settings(path)), [f"{path}: {warning}" for warning in warnings]


def _listed(run: Run) -> str:
    return "; ".join(sorted(run.by_name)[:5])


def paste(file: Path, *, margin: float, items: int | None, as_json: bool, console: Console | None = None) -> int:
    """Says what a pasted before-and-after shows, and what it could not have seen. Passes: one run a side decides nothing."""
    found = pasted_text.read(file)
    rows = [row for side in found.sides[1:] for row in _totals(found, side, margin, items, file.stem)]
    if as_json:
        left = [*found.left_out, *_left_out(found)]
        single_runs = [_entry(one) for one in _pairs(found)]
        record_verdicts.print_json(rows, single_runs=single_runs, baseline=found.sides[0], baseline_guessed=not found.named, left_out=left)
        return EXIT_PASS
    if rows:
        _show(rows, as_json, console)
    unjudged = [line(f"{row.metric}, {row.candidate} against {row.baseline}: {row.reason}") for row in rows if row.verdict is None]
    for sentence in [*_guess(found), *unjudged, *_single_runs(found)]:
        (console or Console()).print(sentence, highlight=False, markup=False)
    return EXIT_PASS


def _guess(found: Paste) -> list[str]:
    """What was taken for the baseline, where the names of the sides leave that open."""
    if found.named:
        return []
    side = line(found.sides[0])
    if role(found.sides[0]) == "baseline":
        return [f"Several sides are called like a baseline; it is taken to be {side}."]
    if found.oldest:
        return [f"No heading names the baseline (main, before or the like), so it is the oldest version: {side}."]
    return [f"No heading names the baseline (main, before or the like), so it is what stands first: {side}."]


def _totals(found: Paste, side: str, margin: float, items: int | None, scenario: str) -> list[Judged]:
    """Every score that the baseline and this side printed; what is no share, or of no known direction, without a verdict."""
    of_side: dict[str, dict[str, Total]] = {each: {t.name: t for t in found.totals if t.side == each} for each in (found.sides[0], side)}
    first, second = of_side.values()
    shared = {name: one for name, one in first.items() if name in second}
    other = {name: accuracy_verdict.asked_otherwise(one, second[name]) for name, one in shared.items()}
    why = {name: other[name] or accuracy_verdict.totals_not_in_points(one, second[name]) for name, one in shared.items()}
    tasks, rows = sum(not one for one in why.values()), []
    for name, told in why.items():
        one, two, better = first[name], second[name], first[name].better or "higher"
        if told:
            asked = bool(other[name])
            row = accuracy_verdict.unjudged(
                name, told, scenario=scenario, baseline=found.sides[0], candidate=side, better=better, margin=margin, primary=asked
            )
        else:
            sides = ((one.value, one.error), (two.value, two.error))
            seen = accuracy_verdict.judge_totals(name, *sides, margin=margin, tasks=tasks, items=items, better=better)
            row = accuracy_verdict.as_judged(seen, scenario=scenario, baseline=found.sides[0], candidate=side)
        rows.append(row)
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """A number that both sides printed, once each."""

    label: str
    baseline: str
    candidate: str
    before: float
    after: float
    same_work: bool

    @property
    def ratio(self) -> float | None:
        """After by before, where that says something."""
        return self.after / self.before if self.before > 0 and self.after > 0 else None

    @property
    def measured(self) -> bool:
        """Whether both can have been measured: a latency or a throughput of 0 or less is a failed run's."""
        least = min(self.before, self.after)
        return least > 0 or (least == 0 and zero_is_ordinary(self.label))

    @property
    def word(self) -> str:
        """Whether it got better or worse, "" where its label does not say which direction is which, a number is none of its metric, or the
        two sides had other work to do (which alters no count of failures)."""
        direction = pasted_text.better(self.label)
        if direction is None or self.after == self.before or not self.measured or not (self.same_work or zero_is_ordinary(self.label)):
            return ""
        return "better" if (self.after < self.before) == (direction == "lower") else "worse"


def _pairs(found: Paste) -> list[_Pair]:
    """Of every side but the baseline, each number that the baseline has too; what both were asked alike is no result."""
    blocks = _by_side(found)
    base = next((side for side in found.sides if side in blocks), "")
    return [
        _Pair(
            label=label, baseline=base, candidate=side, before=blocks[base][label], after=after, same_work=_same_work(blocks[base], values)
        )
        for side, values in blocks.items()
        if side != base
        for label, after in values.items()
        if label in blocks[base] and (after != blocks[base][label] or (not pasted_text.is_work(label) and (after or blocks[base][label])))
    ]


def _same_work(first: Mapping[str, float], second: Mapping[str, float]) -> bool:
    """Whether two runs were asked for the same, and did it, but for a share that alters little."""
    work = [(first[label], second[label]) for label in first if label in second and pasted_text.is_work(label)]
    return all(abs(one - other) <= LITTLE * max(abs(one), abs(other)) for one, other in work)


def _by_side(found: Paste) -> dict[str, dict[str, float]]:
    sides: dict[str, dict[str, float]] = {}
    for block in found.blocks:
        sides.setdefault(block.side, {}).update(block.values)
    return sides


def _entry(pair: _Pair) -> dict[str, Any]:
    return {
        "metric": pair.label,
        "baseline": pair.baseline,
        "candidate": pair.candidate,
        "before": pair.before,
        "after": pair.after,
        "better": pasted_text.better(pair.label),
        "same_work": pair.same_work,
        "change": pair.ratio - 1 if pair.ratio else None,
        "most_scatter": single_run.most_scatter(pair.ratio) if pair.ratio else None,
    }


def _single_runs(found: Paste) -> list[str]:
    """One sentence a number that both sides printed: the change, and what it takes for it to be one; then what could not have been seen."""
    pairs = _pairs(found)
    if not pairs:
        return _passed_over(found) if found.totals else ["no number stands on both sides under one name, so nothing can be compared"]
    told = []
    for candidate in dict.fromkeys(pair.candidate for pair in pairs):
        own = [pair for pair in pairs if pair.candidate == candidate]
        told += [line(f"{candidate} against {own[0].baseline}, one run each{BRACKETS}:"), *(f"  {line(_told(pair))}" for pair in own)]
    if left := _left_out(found):
        told.append(line(f"Left out, for one side alone has them: {', '.join(left)}"))
    told += _passed_over(found)
    unseen = ", or ".join(
        f"{number_format.percent(single_run.unseen(share), signed=False)} if runs of one build scatter by {100 * share:g} %"
        for share in SCATTERS
    )
    return [
        *told,
        "One run a side has no error bars, so there is no verdict: two launches of one build have differed by half.",
        f"What it could not have seen: a change below {unseen}.",
        "For a verdict, measure both sides once in each of at least 6 blocks: perfproof judge FILE.csv (docs/judge.md)",
    ]


def _passed_over(found: Paste) -> list[str]:
    return [line(f"Left out, for it is no number of a side's: {'; '.join(found.left_out)}")] if found.left_out else []


def _told(pair: _Pair) -> str:
    numbers = f"{pair.label}: {pair.before:g} to {pair.after:g}"
    if pasted_text.is_work(pair.label):
        return f"{numbers}: not the same work on both sides, which alone changes the rest"
    if pair.after == pair.before:
        return f"{numbers}, the same"
    if pair.ratio is None:
        told = (
            f", {pair.word}"
            if pair.word
            else ": 0 or less is no measurement of it"
            if pasted_text.better(pair.label) and not pair.measured
            else ""
        )
        return f"{numbers}{told}"
    changed = ", ".join(part for part in (number_format.percent(pair.ratio - 1), pair.word) if part)
    return f"{numbers} ({changed}) [{number_format.percent(single_run.most_scatter(pair.ratio), signed=False)}]"


def _left_out(found: Paste) -> list[str]:
    """The numbers that one side alone has."""
    sides = list(_by_side(found).values())
    return [label for label in dict.fromkeys(label for own in sides for label in own) if sum(label in own for own in sides) == 1]


def _show(rows: Sequence[Judged], as_json: bool, console: Console | None) -> None:
    if as_json:
        record_verdicts.print_json(rows)
        return
    from perfproof.report import view
    from perfproof.report.formats import terminal

    terminal.show(view.build(rows, (), made="", version=__version__), console or Console())
