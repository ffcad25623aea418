"""The verbs on other people's evaluations, from files to exit codes."""

from __future__ import annotations

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
    assert "2911.32 to 2965.89 (+1.87 %)" in out
    assert "no error bars" in out
