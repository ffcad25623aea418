"""docs/security.md: each claim names the tests that hold it, and these are there."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parents[1]
PAGE = (HERE.parent / "docs" / "security.md").read_text()
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in PAGE.splitlines() if line.startswith("| ")][2:]


def test_every_claim_has_its_test_or_says_that_nothing_holds() -> None:
    """A row without a test is one that owns up to it."""
    assert len(ROWS) > 10
    assert [row[1] for row in ROWS if ("test_" in row[-1]) is ("*nothing holds it*" in row[2])] == []


def test_every_test_that_the_page_names_is_there() -> None:
    """A test that was renamed or taken out leaves no claim behind it."""
    there = {name for file in HERE.rglob("test_*.py") for name in re.findall(r"(?m)^def (test_\w+)", file.read_text())}
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(named) > 20
    assert named - there == set()
