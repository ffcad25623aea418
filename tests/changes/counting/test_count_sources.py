"""What sources say beside counts: which lines are new, which of them could run."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.changes.counting.count_sources import Reach, Sides, added_lines, code_files, only_functions, own_lines, reach, runnable
from perfproof.model.records.counts import Count

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


def test_lines_outside_functions_run_on_import() -> None:
    """Those of the module and of its classes; what is within functions is not among them."""
    lines = TEXT.splitlines()
    found = {lines[line - 1].strip() for line in own_lines(TEXT)}
    assert {"LIMIT = 3", "size = 4", "class Thing:", "def run(self, turns=LIMIT):", "TWICE = lambda x: ("} <= found
    assert not {"total = 0", "return x + 1", "# a comment", ""} & found
    assert own_lines("def f(:\n") == frozenset()


def sides(folder: Path, before: Mapping[str, str], after: Mapping[str, str]) -> Sides:
    """A base and an overlay with these files of vLLM."""
    made = []
    for name, texts in (("base", before), ("overlay", after)):
        for path, text in texts.items():
            (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / name / path).write_text(text)
        changed = tuple(path for path in {**before, **after} if before.get(path) != after.get(path))
        touched = SimpleNamespace(base="base", files=changed) if name == "overlay" else None
        made.append(SimpleNamespace(label=name, touched=touched, fingerprint=SimpleNamespace(package=folder / name / "vllm")))
    return cast("tuple[ReadyBuild, ReadyBuild]", tuple(made))


def came(both: Sides, imported: Mapping[str, Sequence[int] | None]) -> Reach:
    """How far a process came that imported these lines of these modules, and called nothing."""
    return reach(both, [Count(vllm="0.32.0", python="3.11.7", cells=(), left_out=(), refused="", imported=imported)])


A, NEW = "vllm/a.py", "vllm/new.py"
BEFORE = "X = 1\nif X > 3:\n    Y = 2\n"


@pytest.mark.parametrize(
    ("before", "after", "alone"),
    [
        ("def f():\n    return 1\n", "def f():\n    return 2\n", True),
        ("def f():\n    return 1\n", "import os\n\n\ndef f():\n    return os.sep\n", True),
        ("X = 1\n\n\ndef f():\n    return X\n", "X = 2\n\n\ndef f():\n    return X\n", False),
        ("class A:\n    x = 1\n\n    def f(self): ...\n", "class A:\n    x = 2\n\n    def f(self): return 1\n", False),
        ("def f(:\n", "def f():\n    return 1\n", False),
    ],
)
def test_a_change_may_be_in_functions_alone(tmp_path: Path, before: str, after: str, alone: bool) -> None:
    """An import reaches no function by itself; what a module or a class does besides may alter anything."""
    assert only_functions(*sides(tmp_path, {A: before}, {A: after})) is alone


def test_a_new_file_that_nothing_imports_is_not_reached(tmp_path: Path) -> None:
    """Constants alone have no function to be missed: the file itself is."""
    found = came(sides(tmp_path, {A: BEFORE}, {A: BEFORE, NEW: "Z = 1\n"}), {})
    assert (found.absent, found.outside, found.lines) == ((NEW,), False, True)


@pytest.mark.parametrize(
    ("after", "ran", "outside", "unread"),
    [
        (BEFORE.replace("X = 1", "X = 2"), [1, 2], True, {}),
        (BEFORE.replace("Y = 2", "Y = 3"), [1, 2], False, {A: [3]}),
        (BEFORE.replace("Y = 2", "Y = 3"), None, True, {}),
        (BEFORE.replace("Y = 2", "Y = 3"), [1, 2, 3], True, {}),
        ("X = 1\n", [1], True, {}),
    ],
)
def test_what_lies_outside_functions_is_reached_where_its_lines_ran(
    tmp_path: Path, after: str, ran: Sequence[int] | None, outside: bool, unread: Mapping[str, Sequence[int]]
) -> None:
    """A constant; a branch on import that is not taken, may be, or is; a line that is gone from an imported file."""
    found = came(sides(tmp_path, {A: BEFORE}, {A: after}), {"vllm.a": ran})
    assert (found.outside, found.unread, found.absent) == (outside, unread, ())


def test_a_file_that_is_gone_is_reached_by_nothing(tmp_path: Path) -> None:
    """No process can import it; whoever did is another file of the change."""
    found = came(sides(tmp_path, {A: BEFORE, NEW: "Z = 1\n"}, {A: BEFORE}), {})
    assert (found.absent, found.outside) == ((NEW,), False)


def test_comments_and_layout_are_no_code(tmp_path: Path) -> None:
    """Nothing of them could run."""
    both = sides(tmp_path, {A: BEFORE}, {A: "# why\n\n" + BEFORE})
    assert code_files(*both) == ()
    assert code_files(*sides(tmp_path / "more", {A: BEFORE}, {A: BEFORE + "W = 1\n"})) == (A,)


@settings(deadline=None, max_examples=30)
@given(st.sets(st.integers(1, 3)), st.booleans())
def test_nothing_is_reached_that_was_not_imported_and_run(ran: set[int], imported: bool) -> None:
    """Whatever lines ran: without one of the new ones, or without the import, the change outside functions is not reached."""
    with TemporaryDirectory() as folder:
        both = sides(Path(folder), {A: "X = 1\nY = 1\nZ = 1\n"}, {A: "X = 2\nY = 1\nZ = 2\n"})
        found = came(both, {"vllm.a": sorted(ran)} if imported else {})
    assert found.outside is (imported and bool(ran & {1, 3}))
