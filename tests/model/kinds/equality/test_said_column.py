"""What answers say besides their tokens, as a record's numbers hold it."""

from __future__ import annotations

import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.model.kinds.equality.said_column import MOST_BYTES, MOST_KEPT, PACKED, column_of, said_of

VALUES = st.none() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(st.characters(), max_size=MOST_KEPT)


def read(rows: list[Any]) -> tuple[Any, ...]:
    return said_of(column_of(rows))


@given(st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), max_size=4))
def test_short_values_are_read_as_they_were_said(rows: list[dict[str, Any]]) -> None:
    """Texts of any script, halves of surrogate pairs among them, infinite numbers and nothing at all."""
    assert list(read(rows)) == rows


def test_a_long_text_is_a_digest_with_its_length_and_its_end() -> None:
    """One letter anywhere, or a space at the end, makes another of it; a hundred thousand letters take no more room than a thousand."""
    long = "a b " * 1000
    kept = [read([{"text": text}])[0]["text"] for text in (long, "A" + long[1:], long.rstrip(), long * 25)]
    assert len(set(kept)) == 4
    assert kept[0].startswith("4000 characters, sha256 ")
    assert kept[0].endswith("that end with " + long[-40:])
    assert all(len(text) <= 100 for text in kept)


def packed(text: str) -> list[float]:
    """Any text as `column_of` packs its own."""
    data = zlib.compress(text.encode())
    data += b"\0" * (-len(data) % PACKED)
    return [int.from_bytes(data[start : start + PACKED], "big") for start in range(0, len(data), PACKED)]


@pytest.mark.parametrize(
    "kept",
    [
        [],
        [1.5],
        [-1.0],
        [256.0**PACKED],
        [1e90],
        [1.0, 2.0],
        packed("[{}]" + " " * 50)[:2],
        packed("nothing"),
        packed("{}"),
        packed("[[]]"),
        packed('[{"a":[]}]'),
        packed('[{"a":true}]'),
        packed("[" * 100_000),
        packed(" " * (MOST_BYTES + 1)),
    ],
)
def test_what_no_trial_kept_is_a_fault(kept: list[float]) -> None:
    """Numbers that are none of its own, cut ones, texts that are not JSON, hold something else or are endless: a `ValueError`."""
    with pytest.raises(ValueError, match=r"."):
        said_of(kept)


def test_repeated_fields_take_little_room() -> None:
    """Twenty-four answers of 150 letters each take no more room than their tokens do."""
    rows = [
        {"finish_reason": "length", "stop_reason": None, "text": f"the answer to {n} " * 9, "cumulative_logprob": -n / 7} for n in range(24)
    ]
    assert len(column_of(rows)) < 24 * 36
