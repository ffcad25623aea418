"""Comparisons in many shapes, written for this, each with the right baseline, pairs, directions and figures beside it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.importers.pasted_cases import cases, faults


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: f"{case['file']}: {case['shape']}"[:80])
def test_a_comparison_is_read_as_its_author_meant_it(case: Any) -> None:
    """No sign is turned round, no number is lost without a word, and none is invented."""
    assert faults(case) == []


def test_there_are_sixty_comparisons_or_more() -> None:
    """In as many shapes."""
    shapes = [case["shape"] for case in cases()]
    assert len(set(shapes)) == len(shapes) >= 60
