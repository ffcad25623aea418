"""The verb on what is pasted into pull requests: what it shows, and what it could not have seen. No vLLM is needed here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console

from perfproof.analysis.stats import number_format, single_run
from perfproof.analysis.verdicts import accuracy_verdict
from perfproof.commands import record_verdicts
from perfproof.commands.foreign import evals
from perfproof.importers import pasted_text
from perfproof.importers.pasted_text.context.readings import Pair, Paste, ScorePair
from perfproof.model.base.errors import EXIT_PASS
from perfproof.model.base.untrusted import line
from perfproof.model.scenarios.metric_directions import zero_is_ordinary
from perfproof.model.verdicts.judged import Judged

SCATTERS = (0.01, 0.05)
"""Scatters of runs of one build for which the answer says what a pair of runs could not have seen."""
BRACKETS = " (in brackets: how much runs of one build may scatter until the change is no more than noise)"


def paste(file: Path, *, margin: float, items: int | None, as_json: bool, console: Console | None = None) -> int:
    """Says what a pasted before-and-after shows, and what it could not have seen. Passes: one run a side decides nothing."""
    found = pasted_text.read(file)
    rows = list(_rows(found, margin, items, file.stem))
    if as_json:
        record_verdicts.print_json(
            [row for row, _ in rows],
            [_of_scores(score) for _, score in rows],
            single_runs=[_entry(pair) for pair in found.pairs],
            baseline=found.sides[0],
            baseline_guessed=bool(found.guessed),
            guessed=found.guessed or None,
            left_out=_left_out(found),
        )
        return EXIT_PASS
    if rows:
        evals.show([row for row, _ in rows], console)
    unjudged = [line(f"{row.metric}, {row.candidate} against {row.baseline}: {row.reason}") for row, _ in rows if row.verdict is None]
    guess = [line(f"A guess: {found.guessed}.")] if found.guessed else []
    for sentence in [*guess, *unjudged, *_sentences(found)]:
        (console or Console()).print(sentence, highlight=False, markup=False)
    return EXIT_PASS


# --- scores of evaluations ----------------------------------------------------------------------------------------


def _of_scores(pair: ScorePair) -> dict[str, Any]:
    """What is said of a score beside its verdict; one table is one evaluation, of how many runs nobody says."""
    return {"section": pair.section or None, "runs": {"baseline": None, "candidate": None}, "guessed": pair.guessed or None}


def _rows(found: Paste, margin: float, items: int | None, scenario: str) -> Iterator[tuple[Judged, ScorePair]]:
    """Every score that the baseline and another side printed, judged; what is no share, or of no known direction, without a verdict."""
    why = {id(pair): _no_verdict(pair) for pair in found.scores}
    tasks = max(1, sum(not each for each in why.values()))
    for pair in found.scores:
        name = f"{pair.before.name}, {pair.section}" if pair.section else pair.before.name
        yield _judged(pair, name, why[id(pair)], margin=margin, tasks=tasks, items=items, scenario=scenario), pair


def _no_verdict(pair: ScorePair) -> str:
    return accuracy_verdict.different_questions(pair.before, pair.after) or accuracy_verdict.totals_not_in_points(pair.before, pair.after)


def _judged(pair: ScorePair, name: str, why: str, *, margin: float, tasks: int, items: int | None, scenario: str) -> Judged:
    one, two, better = pair.before, pair.after, pair.before.better or "higher"
    if why:
        asked = bool(accuracy_verdict.different_questions(one, two))
        return accuracy_verdict.unjudged(
            name, why, scenario=scenario, baseline=one.side, candidate=two.side, better=better, margin=margin, primary=asked
        )
    sides = ((one.value, one.error), (two.value, two.error))
    seen = accuracy_verdict.judge_totals(name, *sides, margin=margin, tasks=tasks, items=items, better=better)
    return accuracy_verdict.as_judged(seen, scenario=scenario, baseline=one.side, candidate=two.side)


# --- numbers of runs ----------------------------------------------------------------------------------------------


def _ratio(pair: Pair) -> float | None:
    """After by before, where that says something."""
    return pair.after / pair.before if pair.before > 0 and pair.after > 0 else None


def _measured(pair: Pair) -> bool:
    """Whether both can have been measured: a latency or a throughput of 0 or less is a failed run's."""
    least = min(pair.before, pair.after)
    return least > 0 or (least == 0 and zero_is_ordinary(pair.label))


def _word(pair: Pair) -> str:
    """Whether it got better or worse, "" where its label does not say which direction is which, a number is none of its metric, or the
    two sides had other work to do (which alters no count of failures)."""
    if pair.better is None or pair.after == pair.before or not _measured(pair) or not (pair.same_work or zero_is_ordinary(pair.label)):
        return ""
    return "better" if (pair.after < pair.before) == (pair.better == "lower") else "worse"


def _entry(pair: Pair) -> dict[str, Any]:
    ratio = _ratio(pair)
    return {
        "section": pair.section or None,
        "metric": pair.label,
        "baseline": pair.baseline,
        "candidate": pair.candidate,
        "before": pair.before,
        "after": pair.after,
        "better": pair.better,
        "same_work": pair.same_work,
        "change": ratio - 1 if ratio else None,
        "most_scatter": single_run.most_scatter(ratio) if ratio else None,
        "runs": dict(zip(("baseline", "candidate"), pair.runs, strict=True)),
        "guessed": pair.guessed or None,
        "measured": _measured(pair),
    }


def _sentences(found: Paste) -> list[str]:
    """One sentence a number that both sides printed: the change, and what it takes for it to be one; then what could not have been seen."""
    if not found.pairs:
        return _left(found)
    told = []
    for (section, candidate, base, runs, made), own in groupby(
        found.pairs, lambda pair: (pair.section, pair.candidate, pair.baseline, pair.runs, _made(pair))
    ):
        under = f"{section}: " if section else ""
        told += [
            line(f"{under}{candidate} against {base}, {_counted(runs, made)}{BRACKETS}:"),
            *(f"  {line(_told(pair))}" for pair in own),
        ]
    unseen = ", or ".join(
        f"{number_format.percent(single_run.unseen(share), signed=False)} if runs of one build scatter by {100 * share:g} %"
        for share in SCATTERS
    )
    return [
        *told,
        *_left(found),
        f"{_no_bars(found.pairs)}, so there is no verdict: two launches of one build have differed by half.",
        f"What a pair of runs could not have seen: a change below {unseen}.",
        "For a verdict, measure both sides once in each of at least 6 blocks: perfproof judge FILE.csv (docs/judge.md)",
    ]


def _spread(pair: Pair) -> bool:
    """Whether the runs of either side are there, rather than a number that was made of them."""
    return any(least < most for least, most in pair.spans)


def _made(pair: Pair) -> str:
    """What a pair's numbers are of their runs."""
    return "means of" if pair.means else "medians of" if _spread(pair) else "over"


def _counted(runs: tuple[int | None, int | None], made: str) -> str:
    """How many runs are behind the numbers, as far as anybody says."""
    first, second = runs
    if first is None or second is None:
        return "of how many runs is not told"
    return (
        "one run each" if first == second == 1 else f"{made} {number_format.count(first, 'run')} and {number_format.count(second, 'run')}"
    )


def _no_bars(pairs: Sequence[Pair]) -> str:
    if all(pair.runs == (1, 1) for pair in pairs):
        return "One run a side has no error bars"
    if any((pair.runs[0] or 0) > 1 and (pair.runs[1] or 0) > 1 for pair in pairs):
        return "Nothing tells whether the runs of both sides were measured in turns"
    return "Numbers of untold runs have no error bars"


def _left_out(found: Paste) -> list[str]:
    """What was left out, in the order of the text: the same in words and in JSON."""
    return list(dict.fromkeys([*found.left_out, *found.faults]))


def _left(found: Paste) -> list[str]:
    """What was left out, in one line."""
    return [f"Left out: {'; '.join(line(each) for each in left)}"] if (left := _left_out(found)) else []


def _told(pair: Pair) -> str:
    numbers = f"{pair.label}: {pair.before:.10g} to {pair.after:.10g}"
    if _spread(pair):
        (low, high), (least, most) = pair.spans
        numbers += f" (runs {low:.10g} to {high:.10g}, and {least:.10g} to {most:.10g})"
    ratio = _ratio(pair)
    if pair.is_work and pair.same_work:
        return f"{numbers}, nearly the same work on both sides"
    if pair.is_work:
        return f"{numbers}: not the same work on both sides, which alone changes the rest"
    if pair.after == pair.before:
        return f"{numbers}, the same"
    if ratio is None:
        word = _word(pair)
        return f"{numbers}{f', {word}' if word else ': 0 or less is no measurement of it' if pair.better and not _measured(pair) else ''}"
    changed = ", ".join(part for part in (number_format.percent(ratio - 1), _word(pair)) if part)
    return f"{numbers} ({changed}) [{number_format.percent(single_run.most_scatter(ratio), signed=False)}]"
