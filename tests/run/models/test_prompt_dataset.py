"""Data sets that the suite makes: what is asked, in which order, and that a seed decides it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from perfproof.model.scenarios.scenario import Dataset
from perfproof.run.models.prompt_dataset import filled, lines, write_dataset

TITLES = Dataset(template="<|embed|>\n{title} ({i})", values={"title": ("A", "B", "C")}, draw="in turn", output_tokens=None)


def test_values_are_taken_in_turn_and_requests_are_numbered() -> None:
    """Prompt i holds the (i mod n)-th value and its own number, as the pooling patch's author made his."""
    assert [line["prompt"] for line in lines(TITLES, 4, seed=1)] == [f"<|embed|>\n{title} ({i})" for i, title in enumerate("ABCA")]


def test_a_file_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    """The arms of a block get the same bytes; another block's differ where something is drawn at random."""
    drawn = dataclasses.replace(TITLES, draw="at random", output_tokens=(1, 9))
    one, again, other = (write_dataset(drawn, 50, seed, tmp_path / f"{number}.jsonl").read_bytes() for number, seed in enumerate((5, 5, 6)))
    assert one == again
    assert one != other


@given(seed=st.integers(0, 2**31), least=st.integers(1, 50), more=st.integers(0, 50))
def test_drawn_lengths_lie_between_the_least_and_the_most(seed: int, least: int, more: int) -> None:
    """Every request asks for a number of tokens within the scenario's range."""
    drawn = dataclasses.replace(TITLES, output_tokens=(least, least + more))
    assert all(least <= line["output_tokens"] <= least + more for line in lines(drawn, 20, seed))


@given(st.text())
def test_a_value_is_never_looked_into(text: str) -> None:
    """What a value says stays as it is, though it may look like a placeholder, and survives JSON lines."""
    said = filled("{a}{b}", {"a": text, "b": "{a}"})
    assert said == text + "{a}"
    assert json.loads(json.dumps(said)) == said
