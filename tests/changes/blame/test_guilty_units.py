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


def test_the_only_function_that_differs_in_a_file_is_named(tmp_path: Path) -> None:
    """Nothing points at the file, and no further mixture is needed to name the function and its only hunk."""
    for name, cost in (("good", 0), ("bad", 9)):
        (tmp_path / name / "vllm").mkdir(parents=True)
        (tmp_path / name / "vllm" / "a.py").write_text(f"def first():\n    return 1\n\n\ndef work():\n    return {cost}\n")
    difference, asked = Difference(tmp_path / "good", tmp_path / "bad"), 0

    def ask(side: Side, units: Units) -> float | None:
        nonlocal asked
        asked += 1
        return float("vllm/a.py" in "".join(units))

    blamed = find(difference, {}, ask, lambda: asked, lambda _: None)
    assert [one.units for one in blamed.guilty] == [("vllm/a.py:work",)]
    assert [difference.lines_of(hunk) for one in blamed.guilty for hunk in one.hunks] == [(6, 6)]
    assert (blamed.back, asked) == ({"vllm/a.py:work"}, 2)
    assert "return 0" in (difference.mixture("back", blamed.back).files["vllm/a.py"] or "")


def test_functions_of_a_file_that_act_alone_have_their_own_shares(tmp_path: Path) -> None:
    """Nothing points at the file: of its functions each is named with what goes away with it."""
    for name, (first, second) in (("good", (0, 0)), ("bad", (80, 20))):
        (tmp_path / name / "vllm").mkdir(parents=True)
        text = f"def first():\n    return {first}\n\n\ndef second():\n    return {second}\n\n\ndef third():\n    return {name!r}\n"
        (tmp_path / name / "vllm" / "a.py").write_text(text)
    difference = Difference(tmp_path / "good", tmp_path / "bad")

    def ask(side: Side, units: Units) -> float | None:
        text = (
            difference.mixture(side, units).files.get("vllm/a.py")
            or difference.text("bad" if side == "back" else "good", "vllm/a.py")
            or ""
        )
        share = ("return 80" in text) * 0.8 + ("return 20" in text) * 0.2
        return 1 - share if side == "back" else share

    blamed = find(difference, {}, ask, lambda: 0, lambda _: None)
    assert [(one.units, pytest.approx(one.share)) for one in blamed.guilty] == [(("vllm/a.py:first",), 0.8), (("vllm/a.py:second",), 0.2)]


def test_a_search_that_is_ended_says_so_and_goes_on_with_what_it_has(difference: Difference) -> None:
    """However early it ends, nothing innocent is named."""
    _, whole = found(difference, {"vllm.a:work": 9.0})
    for most in range(whole):
        blamed, _ = found(difference, {"vllm.a:work": 9.0}, most)
        assert not blamed.complete
        assert {unit for one in blamed.guilty for unit in one.units} <= {"vllm/a.py:work"}


def test_a_unit_of_too_many_hunks_is_narrowed_as_far_as_the_trials_go(tmp_path: Path) -> None:
    """Where the hunks that matter can't be named in so many trials, the diff back has the fewest that were seen to be enough."""
    names = [f"one{number}" for number in range(24)]
    good = "def work():\n" + "".join(f"    {name} = 1\n    kept_{name} = 2\n" for name in names)
    bad = good.replace(" = 1\n", " = 10\n")
    for name, text in (("good", good), ("bad", bad)):
        (tmp_path / name / "vllm").mkdir(parents=True)
        (tmp_path / name / "vllm" / "a.py").write_text(text)
    difference, asked = Difference(tmp_path / "good", tmp_path / "bad"), 0

    def ask(side: Side, units: Units) -> float | None:
        nonlocal asked
        asked += 1
        text = difference.mixture(side, units).files.get("vllm/a.py") or (bad if side == "back" else good)
        back = sum(f"    {name} = 1\n" in text for name in ("one3", "one11", "one20")) == 3
        return float(back) if side == "back" else float(not back)

    blamed = find(difference, {"vllm.a:work": 1.0}, ask, lambda: asked, lambda _: None, hunks=6)
    (one,) = blamed.guilty
    assert one.hunks == ()
    assert {f"vllm/a.py:work@{number}" for number in (4, 12, 21)} <= blamed.back
    assert len(blamed.back) < 24


def test_the_trials_for_hunks_are_those_of_all_units_together(tmp_path: Path) -> None:
    """Three guilty functions of many hunks take no more mixtures for these than one would; each is narrowed as far as its part goes."""
    names = [f"one{number}" for number in range(12)]
    body = "".join(f"    {name} = 1\n    kept_{name} = 2\n" for name in names)
    good = "\n\n".join(f"def {function}():\n{body}" for function in ("a", "b", "c"))
    bad = good.replace(" = 1\n", " = 10\n")
    for name, text in (("good", good), ("bad", bad)):
        (tmp_path / name / "vllm").mkdir(parents=True)
        (tmp_path / name / "vllm" / "a.py").write_text(text)
    difference, asked = Difference(tmp_path / "good", tmp_path / "bad"), list[Units]()

    def ask(side: Side, units: Units) -> float | None:
        asked.append(units)
        text = difference.mixture(side, units).files.get("vllm/a.py") or (bad if side == "back" else good)
        parts = ("a", "b", "c")
        share = sum(
            weight * ("one3 = 1\n" in text.split(f"def {part}()")[1].split("def ")[0])
            for part, weight in zip(parts, (0.5, 0.3, 0.2), strict=True)
        )
        return share if side == "back" else 1 - share

    blamed = find(difference, dict.fromkeys(("vllm.a:a", "vllm.a:b", "vllm.a:c"), 1.0), ask, lambda: len(asked), lambda _: None, hunks=9)
    assert [one.units for one in blamed.guilty] == [("vllm/a.py:a",), ("vllm/a.py:b",), ("vllm/a.py:c",)]
    assert sum(any("@" in unit for unit in units) for units in asked) <= 9
    assert all(len([unit for unit in blamed.back if unit.startswith(f"vllm/a.py:{part}@")]) < 12 for part in "abc")
    assert any("vllm/a.py:c@" in unit for unit in blamed.back)
