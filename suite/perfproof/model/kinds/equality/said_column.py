"""What an answer says besides its tokens and their logprobs, and how a record keeps it: a record's `raw` holds numbers alone.

A part's answers are one JSON text, a list of objects, compressed and kept as whole numbers of six bytes each, which JSON holds exactly.
Short texts are kept as they are, so that a difference can be shown; of a long one its length, a digest and its end.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

SAID = "said"
"""The column of a part."""
MOST_KEPT = 240
"""The most characters of a text that a record keeps."""
END = 40
"""Characters of a longer text's end that it keeps: what ends an answer is cut there."""
PACKED = 6
"""Bytes in a number."""
MOST_BYTES = 2**26
"""The most that a record's answers may say: ten thousand of them stay far below it."""
Scalar = str | int | float | None
Said = Mapping[str, Scalar]


def column_of(rows: Iterable[Mapping[str, Any]]) -> list[float]:
    """The column that holds what each answer says. Lists of texts are kept as digests. Source: none, bookkeeping."""
    text = json.dumps([{name: _condensed(value) for name, value in row.items()} for row in rows], separators=(",", ":"))
    data = zlib.compress(text.encode("ascii"), 9)
    return [int.from_bytes(data[start : start + PACKED].ljust(PACKED, b"\0"), "big") for start in range(0, len(data), PACKED)]


def _condensed(value: Any) -> Scalar:
    if isinstance(value, list):
        return f"{len(value)} of them, sha256 {_digest(json.dumps(value))}"
    if isinstance(value, str) and len(value) > MOST_KEPT:
        return f"{len(value)} characters, sha256 {_digest(value)}, that end with {value[-END:]}"
    return value  # type: ignore[no-any-return]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def said_of(column: Sequence[float]) -> tuple[Said, ...]:
    """What each answer says, as `column_of` kept it. Raises `ValueError` for a column that holds something else.

    Source: none, bookkeeping.
    """
    if not all(0 <= value < 256**PACKED and value == int(value) for value in column):
        raise ValueError(f"expected whole numbers of {PACKED} bytes")
    unpacked = zlib.decompressobj()
    try:
        text = unpacked.decompress(b"".join(int(value).to_bytes(PACKED, "big") for value in column), MOST_BYTES)
        rows = json.loads(text) if unpacked.eof else None
    except (zlib.error, RecursionError) as error:
        raise ValueError(f"expected compressed JSON: {error}") from None
    if not isinstance(rows, list) or not all(map(_is_said, rows)):
        raise ValueError("expected a list of texts and numbers by name")
    return tuple(rows)


def _is_said(row: Any) -> bool:
    return isinstance(row, dict) and all(value is None or type(value) in (str, int, float) for value in row.values())
