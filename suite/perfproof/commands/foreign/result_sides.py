"""`perfproof judge A B`: two sides of result files that other benchmarks wrote. No vLLM is needed here.

A run that is there twice counts once; a run that is on both sides is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from perfproof.analysis.judging.apply_policy import decide
from perfproof.analysis.sides import cases, judge_sides
from perfproof.analysis.sides.judge_sides import Sides
from perfproof.analysis.stats import number_format
from perfproof.commands.foreign import side_sentences
from perfproof.importers import result_files
from perfproof.model.base.errors import EXIT_PASS, BadInput
from perfproof.model.base.name_lists import few
from perfproof.model.base.untrusted import line
from perfproof.model.records.result_runs import ResultRun, ResultSide
from perfproof.model.scenarios.side_names import role
from perfproof.model.verdicts.policy import DEFAULT_POLICY

MOST_NAMED = 8
LEAST_SHARED = 3
"""Values that two runs must share, all of them, to be one run that is there twice."""
ROUNDED = 0.0051
"""How far a value may be from another that was written with two decimals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `judge A B` was asked: see its options."""

    margin: float
    as_json: bool
    metric: str | None = None
    interleaved: bool = False
    allowed: Sequence[str] = ()


def judge(baseline: Sequence[Path], candidate: Sequence[Path], options: Options, console: Console | None = None) -> int:
    """Compares two sides of result files.

    The exit code is 1 where a headline metric regressed, 3 where none could be tested. One run a side decides nothing, which passes.
    """
    names = _names(baseline, candidate)
    before, after = (_side(name, paths) for name, paths in zip(names, (baseline, candidate), strict=True))
    _refuse_shared(before, after)
    _refuse_idle(options.allowed, before, after)
    matched = cases.match(before.runs, after.runs, options.allowed)
    if not matched.cases:
        raise BadInput(f"{names[1]}: no run of it was asked what a run of {names[0]} was: {'; '.join(matched.left_out[:MOST_NAMED])}")
    question = judge_sides.Question(
        margin=options.margin, names=names, scenario="runs", interleaved=options.interleaved, only=options.metric, cases=len(matched.cases)
    )
    found = [judge_sides.judge(case, replace(question, scenario=case.section or "runs")) for case in matched.cases]
    if not any(sides.compared for sides in found):
        raise BadInput(
            f"{names[1]}: no metric of it is in {names[0]} as well: {'; '.join(each for sides in found for each in sides.left_out)}"
        )
    _refuse_unknown(options.metric, found)
    rows = [row for sides in found for row in sides.judged]
    lone = [(judge_sides.lacking(one, question), one) for one in matched.lone] if rows else []
    left_out = list(
        dict.fromkeys([*before.left_out, *after.left_out, *matched.left_out, *(each for sides in found for each in sides.left_out)])
    )
    guessed = _guessed(names)
    if options.as_json:
        side_sentences.as_json(found, lone, names, guessed, left_out)
    else:
        side_sentences.show(before, after, found, lone, guessed, left_out, console or Console())
    single = all(len(sides.case.before) == len(sides.case.after) == 1 for sides in found)
    return EXIT_PASS if single else decide([*rows, *(row for row, _ in lone)], DEFAULT_POLICY).exit_code


def _refuse_idle(allowed: Sequence[str], before: ResultSide, after: ResultSide) -> None:
    """Raises `BadInput` for an allowed difference that is none."""
    there = cases.differing(before.runs, after.runs)
    if idle := [name for name in allowed if name not in there]:
        named = f"what differs and may be allowed: {few(there, MOST_NAMED)}" if there else "nothing differs that could be allowed"
        raise BadInput(f"--allow {line(idle[0], 60)}: the sides do not differ in this; {named}")


def _names(baseline: Sequence[Path], candidate: Sequence[Path]) -> tuple[str, str]:
    """Short names of the sides, or their whole paths where the short ones are alike."""
    sides = (baseline, candidate)
    short, whole = ([_name([render(path) for path in side]) for side in sides] for render in (_short, str))
    first, second = short if short[0] != short[1] else whole
    return (first, second) if first != second else (f"{first} (baseline)", f"{second} (candidate)")


def _short(path: Path) -> str:
    return path.name or str(path)


def _name(paths: Sequence[str]) -> str:
    return line(paths[0] + (f" and {len(paths) - 1} more" if len(paths) > 1 else ""), 100)


def _side(name: str, paths: Sequence[Path]) -> ResultSide:
    files, left_out = result_files.read_side(paths)
    whole = [replace(run, asked={"tool": file.tool, **run.asked}) for file in files if not file.rounded for run in file.runs]
    rounded = [replace(run, asked={"tool": file.tool, **run.asked}) for file in files if file.rounded for run in file.runs]
    runs, twice = _once(whole)
    for run in rounded:
        same = next((one for one in runs if _rounded(run, one)), None)
        twice += [f"{run.source}: is the run of {same.source}, rounded"] if same else []
        runs += [] if same else [run]
    return ResultSide(name=name, files=tuple(files), runs=tuple(runs), left_out=(*left_out, *twice, *_lost(runs)))


def _lost(runs: Sequence[ResultRun]) -> list[str]:
    """What was left out of the runs, each thing once, with the run or how many runs it was left out of."""
    sources: dict[str, list[str]] = {}
    for run in runs:
        for each in run.left_out:
            sources.setdefault(each, []).append(run.source)
    return [f"{named[0]}: {each}" if len(named) == 1 else f"{each} ({len(named)} runs)" for each, named in sources.items()]


def _once(runs: Sequence[ResultRun]) -> tuple[list[ResultRun], list[str]]:
    """The runs, each once: a sweep writes every run into its own file and into its summaries."""
    first: dict[object, ResultRun] = {}
    twice: list[str] = []
    for run in runs:
        same = first.setdefault(_content(run), run)
        if same is not run:
            twice.append(f"{run.source} is {same.source}")
    sentence = f"{number_format.count(len(twice), 'run')} that stand twice count once: {few(twice, 3)}"
    return list(first.values()), [sentence] if twice else []


def _content(run: ResultRun) -> object:
    """What makes two runs one: all values alike, of several; a run of few values is only itself."""
    if len(run.values) < LEAST_SHARED:
        return run.source
    return run.benchmark, frozenset((value.metric, f"{value.value:.12g}") for value in run.values)


def _rounded(rounded: ResultRun, run: ResultRun) -> bool:
    """Whether a run is another, written with two decimals."""
    whole = {value.metric: value.value for value in run.values}
    shared = [abs(value.value - whole[value.metric]) <= ROUNDED for value in rounded.values if value.metric in whole]
    return len(shared) >= LEAST_SHARED and all(shared)


def _refuse_shared(before: ResultSide, after: ResultSide) -> None:
    theirs = {_content(run): run for run in before.runs}
    if same := next((run for run in after.runs if _content(run) in theirs), None):
        raise BadInput(f"{same.source}: is the baseline's own run ({theirs[_content(same)].source}), to the last digit: name another run")


def _refuse_unknown(metric: str | None, found: Sequence[Sides]) -> None:
    there = list(dict.fromkeys(one.metric for sides in found for one in sides.compared if one.better))
    if metric is not None and metric not in there:
        raise BadInput(f"--metric {metric}: there is no such metric with a known direction; the metrics are {', '.join(there) or 'none'}")


def _guessed(names: tuple[str, str]) -> str:
    """Why the baseline is a guess, in words; "" where it is none: the side that is named first is the baseline."""
    if role(Path(names[0]).stem) == "candidate" or role(Path(names[1]).stem) == "baseline":
        return f"{names[0]} is taken for the baseline because it stands first, though the names say the opposite"
    return ""
