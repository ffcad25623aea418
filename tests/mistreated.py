"""What may stand anywhere in a file of others, and the places where it may."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

JUNK: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from([[], {}, [[]], [{}], {"a": 1}, -1.5, 0, 1e308, "\x1b[31m", "nan"]),
)


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The keys that lead to each value of a document, from the top."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield (*path, key)
        yield from places(value, (*path, key))


def with_junk(data: Any, path: tuple[Any, ...], junk: Any, gone: bool) -> Any:
    """The document with something else in a place, or with nothing there."""
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    if gone:
        inner.pop(path[-1])
    else:
        inner[path[-1]] = junk
    return data
