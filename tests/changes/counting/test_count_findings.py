"""What two counts come to: confirmed by a second process of each side, left out where that differs, and said where nothing confirmed it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.changes.counting import count_findings
from perfproof.changes.counting.count_findings import UNCONFIRMED, Findings, Setting, concluded, warnings
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, CannotRun
from perfproof.model.records.counts import Count
from perfproof.run.trials.engine_counting import Wanted
from tests.analysis.counts.test_count_comparison import counted, phase

BUILDS = [type("Build", (), {"label": label, "touched": None})() for label in ("base", "candidate")]
SIDES = cast("tuple[ReadyBuild, ReadyBuild]", tuple(BUILDS))
CELLS = {"plain": (8,)}


def count(instructions: int, **functions: int) -> Count:
    return counted(phase({"m:f": instructions, **{f"m:{name}": number for name, number in functions.items()}}))


def empty() -> Count:
    return Count(vllm="0.32.0", python="3.11.7", cells=(), left_out=(), refused="")


class Second:
    """Second processes that count this, one a side; they note what they were to count."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, counts: Sequence[Count] | Exception) -> None:
        self.counts, self.asked = counts, list[Wanted]()
        monkeypatch.setattr(count_findings, "count", self)

    def __call__(self, wanted: Sequence[Wanted], builds: Path, say: object, *, seconds: float | None, about: str) -> Sequence[Count]:
        self.asked += wanted
        if isinstance(self.counts, Exception):
            raise self.counts
        return self.counts


def told(first: Sequence[Count], left: float | None = None) -> Findings:
    setting = Setting(builds=Path("builds"), margin=0.005, say=lambda text: None, left=lambda: left)
    return concluded(SIDES, first, CELLS, frozenset(), setting)


def verdict(found: Findings) -> str:
    return next(one.verdict for one in found.comparisons.compared if one.metric == "python_instructions")


def test_equal_counts_need_no_second_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes agree already: one of each side."""
    second = Second(monkeypatch, CannotRun("nobody asks"))
    found = told([count(100), count(100)])
    assert (verdict(found), second.asked, found.code) == ("identical", [], EXIT_PASS)
    assert UNCONFIRMED not in warnings(found)


def test_a_difference_is_counted_again_in_a_second_process_of_each_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the cells that differ; the functions behind them are looked at line by line."""
    second = Second(monkeypatch, [count(100), count(120)])
    found = told([count(100), count(120)])
    assert [(one.build.label, one.cells, one.closely, one.process) for one in second.asked] == [
        ("base", {"plain": [8]}, ("m:f",), 2),
        ("candidate", {"plain": [8]}, ("m:f",), 2),
    ]
    assert (verdict(found), found.code, UNCONFIRMED in warnings(found)) == ("regressed", EXIT_REGRESSED, False)


def test_what_a_second_process_counts_otherwise_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that is not the same each time decides nothing."""
    Second(monkeypatch, [count(100, g=7), count(100, g=8)])
    found = told([count(100, g=9), count(100, g=30)])
    assert verdict(found) == "identical"
    assert "plain, 8 requests, decode: left out, not the same each time: m:g" in warnings(found)


@pytest.mark.parametrize(
    ("seconds", "counts"), [(0.0, CannotRun("over before vLLM was imported")), (3.0, [empty(), count(120)]), (3.0, [])]
)
def test_a_difference_that_no_second_process_confirmed_is_said(
    monkeypatch: pytest.MonkeyPatch, seconds: float, counts: Sequence[Count] | Exception
) -> None:
    """The time was over, or one side's process ended before that cell: the numbers stand, with that beside them."""
    Second(monkeypatch, counts)
    found = told([count(100), count(120)], left=seconds)
    assert verdict(found) == "regressed"
    assert UNCONFIRMED in warnings(found)


def test_a_second_process_that_fails_without_a_time_limit_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is passed over: the fault ends the command."""
    Second(monkeypatch, CannotRun("vllm: vLLM does not import"))
    with pytest.raises(CannotRun, match="does not import"):
        told([count(100), count(120)])


def test_the_time_of_a_step_is_put_beside_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Roughly, and of the change."""
    Second(monkeypatch, [count(100), count(120)])
    timed = count(120)
    cell = dataclasses.replace(timed.cells[0], seconds={"decode": 0.002}, outside={"decode": {"len": 0.0005, "": 0.0}})
    found = told([count(100), dataclasses.replace(timed, cells=(cell,))])
    assert [
        line for line in warnings(found) if "takes about 75 % of a decode step's 2.0 ms (rough, the least of untraced runs beside)" in line
    ]
