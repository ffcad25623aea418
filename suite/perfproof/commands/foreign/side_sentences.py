"""What is said of two sides of result files, for people and for machines.

What the sides did not have in common stands first, then the verdicts or, of one run a side, the changes and which ones it could not detect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from perfproof import __version__
from perfproof.analysis.sides import judge_sides
from perfproof.analysis.sides.cases import Lone
from perfproof.analysis.sides.judge_sides import Compared, Sides
from perfproof.analysis.stats import number_format, single_run
from perfproof.commands import record_verdicts
from perfproof.model.base.name_lists import few
from perfproof.model.base.untrusted import line
from perfproof.model.records.result_runs import ResultSide
from perfproof.model.scenarios.metric_directions import zero_is_ordinary
from perfproof.model.verdicts.judged import Judged

SCATTERS = (0.01, 0.05)
"""Scatters of runs of one build for which the least change that a pair of runs shows is said."""
MOST_NAMED = 8
LONGEST = 1000
BRACKETS = "(in brackets: how much runs of one build may scatter until the change is no more than noise)"


def as_json(
    found: Sequence[Sides], lone: Sequence[tuple[Judged, Lone]], names: tuple[str, str], guessed: str, left_out: Sequence[str]
) -> None:
    """Prints the keys of `pasted --json`, and what files say beyond a paste."""
    record_verdicts.print_whole(
        [
            *(record_verdicts.comparison(row) | _place(sides) for sides in found for row in sides.judged),
            *(record_verdicts.comparison(row) | {"section": one.section, "runs": list(one.runs)} for row, one in lone),
        ],
        single_runs=[_entry(one, sides, names) | _place(sides) for sides in found if not sides.judged for one in sides.compared],
        sections=[
            {"section": sides.case.section, "unequal": list(sides.case.unequal), "other": list(sides.case.other), "order": sides.order.how}
            for sides in found
        ],
        baseline=names[0],
        baseline_guessed=bool(guessed),
        guessed=guessed or None,
        left_out=list(left_out),
    )


def _place(sides: Sides) -> dict[str, Any]:
    return {"section": sides.case.section, "runs": [len(sides.case.before), len(sides.case.after)]}


def _entry(one: Compared, sides: Sides, names: tuple[str, str]) -> dict[str, Any]:
    ratio = _ratio(one)
    return {
        "metric": one.metric,
        "statistic": one.statistic or None,
        "unit": one.unit,
        "baseline": names[0],
        "candidate": names[1],
        "before": one.before[0],
        "after": one.after[0],
        "better": one.better,
        "same_work": not sides.case.unequal,
        "change": ratio - 1 if ratio else None,
        "most_scatter": single_run.most_scatter(ratio) if ratio else None,
    }


def _ratio(one: Compared) -> float | None:
    """After by before of one run each, where that says something."""
    return one.after[0] / one.before[0] if one.before[0] > 0 and one.after[0] > 0 else None


def show(
    before: ResultSide,
    after: ResultSide,
    found: Sequence[Sides],
    lone: Sequence[tuple[Judged, Lone]],
    guessed: str,
    left_out: Sequence[str],
    console: Console,
) -> None:
    """Prints everything that is to be said, in its order."""
    _say(console, [text for sides in found for text in _differing(sides)])
    _say(console, [f"{guessed}: name the other side first if it is not."] if guessed else [])
    _say(console, [f"{doubt}." for doubt in judge_sides.doubts((*before.runs, *after.runs))])
    judged = [*(row for sides in found for row in sides.judged), *(row for row, _ in lone)]
    single = [sides for sides in found if not sides.judged]
    if judged:
        from perfproof.report import view
        from perfproof.report.formats import terminal

        _say(console, [f"{_headed(sides)}{_runs(sides)}: {sides.order.how}." for sides in found if sides.judged])
        terminal.show(view.build(judged, (), made="", version=__version__), console)
    _say(console, [text for sides in single for text in _single(sides, before.name, after.name)])
    _say(console, [_trials(before, after)])
    _say(console, _undecided() if single else [])
    _say(console, _left(left_out))


def _left(left_out: Sequence[str]) -> list[str]:
    """What was left out, a line each."""
    more = [f"  and {len(left_out) - MOST_NAMED} more (--json names all)"] if len(left_out) > MOST_NAMED else []
    return ["Left out:", *(f"  {each}" for each in left_out[:MOST_NAMED]), *more] if left_out else []


def _say(console: Console, texts: Sequence[str]) -> None:
    for text in texts:
        console.print(line(text, LONGEST), highlight=False, markup=False, soft_wrap=True)


def _headed(sides: Sides) -> str:
    return f"{sides.case.section}: " if sides.case.section else ""


def _runs(sides: Sides) -> str:
    before, after = len(sides.case.before), len(sides.case.after)
    return f"{number_format.count(before, 'run')} of the baseline, {after:,} of the candidate"


def _differing(sides: Sides) -> list[str]:
    """What was not the same, which alone may be the change; then what else differs, which may be what is compared."""
    unequal = (
        f"{_headed(sides)}Not the same work, which alone changes the rest: {'; '.join(sides.case.unequal)} (--allow NAME for what may)."
    )
    other = f"{_headed(sides)}Also different: {'; '.join(sides.case.other)}."
    return [text for text, there in ((unequal, sides.case.unequal), (other, sides.case.other)) if there]


def _trials(before: ResultSide, after: ResultSide) -> str:
    """What one trial is in these files, and what is none."""
    trials = dict.fromkeys((file.tool, file.trial) for side in (before, after) for file in side.files)
    inside = list(dict.fromkeys(run.inside for side in (before, after) for run in side.runs if run.inside))
    named = "; ".join(f"{name}: a trial is {trial}" for name, trial in trials)
    return f"{named}; what lies within a run is no trial ({few(inside, 3)})." if inside else f"{named}."


def _single(sides: Sides, before: str, after: str) -> list[str]:
    """One line a metric, the headlines first."""
    rows = sorted(sides.compared, key=lambda one: not one.headline)
    lines = [_told(one, bool(sides.case.unequal)) for one in rows if one.better is not None]
    return [f"{_headed(sides)}{after} against {before}, one run each {BRACKETS}:", *lines]


def _told(one: Compared, unequal: bool) -> str:
    first, second = (number_format.quantity(values[0], one.unit) for values in (one.before, one.after))
    values = f"  {one.metric}: {first} to {second}"
    if one.before == one.after:
        return f"{values}, the same"
    worse = (one.after[0] > one.before[0]) == (one.better == "lower")
    word = "" if unequal and not zero_is_ordinary(one.metric) else "worse" if worse else "better"
    ratio = _ratio(one)
    if ratio is None:
        return f"{values}, {word}" if word else values
    change = ", ".join(part for part in (number_format.percent(ratio - 1), word) if part)
    return f"{values} ({change}) [{number_format.percent(single_run.most_scatter(ratio), signed=False)}]"


def _undecided() -> list[str]:
    """Why one run a side has no verdict, what it could not have detected, and what would."""
    unseen = ", or ".join(
        f"{number_format.percent(single_run.unseen(share), signed=False)} if runs of one build scatter by {100 * share:g} %"
        for share in SCATTERS
    )
    return [
        "No verdict from one run a side: it has no error bars, and two launches of one build have differed by half.",
        f"It could not have detected a change below {unseen}.",
        "For a verdict, run both sides in turns, at least 6 times each, with a fresh server and another seed for every pair; "
        "then judge the two folders: perfproof judge BEFORE/ AFTER/",
        "Or let perfproof do all of it: perfproof run SCENARIO.yaml --baseline BUILD --candidate BUILD (docs/scenarios.md)",
    ]
