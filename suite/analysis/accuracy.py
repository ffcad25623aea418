"""Answers, not times: the same items under both arms, paired item by item.

Two measurements of one set of items share most of their luck, so what counts is the items that changed: on 1,319 questions with
2 % of them changed, a drop of one point shows, where two unpaired scores see nothing under four. Where only totals are known
(a pasted table), the interval is unpaired and says so.

One look, no blocks: one-sided error .01 for *regressed* and for *improved*, divided by the number of tasks; .05 for *equivalent*.
The margin is in points (a fraction: .01 is one point), from the scenario, never from the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from suite.analysis import words
from suite.analysis.samples import Floats
from suite.model.items import TaskItems
from suite.model.judged import Judged, Outcome

CHANGE_ERROR = 0.01
"""One-sided error of *regressed*, and of *improved*, over all tasks of a scenario."""
EQUIVALENCE_ERROR = 0.05
"""One-sided error of *equivalent* at the margin."""
POWER = 0.8
FEW_CHANGED = 10
"""So few changed values say little of how large a change can be."""
LEAST_ITEMS = 20
"""Fewer items are not judged: one item would be five points."""


class Unpairable(ValueError):
    """The two arms were not asked the same items: the verdict is *untestable*."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedItems:
    """The values of one task's items in both arms, in one order; `clusters` numbers the passage that an item belongs to, or is None."""

    name: str
    baseline: Floats
    candidate: Floats
    clusters: Sequence[str] | None

    def __post_init__(self) -> None:
        if self.baseline.shape != self.candidate.shape or self.baseline.ndim != 1:
            raise ValueError(f"{self.name}: one value an item and arm, not {self.baseline.shape} and {self.candidate.shape}")
        if not (np.isfinite(self.baseline).all() and np.isfinite(self.candidate).all()):
            raise ValueError(f"{self.name}: values must be finite")
        if self.clusters is not None and len(self.clusters) != self.baseline.size:
            raise ValueError(f"{self.name}: {len(self.clusters)} clusters for {self.baseline.size} items")

    @property
    def binary(self) -> bool:
        """Whether every value is 0 or 1."""
        return bool(np.isin(self.baseline, (0.0, 1.0)).all() and np.isin(self.candidate, (0.0, 1.0)).all())


@dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyVerdict:
    """One task, judged.

    `difference` is candidate minus baseline, as a fraction of one (-.012 is 1.2 points lost); `interval` has the confidence `level`.
    `lost` and `won` are the items that only the baseline, or only the candidate, has right (higher, where values are not 0 and 1);
    None where only totals are known. `p` is McNemar's exact p, None where values are not 0 and 1. `detectable` is the true drop that
    would be called *regressed* with 80 % chance.
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


def pair_items(name: str, baseline: ArrayLike, candidate: ArrayLike, clusters: Sequence[str] | None = None) -> PairedItems:
    """Values of one task, item by item. Raises ValueError where they don't pair or are not finite. Source: none, bookkeeping."""
    return PairedItems(name=name, baseline=np.asarray(baseline, float), candidate=np.asarray(candidate, float), clusters=clusters)


def judge_items(items: PairedItems, *, margin: float, tasks: int = 1, flip_rate: float = 0.0) -> AccuracyVerdict:
    """The verdict on one of `tasks` tasks. `flip_rate` is the share of items that the baseline changes against itself (the A/A floor).

    *Regressed* if the interval excludes no change, the drop is at least the margin, and for values of 0 and 1 McNemar's exact test
    agrees; *equivalent* if the interval at .05 one-sided lies above minus the margin; else *inconclusive*.
    Source: Miller, arXiv 2411.00640, 2024 (paired differences, clusters); McNemar, Psychometrika 12, 1947.
    """
    n, difference = items.baseline.size, float((items.candidate - items.baseline).mean()) if items.baseline.size else math.nan
    lost, won = int((items.candidate < items.baseline).sum()), int((items.candidate > items.baseline).sum())
    error = CHANGE_ERROR / tasks
    if n < LEAST_ITEMS:
        return _few(items, margin, lost, won)
    change, equal = difference_interval(items, error), difference_interval(items, EQUIVALENCE_ERROR)
    p = mcnemar_p(lost, won) if items.binary else None
    agreed = p is None or p <= 2 * error
    detectable = detectable_drop(n, max((lost + won) / n, flip_rate), margin=margin, error=error)
    outcome = _outcome(difference, change, equal, margin, agreed)
    return AccuracyVerdict(
        name=items.name,
        outcome=outcome,
        items=n,
        baseline=float(items.baseline.mean()),
        candidate=float(items.candidate.mean()),
        difference=difference,
        interval=change,
        level=1 - 2 * error,
        lost=lost,
        won=won,
        p=p,
        margin=margin,
        detectable=detectable,
        paired=True,
        reason=_reason(
            outcome, difference, change, equal, margin, detectable, f"{lost:,} of {n:,} items{_shared(items)} lost, {won:,} won"
        ),
    )


def nothing_to_lose(items: PairedItems, margin: float) -> str:
    """Why equal answers would say nothing: neither arm has so much right that the margin could be lost. "" where one has, and where
    values are below nought, which no share of right answers is.

    Source: none, arithmetic.
    """
    sides = (items.baseline, items.candidate)
    if not items.baseline.size or min(side.min() for side in sides) < 0 or max(side.mean() for side in sides) >= margin:
        return ""
    best = max(float(side.mean()) for side in sides)
    most = f"neither arm has more than {_points(best)} right"
    return f"{most}, so that a drop of {_points(margin)} is not possible: ask what the model can answer"


def judge_totals(
    name: str, baseline: tuple[float, float], candidate: tuple[float, float], *, margin: float, tasks: int = 1, items: int | None = None
) -> AccuracyVerdict:
    """The verdict where only (value, standard error) of each arm is known, as in a pasted table: unpaired, so it sees far less.

    Source: the normal interval of a difference of independent means; `scipy.special.ndtri`.
    """
    difference = candidate[0] - baseline[0]
    spread = math.hypot(baseline[1], candidate[1])
    error = CHANGE_ERROR / tasks
    change, equal = ((difference - half, difference + half) for half in (spread * _normal(error), spread * _normal(EQUIVALENCE_ERROR)))
    detectable = max(margin, spread * _normal(error)) + spread * _normal(1 - POWER)
    outcome = _outcome(difference, change, equal, margin, True)
    told = f"only totals are known{f' of {items:,} items' if items else ''}, so the interval is unpaired"
    return AccuracyVerdict(
        name=name,
        outcome=outcome,
        items=items,
        baseline=baseline[0],
        candidate=candidate[0],
        difference=difference,
        interval=change,
        level=1 - 2 * error,
        lost=None,
        won=None,
        p=None,
        margin=margin,
        detectable=detectable,
        paired=False,
        reason=_reason(outcome, difference, change, equal, margin, detectable, told),
    )


def match(baseline: TaskItems, candidate: TaskItems) -> PairedItems:
    """The items of both arms, paired by id.

    Raises `Unpairable` where an item is missing on one side or was another one there. Source: none, bookkeeping.
    """
    first, second = baseline.items, candidate.items
    sides = (
        ("the candidate", [item for item in first if item not in second]),
        ("the baseline", [item for item in second if item not in first]),
    )
    lacking = [f"{side} lacks {_named(ids)}" for side, ids in sides if ids]
    if lacking:
        raise Unpairable(f"{baseline.name}: {', '.join(lacking)}: run both arms with one limit, over all items")
    other = [item for item in first if first[item].digest != second[item].digest]
    if other:
        raise Unpairable(f"{baseline.name}: document or prompt differ in {_named(other)}: both arms must be asked the same")
    ids = list(first)
    passages = [first[item].passage for item in ids]
    clusters = None if None in passages else [str(passage) for passage in passages]
    return pair_items(baseline.name, [first[item].score for item in ids], [second[item].score for item in ids], clusters)


def as_judged(found: AccuracyVerdict, *, scenario: str, baseline: str, candidate: str) -> Judged:
    """The verdict as a line of the table; `blocks` counts items. Source: none, bookkeeping."""
    return Judged(
        scenario=scenario,
        metric=found.name,
        unit="1",
        better="higher",
        kind="share",
        primary=True,
        baseline=baseline,
        candidate=candidate,
        baseline_value=found.baseline,
        candidate_value=found.candidate,
        blocks=found.items or 0,
        effect=found.difference,
        interval=found.interval,
        level=found.level,
        margin=found.margin,
        mde=found.detectable,
        verdict=found.outcome,
        reason=found.reason,
        warnings=() if found.paired else ("only totals are known: unpaired, so most of the information is gone",),
        q=None,
    )


def _named(ids: Iterable[str]) -> str:
    """How many items, and the first three of them."""
    found = sorted(ids)
    return f"{words.count(len(found), 'item')} ({', '.join(found[:3])}{', …' if len(found) > 3 else ''})"


def difference_interval(items: PairedItems, error: float) -> tuple[float, float]:
    """The interval of candidate minus baseline at one-sided `error`.

    For values of 0 and 1 Agresti and Min's, never narrower than Clopper and Pearson's for the items lost or won alone: no flips at all
    among 200 items leave a loss of 1.5 points possible. Else Student's; where fewer than ten items changed, never narrower than the
    former over the range of the values. Where items share a passage, the hull with the clustered one; one passage tells nothing.
    Source: Agresti & Min, Statistics in Medicine 24, 2005; Clopper & Pearson, Biometrika 26, 1934; Miller, arXiv 2411.00640, 2024;
    `scipy.special.betaincinv`, `stdtrit`.
    """
    difference = items.candidate - items.baseline
    n, centre = difference.size, float(difference.mean())
    lost, won = int((difference < 0).sum()), int((difference > 0).sum())
    if items.binary:
        low, high = _binary_interval(lost, won, n, error)
    else:
        half = float(special.stdtrit(n - 1, 1 - error)) * float(difference.std(ddof=1)) / math.sqrt(n)
        low, high = centre - half, centre + half
        if lost + won < FEW_CHANGED:
            few = _binary_interval(lost, won, n, error)
            low, high = min(low, _reach(items) * few[0]), max(high, _reach(items) * few[1])
    if items.clusters is not None:
        half = _clustered_half(difference, items.clusters, error)
        ends = (centre - half, centre + half) if math.isfinite(half) else (-_reach(items), _reach(items))
        low, high = min(low, ends[0]), max(high, ends[1])
    return low, high


def mcnemar_p(lost: int, won: int) -> float:
    """McNemar's exact two-sided p from the items that changed, 1 where none did.

    Source: McNemar, Psychometrika 12, 1947; `statsmodels.stats.contingency_tables.mcnemar`.
    """
    from statsmodels.stats.contingency_tables import mcnemar  # late: its import takes a second

    return float(mcnemar([[0, lost], [won, 0]], exact=True).pvalue) if lost + won else 1.0


def detectable_drop(items: int, flip_rate: float, *, margin: float, error: float = CHANGE_ERROR) -> float:
    """The smallest true drop (a fraction) that would be called *regressed* with 80 % chance.

    `flip_rate` is the share of items that change in either direction; it is at least the drop itself. 1 where no drop could be seen.
    Source: the normal approximation of the paired difference's variance (Connor, Biometrics 43, 1987), the rule's margin included.
    """
    drops = np.linspace(1 / (20 * items), 1.0, 20 * items) if items < 500 else np.linspace(1e-4, 1.0, 10_000)
    spread = np.sqrt(np.maximum(np.maximum(flip_rate, drops) - drops**2, 1e-12) / items)
    threshold = np.maximum(margin, _normal(error) * spread)
    seen = drops - threshold >= _normal(1 - POWER) * spread
    return float(drops[np.argmax(seen)]) if seen.any() else 1.0


def _binary_interval(lost: int, won: int, n: int, error: float) -> tuple[float, float]:
    """Agresti and Min's interval, never narrower than what the few flips there are leave possible by Clopper and Pearson."""
    centre = (won - lost) / (n + 2)
    half = _normal(error) * math.sqrt(lost + won + 1 - (won - lost) ** 2 / (n + 2)) / (n + 2)
    most_lost, most_won = (_most(count, n, error) for count in (lost, won))
    return min(centre - half, won / n - most_lost), max(centre + half, most_won - lost / n)


def _reach(items: PairedItems) -> float:
    """The furthest that an item can have moved: the range of all values."""
    return float(np.ptp(np.concatenate([items.baseline, items.candidate])))


def _most(count: int, n: int, error: float) -> float:
    """The largest share of items that so few are compatible with."""
    return 1.0 if count == n else float(special.betaincinv(count + 1, n - count, 1 - error))


def _clustered_half(difference: Floats, clusters: Sequence[str], error: float) -> float:
    """Half the width of the interval that allows items of one cluster to move together; infinite for a single cluster."""
    _, places = np.unique(np.asarray(clusters), return_inverse=True)
    sums = np.bincount(places, weights=difference - difference.mean())
    groups = sums.size
    if groups < 2:
        return math.inf
    spread = math.sqrt(groups / (groups - 1) * float((sums**2).sum())) / difference.size
    return float(special.stdtrit(groups - 1, 1 - error)) * spread


def _normal(error: float) -> float:
    return float(-special.ndtri(error))


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
    told: str,
) -> str:
    said = {
        Outcome.REGRESSED: f"the drop clears the margin of {_points(margin)}",
        Outcome.IMPROVED: f"the gain clears the margin of {_points(margin)}",
        Outcome.EQUIVALENT: f"at most {_points(max(0.0, -equal[0]))} may be lost, inside the margin of {_points(margin)}",
        Outcome.INCONCLUSIVE: f"up to {_points(max(0.0, -equal[0]))} may be lost, beyond the margin of {_points(margin)}; "
        f"a drop under {_points(detectable)} could have gone unseen",
    }[outcome]
    return f"{words.change(difference, 'difference')} ({words.span(change, 'difference')}), {told}: {said}"


def _points(fraction: float) -> str:
    return words.size(fraction, "difference")


def _shared(items: PairedItems) -> str:
    """Of how many passages the items are, where they share any."""
    return "" if items.clusters is None else f" (of {words.count(len(set(items.clusters)), 'passage')})"


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
        reason=f"{words.count(n, 'item')}: at least {LEAST_ITEMS} are needed",
    )
