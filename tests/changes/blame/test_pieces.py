"""Files in pieces: joined they are the file again, and a mixture of all that differs does what the other text does."""

from __future__ import annotations

import ast
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof.changes.blame.pieces import differing, mixed, pair, pieces_of

BEFORE = textwrap.dedent(
    '''\
    """What it is."""
    from __future__ import annotations

    import os
    from typing import (
        Any,
        TYPE_CHECKING,
    )

    LIMIT = 4
    """The limit."""

    # about the class
    @decorated(
        LIMIT,
    )
    class Queue(
        Base,
        metaclass=Meta,
    ):
        """A queue."""

        size: int = 0
        """Its size."""

        # about push
        def push(self, item: Any) -> None:
            # inside
            self.items.append(item); self.size += 1

        @property
        def first(self): return self.items[0]

        @first.setter
        def first(self, value): self.items[0] = value

        class Inner:
            def f(self):
                return 1


    def helper():
        return os.getcwd()

    if TYPE_CHECKING:
        from somewhere import Thing
    # the end
    '''
)


def test_pieces_are_named_by_what_they_define_and_joined_are_the_file() -> None:
    """Methods, fields and heads of classes are pieces; comments go with what they stand before, texts with what they stand behind."""
    found = pieces_of(BEFORE)
    assert "".join(piece.text for piece in found.pieces) == BEFORE
    assert [piece.name for piece in found.pieces] == [
        "<expr>",
        "<import>",
        "<import>#2",
        "<import>#3",
        "LIMIT",
        "Queue.<head>",
        "Queue.size",
        "Queue.push",
        "Queue.first",
        "Queue.first#2",
        "Queue.Inner.<head>",
        "Queue.Inner.f",
        "helper",
        "Thing",
        "<end>",
    ]
    by_name = found.by_name
    assert by_name["Queue.push"].text.startswith("\n    # about push\n")
    assert by_name["Queue.<head>"].text.endswith('"""A queue."""\n')
    assert found.imports["TYPE_CHECKING"] == "from typing import TYPE_CHECKING\n"
    assert "if _typing.TYPE_CHECKING:" in found.imports["Thing"]


def test_a_piece_begins_at_its_first_statement() -> None:
    """The line of a piece is that of its decorator or statement, not of the comment before."""
    found = pieces_of(BEFORE).by_name
    lines = BEFORE.splitlines()
    assert lines[found["Queue.first"].start - 1].strip() == "@property"
    assert lines[found["LIMIT"].start - 1] == "LIMIT = 4"


def test_comments_docstrings_and_layout_are_no_difference() -> None:
    """What Python does not run does not differ."""
    after = (
        BEFORE.replace("# inside", "# another").replace("A queue.", "A line.").replace("LIMIT = 4", "LIMIT  =  4").replace("Its size.", "")
    )
    assert differing(*pair(BEFORE, after)) == []


def test_one_function_of_the_other_text_is_taken_and_nothing_else() -> None:
    """A mixture has the piece that was asked for, and the import that it needs."""
    after = (
        BEFORE.replace("import os\n", "import shutil\n")
        .replace("return os.getcwd()", "return shutil.which('x')")
        .replace("LIMIT = 4", "LIMIT = 5")
    )
    own, other = pair(BEFORE, after)
    made = mixed(own, other, {"helper"}, {"shutil"})
    assert "LIMIT = 4" in made
    assert "return shutil.which('x')" in made
    assert "import os\n" in made
    assert "import shutil\n" in made
    ast.parse(made)


def test_what_only_the_other_text_has_goes_behind_what_it_follows_there() -> None:
    """A method goes into its class, a function behind the one before it, and never into a class."""
    after = BEFORE.replace("    @property\n", "    def pop(self):\n        return self.items.pop()\n\n    @property\n", 1)
    after = after.replace("def helper():", "def early():\n    return 2\n\ndef helper():")
    own, other = pair(BEFORE, after)
    made = mixed(own, other, {"Queue.pop", "early"})
    assert [piece.name for piece in pieces_of(made).pieces] == [piece.name for piece in pieces_of(after).pieces]


@pytest.mark.parametrize(
    "text", ["", "x = 1", "x = 1\n\n", "class A: pass\n", "class A:\n    'only words'\n", "def f(): pass; x = 2\n", "a = 1; b = 2\n"]
)
def test_small_files_are_whole_again(text: str) -> None:
    """Files without an end of line, without pieces, with two statements on a line."""
    assert "".join(piece.text for piece in pieces_of(text).pieces) == text


NAMES = ["alpha", "beta", "gamma", "delta"]


@st.composite
def modules(draw: st.DrawFn) -> str:
    """Modules of functions, constants and a class, some with comments between."""
    parts = ["import os\n"]
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True)):
        value, comment = draw(st.integers(0, 3)), draw(st.sampled_from(["", "# a comment\n", "\n\n"]))
        parts.append(comment + draw(st.sampled_from([f"def {name}():\n    return {value}\n", f"{name} = {value}\n"])))
    if methods := draw(st.lists(st.sampled_from(NAMES), unique=True)):
        parts.append(
            "\n\nclass Thing:\n" + "".join(f"    def {name}(self):\n        return {draw(st.integers(0, 2))}\n" for name in methods)
        )
    return "".join(parts)


@given(modules(), modules())
@settings(deadline=None, max_examples=200)
def test_with_all_that_differs_taken_a_mixture_does_as_the_other_text(before: str, after: str) -> None:
    """Nothing differs any more but the order of definitions."""
    own, other = pair(before, after)
    made = mixed(own, other, differing(own, other), set(other.imports) - set(own.imports))
    assert differing(*pair(made, after)) == []
