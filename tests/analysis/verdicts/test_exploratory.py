"""Exploratory metrics, work equivalence, the rules of invalidation and the explanation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from perfproof.analysis.stats.alpha_spending import one_look, sequential
from perfproof.analysis.stats.samples import Lost, Status
from perfproof.analysis.trials import invalidation
from perfproof.analysis.trials.work_equivalence import unequal
from perfproof.analysis.verdicts.explain import explain
from perfproof.analysis.verdicts.exploratory import explore
from perfproof.analysis.verdicts.verdict import judge
from tests.analysis.numbers import made


def test_exploratory_estimates_are_plain_and_their_q_values_scipys() -> None:
    """95 % intervals without correction, in the metric's own direction, and Benjamini-Yekutieli over those that have a p."""
    samples = [made(0.05, better="higher"), made(0.0, seed=2), made(0.02, blocks=1), made(0.02, seed=3)]
    found = explore(samples)
    assert found[2].effect is None
    assert "1 whole block" in found[2].reason
    reference = stats.ttest_1samp(samples[0].x, 0)
    ends = reference.confidence_interval(0.95)
    assert found[0].interval == pytest.approx((np.expm1(-ends.high), np.expm1(-ends.low)))
    assert found[0].effect is not None
    assert found[0].effect < 0
    p = [each.p for each in found if each.p is not None]
    assert [each.q for each in found if each.q is not None] == pytest.approx(stats.false_discovery_control(p, method="by").tolist())


def test_an_exploratory_metric_with_a_failed_trial_is_not_estimated() -> None:
    """Its reason is kept, and it takes no part in the q-values of the others."""
    broken = replace(made(0.1), lost=(Lost(block=2, arm="b", status=Status.FAILED, reason="exit 1"),))
    assert explore([broken])[0].q is None
    assert "exit 1" in explore([broken])[0].reason


def test_arms_that_did_different_work_are_told_apart_count_by_count() -> None:
    """Each differing count is named with its number in each arm, a missing one too; the same work is silence."""
    assert unequal({"a": {"output_tokens": 5, "rounds": 2}, "b": {"rounds": 2, "output_tokens": 5}}) == ""
    told = unequal({"a": {"output_tokens": 5, "rounds": 2}, "b": {"output_tokens": 6}})
    assert told == "not comparable, the arms did different work: output tokens 5 in a, 6 in b; rounds 2 in a, not counted in b"
    assert unequal({}) == unequal({"a": {}, "b": {}}) == ""


@pytest.mark.parametrize(
    ("telemetry", "word"),
    [
        ({"failed_requests": 1}, "1 x failed request"),
        ({"steal": 0.3}, "30.0 % of the CPU time went to other machines"),
        ({"foreign": 0.5}, "other processes"),
        ({"throttled": 2}, "throttling"),
        ({"foreign_gpu": 1}, "GPU"),
        ({"swapped": 2**30}, "1024 MiB were swapped"),
    ],
)
def test_each_rule_of_invalidation_names_its_number(telemetry: dict[str, float], word: str) -> None:
    """A broken rule is a sentence with the number that broke it."""
    assert word in invalidation.invalid(telemetry)


def test_a_quiet_trial_and_one_without_telemetry_are_valid() -> None:
    """13 % of steal, the worst seen on a quiet shared 2-core machine, stays inside, and what was not measured breaks no rule."""
    assert invalidation.invalid({"steal": 0.13, "foreign": 0.05, "failed_requests": 0}) == invalidation.invalid({}) == ""
    assert invalidation.busy(0.1) == ""
    assert "busy" in invalidation.busy(0.6)


def test_thresholds_suggested_from_a_quiet_run_lose_at_most_the_tolerated_share_of_its_blocks() -> None:
    """They are never below the standard, and a block of two trials is lost in at most one case in twenty."""
    steal = np.random.default_rng(1).beta(2, 8, (400, 2))
    rules = invalidation.suggest({"steal": steal.ravel().tolist()})
    assert rules.steal >= invalidation.STANDARD.steal
    assert np.mean((steal > rules.steal).any(axis=1)) <= 0.05
    assert invalidation.suggest({}) == invalidation.STANDARD


def test_what_an_a_a_lost_is_told_with_the_threshold_it_would_need() -> None:
    """Quantiles of the shares, how many trials were beyond the rule, and what would keep 95 % of the blocks; nothing of nothing."""
    quiet, loud = invalidation.lost({"steal": [0.01] * 100}), invalidation.lost({"foreign": [0.0] * 90 + [0.4] * 10})
    steal = "1.00 % in the median trial, 1.00 % at 95 %, 1.00 % at most"
    assert quiet == [f"of the CPU time other machines (steal) took {steal}; 0 of 100 trials beyond 25.0 %"]
    assert "10 of 100 trials beyond 25.0 %" in loud[0]
    assert loud[1] == "this machine would keep 95.0 % of its blocks with a threshold of 40.0 %"
    assert invalidation.lost({}) == []


@pytest.mark.parametrize(("effect", "word"), [(0.05, "regressed"), (-0.05, "improved"), (0.0, "equivalent"), (0.019, "inconclusive")])
@pytest.mark.parametrize("better", ["lower", "higher"])
def test_the_explanation_goes_from_the_blocks_to_the_verdict_and_every_sentence_has_a_number(effect: float, word: str, better: str) -> None:
    """Each sentence but the name of the verdict holds a figure, and the last one names the outcome."""
    sample = made(effect, better=better, exactly=True)  # type: ignore[arg-type]
    verdict = judge(sample, one_look(24))
    told = explain(verdict, sample, one_look(24))
    assert all(any(sign.isdigit() for sign in sentence) for sentence in told)
    assert f"So the verdict is {word}" in told[-1]
    assert len(told) >= 14


def test_a_broken_sample_is_explained_by_its_losses() -> None:
    """Without a comparison the explanation holds the blocks, what was lost, and the outcome."""
    sample = replace(made(0.1, blocks=1), lost=(Lost(block=2, arm="b", status=Status.UNATTESTED, reason="no attestation"),))
    told = explain(judge(sample, sequential(1)), sample, sequential(1))
    assert len(told) == 3
    assert "Block 2, arm b does not count, it is unattested: no attestation" in told[1]
