"""From observations to a paired sample: what counts, what is lost, and why."""

from __future__ import annotations

import numpy as np

from perfproof.analysis.stats.samples import Observation, PairedSample, Status, pair, pair_arrays


def seen(block: int, arm: str, value: float | None, status: Status = Status.OK, reason: str = "", position: int = 0) -> Observation:
    """One observation."""
    return Observation(block=block, arm=arm, value=value, status=status, reason=reason, position=position)


def paired(*observations: Observation) -> PairedSample:
    """The sample of arms a and b."""
    return pair(observations, baseline="a", candidate="b", metric="round_time", unit="s", better="lower")


def test_whole_blocks_are_paired_in_order_and_remember_which_arm_went_first() -> None:
    """Values come out by block number, whatever order they came in, and other arms are passed over."""
    sample = paired(seen(1, "b", 4.0), seen(0, "a", 1.0), seen(1, "a", 2.0, position=1), seen(0, "b", 3.0, position=1), seen(0, "c", 9.0))
    assert sample.baseline.tolist() == [1, 2]
    assert sample.candidate.tolist() == [3, 4]
    assert sample.candidate_first.tolist() == [False, True]
    assert sample.lost == ()


def test_every_lost_block_keeps_its_gravest_reason() -> None:
    """Pending, invalid, failed, unattested and unequal blocks, and values without a logarithm, are told apart."""
    sample = paired(
        seen(0, "a", 1.0),
        seen(1, "a", 1.0, Status.INVALID, "busy"),
        seen(1, "b", None, Status.FAILED, "exit 1"),
        seen(2, "a", 0.0),
        seen(2, "b", 1.0),
        seen(3, "a", 1.0),
        seen(3, "b", 1.0, Status.INVALID, "steal 12 %"),
    )
    assert [(loss.block, loss.status) for loss in sample.lost] == [
        (0, Status.PENDING),
        (1, Status.FAILED),
        (2, Status.ABSENT),
        (3, Status.INVALID),
    ]
    assert [loss.block for loss in sample.broken] == [1, 2]
    assert sample.n == 0


def test_a_failed_trial_is_not_painted_over_by_a_later_one() -> None:
    """Two observations of one trial: the later one counts, unless the earlier one is beyond repair."""
    assert paired(seen(0, "a", 1.0), seen(0, "b", 2.0), seen(0, "b", 3.0)).candidate.tolist() == [3]
    assert paired(seen(0, "a", 1.0), seen(0, "b", None, Status.FAILED), seen(0, "b", 3.0)).broken[0].status is Status.FAILED


def test_larger_x_is_worse_whatever_the_direction_of_the_metric() -> None:
    """x is the log ratio where lower is better, its negative where higher is, and a difference on that scale."""
    assert np.allclose(pair_arrays([1.0], [np.e]).x, [1])
    assert np.allclose(pair_arrays([1.0], [np.e], better="higher").x, [-1])
    assert np.allclose(pair_arrays([0.0], [0.25], scale="difference").x, [0.25])
