"""`perfproof accuracy` on runs of lm_eval without samples: their totals, unpaired, and what that loses."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfproof.cli import main
from perfproof.importers import lm_eval
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, EXIT_USAGE, BadInput

REAL = next((Path(__file__).parents[2] / "data/lm_eval").glob("results_*.json"))


def results(folder: Path, task: dict[str, Any] | None = None, **changed: Any) -> str:
    """The results file of a real run of lm_eval in a folder, with these scores of the task `sums` and other keys; the folder."""
    found = json.loads(REAL.read_text())
    found["results"]["sums"] |= task or {}
    folder.mkdir()
    (folder / REAL.name).write_text(json.dumps(found | {"date": len(str(folder))} | changed))
    return str(folder)


def judged(paths: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any], dict[str, Any], str]:
    """The exit code, the JSON, its line of the task `sums`, and the notes."""
    code = main(["accuracy", *paths, "--json"])
    told = capsys.readouterr()
    answer = json.loads(told.out) if told.out else {"comparisons": [{}]}
    return code, answer, next((one for one in answer["comparisons"] if one.get("metric", "").startswith("sums")), {}), told.err


@pytest.mark.parametrize(
    ("score", "verdict", "code"), [(0.405, "inconclusive", EXIT_PASS), (0.1, "regressed", EXIT_REGRESSED), (0.8, "improved", EXIT_PASS)]
)
def test_totals_are_judged_unpaired(score: float, verdict: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From their standard errors alone; the interval is as wide as two independent samples make it."""
    found, _, line, _ = judged((results(tmp_path / "a"), results(tmp_path / "bb", {"exact_match,first": score})), capsys)
    assert (found, line["verdict"], line["blocks"]) == (code, verdict, 200)
    assert line["interval"][1] - line["interval"][0] > 0.2
    assert line["effect"] == pytest.approx(score - 0.415)
    assert line["warnings"] == ["only totals are known: unpaired, so most of the information is lost"]


def test_what_totals_lose_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which run left no samples, what is not known without them, and the remedy."""
    *_, notes = judged((results(tmp_path / "a"), results(tmp_path / "bb")), capsys)
    for part in ("no samples there", "which items changed is not known", "run lm_eval with --log_samples"):
        assert part in notes


def test_samples_on_one_side_alone_are_not_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The totals of both are compared, and the side without samples is named."""
    code, answer, line, notes = judged((str(REAL.parent), results(tmp_path / "bb", {"exact_match,first": 0.405})), capsys)
    assert (code, line["verdict"]) == (EXIT_PASS, "inconclusive")
    assert f"{tmp_path / 'bb'}: no samples there" in notes
    assert answer["notes"][0] in notes


def test_totals_of_another_question_are_untestable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Other shots, for one."""
    shots = {"copying": 0, "knowledge": 0, "series": 0, "sums": 5}
    code, _, line, _ = judged((results(tmp_path / "a"), results(tmp_path / "bb", **{"n-shot": shots})), capsys)
    assert (line["verdict"], "shots 0.0 against 5.0" in line["reason"]) == ("untestable", True)
    assert code == EXIT_UNTESTABLE


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ({"exact_match,first": 1.0, "exact_match_stderr,first": 0.0}, "a standard error of 0"),
        ({"exact_match,first": 41.5, "exact_match_stderr,first": 3.5}, "a margin in points is for shares of 1"),
    ],
)
def test_totals_that_allow_no_interval_are_untestable(
    scores: dict[str, float], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Never a pass, nor a change that is sure."""
    _, _, line, _ = judged((results(tmp_path / "a"), results(tmp_path / "bb", scores)), capsys)
    assert line["verdict"] == "untestable"
    assert reason in line["reason"]


def test_two_runs_without_a_right_answer_prove_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing can be lost of nearly nothing."""
    few = {"exact_match,first": 0.005, "exact_match_stderr,first": 0.005}
    _, _, line, _ = judged((results(tmp_path / "a", few), results(tmp_path / "bb", few)), capsys)
    assert (line["verdict"], "is not possible" in line["reason"]) == ("untestable", True)


def test_a_score_without_a_standard_error_is_left_out_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """lm_eval writes N/A where it has none."""
    _, answer, line, _ = judged((results(tmp_path / "a", {"exact_match_stderr,first": "N/A"}), results(tmp_path / "bb")), capsys)
    assert any("sums, exact_match: 0.415 has no standard error (N/A)" in each for each in answer["left_out"])
    assert line["verdict"] == "untestable"


def test_a_run_is_not_compared_with_its_copy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To the last byte alike is the same run, with its samples or without."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / REAL.name).write_bytes(REAL.read_bytes())
    assert main(["accuracy", str(tmp_path / "a"), str(REAL.parent)]) == EXIT_USAGE
    assert "is the baseline itself, or a copy of it" in capsys.readouterr().err


def test_a_folder_of_several_totals_is_refused_with_their_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody can tell which is meant."""
    folder = results(tmp_path / "a")
    (tmp_path / "a" / "results_2026-11-29T06-15-05.071096.json").write_text(REAL.read_text())
    assert main(["accuracy", folder, results(tmp_path / "bb")]) == EXIT_USAGE
    assert "holds 2 results files of lm_eval; name one" in capsys.readouterr().err


VALUES = st.one_of(st.floats(), st.none(), st.text(max_size=5), st.lists(st.integers(), max_size=2), st.booleans(), st.just("N/A"))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scores=st.dictionaries(st.sampled_from(["acc,none", "acc_stderr,none", "f1,x", "f1_stderr,x", "alias", ",", "acc"]), VALUES))
def test_any_scores_are_read_or_refused(scores: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    """What is read is finite, and has a standard error of 0 or more."""
    folder = tmp_path_factory.mktemp("any")
    (file := folder / "results_2026-11-28T06-15-05.071096.json").write_text(json.dumps({"results": {"t": scores}, "config": {}}))
    try:
        found = lm_eval.totals.read(file)
    except BadInput as refusal:
        assert str(file) in str(refusal)  # noqa: PT017
        return
    assert all(math.isfinite(one.value) and 0 <= one.error < math.inf for one in found.totals)
