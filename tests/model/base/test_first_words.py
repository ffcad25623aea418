"""What is left of a reason where there is room for one line."""

from __future__ import annotations

import pytest

from perfproof.model.base.first_words import first_words


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("the server died", "the server died"),
        (
            "it exited with code 2; the end of its log:\npython: can't open file 'x.py'\n",
            "it exited with code 2: python: can't open file 'x.py'",
        ),
        (
            "ms: the pattern 'x' is not in what the command printed:\nlatency: 3 ms\n\n",
            "ms: the pattern 'x' is not in what the command printed: latency: 3 ms",
        ),
        ("it ended; the end of its log:\n \n", "it ended"),
        ("it ran out of memory; the end of its log, logs/a.log:\nMemoryError", "it ran out of memory; the end of its log, logs/a.log"),
        ("failed\nmore lines", "failed"),
        ("", ""),
    ],
)
def test_no_line_announces_what_is_not_there(reason: str, told: str) -> None:
    """The announcement is replaced by the last line of what it announces; other further lines are left out."""
    assert first_words(reason) == told
