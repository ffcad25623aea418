"""What is not primary: told where it surely got worse by much, whether the scenario names it or not."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.analysis.judging.judge import judge_scenario
from perfproof.analysis.judging.secondary_metrics import also_worse
from perfproof.model.verdicts.judged import Judged, Outcome
from tests.factory import DEFINITION, record
from tests.report.factory import row


def tail(**more: Any) -> Judged:
    """A tail of latencies that nobody declared primary, and that grew to 6.7 times."""
    found = {"better": "lower", "kind": "time", "primary": False, "effect": 5.7, "interval": (4.0, 9.0), "q": 0.001, "blocks": 6}
    return row("serve", "p99_ttft", None, **{**found, **more})


@given(
    effect=st.floats(-0.99, 20.0),
    q=st.none() | st.floats(0.0, 1.0),
    blocks=st.integers(0, 24),
    better=st.sampled_from(["lower", "higher"]),
    margin=st.sampled_from([0.02, 0.3]),
)
def test_only_what_is_worse_large_and_sure_is_told(effect: float, q: float | None, blocks: int, better: str, margin: float) -> None:
    """Worse in the metric's own direction, by a ratio of 1.05 or the margin, with q below .05 over six blocks: nothing else."""
    one = tail(effect=effect, q=q, blocks=blocks, better=better, margin=margin)
    ratio = (1 + effect) if better == "lower" else 1 / (1 + effect)
    close = math.isclose(ratio, 1 + max(0.05, margin), rel_tol=1e-9)
    told = ratio >= 1 + max(0.05, margin) and q is not None and q < 0.05 and blocks >= 6
    assert close or bool(also_worse([one])) == told


def test_the_worst_comes_first_and_a_verdict_is_no_part_of_it() -> None:
    """Of several the largest ratio is told first; what has a verdict is told by that."""
    small, large = tail(effect=0.5), dataclasses.replace(tail(effect=3.0), metric="p99_itl")
    judged = row("serve", "round_time", Outcome.REGRESSED)
    assert also_worse([judged, small, large]) == (large, small)


SERVED = {**DEFINITION, "metrics": {"round_time": {"primary": True, "margin": 0.02}}}


@pytest.mark.parametrize("listed", [True, False])
def test_what_was_measured_and_is_named_nowhere_is_estimated_too(listed: bool) -> None:
    """The tail grew sevenfold under a primary that improved: it is told, whether the scenario lists it or not; rows that it lists stay."""
    metrics = {**SERVED["metrics"], **({"p99_ttft": {"primary": False, "margin": 0.02}} if listed else {})}
    definition = {**SERVED, "metrics": metrics}
    records = [
        record(
            definition,
            block=block,
            arm=arm,
            position=place,
            measurements={"round_time": time * (1 + 0.001 * block), "p99_ttft": late * (1 + 0.002 * block * place)},
            witnesses={},
        )
        for block in range(1, 7)
        for place, (arm, time, late) in enumerate((("before", 0.04, 0.1), ("after", 0.03, 0.67)))
    ]
    found = judge_scenario("swap_states", records)
    assert [one.metric for one in found.judged] == list(metrics)
    assert [one.metric for one in found.unlisted] == ([] if listed else ["p99_ttft"])
    assert [one.metric for one in found.worse] == ["p99_ttft"]
    assert found.worse[0].verdict is None
