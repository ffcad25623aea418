"""What an inconclusive verdict says about the blocks that would settle it."""

from __future__ import annotations

from suite.analysis.spending import sequential
from suite.analysis.verdict import judge
from tests.analysis.numbers import made


def test_too_few_blocks_are_settled_by_six_at_least() -> None:
    """A clear change in three blocks needs three more, for no timed metric is judged on fewer than six."""
    verdict = judge(made(0.5, 0.001, 3), sequential(1), minutes_per_block=2.0)
    assert verdict.settling is not None
    assert (verdict.settling.total, verdict.settling.more, verdict.settling.minutes) == (6, 3, 6.0)
