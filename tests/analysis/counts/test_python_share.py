"""How much of a step's time is Python: rough, and in proportion."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.analysis.counts.python_share import SCATTERED, python_share, python_shares
from perfproof.model.records.counts import Cell, Count


def count(seconds: dict[str, float], outside: dict[str, dict[str, float]]) -> Count:
    cell = Cell(feature="plain", requests=8, phases={}, outputs=(), seconds=seconds, outside=outside)
    return Count(vllm="0.32.0", python="3.11.7", cells=(cell,), left_out=(), refused="")


def test_the_share_is_what_c_functions_leave_of_a_step() -> None:
    """4 ms, of which 1 ms went by in C functions: 75 % are Python; the largest are named, small ones are not."""
    times = {"torch._C._nn.linear": 0.0006, "list.append": 0.0003, "len": 0.00001, "": 0.00009}
    found = list(python_shares(count({"decode": 0.004}, {"decode": times}), [("plain", 8)]))
    assert found == [
        "plain, 8 requests: the counted Python takes about 75 % of a decode step's 4.0 ms (rough, the least of untraced runs beside); "
        "the rest is not Python, most of it torch._C._nn.linear 15 %, list.append 8 %"
    ]


def test_a_profiled_step_that_was_slower_than_the_timed_one_leaves_nothing() -> None:
    """Never less than nothing: the machine was busy in between."""
    assert python_share(count({"decode": 0.001}, {"decode": {"": 0.002}}).cells[0]) == 0.0


@pytest.mark.parametrize("seconds", [{}, {"decode": 0.0}])
def test_a_step_that_was_not_timed_has_no_share(seconds: dict[str, float]) -> None:
    """Old counts and confirming processes have no such times."""
    assert list(python_shares(count(seconds, {"decode": {}}), [("plain", 8), ("gone", 1)])) == []


@pytest.mark.parametrize("outside", [{}, {"decode": {"": 1.5}}])
def test_a_share_that_can_not_be_believed_is_left_out_and_said(outside: dict[str, dict[str, float]]) -> None:
    """The times scattered, or C functions took longer than their step: never "0 %", never more than 100 %."""
    assert list(python_shares(count({"decode": 1.0}, outside), [("plain", 8)])) == [SCATTERED]


@given(st.floats(1e-6, 1), st.lists(st.floats(0, 1), max_size=9))
def test_no_part_of_a_step_is_more_than_the_whole(whole: float, parts: list[float]) -> None:
    """Whatever was measured: the parts that are told are from 0 to 100 %."""
    outside = {"decode": {f"f{place}": part for place, part in enumerate(parts)} | {"": 0.0}}
    (said,) = python_shares(count({"decode": whole}, outside), [("plain", 8)])
    assert all(0 <= int(percent) <= 100 for percent in re.findall(r"([-\d]+) %", said))
