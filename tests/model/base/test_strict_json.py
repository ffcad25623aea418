"""JSON in which a key stands twice is refused, however the key is written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.model.base import strict_json

TEXTS = st.text(alphabet='a:"\\\t, }', max_size=5)
ANY = st.recursive(
    st.none() | st.integers(0, 9) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)
BLANKS = st.text(alphabet=" \t\r\n", max_size=3)


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":2}',
        '{"a":1,"a" :2}',
        '{"a":1,"a"\t:2}',
        '{"a":1,"a"   :2}',
        '{"a"\n:1,"a"\r\n:2}',
        '{"a":1,"\\u0061":2}',
        '{"x\\\\":0,"a":1,"a":2}',
        '{"x\\"\\\\":0,"a":1,"a":2}',
        '{"b":[{"a":{"c":1,"c"\t: 2}}]}',
        '{"a":":","a"\t:":"}',
        '{"":1,"":2}',
    ],
)
def test_a_key_that_stands_twice_is_refused(text: str) -> None:
    """Blanks of any kind before the colon, escapes in the key, and keys or texts that end in a backslash hide no second one."""
    with pytest.raises(strict_json.Twice):
        strict_json.loads(text.encode())


@given(ANY)
def test_everything_else_reads_as_it_was_written(value: Any) -> None:
    """Whatever stands in keys and texts, JSON without a second key is its value."""
    assert strict_json.loads(json.dumps(value).encode()) == value
    assert strict_json.loads(json.dumps(value, separators=(" , ", "\t: ")).encode()) == value


@given(ANY, TEXTS, BLANKS, st.booleans())
def test_no_value_hides_a_second_key(value: Any, key: str, blanks: str, escaped: bool) -> None:
    """A key that stands twice is found beside any other keys and texts, whatever blanks stand behind it and however it is escaped."""
    again = "".join(f"\\u{ord(letter):04x}" for letter in key) if escaped else json.dumps(key)[1:-1]
    text = f'{{"rest": {json.dumps(value)}, {json.dumps(key)}: 1, "{again}"{blanks}: 2}}'
    with pytest.raises(strict_json.Twice) as caught:
        strict_json.loads(text.encode())
    assert str(caught.value) == key


def test_no_json_is_no_second_key() -> None:
    """What is cut off is a `ValueError` of another kind."""
    with pytest.raises(ValueError, match="unexpected end") as caught:
        strict_json.loads(b'{"a":1')
    assert not isinstance(caught.value, strict_json.Twice)
