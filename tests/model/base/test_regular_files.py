"""What lies in a folder and is no file holds nobody up."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from perfproof.cli import main
from perfproof.model.base.errors import EXIT_USAGE

MAKE: dict[str, Callable[[Path], None]] = {"a pipe": os.mkfifo, "a device": lambda path: path.symlink_to("/dev/zero")}


@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("swap_states.jsonl", ["compare", "--results", "{folder}"]),
        ("swap_states.jsonl", ["gate", "--results", "{folder}"]),
        ("machine-x/swap_states.jsonl", ["history", "list", "--history", "{folder}"]),
        ("samples_gsm8k_2026-01-01T00-00-00.000000.jsonl", ["accuracy", "{folder}", "{folder}"]),
    ],
)
def test_a_pipe_or_a_device_among_the_files_is_named_and_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, place: str, words: list[str]
) -> None:
    """Neither waited for nor read without end: reported with its path."""
    path = tmp_path / place
    path.parent.mkdir(exist_ok=True)
    MAKE[kind](path)
    assert main([word.format(folder=tmp_path) for word in words]) == EXIT_USAGE
    assert f"{path}: is a pipe or a device, not a file" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["judge", "--better", "lower"], ["steps"], ["pasted"]])
def test_a_file_without_end_is_read_no_further_than_the_largest(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A device that was named says no size; what was read of it says that it is too large."""
    monkeypatch.setattr("perfproof.model.base.foreign_tables.LARGEST_FILE", 1_000_000)
    assert main([words[0], "/dev/zero", *words[1:]]) == EXIT_USAGE
    assert "/dev/zero: larger than 1" in capsys.readouterr().err


def test_a_pipe_that_is_named_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A shell's `<(command)` is a pipe: what comes out of it is judged."""
    rows = "".join(f"{block},{arm},{10 + block % 3 + (arm == 'pr')}\n" for block in range(1, 9) for arm in ("main", "pr"))
    reading, writing = os.pipe()
    os.write(writing, f"block,arm,value\n{rows}".encode())
    os.close(writing)
    main(["judge", f"/dev/fd/{reading}", "--better", "lower", "--interleaved"])
    os.close(reading)
    assert "blocks" in capsys.readouterr().out
