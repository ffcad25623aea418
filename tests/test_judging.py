"""`perfproof judge`: which arm is the baseline, what the metric is called, and what a table must look like."""

from __future__ import annotations

import json
import re
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


def test_the_metric_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is the file's name otherwise."""
    path = numbers(tmp_path / "n.csv", ("main", "mine"))
    for more, name in (([], "n"), (["--metric", "latency"], "latency")):
        assert main(["judge", path, "--better", "lower", "--json", *more]) == EXIT_REGRESSED
        (one,) = json.loads(capsys.readouterr().out)["comparisons"]
        assert (one["scenario"], one["metric"]) == ("n", name)


@pytest.mark.parametrize(("text", "margin"), [("5%", 0.05), ("0.05", 0.05), ("2.5%", 0.025)])
def test_a_margin_may_be_a_percentage(text: str, margin: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Five per cent are five hundredths."""
    main(["judge", numbers(tmp_path / "n.csv", ("main", "mine")), "--better", "lower", "--json", "--margin", text])
    assert json.loads(capsys.readouterr().out)["comparisons"][0]["margin"] == pytest.approx(margin)


@pytest.mark.parametrize("text", ["5", "%", "100%", "-1%", "nan", "nan%", "much"])
def test_a_margin_that_is_no_fraction_is_refused_with_one_that_is(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever was typed, the forms that work are told."""
    with pytest.raises(SystemExit, match=str(EXIT_USAGE)):
        main(["judge", numbers(tmp_path / "n.csv", ("main", "mine")), "--better", "lower", f"--margin={text}"])
    assert f"such as 0.05 or 5%, got {text}" in capsys.readouterr().err


@pytest.mark.parametrize(("mark", "named"), [(";", ";"), ("\t", "a tab")])
def test_a_table_without_commas_says_that_they_are_needed(
    mark: str, named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A spreadsheet's semicolons and tabs are named, not missing columns."""
    (tmp_path / "n.csv").write_text("block,arm,value\n1,a,2\n1,b,3\n".replace(",", mark))
    assert main(["judge", str(tmp_path / "n.csv"), "--better", "lower"]) == EXIT_USAGE
    assert f":1: cells are separated by {named}; commas are needed, as in block,arm,value" in capsys.readouterr().err


@pytest.mark.parametrize(("baseline", "answers"), [("main", ("yes", "no", "no")), ("mine", ("no", "yes", "no"))])
def test_the_explanation_answers_its_questions(
    baseline: str, answers: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Regressed, improved, equivalent: each with what was looked at, and yes or no."""
    main(["judge", numbers(tmp_path / "n.csv", ("main", "mine")), "--better", "lower", "--explain", "--baseline", baseline])
    out = " ".join(capsys.readouterr().out.split())
    found = [re.search(rf"{word}\? [^?]*: (yes|no)\.", out) for word in ("Regressed", "Improved", "Equivalent")]
    assert tuple(one[1] for one in found if one) == answers
    sign, end = ("+", "high") if baseline == "main" else ("-", "low")
    assert re.search(rf"The {end} end \{sign}0\.\d+ is not (above|below) 0, and", out)


def test_a_hostile_name_of_an_arm_does_not_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The line that names the baseline is as harmless as the table."""
    main(["judge", numbers(tmp_path / "n.csv", ("\x1b[2Jmine", "theirs")), "--better", "lower"])
    assert "\x1b" not in capsys.readouterr().out
