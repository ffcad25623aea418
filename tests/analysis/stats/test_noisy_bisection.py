"""The search for the first bad place in a row: it is found in few questions, and open answers never lead it astray."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof.analysis.stats.noisy_bisection import Answer, bounds, next_place, steps_left


def searched(count: int, first: int, open_: dict[int, Answer]) -> tuple[dict[int, Answer], int]:
    """The answers of a whole search, where `first` is the first bad place; and how many questions it took."""
    answers: dict[int, Answer] = {}
    while (place := next_place(count, answers)) is not None:
        assert place not in answers
        answers[place] = open_.get(place, "bad" if place >= first else "good")
    return answers, len(answers)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_the_first_bad_place_lies_within_the_bounds(data: st.DataObject) -> None:
    """Whatever is skipped, the bounds hold the truth, and what lies between them is open, every place of it."""
    count = data.draw(st.integers(2, 60))
    first = data.draw(st.integers(1, count - 1))
    places = data.draw(st.sets(st.integers(1, max(1, count - 2)), max_size=20)) if count > 2 else set()
    open_: dict[int, Answer] = {place: data.draw(st.sampled_from(["skipped", "undecided"])) for place in places}
    answers, _ = searched(count, first, open_)
    found = bounds(count, answers)
    assert found.good < first <= found.bad
    assert found.open == tuple(range(found.good + 1, found.bad))
    assert all(place in open_ for place in found.open)


@given(st.integers(2, 3000), st.data())
@settings(max_examples=100, deadline=None)
def test_without_open_answers_it_is_found_in_as_many_questions_as_foretold(count: int, data: st.DataObject) -> None:
    """A row of n builds takes no more than the binary logarithm, which `steps_left` says beforehand."""
    first = data.draw(st.integers(1, count - 1))
    answers, asked = searched(count, first, {})
    found = bounds(count, answers)
    assert (found.found, found.bad) == (True, first)
    assert asked <= steps_left(count, {}) <= math.ceil(math.log2(count))


def test_answers_that_contradict_each_other_are_refused() -> None:
    """A good build behind a bad one is no row that can be searched."""
    with pytest.raises(ValueError, match="place 5 is good and place 3"):
        bounds(9, {5: "good", 3: "bad"})
