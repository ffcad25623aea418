"""The verbs on other people's evaluations, from files to exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from suite.cli import main
from tests.importers.test_lm_eval import line, write
from tests.importers.test_pasted import BLOCK, TABLE


def samples(folder: Path, wrong: set[int]) -> str:
    """A run over 300 items with these ones wrong; its folder."""
    write(folder, [line(n, acc=0.0 if n in wrong else 1.0) for n in range(300)])
    return str(folder)


@pytest.mark.parametrize(("lost", "word", "code"), [(0, "equivalent", 0), (30, "regressed", 1), (3, "inconclusive", 0)])
def test_two_runs_are_judged_item_by_item(lost: int, word: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Thirty answers lost of 300 fail, none lost pass, three lost are not enough to say."""
    assert main(["accuracy", samples(tmp_path / "a", set()), samples(tmp_path / "b", set(range(lost)))]) == code
    assert word in capsys.readouterr().out


def test_two_runs_without_a_right_answer_prove_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not *equivalent* but *untestable*, exit 3: nothing could be lost."""
    both = [samples(tmp_path / side, set(range(300))) for side in "ab"]
    assert main(["accuracy", *both]) == 3
    assert "untestable" in capsys.readouterr().out


def test_runs_that_do_not_pair_are_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Other prompts on one side: exit 2, with the item named."""
    write(tmp_path / "b", [line(n, prompt_hash="other") for n in range(300)])
    assert main(["accuracy", samples(tmp_path / "a", set()), str(tmp_path / "b")]) == 2
    assert "asked the same" in capsys.readouterr().err


def test_a_paste_decides_nothing_and_says_what_it_could_have_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fifty questions and one serving run a side: inconclusive, with the drop that would have shown, exit 0."""
    file = tmp_path / "paste.txt"
    sides = (("# main", "0.58", "2911.32"), ("This PR", "0.56", "2965.89"))
    file.write_text("".join(TABLE.format(heading=h, arrow="", first=v) + BLOCK.format(heading=h, rate=r) for h, v, r in sides))
    assert main(["pasted", str(file), "--items", "50"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "could have gone unseen" in out
    assert "Output token throughput (tok/s): 2911.32 to 2965.89 (+1.87 %, better) [0.57 %]" in out
    assert "no error bars" in out
    assert "could not have seen: a change below 4.56 % if runs of one build scatter by 1 %" in out
    assert "Successful requests" not in out
    assert "No heading names the baseline" not in out


def test_a_table_without_heads_says_which_side_was_taken_for_the_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What stands first, with a line that says so; other work is no result but a warning, and what one side lacks is named."""
    file = tmp_path / "paste.txt"
    file.write_text(
        "| TTFT | 10 ms | 12 ms |\n| Failed requests | 0 | 3 |\n| Total input tokens | 5 | 6 |\n| ITL | 5 ms | 1 s |\n| TPOT | 3 ms | - |\n"
    )
    assert main(["pasted", str(file)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "No heading names the baseline (main, before or the like), so it is what stands first: first." in out
    assert "TTFT (ms): 10 to 12 (+20.0 %, worse) [5.70 %]" in out
    assert "Failed requests: 0 to 3, worse" in out
    assert "Total input tokens: 5 to 6: not the same work on both sides" in out
    assert "ITL (ms): 5 to 1000 (" in out
    assert "Left out, for one side alone has them: TPOT (ms)" in out


def test_a_paste_of_single_runs_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One document, with the numbers of both sides, the direction, and the scatter from which on the change is noise."""
    file = tmp_path / "paste.txt"
    file.write_text("| metric | before | after |\n|--|--|--|\n| tok/s | 100 | 90 |\n")
    assert main(["pasted", str(file), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["comparisons"] == []
    (one,) = said["single_runs"]
    assert (one["baseline"], one["candidate"], one["before"], one["after"], one["better"]) == ("before", "after", 100.0, 90.0, "higher")
    assert (one["change"], one["most_scatter"]) == (pytest.approx(-0.1), pytest.approx(0.0325, abs=1e-4))
    assert (said["baseline"], said["baseline_guessed"], said["left_out"]) == ("before", False, [])
    file.write_text("| metric | one | two | runs |\n|--|--|--|--|\n| tok/s | 100 | 90 | 5 |\n| TTFT | 3 ms | | 5 |\n")
    assert main(["pasted", str(file), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["baseline"], said["baseline_guessed"], said["left_out"]) == ("one", True, ["runs", "TTFT (ms)"])


def test_what_was_not_measured_is_neither_better_nor_worse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A latency of nothing is a failed run; what a label does not say is not said either."""
    file = tmp_path / "paste.txt"
    rows = "| TTFT (ms) | 10 | 0 |\n| ITL (ms) | 5 | -1 |\n| answered in time (%) | 99 | 71 |\n"
    rows += "| latency at 4 rps (ms) | 80 | 120 |\n| Failed requests | 3 | 0 |\n"
    file.write_text("| metric | main | PR | p-value |\n|--|--|--|--|\n" + rows)
    assert main(["pasted", str(file)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "TTFT (ms): 10 to 0: 0 or less is no measurement of it" in out
    assert "ITL (ms): 5 to -1: 0 or less is no measurement of it" in out
    assert "answered in time (%): 99 to 71 (-28.3 %)" in out
    assert "latency at 4 rps (ms): 80 to 120 (+50.0 %, worse)" in out
    assert "Failed requests: 3 to 0, better" in out
    assert "No heading names" not in out
