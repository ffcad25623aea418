"""From the units of two folders to what is told: files are narrowed to functions, and these to hunks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perfproof.changes.blame.difference import Difference
from perfproof.changes.blame.guilty_units import find
from perfproof.changes.blame.search import Found, OutOfBudget, Side, Units

GOOD = """STEP = 1


def work(items):
    first = 1
    second = 2
    third = 3
    fourth = 4
    cost = 0
    sixth = 6
    fifth = 5
    return first + second + third + fourth + cost + fifth


def beside(items):
    return 1
"""
BAD = (
    GOOD.replace("first = 1", "first = 10")
    .replace("cost = 0", "cost = 100")
    .replace("fifth = 5", "fifth = 50")
    .replace("return 1\n", "return 2\n")
)


@pytest.fixture
def difference(tmp_path: Path) -> Difference:
    for name, text in (("good", GOOD), ("bad", BAD)):
        (tmp_path / name / "vllm").mkdir(parents=True)
        (tmp_path / name / "vllm" / "a.py").write_text(text)
        for number in range(6):
            (tmp_path / name / "vllm" / f"other{number}.py").write_text(f"x = {name!r}\n")
    return Difference(tmp_path / "good", tmp_path / "bad")


def found(difference: Difference, ran: dict[str, float], most: int = 1_000) -> tuple[Found, int]:
    """What is found where a mixture's count is the number behind `cost`, and how many mixtures were asked."""
    asked = 0

    def ask(side: Side, units: Units) -> float | None:
        nonlocal asked
        if asked == most:
            raise OutOfBudget
        asked += 1
        text = difference.mixture(side, units).files.get("vllm/a.py") or (BAD if side == "back" else GOOD)
        cost = int((re.search(r"cost = (\d+)", text) or ["", "0"])[1])
        return 1 - cost / 100 if side == "back" else cost / 100

    return find(difference, ran, ask, lambda: asked, lambda _: None), asked


def test_a_function_that_ran_is_narrowed_to_its_hunk(difference: Difference) -> None:
    """Of three hunks the one that matters is named, and the diff back has nothing else."""
    blamed, _ = found(difference, {"vllm.a:work": 9.0, "vllm.a:beside": 1.0})
    (one,) = blamed.guilty
    assert (one.units, one.share, one.brought) == (("vllm/a.py:work",), 1.0, 1.0)
    assert [difference.lines_of(hunk) for hunk in one.hunks] == [(9, 9)]
    assert difference.mixture("back", blamed.back).files["vllm/a.py"] == BAD.replace("cost = 100", "cost = 0")


def test_a_file_of_which_nothing_ran_is_narrowed_to_its_function(difference: Difference) -> None:
    """Nothing points at the file: it is found among all, then its function, then the hunk."""
    blamed, _ = found(difference, {})
    (one,) = blamed.guilty
    assert one.units == ("vllm/a.py:work",)
    assert [difference.lines_of(hunk) for hunk in one.hunks] == [(9, 9)]


def test_a_search_that_is_ended_says_so_and_goes_on_with_what_it_has(difference: Difference) -> None:
    """However early it ends, nothing innocent is named."""
    _, whole = found(difference, {"vllm.a:work": 9.0})
    for most in range(whole):
        blamed, _ = found(difference, {"vllm.a:work": 9.0}, most)
        assert not blamed.complete
        assert {unit for one in blamed.guilty for unit in one.units} <= {"vllm/a.py:work"}
