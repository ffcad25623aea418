"""What was measured beside the primary metrics: those that a scenario lists for a look, and those that it lists nowhere.

They are estimated and never judged. What got worse there all the same, by much and for sure, is told beside the verdict: a tail that grew
sevenfold under a throughput that improved is news, whoever thought of it beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from perfproof.analysis.verdicts.exploratory import NOTABLE
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import METRICS, is_timed
from perfproof.model.scenarios.scenario import DEFAULT_MARGIN, LEAST_BLOCKS, MetricChoice, Scenario
from perfproof.model.verdicts.judged import Judged

LARGE = 0.05
"""The least change, as a fraction, that is told of a metric which nobody asked for; its margin, where that is larger."""


def unlisted(scenario: Scenario, trials: Sequence[Record]) -> Scenario:
    """The scenario with the timed metrics alone that its trials measured and that it does not name, as choices that decide nothing.

    Source: none, bookkeeping.
    """
    named = {choice.name for choice in scenario.metrics}
    measured = dict.fromkeys(name for trial in trials if trial.status == "ok" for name in trial.measurements)
    names = [name for name in measured if name not in named and name in METRICS and is_timed(name)]
    return replace(scenario, metrics=tuple(MetricChoice(name=name, primary=False, margin=DEFAULT_MARGIN) for name in names))


def also_worse(rows: Iterable[Judged]) -> tuple[Judged, ...]:
    """Those without a verdict that surely got worse, by much, the worst first.

    Sure is a q-value below `exploratory.NOTABLE` over as many blocks as a verdict takes; much is at least `LARGE`, and the margin.
    Source: none, this project's rule; of the q-values: `exploratory.explore`.
    """
    return tuple(sorted(filter(_is_worse, rows), key=lambda row: -size(row)))


def _is_worse(row: Judged) -> bool:
    if row.verdict is not None or row.q is None or row.q >= NOTABLE or row.blocks < LEAST_BLOCKS:
        return False
    return size(row) >= math.log1p(max(LARGE, row.margin or 0.0))


def size(row: Judged) -> float:
    """How much worse, as the logarithm of a ratio; 0 and less for what is no worse.

    Source: none, arithmetic.
    """
    if row.effect is None or row.effect <= -1:
        return math.inf if row.effect is not None and row.better == "higher" else 0.0
    return math.log1p(row.effect) * (1 if row.better == "lower" else -1)
