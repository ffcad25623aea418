"""Items by their ids: a mapping that is only added to, and what a record keeps of it."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.model.records.eval_items import AGAIN, FIRST, Item, Items, TaskItems, items_of, raw_of

NAMES = st.lists(st.one_of(st.integers(0, 50).map(str), st.sampled_from(["a", "01", "-1", "9" * 30])), max_size=60)


@given(NAMES)
def test_items_are_what_a_dictionary_would_hold(names: list[str]) -> None:
    """Whatever order ids come in, and whatever they look like: first come, nothing twice."""
    plain: dict[str, Item] = {}
    packed = Items()
    for place, name in enumerate(names):
        item = Item(score=float(place), digest=place.to_bytes(place % 17 + 1, "big"))
        assert packed.add(name, item) is (name not in plain)
        plain.setdefault(name, item)
    assert len(packed) == len(plain)
    assert dict(packed) == plain
    assert "77" not in packed


def test_a_million_items_fit() -> None:
    """Ids, scores and digests of 20,000 items take under a megabyte, so a million lines are held in some 40."""
    tracemalloc.start()
    items = Items()
    for number in range(20_000):
        items.add(str(number), Item(score=1.0, digest=number.to_bytes(16, "big")))
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1_000_000
    assert items["19999"].digest == (19_999).to_bytes(16, "big")


@given(st.dictionaries(st.integers(0, 10**6), st.tuples(st.floats(0, 1), st.binary(min_size=6, max_size=6)), max_size=30))
def test_a_record_gives_back_what_it_was_given(said: dict[int, tuple[float, bytes]]) -> None:
    """Scores, ids and digests survive as numbers of JSON, in either of a trial's two runs."""
    task = TaskItems(task="a|b", filter="none", metric="acc", items={str(n): Item(score=s, digest=d) for n, (s, d) in said.items()})
    raw = {**raw_of([task], AGAIN), "e2el": [1.0]}
    assert items_of(raw, FIRST) == []
    (found,) = items_of(raw, AGAIN)
    assert (found.task, found.filter, found.metric, dict(found.items)) == (task.task, task.filter, task.metric, dict(task.items))


@pytest.mark.parametrize(("passages", "kept"), [((7, 2**48 - 1), [7, 2**48 - 1]), ((7, None), [None, None])])
def test_passages_are_kept_where_every_item_has_one(passages: tuple[int | None, ...], kept: list[int | None]) -> None:
    """As numbers that JSON holds exactly; of items some of which have none, none is."""
    items = Items()
    for number, passage in enumerate(passages):
        items.add(str(number), Item(score=1.0, digest=b"123456", passage=passage))
    task = TaskItems(task="a", filter="none", metric="acc", items=items)
    (found,) = items_of(json.loads(json.dumps(raw_of([task], FIRST))), FIRST)
    assert [item.passage for item in found.items.values()] == kept
