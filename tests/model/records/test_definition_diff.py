"""What is reported of two scenarios that ask differently."""

from __future__ import annotations

import pytest

from perfproof.model.records import definition_diff


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ({"a": 1}, {"a": 1}, ""),
        ({"question": "Is it?", "a": 1}, {"question": "It is!", "a": 1}, ""),
        ({"metrics": {"t": {"margin": 0.02}}}, {"metrics": {"t": {"margin": 0.03}}}, "metrics.t.margin was 0.02 and is 0.03"),
        ({"blocks": None}, {"blocks": 29}, "blocks was not said and is 29"),
        ({"cases": [{"n": 1}, {"n": 2}]}, {"cases": [{"n": 1}, {"n": 3}]}, "cases[1].n was 2 and is 3"),
        ({"cases": [{"n": 1}]}, {"cases": []}, 'cases was [{"n": 1}] and is []'),
        ({"arms": {"a": {}}}, {"arms": {}}, "arms.a was {} and is not said"),
        (dict.fromkeys("abcdef", 1), dict.fromkeys("abcdef", 2), ", ".join(f"{key} was 1 and is 2" for key in "abcd") + ", 2 more"),
    ],
)
def test_each_difference_is_told_by_its_place(before: object, now: object, told: str) -> None:
    """With what it was and is, four at most; the wording of the question is none."""
    assert definition_diff.describe(before, now) == told


def test_a_strangers_value_is_harmless_and_short() -> None:
    """What a record holds was written by others: no escape sequence, no endless line."""
    told = definition_diff.describe({"a": "\x1b[31mred", "b": "x" * 1000}, {"a": "", "b": ""})
    assert "\x1b" not in told
    assert len(told) < 300
