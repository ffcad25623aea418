"""Shares of a change of times: each mixture is measured against the build it is a mixture of, in pairs of fresh trials in random order.

The whole change is measured first, in the same way and by the usual rule. A mixture is looked at after 6, 10, 16 and 24 blocks, and no
longer than until its share is known as well as the search needs it: that it is all or nothing takes few blocks, a share in between more.
What is still open after the last look, crashes or does other work is unresolved.

The trials of a pair take turns where the workload can, a round each: a machine whose speed changes all the time changes it for both.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from perfproof.analysis.judging.judge import JudgedScenario
from perfproof.analysis.stats.alpha_spending import LOOKS, sequential
from perfproof.analysis.stats.intervals import student
from perfproof.analysis.stats.number_format import counted
from perfproof.analysis.stats.samples import Floats, PairedSample
from perfproof.analysis.stats.share_interval import Share, settled, share
from perfproof.analysis.trials import paired_trials
from perfproof.changes.blame.difference import Difference, summary
from perfproof.changes.blame.mixture_trials import Ends, Mixtures, Say, Tried, first_line, named
from perfproof.changes.blame.search import Ask, Guilty, OutOfBudget, Side, Units
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.scenarios.metrics import NORMALIZED, is_timed
from perfproof.model.scenarios.scenario import DEFAULT_MARGIN, Scenario
from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.run.host.time_budget import NothingMeasured
from perfproof.tracking.confirm_step import Measuring, paired, records_of
from perfproof.tracking.released_scenario import NamedBuild, against

LEAST = 0.25
"""The smallest share of a change of times that is looked for, unless said otherwise."""
LEVEL = sequential(1).looks[0].level
"""The confidence of the interval of a share at each look."""
SPREAD = 0.25
"""The whole change is known well enough where half its interval is no more than this share of it."""

Left = Callable[[], float | None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WholeChange:
    """The change of a time from the good to the bad build: the metric, its margin, the verdict, and the blocks (`PairedSample.x`)."""

    metric: str
    margin: float
    judged: Judged
    x: Floats

    @property
    def values(self) -> tuple[float, float]:
        """Of the good and of the bad build."""
        return self.judged.baseline_value or 0.0, self.judged.candidate_value or 0.0


def timed_metric(scenario: Scenario, wanted: str | None) -> str | None:
    """The time that is looked at: the one asked for, else the scenario's first primary one; None where it has none.

    Raises `BadInput` for a time that the scenario does not measure.
    """
    names = [choice.name for choice in scenario.metrics if is_timed(choice.name)]
    if wanted is None:
        return next((choice.name for choice in scenario.primaries if is_timed(choice.name)), None)
    if wanted not in (*names, *map(_normalized, names)):
        raise BadInput(f"--metric {wanted}: {scenario.name} times {', '.join(names) or 'nothing'}")
    return wanted


def _normalized(metric: str) -> str:
    base, at, case = metric.partition("@")
    return f"{NORMALIZED}{at}{case}" if base == "round_time" else metric


def whole_change(scenario: Scenario, good: NamedBuild, bad: NamedBuild, metric: str, measuring: Measuring, left: Left) -> WholeChange:
    """The two builds against each other. Raises `CannotRun` where the rule calls them neither regressed nor improved."""
    of_it = (choice.margin for choice in scenario.metrics if metric in (choice.name, _normalized(choice.name)))
    margin = next(of_it, 0.0) or DEFAULT_MARGIN

    def enough(judged: JudgedScenario, sample: PairedSample) -> bool:
        verdict = judged.judged[0].verdict
        if verdict not in (Outcome.REGRESSED, Outcome.IMPROVED):
            return bool(judged.stop)
        found = student(sample.x[None, :])
        return float(found.half(LEVEL)[0]) <= SPREAD * abs(float(found.mean[0]))

    row, sample = _run(against(scenario, good, bad, metrics={metric: margin}), metric, measuring, "ends", enough, left)
    if row.verdict not in (Outcome.REGRESSED, Outcome.IMPROVED):
        said = row.verdict.value if row.verdict else "not judged"
        raise CannotRun(f"{metric} of {bad.word} is {said} against {good.word}: there is nothing to find: {row.reason}")
    return WholeChange(metric=metric, margin=margin, judged=row, x=sample.x)


class TimedMixtures(Mixtures):
    """Shares by a time. `least` is the smallest share that matters now; a search may ask again for a smaller one, and goes on from the
    blocks that are there."""

    def __init__(
        self, scenario: Scenario, ends: Ends, whole: WholeChange, difference: Difference, measuring: Measuring, say: Say, left: Left
    ) -> None:
        super().__init__(ends, difference, measuring, say, left)
        self._scenario, self._whole, self._least = scenario, whole, LEAST

    def to(self, least: float) -> Ask:
        """Asks for shares that are known so well that differences of `least` show."""
        self._least = least
        return self.ask

    def differs(self, side: Side, units: Units, without: Units) -> bool:
        """Whether a mixture of these units surely brings, or takes back, more of the change than without some of them; what does
        not run without them is not shown to bring any. Raises
        `OutOfBudget`."""
        mixtures = [self._difference.mixture(side, some) for some in (units - without, units)]
        if any(one.fault for one in mixtures):
            return False
        less, more = (self.build(side, one, named(one)) for one in mixtures)
        pair = against(self._scenario, less, more, metrics={self._whole.metric: self._whole.margin})
        folder = "-".join(["mixtures/pair", side, *map(named, mixtures)])
        row, sample = _run(pair, self._whole.metric, self._measuring, folder, lambda _, found: self._clear(side, found), self._left)
        sure = row.verdict is not Outcome.UNTESTABLE and sample.n >= LOOKS[0] and self._share(side, sample).low > 0
        self._say(f"  {summary(without)}: {'surely needed' if sure else 'not shown to be needed'} ({sample.n} blocks)")
        return sure

    def _clear(self, side: Side, sample: PairedSample) -> bool:
        found = self._share(side, sample)
        return found.low > 0 or found.high < self._least

    def verdict(self, units: Units) -> str:
        """What the usual rule says of the bad build with these units taken back, against the good one. Raises `OutOfBudget`."""
        mixture = self.build("back", self._difference.mixture("back", units), "answer")
        pair = against(self._scenario, self._ends.good, mixture, metrics={self._whole.metric: self._whole.margin})
        row, _ = _run(pair, self._whole.metric, self._measuring, "answer", lambda judged, _: bool(judged.stop), self._left)
        return f"{row.verdict.value if row.verdict else 'not judged'}: {row.reason}"

    def measured(self, one: Guilty, support: Units) -> Guilty:
        told = (self.told("back", units) for units in (frozenset(one.units), frozenset(one.units) | support))
        found = next((each for each in told if each is not None and each.measured is not None), None)
        return (
            one
            if found is None or found.measured is None
            else dataclasses.replace(one, share=found.measured.value, interval=found.interval)
        )

    def _measured(self, side: Side, units: tuple[str, ...], build: NamedBuild, name: str) -> Tried:
        pair = against(self._scenario, self._base(side), build, metrics={self._whole.metric: self._whole.margin})
        row, sample = _run(
            pair, self._whole.metric, self._measuring, f"mixtures/{name}", lambda _, found: self._known(side, found), self._left
        )
        tried = partial(Tried, side=side, units=units, value=None, seconds=0.0)
        if row.verdict is Outcome.UNTESTABLE or sample.n < LOOKS[0]:
            return tried(share=None, why=first_line(row.reason))
        found = self._share(side, sample)
        if settled(found, self._least) is None:
            return tried(share=None, why=f"{_span(found)} of the change after {sample.n} blocks: too wide to tell", measured=found)
        return tried(share=found.value, why="", measured=found)

    def _known(self, side: Side, sample: PairedSample) -> bool:
        return settled(self._share(side, sample), self._least) is not None

    def _share(self, side: Side, sample: PairedSample) -> Share:
        return share(-sample.x if side == "back" else sample.x, self._whole.x, LEVEL)

    def _answer(self, one: Tried) -> float | None:
        return None if one.measured is None else settled(one.measured, self._least)

    def _open(self, one: Tried) -> bool:
        return one.measured is not None and one.blocks < LOOKS[-1] and settled(one.measured, self._least) is None


def _span(found: Share) -> str:
    return f"{counted(round(100 * found.low), '')} to {counted(round(100 * found.high), '')} %" if math.isfinite(found.low) else "any share"


def _run(
    pair: Scenario, metric: str, measuring: Measuring, folder: str, enough: Callable[[JudgedScenario, PairedSample], bool], left: Left
) -> tuple[Judged, PairedSample]:
    """The verdict and the blocks of two builds, measured until a look says that it is `enough`. Raises `OutOfBudget` where the time ends
    it before."""
    results = measuring.results / folder

    def sample() -> PairedSample:
        return paired_trials.paired(pair, pair.candidates[0], records_of(pair, results))[metric]

    def stops(judged: JudgedScenario) -> bool:
        if judged.judged[0].verdict is Outcome.UNTESTABLE:
            return bool(judged.stop)
        found = sample()
        return found.n >= LOOKS[-1] or (found.n in LOOKS and enough(judged, found))

    budget = left()
    try:
        judged = paired(pair, measuring, folder, enough=stops, budget=None if budget is None else budget / 60)
    except NothingMeasured as over:
        raise OutOfBudget from over
    if budget is not None and left() == 0 and not stops(judged):
        raise OutOfBudget
    return judged.judged[0], sample()
