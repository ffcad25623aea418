"""Answers, not times: the same items under both arms, paired item by item.

Two measurements of one set of items share most of their luck, so only the changed items count. On 1,319 questions with 2 % of them changed,
a drop of one point is detectable, while two unpaired scores detect nothing under four. Where only totals are known (a pasted table), the
interval is unpaired, and the reason says so.

One look, no blocks: one-sided error .01 for *regressed* and for *improved*, divided by the number of tasks; .05 for *equivalent*.
The margin is in points (a fraction: .01 is one point), from the scenario, never from the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from perfproof.analysis.stats import number_format
from perfproof.analysis.verdicts.item_intervals import CHANGE_ERROR, POWER, detectable_drop, difference_interval, mcnemar_p, normal
from perfproof.analysis.verdicts.paired_items import PairedItems
from perfproof.model.records.eval_items import Total
from perfproof.model.scenarios.eval_metrics import may_be_share
from perfproof.model.scenarios.metrics import Better
from perfproof.model.verdicts.judged import Judged, Outcome

EQUIVALENCE_ERROR = 0.05
"""One-sided error of *equivalent* at the margin."""
SHOWN_ERROR = 0.025
"""One-sided error of an interval that is only shown."""
LEAST_ITEMS = 20
"""Fewer items are not judged: one item would be five points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyVerdict:
    """One task, judged.

    `difference` is candidate minus baseline, as a fraction of one (-.012 is 1.2 points lost); `interval` has the confidence `level`.
    `lost` and `won` are the items that only the baseline, or only the candidate, has right (higher, where values are not 0 and 1);
    None where only totals are known. `p` is McNemar's exact p, None where values are not 0 and 1. `detectable` is the true drop that
    would be called *regressed* with 80 % power.
    """

    name: str
    outcome: Outcome
    items: int | None
    baseline: float
    candidate: float
    difference: float
    interval: tuple[float, float]
    level: float
    lost: int | None
    won: int | None
    p: float | None
    margin: float
    detectable: float
    paired: bool
    reason: str
    better: Better = "higher"


def judge_items(items: PairedItems, *, margin: float, tasks: int = 1, flip_rate: float = 0.0) -> AccuracyVerdict:
    """The verdict on one of `tasks` tasks. `flip_rate` is the share of items that the baseline changes against itself (the A/A floor).

    *Regressed* if the interval excludes zero, the drop is at least the margin, and for values of 0 and 1 McNemar's exact test agrees;
    *equivalent* if the interval at .05 one-sided lies above minus the margin; else *inconclusive*. Where less is better, a rise counts as a
    drop. *Untestable* where the outcome depends on how unanswered items of only one arm are counted.
    Source: Miller, arXiv 2411.00640, 2024 (paired differences, clusters); McNemar, Psychometrika 12, 1947.
    """
    verdict, *extremes = [
        _judge(counted, margin=margin, tasks=tasks, flip_rate=flip_rate) for counted in (items, *_counted_otherwise(items))
    ]
    reasons = [verdict.reason]
    if extremes:
        several = sorted({one.outcome for one in (verdict, *extremes)})
        empty = _empty(items)
        if len(several) > 1:
            either = " or ".join(several)
            why = f"{empty} (as for failed requests), which lm_eval counts as wrong: depending on how they are counted, {either}"
            verdict, reasons = replace(verdict, outcome=Outcome.UNTESTABLE), [why]
        else:
            reasons.append(f"{empty}, but the verdict is the same however they are counted")
    if items.left_out:
        reasons.append(f"left out: {number_format.count(items.left_out, 'item')} that neither arm answered")
    return replace(verdict, reason="; ".join(reasons))


def _judge(items: PairedItems, *, margin: float, tasks: int, flip_rate: float) -> AccuracyVerdict:
    """The verdict on the values as they are."""
    toward = _toward(items)
    n, difference = items.baseline.size, float((toward.candidate - toward.baseline).mean()) if items.baseline.size else math.nan
    lost, won = int((toward.candidate < toward.baseline).sum()), int((toward.candidate > toward.baseline).sum())
    error = CHANGE_ERROR / tasks
    if n < LEAST_ITEMS:
        return _few(items, margin, lost, won)
    change, equal = difference_interval(toward, error), difference_interval(toward, EQUIVALENCE_ERROR)
    p = mcnemar_p(lost, won) if items.binary else None
    agreed = p is None or p <= 2 * error
    detectable = detectable_drop(n, max((lost + won) / n, flip_rate), margin=margin, error=error)
    outcome = _outcome(difference, change, equal, margin, agreed)
    changed = f"{lost:,} of {n:,} items{_shared(items)} lost, {won:,} won"
    return AccuracyVerdict(
        name=items.name,
        outcome=outcome,
        items=n,
        baseline=float(items.baseline.mean()),
        candidate=float(items.candidate.mean()),
        difference=_own(difference, items.better),
        interval=_own_interval(change, items.better),
        level=1 - 2 * error,
        lost=lost,
        won=won,
        p=p,
        margin=margin,
        detectable=detectable,
        paired=True,
        reason=_reason(outcome, difference, change, equal, margin, detectable, changed, items.better),
        better=items.better or "higher",
    )


def _toward(items: PairedItems) -> PairedItems:
    """The items with values of which more is better: a share of which less is better becomes one minus itself."""
    return replace(items, baseline=1 - items.baseline, candidate=1 - items.candidate) if items.better == "lower" else items


def _own(difference: float, better: Better | None) -> float:
    """A gain as candidate minus baseline."""
    return -difference if better == "lower" else difference


def _own_interval(gain: tuple[float, float], better: Better | None) -> tuple[float, float]:
    return (-gain[1], -gain[0]) if better == "lower" else gain


def _counted_otherwise(items: PairedItems) -> list[PairedItems]:
    """The items with those that only one arm left unanswered counted in both extremes: in favour of that arm, and against it."""
    if not any(map(len, items.unanswered)):
        return []
    low, high = (0.0, 1.0) if items.shares else items.range
    variants = []
    for own, others in ((low, high), (high, low)):
        before, after = items.baseline.copy(), items.candidate.copy()
        before[list(items.unanswered[0])], after[list(items.unanswered[1])] = others, own
        variants.append(replace(items, baseline=before, candidate=after))
    return variants


def _empty(items: PairedItems) -> str:
    """A clause on how many items each arm left without an answer."""
    sides = [f"the {side} left {len(places):,}" for side, places in zip(("baseline", "candidate"), items.unanswered, strict=True) if places]
    return f"{' and '.join(sides)} of {items.baseline.size:,} items without an answer"


def nothing_to_lose(items: PairedItems, margin: float) -> str:
    """Why equal answers would show nothing: neither arm has enough right answers to lose the margin. "" where one has, and where values
    are below 0 and so are no shares of right answers.

    Source: none, arithmetic.
    """
    if any(map(len, items.unanswered)):
        return ""
    sides = (_toward(items).baseline, _toward(items).candidate)
    if not items.baseline.size or min(side.min() for side in sides) < 0 or max(side.mean() for side in sides) >= margin:
        return ""
    best = max(float(side.mean()) for side in sides)
    most = f"neither arm has more than {_points(best)} right"
    if items.better == "lower":
        most = f"both arms are within {_points(best)} of the worst"
    return f"{most}, so that a drop of {_points(margin)} is not possible: use questions that the model can answer"


def not_in_points(items: PairedItems, metric: str) -> str:
    """Why there is no verdict in points: the better direction is unknown, or the values are not shares of 1. Then the sentence gives the
    means and their paired difference in the metric's own unit. "" where there can be a verdict.

    Source: none, bookkeeping; Student's interval.
    """
    why = _no_points(items.range, metric, items.better) if items.baseline.size else ""
    span = " ({:+.4g} to {:+.4g})".format(*difference_interval(items, SHOWN_ERROR)) if why and items.baseline.size > 1 else ""
    return why and f"{why}; mean an item {_change(float(items.baseline.mean()), float(items.candidate.mean()))}{span}{_way(items.better)}"


def different_questions(first: Total, second: Total) -> str:
    """The differences between the questions of two totals, as far as both are known; "" for none. Source: none, bookkeeping."""
    differences = [
        f"{what} {said_} against {second.asked[what]}" for what, said_ in first.asked.items() if second.asked.get(what, said_) != said_
    ]
    return f"not the same question: {', '.join(differences)}" if differences else ""


def totals_not_in_points(first: Total, second: Total) -> str:
    """The same where totals alone are known. Source: none, bookkeeping."""
    values = (first.value, second.value)
    better = first.better if first.better == second.better else None
    why = _no_points((min(values), max(values)), first.metric, better)
    return why and f"{why}; {_change(*values)}{_way(better)}"


def _no_points(span: tuple[float, float], metric: str, better: Better | None) -> str:
    if span[0] < 0 or span[1] > 1:
        return f"no verdict: its values lie between {span[0]:.4g} and {span[1]:.4g}, and a margin in points is for shares of 1"
    if not may_be_share(metric):
        return "no verdict: it is not a share of 1, and a margin in points needs one"
    return "" if better else "no verdict: it is not known whether more or less of it is better; lm_eval's results file would say"


def _change(before: float, after: float) -> str:
    return f"{before:.4g} to {after:.4g}, {after - before:+.4g}"


def _way(better: Better | None) -> str:
    return {"lower": ", less is better", "higher": ", more is better"}.get(better or "", "")


def judge_totals(
    name: str,
    baseline: tuple[float, float],
    candidate: tuple[float, float],
    *,
    margin: float,
    tasks: int = 1,
    items: int | None = None,
    better: Better = "higher",
) -> AccuracyVerdict:
    """The verdict where only (value, standard error) of each arm is known, as in a pasted table. It is unpaired, so it detects far less.
    Values must be shares of 1.

    Source: the normal interval of a difference of independent means; `scipy.special.ndtri`.
    """
    difference = _own(candidate[0] - baseline[0], better)
    spread = math.hypot(baseline[1], candidate[1])
    error = CHANGE_ERROR / tasks
    change, equal = ((difference - half, difference + half) for half in (spread * normal(error), spread * normal(EQUIVALENCE_ERROR)))
    detectable = max(margin, spread * normal(error)) + spread * normal(1 - POWER)
    outcome = _outcome(difference, change, equal, margin, True)
    basis = f"only totals are known{f' of {items:,} items' if items else ''}, so the interval is unpaired"
    return AccuracyVerdict(
        name=name,
        outcome=outcome,
        items=items,
        baseline=baseline[0],
        candidate=candidate[0],
        difference=_own(difference, better),
        interval=_own_interval(change, better),
        level=1 - 2 * error,
        lost=None,
        won=None,
        p=None,
        margin=margin,
        detectable=detectable,
        paired=False,
        reason=_reason(outcome, difference, change, equal, margin, detectable, basis, better),
        better=better,
    )


def unjudged(
    name: str, why: str, *, scenario: str, baseline: str, candidate: str, better: Better = "higher", margin: float, primary: bool = True
) -> Judged:
    """A task that can't be judged, as a line of the table: *untestable*, or where it is not `primary` shown alone.

    Source: none, bookkeeping.
    """
    return Judged(
        scenario=scenario,
        metric=name,
        unit="1",
        better=better,
        kind="share",
        primary=primary,
        baseline=baseline,
        candidate=candidate,
        baseline_value=None,
        candidate_value=None,
        blocks=0,
        effect=None,
        interval=None,
        level=None,
        margin=margin,
        mde=None,
        verdict=Outcome.UNTESTABLE if primary else None,
        reason=why,
        warnings=(),
        q=None,
    )


def as_judged(verdict: AccuracyVerdict, *, scenario: str, baseline: str, candidate: str) -> Judged:
    """The verdict as a line of the table; `blocks` counts items. Source: none, bookkeeping."""
    return Judged(
        scenario=scenario,
        metric=verdict.name,
        unit="1",
        better=verdict.better,
        kind="share",
        primary=True,
        baseline=baseline,
        candidate=candidate,
        baseline_value=verdict.baseline,
        candidate_value=verdict.candidate,
        blocks=verdict.items or 0,
        effect=verdict.difference,
        interval=verdict.interval,
        level=verdict.level,
        margin=verdict.margin,
        mde=verdict.detectable,
        verdict=verdict.outcome,
        reason=verdict.reason,
        warnings=() if verdict.paired else ("only totals are known: unpaired, so most of the information is lost",),
        q=None,
    )


def _outcome(difference: float, change: tuple[float, float], equal: tuple[float, float], margin: float, agreed: bool) -> Outcome:
    if agreed and change[1] < 0 and difference <= -margin:
        return Outcome.REGRESSED
    if agreed and change[0] > 0 and difference >= margin:
        return Outcome.IMPROVED
    return Outcome.EQUIVALENT if equal[0] > -margin else Outcome.INCONCLUSIVE


def _reason(
    outcome: Outcome,
    difference: float,
    change: tuple[float, float],
    equal: tuple[float, float],
    margin: float,
    detectable: float,
    basis: str,
    better: Better | None,
) -> str:
    """The verdict's reason; difference and intervals are gains, shown as candidate minus baseline."""
    worse, good = ("rise", "fall") if better == "lower" else ("drop", "gain")
    conclusions = {
        Outcome.REGRESSED: f"the {worse} clears the margin of {_points(margin)}",
        Outcome.IMPROVED: f"the {good} clears the margin of {_points(margin)}",
        Outcome.EQUIVALENT: f"at most {_points(max(0.0, -equal[0]))} may be lost, inside the margin of {_points(margin)}",
        Outcome.INCONCLUSIVE: f"up to {_points(max(0.0, -equal[0]))} may be lost, beyond the margin of {_points(margin)}; "
        f"a {worse} under {_points(detectable)} could have been missed",
    }[outcome]
    own, span = _own(difference, better), _own_interval(change, better)
    return f"{number_format.change(own, 'difference')} ({number_format.span(span, 'difference')}), {basis}: {conclusions}"


def _points(fraction: float) -> str:
    return number_format.size(fraction, "difference")


def _shared(items: PairedItems) -> str:
    """The number of passages that the items share, if they do."""
    return "" if items.clusters is None else f" (of {number_format.count(len(set(items.clusters)), 'passage')})"


def _few(items: PairedItems, margin: float, lost: int, won: int) -> AccuracyVerdict:
    n = items.baseline.size
    before, after = (float(values.mean()) if n else math.nan for values in (items.baseline, items.candidate))
    return AccuracyVerdict(
        name=items.name,
        outcome=Outcome.UNTESTABLE,
        items=n,
        baseline=before,
        candidate=after,
        difference=after - before,
        interval=(-1.0, 1.0),
        level=1.0,
        lost=lost,
        won=won,
        p=None,
        margin=margin,
        detectable=1.0,
        paired=True,
        reason=f"{number_format.count(n, 'item')}: at least {LEAST_ITEMS} are needed",
        better=items.better or "higher",
    )
