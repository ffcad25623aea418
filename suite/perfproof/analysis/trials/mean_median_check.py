"""Mean and median of the same latency: if they change in opposite directions, a few requests cause it."""

from __future__ import annotations

import math
from collections.abc import Mapping

from perfproof.analysis.stats import number_format

STATISTICS = {"mean": "median", "median": "mean"}


def twin(name: str) -> str:
    """The other statistic of a latency: `mean_ttft` of `median_ttft`; "" of anything else. Source: none, names."""
    statistic, _, rest = name.partition("_")
    return f"{STATISTICS[statistic]}_{rest}" if statistic in STATISTICS and rest else ""


def contradicted(name: str, margin: float, effects: Mapping[str, float]) -> str:
    """A warning where a latency's mean and median moved in opposite directions, each by the margin or more; else "".

    `effects` are mean log ratios of candidate to baseline, by metric. Source: none, a comparison of two signs.
    """
    own, other = effects.get(name, 0.0), effects.get(twin(name), 0.0)
    if own * other >= 0 or min(abs(own), abs(other)) < math.log1p(margin):
        return ""
    both = " and ".join(f"{which} {number_format.percent(math.expm1(effect))}" for which, effect in ((name, own), (twin(name), other)))
    return f"mean and median disagree in sign ({both}): a few requests decide one of them, so look at the percentiles and at every request"
