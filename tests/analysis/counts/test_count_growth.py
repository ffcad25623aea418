"""Work that grows with the output: exact where it is counted, told by rough times where it is not."""

from __future__ import annotations

import dataclasses

from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof.analysis.counts.count_growth import growths
from perfproof.model.records.counts import Cell, Count
from tests.analysis.counts.test_count_comparison import phase

POSITIONS = {"decode at 64": 64, "decode at 1,024": 1024, "decode at 4,096": 4096}


def grown(slope: int, seconds: tuple[float, float, float] = (0.001, 0.001, 0.001), fixed: int = 30_000) -> Count:
    """A count whose steps do `slope` instructions more with every token."""
    phases = {name: phase({"m:f": fixed + slope * place}) for name, place in POSITIONS.items()}
    times = dict(zip(POSITIONS, seconds, strict=True))
    cell = Cell(feature="long outputs", requests=8, phases=phases, outputs=(((1,),),), seconds=times)
    return Count(vllm="0.32.0", python="3.11.7", cells=(cell,), left_out=(), refused="")


def test_a_count_that_begins_to_grow_is_told_exactly() -> None:
    """So many instructions a token."""
    assert list(growths(grown(0), grown(8), POSITIONS)) == [
        "long outputs, 8 requests: Python instructions of a step grow by 8 a token with the output, not at all before"
    ]


def test_times_that_grow_where_no_count_does_are_told() -> None:
    """A re-scan inside one instruction is seen by nothing else."""
    said = list(growths(grown(0), grown(0, (0.001, 0.002, 0.005)), POSITIONS))
    assert said == [
        "long outputs, 8 requests: a step at token 4,096 takes 5.0 times as long as one at 64, 1.0 times before (rough), and no count "
        "grows with it: that work is inside single instructions or compiled code; measure it"
    ]


def test_times_that_grow_alike_or_with_a_count_say_nothing_more() -> None:
    """Attention takes longer the more there is to attend to, on both sides."""
    assert list(growths(grown(0, (0.001, 0.001, 0.002)), grown(0, (0.002, 0.002, 0.004)), POSITIONS)) == []
    assert len(list(growths(grown(0), grown(8, (0.001, 0.002, 0.005)), POSITIONS))) == 1


def test_other_outputs_grow_in_their_own_way() -> None:
    """Nothing is said of other work, nor of features without positions."""
    count = grown(8)
    other = dataclasses.replace(count, cells=(dataclasses.replace(count.cells[0], outputs=(((2,),),)),))
    assert list(growths(grown(0), other, POSITIONS)) == []
    assert list(growths(grown(0), grown(8), {"decode": 8})) == []


@settings(deadline=None)
@given(st.integers(min_value=0, max_value=10**4), st.integers(min_value=0, max_value=10**6))
def test_a_fixed_cost_is_no_growth(slope: int, fixed: int) -> None:
    """Two sides that grow alike say nothing, however much more one does in each step."""
    assert list(growths(grown(slope), grown(slope, fixed=30_000 + fixed), POSITIONS)) == []
