"""docs/planted-slowdowns.md is what its command writes from the committed records."""

from __future__ import annotations

from pathlib import Path

from tests import planted_groups

ROOT = Path(__file__).parents[2]


def test_the_page_of_planted_slowdowns_is_what_its_records_say() -> None:
    """Written again from them."""
    counts, times = (planted_groups.kept(ROOT / "results" / "planted_groups" / kind) for kind in ("counts", "times"))
    page = planted_groups.page(counts, times, planted_groups.REPETITIONS)
    assert page == (ROOT / "docs" / "planted-slowdowns.md").read_text(encoding="utf-8")
