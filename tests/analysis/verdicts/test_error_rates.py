"""Anybody's counts of errors: judged by the difference of their rates, through the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfproof.cli import main
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_USAGE


def table(folder: Path, before: list[int], after: list[int], requests: int = 1000) -> str:
    """A table of two arms with so many errors in each block; the path of it."""
    rows = [
        f"{block},{arm},{errors},{requests}"
        for block, pair in enumerate(zip(before, after, strict=True))
        for arm, errors in zip(("main", "pr"), pair, strict=True)
    ]
    path = folder / "errors.csv"
    path.write_text("\n".join(["block,arm,errors,requests", *rows]) + "\n")
    return str(path)


def test_more_errors_are_a_regression_and_none_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Zero errors in both arms are equivalent, and 5 in 100 against none regressed, which no ratio could say."""
    none, some = [0] * 8, [50, 47, 52, 49, 51, 50, 48, 53]
    assert main(["judge", table(tmp_path, none, none), "--better", "lower"]) == EXIT_PASS
    assert "pr is equivalent" in " ".join(capsys.readouterr().out.split())
    assert main(["judge", table(tmp_path, none, some), "--better", "lower"]) == EXIT_REGRESSED
    said = " ".join(capsys.readouterr().out.split())
    assert "main 0 of 8000, pr 400 of 8000" in said
    assert "+5.00 points" in said


def test_the_difference_is_the_effect_of_a_rate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON, effect and interval are differences of rates, and the metric says what its values are."""
    assert main(["judge", table(tmp_path, [50] * 8, [0] * 8), "--better", "lower", "--json"]) == EXIT_PASS
    (line,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert (line["verdict"], line["unit"]) == ("improved", "errors per request")
    assert line["effect"] == pytest.approx(-0.05)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("1,a,-1,10", "errors: expected a count, got '-1'"),
        ("1,a,1.5,10", "errors: expected a count, got '1.5'"),
        ("1,a,1,many", "requests: expected a count, got 'many'"),
        ("1,a,0,0", "at least one request"),
        ("1,a,11,10", "11 errors of 10 requests"),
        ("1,a,1," + "9" * 16, "requests: a count of 16 digits"),
        ("1,a," + "9" * 400 + ",10", "errors: a count of 400 digits"),
        ("1,a,1," + "9" * 5000, "requests: a count of 5000 digits"),
        (",a,1,10", "block: is empty"),
    ],
)
def test_a_bad_count_is_told_by_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], row: str, told: str) -> None:
    """What is no count, or makes no rate, is named with its line, and nothing is judged."""
    path = tmp_path / "errors.csv"
    path.write_text(f"block,arm,errors,requests\n{row}\n1,b,1,10\n")
    assert main(["judge", str(path), "--better", "lower"]) == EXIT_USAGE
    said = capsys.readouterr().err
    assert f"{path}:2: " in said
    assert told in said


def test_fewer_errors_are_better(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Asked the other way round, the command refuses; a table that lacks one of the two columns says so."""
    assert main(["judge", table(tmp_path, [0] * 6, [0] * 6), "--better", "higher"]) == EXIT_USAGE
    assert "fewer are better" in capsys.readouterr().err
    (tmp_path / "half.csv").write_text("block,arm,errors\n1,a,0\n")
    assert main(["judge", str(tmp_path / "half.csv"), "--better", "lower"]) == EXIT_USAGE
    assert "column requests is missing" in capsys.readouterr().err
