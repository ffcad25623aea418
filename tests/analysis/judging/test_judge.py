"""From records to judged metrics: the road that compare, report, gate and a running plan share."""

from __future__ import annotations

import copy
import dataclasses
import random
from typing import Any

import pytest

from perfproof.analysis.judging.apply_policy import decide
from perfproof.analysis.judging.judge import SHARED_WARNING, judge_records, judge_table
from perfproof.analysis.trials.invalidation import invalid
from perfproof.model.base.errors import EXIT_INCONCLUSIVE, EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, BadInput
from perfproof.model.records.record import Record
from perfproof.model.verdicts.judged import SUGGESTS, Judged
from perfproof.model.verdicts.policy import DEFAULT_POLICY
from perfproof.report.base import formatting
from perfproof.report.text import sentences
from tests.factory import DEFINITION, record, run


def values(mean: float, blocks: int = 6, seed: int = 1, spread: float = 0.004) -> list[float]:
    source = random.Random(seed)
    return [mean * source.gauss(1, spread) for _ in range(blocks)]


def judged(records: list[Record], metric: str = "round_time") -> Judged:
    return next(row for one in judge_records(records) for row in one.judged if row.metric == metric)


@pytest.mark.parametrize(
    ("after", "verdict", "code"),
    [(0.02, "improved", EXIT_PASS), (0.08, "regressed", EXIT_REGRESSED), (0.04, "equivalent", EXIT_PASS)],
)
def test_six_quiet_blocks_decide(after: float, verdict: str, code: int) -> None:
    """A change of half or double, and none at all, are called by name; the gate follows."""
    row = judged(run(values(0.04), values(after, seed=2)))
    assert row.verdict == verdict
    assert decide([row], DEFAULT_POLICY).exit_code == code


def spoilt(records: list[Record], blocks: set[int], **telemetry: float) -> list[Record]:
    """The records, those of these blocks excluded because of their telemetry, by default of other processes."""
    seen = telemetry or {"foreign": 0.9}
    return [
        dataclasses.replace(one, status="invalid", reason=invalid(seen), environment={**one.environment, "telemetry": seen})
        if one.block in blocks
        else one
        for one in records
    ]


def test_a_busy_machine_s_estimate_is_shown_and_not_counted() -> None:
    """Where all blocks were excluded, what they showed stands beside the verdict, which it does not touch; the reason says why."""
    row = judged(spoilt(run(values(0.04), values(0.06, seed=2)), {1, 2, 3, 4, 5, 6}))
    assert (row.verdict, row.effect, row.interval) == ("untestable", None, None)
    assert "90.0 % of the CPU time went to other processes" in row.reason
    assert row.uncounted is not None
    assert (row.uncounted.blocks, row.uncounted.effect) == (6, pytest.approx(0.5, abs=0.02))
    assert row.uncounted.candidate_value / row.uncounted.baseline_value - 1 == pytest.approx(row.uncounted.effect)
    assert formatting.change(row).endswith("%, not counted")
    assert formatting.interval(row).startswith("[+")
    assert "not counted" in sentences.claim(row)
    assert decide([row], DEFAULT_POLICY).exit_code == EXIT_UNTESTABLE


def test_one_spoilt_block_is_an_estimate_without_an_interval() -> None:
    """The ratio of its values."""
    row = judged(spoilt(run([0.04], [0.06]), {1}))
    assert row.uncounted is not None
    assert (row.uncounted.effect, row.uncounted.interval) == (pytest.approx(0.5), None)


def test_what_counts_is_never_mixed_with_what_does_not() -> None:
    """With a verdict there is no such estimate; nor of trials that failed, lost requests or never ran."""
    assert judged(spoilt(run(values(0.04, 12), values(0.06, 12, seed=2)), {3})).uncounted is None
    every = {1, 2, 3, 4, 5, 6}
    assert judged(spoilt(run(values(0.04), values(0.06, seed=2)), every, failed_requests=2)).uncounted is None
    failed = [dataclasses.replace(one, status="failed", reason="gone") for one in run(values(0.04), values(0.06, seed=2))]
    assert judged(failed).uncounted is None


def test_values_shown_are_in_the_ratio_of_the_effect() -> None:
    """A reader who divides the two arms' values gets the effect, at whatever look the metric was decided."""
    row = judged(run(values(0.04, blocks=10, spread=0.02), values(0.02, blocks=10, seed=2, spread=0.02)))
    assert row.blocks < 10
    assert row.candidate_value / row.baseline_value - 1 == pytest.approx(row.effect)


def test_noise_beyond_the_margin_is_inconclusive_and_says_what_would_settle_it() -> None:
    """Six noisy blocks without a difference are neither equal nor different; the reason names the blocks needed."""
    row = judged(run(values(0.04, spread=0.1), values(0.04, seed=5, spread=0.1)))
    assert row.verdict == "inconclusive"
    assert "blocks, all measured again (--blocks" in row.reason
    assert decide([row], DEFAULT_POLICY).exit_code == EXIT_PASS
    assert decide([row], dataclasses.replace(DEFAULT_POLICY, inconclusive="fail")).exit_code == EXIT_INCONCLUSIVE


@pytest.mark.parametrize("status", ["failed", "unattested"])
def test_one_bad_trial_makes_the_metric_untestable(status: Any) -> None:
    """However good the other blocks look, a crash or a missing attestation is never a pass."""
    records = run(values(0.04), values(0.02))
    records[3] = record(block=1, arm="before", position=0, status=status, reason="the plugin did not load")
    row = judged(records)
    assert row.verdict == "untestable"
    assert "the plugin did not load" in row.reason
    assert decide([row], DEFAULT_POLICY).exit_code == EXIT_UNTESTABLE


def test_unequal_work_is_not_comparable() -> None:
    """A block whose arms did different work is told apart, with the counts."""
    records = run(values(0.04), values(0.02))
    records[3] = record(block=2, arm="after", position=1, work={"swaps": 999})
    row = judged(records)
    assert row.verdict == "untestable"
    assert "not comparable" in row.reason
    assert "999" in row.reason


def test_an_invalid_block_that_was_measured_again_counts() -> None:
    """A block thrown out by a rule is replaced by its second measurement."""
    records = run(values(0.04), values(0.02))
    spoiled = [record(block=2, arm=arm, status="invalid", reason="the machine was busy") for arm in ("before", "after")]
    again = [one for one in records if one.block == 2]
    assert judged([*[one for one in records if one.block != 2], *spoiled, *again]).verdict == "improved"


def test_witnesses_compare_exactly_and_metrics_that_are_not_primary_are_only_explored() -> None:
    """A count of work is improved by one byte; an undeclared timed metric has an estimate and no verdict."""
    definition = copy.deepcopy(DEFINITION)
    definition["metrics"]["duration"] = {"primary": False, "margin": 0.02}
    records = run(values(0.04), values(0.04, seed=2), definition=definition, witnesses=(9.0, 8.0))
    records = [
        record(
            definition,
            block=r.block,
            arm=r.arm,
            position=r.position,
            measurements={**r.measurements, "duration": 1.0 + r.block / 100},
            witnesses=r.witnesses,
        )
        for r in records
    ]
    assert judged(records, "bytes_per_swap").verdict == "improved"
    explored = judged(records, "duration")
    assert explored.verdict is None
    assert not explored.primary


def test_a_shared_server_is_told() -> None:
    """Where no launch was repeated, the verdict says that launch-to-launch variance was not sampled."""
    records = [
        record(block=r.block, arm=r.arm, position=r.position, measurements=r.measurements, how="shared server")
        for r in run(values(0.04), values(0.02))
    ]
    row = judged(records)
    assert SHARED_WARNING in row.warnings
    assert (row.verdict, row.suggests) == ("improved", True)
    assert row.reason.startswith(SUGGESTS)


@pytest.mark.parametrize(("after", "verdict"), [(0.02, "improved"), (0.08, "regressed"), (0.04, "equivalent")])
def test_what_shared_launches_suggest_is_inconclusive_to_the_gate(after: float, verdict: str) -> None:
    """Neither a regression nor anything else is decided by launches that were not repeated, unless the policy says that it counts."""
    records = [
        record(block=r.block, arm=r.arm, position=r.position, measurements=r.measurements, how="shared server")
        for r in run(values(0.04), values(after, seed=2))
    ]
    row = judged(records)
    assert row.verdict == verdict
    assert decide([row], DEFAULT_POLICY).exit_code == EXIT_PASS
    [ruling] = decide([row], dataclasses.replace(DEFAULT_POLICY, inconclusive="fail")).rulings
    assert (ruling.passes, ruling.code) == (False, EXIT_INCONCLUSIVE)
    assert f"{verdict}, but counted as inconclusive (policy: shared_launches)" in ruling.reason
    counted = decide([row], dataclasses.replace(DEFAULT_POLICY, shared_launches="count"))
    assert counted.exit_code == (EXIT_REGRESSED if verdict == "regressed" else EXIT_PASS)


def test_warnings_that_differ_in_their_numbers_are_told_as_one() -> None:
    """Six trials that were each too short by a little are one sentence with the range, not six; a version is no such number."""
    records = [
        dataclasses.replace(r, warnings=[f"measured for {1 + r.block / 10:.1f} s only; quick asks for 2 s", f"tested with 0.{r.block}.0"])
        for r in run(values(0.04), values(0.02, seed=2))
    ]
    told = judged(records).warnings
    assert told[0] == "measured for 1.1 to 1.6 s only; quick asks for 2 s"
    assert len(told) == 1 + 6


def test_a_mean_and_a_median_that_disagree_are_warned_of() -> None:
    """A candidate whose median waits less and whose mean waits more is no improvement that one could name: both lines say so."""
    metrics = {"median_ttft": {"primary": True, "margin": 0.02}, "mean_ttft": {"primary": False, "margin": 0.02}}
    definition = copy.deepcopy(DEFINITION) | {"metrics": metrics}
    records = [
        record(definition, block=r.block, arm=r.arm, position=r.position, measurements={"median_ttft": median, "mean_ttft": mean})
        for r in run(values(0.04), values(0.04))
        for median, mean in [(0.2, 0.2) if r.arm == "before" else (0.15, 0.26)]
    ]
    for name in metrics:
        told = next(warning for warning in judged(records, name).warnings if "sign" in warning)
        assert told.startswith("mean and median disagree in sign (")
        assert "median_ttft -25.0 %" in told
        assert "mean_ttft +30.0 %" in told


def test_records_of_two_scenarios_of_one_name_are_refused() -> None:
    """Mixing digests under one name is a bad results folder, not a comparison."""
    with pytest.raises(BadInput, match="2 different scenarios"):
        judge_records([record(), record(digest="another")])


def test_nothing_primary_to_judge_is_no_pass() -> None:
    """A gate without a single ruling fails as untestable."""
    assert decide([], DEFAULT_POLICY).exit_code == EXIT_UNTESTABLE


def test_a_table_of_anybodys_numbers_is_judged_with_its_reasoning() -> None:
    """Three arms give two lines against the first arm, and sentences that name the verdict."""
    rows = [
        (str(block), arm, value)
        for arm, mean in (("a", 1.0), ("b", 1.1), ("c", 1.0))
        for block, value in enumerate(values(mean, 10, seed=ord(arm)))
    ]
    lines, sentences = judge_table(rows, scenario="numbers", name="numbers", baseline="a", better="lower", margin=0.02, unit="s")
    assert [line.verdict for line in lines] == ["regressed", "equivalent"]
    assert any("So the verdict is regressed" in sentence for sentence in sentences[0])
    assert any("So the verdict is equivalent" in sentence for sentence in sentences[1])
