"""The verbs on other people's evaluations: samples of lm_eval, and text pasted into pull requests. They need no vLLM.

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
from perfproof.analysis.stats import number_format, single_run
from perfproof.analysis.verdicts import accuracy_verdict, eval_runs
from perfproof.analysis.verdicts.eval_runs import Run
from perfproof.commands import record_verdicts
from perfproof.importers import lm_eval, pasted_text
from perfproof.importers.pasted_text import Paste
from perfproof.model.base.errors import EXIT_PASS, BadInput
from perfproof.model.base.untrusted import line
from perfproof.model.records.eval_items import Total
from perfproof.model.scenarios.metric_directions import zero_is_ordinary
from perfproof.model.scenarios.side_names import role
from perfproof.model.verdicts.judged import Judged
from perfproof.model.verdicts.policy import DEFAULT_POLICY

SCATTERS = (0.01, 0.05)
"""The scatters of runs of one build for which the undetectable change is shown."""
_MOMENT = b'"date": '
"""The key of a results file's time, which differs between any two runs."""
LITTLE = 0.01
"""The largest ratio of the sides' work that counts as equal: output lengths may differ by a few tokens."""
BRACKETS = " (in brackets: the scatter of runs of one build at which the change is only noise)"


def accuracy(
    baseline: Path, candidate: Path, *, margin: float, passage: str | None = None, as_json: bool, console: Console | None = None
) -> int:
    """Judges two runs of lm_eval, item by item; every task, filter and metric that both have shares the error rate.

    `passage` is the key of a document with the text that several items are about. A different model is named first.
    """
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
        _show(result.rows, as_json, console)
    return decide(result.rows, DEFAULT_POLICY).exit_code


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


def paste(file: Path, *, margin: float, items: int | None, as_json: bool, console: Console | None = None) -> int:
    """Shows what a pasted before-and-after says, and which change it could not detect. Passes: one run per side decides nothing."""
    pasted = pasted_text.read(file)
    rows = [row for side in pasted.sides[1:] for row in _totals(pasted, side, margin, items, file.stem)]
    if as_json:
        left = [*pasted.left_out, *_left_out(pasted)]
        single_runs = [_entry(one) for one in _pairs(pasted)]
        record_verdicts.print_json(
            rows, single_runs=single_runs, baseline=pasted.sides[0], baseline_guessed=not pasted.named, left_out=left
        )
        return EXIT_PASS
    if rows:
        _show(rows, as_json, console)
    unjudged = [line(f"{row.metric}, {row.candidate} against {row.baseline}: {row.reason}") for row in rows if row.verdict is None]
    for sentence in [*_guess(pasted), *unjudged, *_single_runs(pasted)]:
        (console or Console()).print(sentence, highlight=False, markup=False)
    return EXIT_PASS


def _guess(pasted: Paste) -> list[str]:
    """A sentence on the side taken as the baseline, where the names of the sides leave that open."""
    if pasted.named:
        return []
    side = line(pasted.sides[0])
    if role(pasted.sides[0]) == "baseline":
        return [f"Several sides are named like a baseline; {side} is taken as the baseline."]
    if pasted.oldest:
        return [f"No heading names the baseline (main, before or the like), so it is the oldest version: {side}."]
    return [f"No heading names the baseline (main, before or the like), so it is the first side: {side}."]


def _totals(pasted: Paste, side: str, margin: float, items: int | None, scenario: str) -> list[Judged]:
    """Every score that both the baseline and this side have; one that is not a share, or has no known direction, gets no verdict."""
    of_side: dict[str, dict[str, Total]] = {each: {t.name: t for t in pasted.totals if t.side == each} for each in (pasted.sides[0], side)}
    first, second = of_side.values()
    shared = {name: one for name, one in first.items() if name in second}
    other = {name: accuracy_verdict.different_questions(one, second[name]) for name, one in shared.items()}
    why = {name: other[name] or accuracy_verdict.totals_not_in_points(one, second[name]) for name, one in shared.items()}
    tasks, rows = sum(not one for one in why.values()), []
    for name, fault in why.items():
        one, two, better = first[name], second[name], first[name].better or "higher"
        if fault:
            primary = bool(other[name])
            row = accuracy_verdict.unjudged(
                name, fault, scenario=scenario, baseline=pasted.sides[0], candidate=side, better=better, margin=margin, primary=primary
            )
        else:
            sides = ((one.value, one.error), (two.value, two.error))
            seen = accuracy_verdict.judge_totals(name, *sides, margin=margin, tasks=tasks, items=items, better=better)
            row = accuracy_verdict.as_judged(seen, scenario=scenario, baseline=pasted.sides[0], candidate=side)
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
        """After divided by before, where that is meaningful."""
        return self.after / self.before if self.before > 0 and self.after > 0 else None

    @property
    def measured(self) -> bool:
        """Whether both can be measurements: a latency or throughput of 0 or less is of a failed run."""
        least = min(self.before, self.after)
        return least > 0 or (least == 0 and zero_is_ordinary(self.label))

    @property
    def word(self) -> str:
        """Whether it got better or worse.

        It is "" where the direction is unknown, a number can't be a measurement, or the two sides had different work (which does not matter
        for counts of failures).
        """
        direction = pasted_text.better(self.label)
        if direction is None or self.after == self.before or not self.measured or not (self.same_work or zero_is_ordinary(self.label)):
            return ""
        return "better" if (self.after < self.before) == (direction == "lower") else "worse"


def _pairs(pasted: Paste) -> list[_Pair]:
    """Each number that a side shares with the baseline; settings that both sides share are not results."""
    blocks = _by_side(pasted)
    base = next((side for side in pasted.sides if side in blocks), "")
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
    """Whether two runs got the same requests and did the same work, except for a negligible share."""
    work = [(first[label], second[label]) for label in first if label in second and pasted_text.is_work(label)]
    return all(abs(one - other) <= LITTLE * max(abs(one), abs(other)) for one, other in work)


def _by_side(pasted: Paste) -> dict[str, dict[str, float]]:
    sides: dict[str, dict[str, float]] = {}
    for block in pasted.blocks:
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


def _single_runs(pasted: Paste) -> list[str]:
    """One sentence per number that both sides have: the change, and the scatter at which it is noise; then the undetectable change."""
    pairs = _pairs(pasted)
    if not pairs:
        return _passed_over(pasted) if pasted.totals else ["no number has the same name on both sides, so nothing can be compared"]
    lines = []
    for candidate in dict.fromkeys(pair.candidate for pair in pairs):
        own = [pair for pair in pairs if pair.candidate == candidate]
        lines += [line(f"{candidate} against {own[0].baseline}, one run each{BRACKETS}:"), *(f"  {line(_pair_line(pair))}" for pair in own)]
    if left := _left_out(pasted):
        lines.append(line(f"Left out, because only one side has them: {', '.join(left)}"))
    lines += _passed_over(pasted)
    unseen = ", or ".join(
        f"{number_format.percent(single_run.unseen(share), signed=False)} if runs of one build scatter by {100 * share:g} %"
        for share in SCATTERS
    )
    return [
        *lines,
        "One run per side has no error bars, so there is no verdict: two launches of one build have differed by half.",
        f"It could not have detected a change below {unseen}.",
        "For a verdict, measure both sides once in each of at least 6 blocks: perfproof judge FILE.csv (docs/judge.md)",
    ]


def _passed_over(pasted: Paste) -> list[str]:
    return [line(f"Left out, because it is not a number of a side: {'; '.join(pasted.left_out)}")] if pasted.left_out else []


def _pair_line(pair: _Pair) -> str:
    numbers = f"{pair.label}: {pair.before:g} to {pair.after:g}"
    if pasted_text.is_work(pair.label):
        return f"{numbers}: not the same work on both sides, which alone changes the rest"
    if pair.after == pair.before:
        return f"{numbers}, the same"
    if pair.ratio is None:
        conclusion = (
            f", {pair.word}"
            if pair.word
            else ": 0 or less is not a measurement of it"
            if pasted_text.better(pair.label) and not pair.measured
            else ""
        )
        return f"{numbers}{conclusion}"
    changed = ", ".join(part for part in (number_format.percent(pair.ratio - 1), pair.word) if part)
    return f"{numbers} ({changed}) [{number_format.percent(single_run.most_scatter(pair.ratio), signed=False)}]"


def _left_out(pasted: Paste) -> list[str]:
    """The numbers that only one side has."""
    sides = list(_by_side(pasted).values())
    return [label for label in dict.fromkeys(label for own in sides for label in own) if sum(label in own for own in sides) == 1]


def _show(rows: Sequence[Judged], as_json: bool, console: Console | None) -> None:
    if as_json:
        record_verdicts.print_json(rows)
        return
    from perfproof.report import view
    from perfproof.report.formats import terminal

    terminal.show(view.build(rows, (), made="", version=__version__), console or Console())
