"""The baseline against itself, and growth with a size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from perfproof.analysis.stats.samples import Lost, PairedSample, Status, pair_arrays
from perfproof.analysis.stats.scaling import growth, slope_difference
from perfproof.analysis.verdicts.calibration import LONG, autocorrelation, calibrate, distrust, false_verdicts, sd_interval, widening
from perfproof.model.verdicts.judged import Outcome

SOURCE = np.random.default_rng(11)


def itself(x: np.ndarray) -> PairedSample:
    """An A/A with these log ratios, the candidate first in every second block."""
    return pair_arrays(np.ones(x.size), np.exp(x), metric="round_time", unit="s", candidate_first=np.arange(x.size) % 2 == 1)


def test_a_quiet_machine_passes_and_leaves_its_noise_floor() -> None:
    """Spread with its interval, minutes, and no widening; the short form keeps silent on order and autocorrelation."""
    found = calibrate(itself(SOURCE.normal(0, 0.02, 10)), minutes_per_block=1.5)
    assert found.passed
    assert found.floor.sd_interval[0] < 0.02 < found.floor.sd_interval[1]
    assert (found.order, found.autocorrelation, found.floor.widening) == (None, None, 1.0)
    assert "from 60 blocks on" in found.reason
    assert distrust([found]) == ""


def test_a_baseline_that_differs_from_itself_fails_and_distrusts_the_machine() -> None:
    """What the rule calls a change in an A/A is a fault of the machine."""
    found = calibrate(itself(SOURCE.normal(0.05, 0.01, 10)))
    assert not found.passed
    assert "differs from itself" in found.reason
    assert "round_time" in distrust([found])


def test_an_order_effect_fails_the_long_form_only() -> None:
    """An arm that runs second and is slower for it makes verdicts depend on the order; with few blocks this is not asked."""
    x = SOURCE.normal(0, 0.01, LONG) + np.where(np.arange(LONG) % 2 == 0, 0.02, -0.02)
    long, short = calibrate(itself(x)), calibrate(itself(x[:10]))
    assert not long.passed
    assert "the order matters" in long.reason
    assert long.order is not None
    assert long.order.effect == pytest.approx(0.04, abs=0.01)
    assert short.passed


def test_autocorrelation_is_measured_without_bias_and_widens() -> None:
    """First-order autoregressions of 60 blocks give their rho back on average, and sqrt((1 + rho)/(1 - rho)) as widening."""
    found = []
    for seed in range(300):
        noise = np.random.default_rng(seed).standard_normal(160)
        for i in range(1, noise.size):
            noise[i] += 0.3 * noise[i - 1]
        found.append(autocorrelation(noise[100:]).rho)
    assert np.mean(found) == pytest.approx(0.3, abs=0.03)
    assert widening(0.3) == pytest.approx(np.sqrt(1.3 / 0.7))
    assert widening(-0.4) == widening(0.0) == 1
    assert widening(0.99) == 3


def test_false_verdicts_are_counted_over_consecutive_runs_of_ten_blocks() -> None:
    """Six runs in sixty blocks, of which two drifted away."""
    x = SOURCE.normal(0, 0.01, LONG)
    x[10:20] += 0.08
    x[40:50] -= 0.08
    assert false_verdicts(x, 0.02) == (2, 6)
    assert false_verdicts(x[:9], 0.02) == (0, 1)


def test_a_broken_or_tiny_calibration_does_not_pass() -> None:
    """A crash in the A/A fails it; one block has no spread."""
    broken = replace(itself(SOURCE.normal(0, 0.01, 10)), lost=(Lost(block=1, arm="a", status=Status.FAILED, reason="exit 1"),))
    found = calibrate(broken)
    assert not found.passed
    assert found.verdict.outcome is Outcome.UNTESTABLE
    with pytest.raises(ValueError, match="2 whole blocks"):
        calibrate(itself(np.array([0.1])))


def test_the_interval_of_a_deviation_covers_it() -> None:
    """Chi-squared: at 6 normal values 95 % of intervals hold the true deviation."""
    spreads = SOURCE.normal(0, 1, (2000, 6)).std(axis=1, ddof=1)
    held = [low < 1 < high for low, high in (sd_interval(float(sd), 6) for sd in spreads)]
    assert np.mean(held) == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize(
    ("exponent", "word"), [(0.0, "constant in"), (1.0, "linear in"), (2.0, "faster than linear"), (0.5, "less than linearly")]
)
def test_growth_is_told_in_words_with_its_exponent_and_interval(exponent: float, word: str) -> None:
    """A power law with 2 % noise is told as what it is."""
    sizes = np.array([1000, 2000, 4000, 16000])
    costs = np.exp(SOURCE.normal(0, 0.1, (6, 1)) + SOURCE.normal(0, 0.02, (6, 4))) * sizes**exponent
    found = growth(sizes, costs, of="the step", size="output length")
    assert word in found.words
    assert found.interval[0] < exponent < found.interval[1]
    assert found.factor == pytest.approx(16**exponent, rel=0.1)
    difference, (low, high) = slope_difference(sizes, costs, costs * sizes**-0.4)
    assert difference == pytest.approx(-0.4)
    assert low <= difference <= high


def test_growth_of_one_trial_or_of_nothing_is_refused() -> None:
    """Two trials and two sizes at least, and only positive numbers."""
    for sizes, costs in (([1, 2], [[1.0, 2.0]]), ([1, 1], [[1.0, 2.0]] * 2), ([1, 2], [[1.0, 0.0]] * 2)):
        with pytest.raises(ValueError, match=r"growth needs|positive"):
            growth(sizes, costs)
