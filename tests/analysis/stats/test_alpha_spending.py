"""What error the looks spend, and which looks a run of so many blocks took."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.analysis.stats.alpha_spending import LEAST_BLOCKS, one_look, sequential


@given(st.integers(1, 6), st.integers(1, 3), st.integers(0, 40))
def test_no_run_spends_more_than_one_per_cent_on_regressions_nor_five_on_equivalence(primaries: int, arms: int, blocks: int) -> None:
    """Whatever number of blocks a run ends with, the errors of all its looks times the family stay within the whole."""
    taken = sequential(primaries, arms).taken(blocks)
    assert sum(look.change for look in taken) * primaries * arms <= 0.01 + 1e-12
    assert sum(look.equivalence for look in taken) <= 0.05 + 1e-12
    assert all(LEAST_BLOCKS <= look.blocks <= blocks for look in taken)


def test_the_standard_looks_and_errors_are_those_of_the_documentation() -> None:
    """6, 10, 16 and 24 blocks, .0025 each way divided by the primary metrics, .0125 for equivalence undivided."""
    looks = sequential(6).looks
    assert [look.blocks for look in looks] == [6, 10, 16, 24]
    assert looks[0].change == pytest.approx(0.0025 / 6)
    assert looks[0].equivalence == pytest.approx(0.0125)
    assert sequential(1).looks[0].level == pytest.approx(0.995)


def test_a_run_that_ended_between_two_looks_takes_the_next_one_early() -> None:
    """13 blocks are looked at 6, 10 and 13; while the run goes on, only at 6 and 10; fewer than 6 never."""
    plan = sequential(1)
    assert [look.blocks for look in plan.taken(13)] == [6, 10, 13]
    assert [look.blocks for look in plan.taken(13, final=False)] == [6, 10]
    assert [look.blocks for look in plan.taken(10)] == [6, 10]
    assert plan.taken(5) == ()
    assert [look.blocks for look in one_look(20).taken(12)] == [12]
    assert one_look(20).taken(12, final=False) == ()
    assert one_look(4).taken(4) == ()


def test_a_plan_that_cannot_be_paid_for_is_refused() -> None:
    """Seven primaries, no candidate, looks that fall, and a look at 4 blocks are errors."""
    for call in (
        lambda: sequential(7),
        lambda: sequential(1, 0),
        lambda: sequential(1, looks=(10, 6)),
        lambda: sequential(1, looks=(4, 8)),
    ):
        with pytest.raises(ValueError, match=r"primary|looks"):
            call()
