"""What an inconclusive verdict says about the blocks that would settle it."""

from __future__ import annotations

import pytest

from perfproof.analysis.stats.alpha_spending import one_look, sequential
from perfproof.analysis.verdicts.verdict import judge
from tests.analysis.numbers import made


def test_too_few_blocks_are_settled_by_six_at_least() -> None:
    """A clear change in three blocks needs three more, for no timed metric is judged on fewer than six."""
    verdict = judge(made(0.5, 0.001, 3), sequential(1), minutes_per_block=2.0)
    assert verdict.settling is not None
    assert (verdict.settling.total, verdict.settling.more, verdict.settling.minutes) == (6, 3, 6.0)


@pytest.mark.parametrize(("blocks", "planned", "from_start"), [(13, True, True), (24, True, True), (24, False, False)])
def test_advice_beyond_the_designs_end_says_how_it_is_followed(blocks: int, planned: bool, from_start: bool) -> None:
    """After the last look no error is left to spend: all blocks are measured again, in another folder; the minutes are for all."""
    verdict = judge(made(0.01, 0.03, blocks), sequential(1), minutes_per_block=2.0, planned=planned)
    assert verdict.settling is not None
    total = verdict.settling.total
    assert total > 24
    assert verdict.settling.from_start is from_start
    assert verdict.settling.minutes == 2.0 * (total if from_start else total - blocks)
    told = f"about {total} blocks, all measured again (--blocks {total} into another results folder, "
    assert (told in verdict.reason) is from_start
    assert ("more block" in verdict.reason) is not from_start


def test_advice_within_the_design_is_followed_by_going_on() -> None:
    """A run that ended before its last look has blocks that are missing yet; a single look has none."""
    for spending, effect, from_start in ((sequential(1), 0.03, False), (one_look(13, 1), 0.025, True)):
        verdict = judge(made(effect, 0.035, 13, exactly=True), spending, planned=True)
        assert verdict.settling is not None
        assert verdict.settling.from_start is from_start
