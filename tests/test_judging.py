"""`perfproof judge`: which arm is the baseline, what the metric is called, and what a table must look like."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from suite.cli import main
from suite.model.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_USAGE


def numbers(path: Path, arms: tuple[str, ...], head: str = "block,arm,value") -> str:
    """Six blocks of each arm, each arm a tenth more than the one before; its path."""
    rows = [f"{block},{arm},{10 * 1.1**place + block / 100:g}" for block in range(1, 7) for place, arm in enumerate(arms)]
    path.write_text("\n".join([head, *rows]) + "\n")
    return str(path)


@pytest.mark.parametrize("name", ["baseline", "Base", "before", "main", "control", "unpatched", "as released", "as_released", "old"])
def test_an_arm_with_an_obvious_name_is_the_baseline(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever it stands in the file, so that an improvement is not called a regression; which it is, is told."""
    assert main(["judge", numbers(tmp_path / "n.csv", ("candidate", name)), "--better", "lower"]) == EXIT_PASS
    out = capsys.readouterr().out
    assert f"baseline: {name}, by its name" in out
    assert f"candidate against {name}" in out


@pytest.mark.parametrize("arms", [("mine", "theirs"), ("main", "old")])
def test_without_one_obvious_name_the_first_arm_is_the_baseline_and_that_is_told(
    arms: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No name says so, or two do: one line names the arm, the reason and the remedy."""
    assert main(["judge", numbers(tmp_path / "n.csv", arms), "--better", "lower"]) == EXIT_REGRESSED
    assert f"baseline: {arms[0]}, the first in the file; --baseline names another\n" in capsys.readouterr().out


def test_the_baseline_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every other arm is judged against it; as JSON the guess is told on stderr, a name needs no telling."""
    path = numbers(tmp_path / "n.csv", ("main", "mine", "theirs"))
    assert main(["judge", path, "--better", "lower", "--baseline", "theirs", "--json"]) == EXIT_PASS
    told = capsys.readouterr()
    pairs = [(one["baseline"], one["candidate"], one["verdict"]) for one in json.loads(told.out)["comparisons"]]
    assert (pairs, told.err) == ([("theirs", "main", "improved"), ("theirs", "mine", "improved")], "")
    assert main(["judge", path, "--better", "lower", "--json"]) == EXIT_REGRESSED
    assert "baseline: main, by its name" in capsys.readouterr().err


def test_a_baseline_that_is_no_arm_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the arms that there are."""
    assert main(["judge", numbers(tmp_path / "n.csv", ("a", "b")), "--better", "lower", "--baseline", "c"]) == EXIT_USAGE
    assert "--baseline c: there is no such arm; the arms are a, b" in capsys.readouterr().err


def test_of_counts_of_errors_the_baseline_is_chosen_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The columns block,arm,errors,requests, with the candidate first."""
    rows = [f"{block},{arm},{errors},1000" for block in range(1, 9) for arm, errors in (("new", 100 + block % 2), ("control", block % 2))]
    (tmp_path / "n.csv").write_text("\n".join(["block,arm,errors,requests", *rows]))
    assert main(["judge", str(tmp_path / "n.csv"), "--better", "lower"]) == EXIT_REGRESSED
    out = capsys.readouterr().out
    assert "baseline: control, by its name" in out
    assert "new is regressed" in " ".join(out.split())
