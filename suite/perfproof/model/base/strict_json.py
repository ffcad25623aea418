"""JSON in which no key stands twice in one object: readers differ in which of the two values they believe, so neither counts.

orjson reads several times faster than `json` and takes the last of them in silence. So the ends of keys are counted in the text: an object
that has lost a key to another leaves fewer keys than ends.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import orjson

_BLANKS_BEFORE = (b" :", b"\t:", b"\n:", b"\r:")


class Twice(ValueError):
    """A key that stands twice in one object; its text is the key."""


def loads(text: bytes) -> Any:
    """What orjson reads. Raises `Twice` for a key that stands twice, `orjson.JSONDecodeError`, a `ValueError` too, for what is no JSON, and
    `RecursionError` for what is nested too deeply."""
    data = orjson.loads(text)
    if _keys(data) != _ends(text):
        json.loads(text, object_pairs_hook=once)
    return data


def once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object from its members, for `json.loads(..., object_pairs_hook=once)`. Raises `Twice`."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise Twice(next(name for name in found if names.count(name) > 1))
    return found


def _ends(text: bytes) -> int:
    """The number of places where a key ends, or more: places in texts that look like one are counted too. -1 where only reading tells."""
    if b'\\\\"' in text or any(blanks in text for blanks in _BLANKS_BEFORE):
        return -1
    # behind a single backslash the quote is a part of a text
    return text.count(b'":') - text.count(b'\\":')


def _keys(data: Any) -> int:
    """The number of keys in all objects."""
    if isinstance(data, dict):
        return len(data) + sum(_keys(value) for value in data.values() if isinstance(value, (dict, list)))
    return sum(_keys(value) for value in data if isinstance(value, (dict, list))) if isinstance(data, list) else 0
