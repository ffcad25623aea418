"""docs/hot-paths-history.md: its tables are what its command prints from the committed records."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfproof.cli import main
from perfproof.model.base.errors import EXIT_PASS

ROOT = Path(__file__).parents[2]
COMMAND = ["history", "counts", "results/hot_paths/counted", "--history", "results/hot_paths/history", "--steps", "40", "--top", "4"]


def test_the_tables_are_what_the_command_prints(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last instruction; and the page names the command."""
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "hot-paths-history.md").read_text(encoding="utf-8")
    between = page.partition("<!-- history counts -->")[2].partition("<!-- end -->")[0]
    assert main(COMMAND) == EXIT_PASS
    assert between.strip() == capsys.readouterr().out.strip()
    assert f"perfproof {' '.join(COMMAND)}" in page
