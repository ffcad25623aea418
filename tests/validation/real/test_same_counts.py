"""A build beside a second install of itself: what is counted, what is kept of it, and when it fails."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, EXIT_USAGE, CannotRun
from perfproof.model.records.counts import Count
from perfproof.run.trials.engine_counting import Wanted
from perfproof.validation.real import same_counts
from tests.analysis.counts.test_count_comparison import counted, phase


class Installs:
    """Two installs; the second one does so many instructions more in the runs of these numbers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.folder, self.more, self.odd = folder, dict[int, int](), False
        self.asked: list[tuple[str, int]] = []
        monkeypatch.setattr(same_counts, "prepare", lambda build, builds, say: builds)
        monkeypatch.setattr(same_counts, "count", self.count)

    def count(self, wanted: Sequence[Wanted], builds: Path, say: object) -> list[Count]:
        number, second = wanted[0].process, builds.name == "second"
        self.asked.append((builds.name, number))
        if self.more.get(number, 0) < 0:
            raise CannotRun("the second install: vLLM does not import")
        odd = ["m:f"] if self.odd else []
        return [counted(phase({"m:f": 100 + second * self.more.get(number, 0)}, odd=odd))]

    def __call__(self, *more: str) -> int:
        words = ["--builds", str(self.folder / "first"), "--second", str(self.folder / "second"), "--results", str(self.lines)]
        return same_counts.main([*words, "--busy", "0", "--runs", "3", *more])

    @property
    def lines(self) -> Path:
        return self.folder / "same.jsonl"


@pytest.fixture
def installs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Installs:
    return Installs(monkeypatch, tmp_path)


def test_each_run_is_a_process_of_each_install(installs: Installs, capsys: pytest.CaptureFixture[str]) -> None:
    """Counted below its own folder: one kept count must not stand for both."""
    assert installs() == EXIT_PASS
    assert sorted(installs.asked) == [(name, number) for name in ("first", "second") for number in (1, 2, 3)]
    assert "3 of 3 runs identical" in capsys.readouterr().out
    line = json.loads(installs.lines.read_text().splitlines()[0])
    assert (line["run"], line["identical"], line["differing"], line["python_instructions"]) == (1, line["numbers"], [], 100)


def test_a_run_that_differs_by_one_instruction_fails_and_is_named(installs: Installs, capsys: pytest.CaptureFixture[str]) -> None:
    """There is no margin."""
    installs.more = {2: 1}
    assert installs() == EXIT_REGRESSED
    told = capsys.readouterr().out
    assert "2 of 3 runs identical" in told
    assert "run 2: decode: m:f" in told


def test_what_was_left_out_is_not_identical(installs: Installs) -> None:
    """A function that was not the same twice is no proof."""
    installs.odd = True
    assert installs() == EXIT_REGRESSED


def test_it_goes_on_where_it_was_broken_off(installs: Installs) -> None:
    """A line that its writer was ended in is counted again; until all are there, there is no pass."""
    assert installs("--minutes", "0") == EXIT_UNTESTABLE
    assert installs("--runs", "1") == EXIT_PASS
    with installs.lines.open("a") as file:
        file.write('{"run": 2, "ident')
    assert same_counts.lines_of(installs.lines)[-1]["run"] == 1
    installs.asked.clear()
    assert installs() == EXIT_PASS
    assert {number for _, number in installs.asked} == {2, 3}
    assert [line["run"] for line in same_counts.lines_of(installs.lines)] == [1, 2, 3]


def test_an_install_that_cannot_be_counted_ends_it(installs: Installs, capsys: pytest.CaptureFixture[str]) -> None:
    """What was counted before is kept."""
    installs.more = {2: -1}
    assert installs() == CannotRun("").exit_code
    assert "does not import" in capsys.readouterr().err
    assert len(same_counts.lines_of(installs.lines)) == 1


def test_one_install_is_not_two(installs: Installs, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside itself everything is identical."""
    assert installs("--second", str(installs.folder / "first")) == EXIT_USAGE
    assert "names the same install as --builds" in capsys.readouterr().err
