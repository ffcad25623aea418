"""Long lists end after the first few, with how many more there are."""

from __future__ import annotations

from perfproof.model.base.name_lists import few, few_lines


def test_names_end_in_a_sentence_with_how_many_more_there_are() -> None:
    """No comma stands before the last part; a list that fits is whole."""
    assert few(["a", "b", "c"], 3) == "a, b, c"
    assert few(["a", "b", "c", "d"], 2) == "a, b and 2 more"


def test_lines_end_with_a_line_of_how_many_more_there_are_and_where() -> None:
    """One line stands for all that were left out; none where nothing was."""
    assert few_lines(["a", "b"], 2, " (--json has all)") == ["a", "b"]
    assert few_lines(["a", "b", "c"], 2, " (--json has all)") == ["a", "b", "and 1 more (--json has all)"]
    assert few_lines([], 2) == []
