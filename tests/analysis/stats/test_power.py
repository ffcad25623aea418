"""The smallest detectable effect against simulation of the rule, and the blocks that would settle a verdict."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy

from perfproof.analysis.stats import power
from perfproof.analysis.stats.alpha_spending import Spending, one_look, sequential
from perfproof.analysis.stats.decision_rule import REGRESSED, decide_looks

MARGIN = float(np.log(1.02))


@pytest.mark.parametrize("plan", [one_look(6), one_look(12), one_look(24, 6), sequential(1), sequential(6)], ids=str)
@pytest.mark.parametrize("sd", [0.003, 0.02, 0.11])
def test_the_smallest_detectable_effect_is_called_regressed_eight_times_in_ten(plan: Spending, sd: float) -> None:
    """Simulated blocks with just that effect, through the rule, are regressed with a chance of 80 %, to within 2 points."""
    effect = power.smallest_effect(np.array([sd]), np.array([MARGIN]), plan.looks)[0]
    x = effect + sd * np.random.default_rng(3).standard_normal((6000, plan.blocks))
    rate = np.mean(decide_looks(x, plan.looks, np.full(6000, MARGIN)).code == REGRESSED)
    assert rate == pytest.approx(0.8, abs=0.02)


def test_the_smallest_detectable_effect_is_never_below_the_margin_and_grows_with_the_noise() -> None:
    """The margin is part of the rule: without noise the margin itself is what is seen."""
    sd = np.array([0.0, 0.001, 0.01, 0.05, 0.2, 5.0])
    effects = power.smallest_effect(sd, np.full(6, MARGIN), one_look(10).looks)
    assert effects[0] == pytest.approx(MARGIN)
    assert np.all(np.diff(effects) > 0)
    assert np.all(power.smallest_effect(sd, np.full(6, MARGIN), one_look(20).looks)[1:] < effects[1:])


@pytest.mark.parametrize("blocks", [1_000, 3_000, 50_000])
def test_of_many_blocks_the_smallest_detectable_effect_is_that_of_normal_means(blocks: int) -> None:
    """The deviation is known then, and half of what is looked for is the quantile of the rule, the other that of the power."""
    (look,) = one_look(blocks).looks
    away = scipy.special.ndtri(1 - look.change) + scipy.special.ndtri(power.POWER)
    found = power.smallest_effect(np.array([0.01]), np.array([0.0]), [look])[0]
    assert found == pytest.approx(0.01 * away / np.sqrt(blocks), rel=0.02)


def test_without_a_look_nothing_can_be_seen() -> None:
    """No look, no detectable effect."""
    assert np.isinf(power.smallest_effect(np.array([0.02]), np.array([MARGIN]), ())[0])


def settling(mean: float, sd: float, blocks: int) -> power.Settling | None:
    """What would settle an inconclusive look after so many blocks, at two minutes a block."""
    total = power.settling_blocks(np.array([mean]), np.array([sd]), np.array([MARGIN]), one_look(blocks).looks[0])
    return power.settled_by(float(total[0]), mean, MARGIN, blocks, 2.0)


@pytest.mark.parametrize(("mean", "sd"), [(0.0, 0.05), (0.005, 0.05), (0.06, 0.08), (-0.06, 0.08), (0.025, 0.02)])
def test_the_blocks_said_to_settle_a_verdict_settle_it_with_about_the_chance_promised(mean: float, sd: float) -> None:
    """Fresh simulated runs with so many blocks are decided as promised in 72 to 88 % of cases."""
    found = settling(mean, sd, 10)
    assert found is not None
    assert found.minutes == 2 * found.more == 2 * (found.total - 10)
    plan = one_look(found.total)
    x = mean + sd * np.random.default_rng(4).standard_normal((3000, found.total))
    codes = decide_looks(x, plan.looks, np.full(3000, MARGIN)).code
    assert np.mean(codes == {"regressed": 1, "improved": 2, "equivalent": 3}[found.as_]) == pytest.approx(0.8, abs=0.08)


def test_an_effect_at_the_margin_is_never_settled() -> None:
    """No number of blocks tells a change of just the margin from more or less; the answer is None and not a huge number."""
    assert settling(MARGIN, 0.05, 24) is None
    assert settling(0.0, 3.0, 24) is None


def test_a_plan_is_told_what_each_look_could_see_and_when() -> None:
    """Effects fall and minutes rise from look to look, and a quiet machine will probably call no change equivalent."""
    lines = power.look_powers(0.02, MARGIN, sequential(1), minutes_per_block=2)
    assert [line.minutes for line in lines] == [12, 20, 32, 48]
    assert all(later.effect < earlier.effect for earlier, later in pairwise(lines))
    assert lines[-1].equivalent > 0.95
    assert power.look_powers(0.02, MARGIN, sequential(1), better="higher")[0].effect < lines[0].effect
