"""A verdict on two sides of runs, as far as their number, their order and their work allow one.

Runs in turns are pairs, judged as any blocks are. Runs that did not take turns are two unpaired sides: Welch's interval of the logarithms,
what a drift could have made, and never a verdict of a change. One run a side has no interval at all. Unequal work is *untestable*.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from perfproof.analysis.judging.judge import judge_table
from perfproof.analysis.sides.cases import MOST_NAMED, Case, Lone
from perfproof.analysis.sides.measured_order import BASELINE, CANDIDATE, Order, order
from perfproof.analysis.stats import number_format
from perfproof.analysis.verdicts import unpaired
from perfproof.model.base.name_lists import few
from perfproof.model.base.quantities import converted
from perfproof.model.records.result_runs import ResultRun, ResultValue
from perfproof.model.scenarios.metrics import Better
from perfproof.model.verdicts.judged import Judged, Outcome

LOOK = 0.02
"""Two-sided error of one look, shared by the metrics that are judged."""
ASSUMED = "Welch's interval of their logarithms: it takes the runs of a side for independent and alike but for noise"
DRIFT = ", so a drift looks like a change"
REMEDY = "measure both sides in turns"
ODD_UNITS = "units that have nothing in common"
NAMED = 3
"""How many differences of the work a reason names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One metric that both sides have: its values, run by run, in one unit. `better` is None where nobody can tell."""

    metric: str
    unit: str
    better: Better | None
    statistic: str
    headline: bool
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def runs(self) -> tuple[int, int]:
        """How many runs there are of either side."""
        return len(self.before), len(self.after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """One case, compared: its metrics, and the verdicts where a side has several runs. `left_out` is what was not compared, in words."""

    case: Case
    order: Order
    compared: tuple[Compared, ...]
    judged: tuple[Judged, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of a case: the margin, the names of the sides and of the case, whether the user says that they took turns, and `only`,
    the one metric that is judged instead of the headlines. `cases` share the error."""

    margin: float
    names: tuple[str, str]
    scenario: str
    interleaved: bool = False
    only: str | None = None
    cases: int = 1


def judge(case: Case, question: Question) -> Sides:
    """Everything that both sides of a case have. A headline that some of its runs lack is *untestable*.

    Source: `verdict.judge` for pairs, `unpaired.two_sides` for sides.
    """
    compared, lost = _compared(case)
    found = order(case.before, case.after, said_interleaved=question.interleaved)
    several = max(len(case.before), len(case.after)) > 1
    return Sides(
        case=case,
        order=found,
        compared=tuple(compared),
        judged=tuple(_judged(case, compared, lost, found, question)) if several else (),
        left_out=tuple(f"{why}: {few(names, MOST_NAMED)}" for why, names in lost.items() if names),
    )


def _judged(
    case: Case, compared: Sequence[Compared], lost: Mapping[str, Sequence[str]], found: Order, question: Question
) -> Iterator[Judged]:
    every = [value for run in (*case.before, *case.after) for value in run.values]
    chosen = {value.metric for value in every if value.better and (value.metric == question.only if question.only else value.headline)}
    share = question.cases * max(1, len(chosen))
    for one in compared:
        if one.better is not None:
            line = _line(one, found, question, share)
            yield _allowed(line, case) if one.metric in chosen else replace(line, primary=False, verdict=None)
    why = {name: reason for reason, names in lost.items() for name in names}
    for value in {value.metric: value for value in every if value.metric in chosen and value.metric in why}.values():
        one = Compared(
            metric=value.metric, unit=value.unit, better=value.better, statistic=value.statistic, headline=True, before=(), after=()
        )
        yield replace(_unjudged(one, question, share), verdict=Outcome.UNTESTABLE, level=None, reason=_why(why[value.metric]))


def lacking(lone: Lone, question: Question) -> Judged:
    """A load that one side alone has, as an *untestable* line. Source: none, bookkeeping."""
    everything = Compared(metric="all metrics", unit="", better="lower", statistic="", headline=True, before=(), after=())
    line = _unjudged(everything, replace(question, scenario=lone.section), 1)
    return replace(line, verdict=Outcome.UNTESTABLE, level=None, reason=f"{lone.side} alone has runs of it")


def _why(reason: str) -> str:
    return f"its {reason}" if reason == ODD_UNITS else f"{reason} it"


def _compared(case: Case) -> tuple[list[Compared], dict[str, list[str]]]:
    """The metrics that every run of both sides has, in one unit; and those that were left out, by the reason."""
    sides = [[{value.metric: value for value in run.values} for run in side] for side in (case.before, case.after)]
    found: list[Compared] = []
    lost: dict[str, list[str]] = defaultdict(list)
    names = list(dict.fromkeys(name for side in sides for values in side for name in values))
    spreads = [name for name in names if any(values[name].statistic == "std" for side in sides for values in side if name in values)]
    for name in names:
        if name in spreads:
            continue
        if lacking := _lacking(name, sides, case):
            lost[lacking].append(name)
            continue
        values = [[_in_unit(each[name], sides[0][0][name].unit) for each in side] for side in sides]
        before, after = ([value for value in side if value is not None] for side in values)
        if len(before) < len(sides[0]) or len(after) < len(sides[1]):
            lost[ODD_UNITS].append(name)
            continue
        first = sides[0][0][name]
        found.append(
            Compared(
                metric=name,
                unit=first.unit,
                better=first.better,
                statistic=first.statistic,
                headline=first.headline,
                before=tuple(before),
                after=tuple(after),
            )
        )
    lost["spreads within a run, which say nothing of other runs"] += spreads
    return found, lost


def _lacking(name: str, sides: Sequence[Sequence[dict[str, ResultValue]]], case: Case) -> str:
    """Which side has runs without a metric, in words; "" where all have it."""
    for side, runs, called in zip(sides, (case.before, case.after), (BASELINE, CANDIDATE), strict=True):
        without = [run for values, run in zip(side, runs, strict=True) if name not in values]
        if len(without) == len(runs):
            return f"the {called} does not have"
        if without:
            return f"{len(without)} of {len(runs)} runs of the {called} do not have"
    return ""


def _in_unit(value: ResultValue, unit: str) -> float | None:
    return converted(value.value, value.unit, unit)


def _line(one: Compared, found: Order, question: Question, share: int) -> Judged:
    positive = min(*one.before, *one.after) > 0
    if found.pairs and positive and one.better is not None:
        rows = [
            (str(number), name, value)
            for number, (first, second) in enumerate(found.pairs, 1)
            for name, value in _in_order(found, (first, second), question.names, one)
        ]
        lines, _ = judge_table(
            rows,
            scenario=question.scenario,
            name=one.metric,
            baseline=question.names[0],
            better=one.better,
            margin=question.margin,
            unit=one.unit,
            metrics=share,
        )
        seen = [unpaired.Seen(block=block, arm=name, value=value, at=float(place)) for place, (block, name, value) in enumerate(rows)]
        return unpaired.as_sides(lines[0], seen, interleaved=True) if found.places else lines[0]
    return _unpaired(one, found, question, share)


def _in_order(found: Order, pair: tuple[int, int], names: tuple[str, str], one: Compared) -> list[tuple[str, float]]:
    """The two values of a pair, the one that was measured first before the other."""
    values = [(names[0], one.before[pair[0]]), (names[1], one.after[pair[1]])]
    if found.places and found.places.index((CANDIDATE, pair[1])) < found.places.index((BASELINE, pair[0])):
        values.reverse()
    return values


def _unpaired(one: Compared, found: Order, question: Question, share: int) -> Judged:
    """The two sides without pairs: *inconclusive*, with an interval where both have several runs."""
    line = _unjudged(one, question, share)
    if min(*one.before, *one.after) <= 0:
        return replace(line, level=None, reason="a value of 0 has no ratio")
    lone = next((name for name, values in zip(question.names, (one.before, one.after), strict=True) if len(values) < 2), "")
    how = f"{lone} has one run, whose scatter nobody knows" if lone else f"{found.how}{DRIFT if found.places else ''} ({ASSUMED})"
    return unpaired.two_sides(line, _placed(one, found, question.names), how, REMEDY)


def _unjudged(one: Compared, question: Question, share: int) -> Judged:
    """A metric without a verdict yet."""
    return Judged(
        scenario=question.scenario,
        metric=one.metric,
        unit=one.unit,
        better=one.better or "lower",
        kind="time",
        primary=True,
        baseline=question.names[0],
        candidate=question.names[1],
        baseline_value=_geometric_mean(one.before),
        candidate_value=_geometric_mean(one.after),
        blocks=0,
        effect=None,
        interval=None,
        level=1 - LOOK / share,
        margin=question.margin,
        mde=None,
        verdict=Outcome.INCONCLUSIVE,
        reason="",
        warnings=(),
        q=None,
    )


def _geometric_mean(values: Sequence[float]) -> float | None:
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values and min(values) > 0 else None


def _placed(one: Compared, found: Order, names: tuple[str, str]) -> list[tuple[int, unpaired.Seen]]:
    """The values with their places in time; where these are not known all have one place, so that no drift is named."""
    values = {BASELINE: (names[0], one.before), CANDIDATE: (names[1], one.after)}
    places = found.places or [(side, place) for side, (_, own) in values.items() for place in range(len(own))]
    return [
        (number if found.places else 0, unpaired.Seen(block=str(place), arm=values[side][0], value=values[side][1][place], at=None))
        for number, (side, place) in enumerate(places)
    ]


def _allowed(line: Judged, case: Case) -> Judged:
    """The line as it is, or *untestable* where the sides did not do the same work."""
    if not case.unequal:
        return line
    change = f"{number_format.percent(line.effect)}, but " if line.effect is not None else ""
    return replace(line, verdict=Outcome.UNTESTABLE, mde=None, reason=f"{change}not the same work: {few(case.unequal, NAMED)}")


def doubts(runs: Sequence[ResultRun]) -> list[str]:
    """What speaks against single runs, each with its source. Source: none, bookkeeping."""
    return [f"{run.source}: {doubt}" for run in runs for doubt in run.doubts]
