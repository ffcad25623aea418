"""Metrics that are not primary: those that a scenario lists, and those that it does not.

They are estimated and never judged. But where one surely got much worse, the report says so beside the verdict: a sevenfold tail latency
matters even if the throughput improved.
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
"""The least change, as a fraction, that is reported of a metric that is not primary; or its margin, if that is larger."""


def unlisted(scenario: Scenario, trials: Sequence[Record]) -> Scenario:
    """The scenario with only those timed metrics that its trials measured and that it does not list, as choices that do not decide.

    Source: none, bookkeeping.
    """
    named = {choice.name for choice in scenario.metrics}
    measured = dict.fromkeys(name for trial in trials if trial.status == "ok" for name in trial.measurements)
    names = [name for name in measured if name not in named and name in METRICS and is_timed(name)]
    return replace(scenario, metrics=tuple(MetricChoice(name=name, primary=False, margin=DEFAULT_MARGIN) for name in names))


def also_worse(rows: Iterable[Judged]) -> tuple[Judged, ...]:
    """The rows without a verdict that surely got much worse, the worst first.

    "Surely" is a q-value below `exploratory.NOTABLE` over as many blocks as a verdict needs; "much" is at least `LARGE` and the margin.
    Source: none, this project's rule; of the q-values: `exploratory.explore`.
    """
    return tuple(sorted(filter(_is_worse, rows), key=lambda row: -size(row)))


def _is_worse(row: Judged) -> bool:
    if row.verdict is not None or row.q is None or row.q >= NOTABLE or row.blocks < LEAST_BLOCKS:
        return False
    return size(row) >= math.log1p(max(LARGE, row.margin or 0.0))


def size(row: Judged) -> float:
    """How much worse a row is, as the logarithm of a ratio; at most 0 if it is not worse.

    Source: none, arithmetic.
    """
    if row.effect is None or row.effect <= -1:
        return math.inf if row.effect is not None and row.better == "higher" else 0.0
    return math.log1p(row.effect) * (1 if row.better == "lower" else -1)
