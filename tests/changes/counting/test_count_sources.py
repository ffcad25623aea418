"""What sources say beside counts: which lines are new, which of them could run."""

from __future__ import annotations

import textwrap

from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof.changes.counting.count_sources import added_lines, runnable

TEXT = textwrap.dedent(
    '''\
    """A module."""
    LIMIT = 3


    class Thing:
        size = 4

        def run(self, turns=LIMIT):
            """What it does."""
            # a comment
            total = 0
            for turn in range(turns):
                total += turn

            def inner(x):
                return x + 1

            return [inner(y) for y in (
                total,
                1,
            )]


    TWICE = lambda x: (
        2 * x
    )
    '''
)


def test_only_lines_within_functions_can_run() -> None:
    """No comment, docstring, signature or blank line, and nothing that runs on import."""
    lines = TEXT.splitlines()
    found = {lines[line - 1].strip() for line in runnable(TEXT)}
    assert {"total = 0", "total += turn", "return x + 1", "2 * x"} <= found
    assert not {"# a comment", '"""What it does."""', "LIMIT = 3", "size = 4", "def run(self, turns=LIMIT):", ""} & found


def test_what_this_python_can_not_read_has_no_known_lines() -> None:
    """Another version's grammar is no fault."""
    assert runnable("def f(:\n") == frozenset()


def test_a_line_that_is_changed_or_put_in_is_new() -> None:
    """A line that only moved down is not."""
    assert added_lines("a\nb\nc\n", "a\nnew\nb\nC\n") == {2, 4}
    assert added_lines(None, "a\nb\n") == {1, 2}
    assert added_lines("a\n", None) == frozenset()


@settings(deadline=None)
@given(st.lists(st.sampled_from("abc"), max_size=8), st.lists(st.sampled_from("abc"), max_size=8))
def test_without_the_new_lines_nothing_is_there_that_was_not_before(before: list[str], after: list[str]) -> None:
    """What is not new of a text comes from the one before, in its order."""
    new = added_lines("\n".join(before), "\n".join(after))
    kept = iter(before)
    assert all(line in kept for number, line in enumerate(after, 1) if number not in new)
