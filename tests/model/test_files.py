"""What lies in a folder and is no file holds nobody up."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from suite.cli import main
from suite.model.errors import EXIT_USAGE

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
    """Neither waited for nor read without end: told with its path."""
    path = tmp_path / place
    path.parent.mkdir(exist_ok=True)
    MAKE[kind](path)
    assert main([word.format(folder=tmp_path) for word in words]) == EXIT_USAGE
    assert f"{path}: is a pipe or a device, and no file" in capsys.readouterr().err
