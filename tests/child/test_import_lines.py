"""Which lines of a module run while it is imported, and which modules are never imported."""

from __future__ import annotations

import importlib
import itertools
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perfproof.child.counting import ImportLines
from perfproof.child.counting.counter import Counter

NUMBERS = itertools.count()
Written = Callable[[str], str]


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Written:
    """Writes a module below a folder of the path; returns its name, which no other has."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(text: str) -> str:
        name = f"imported_{next(NUMBERS)}"
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
        return name

    return write


@pytest.fixture(autouse=True)
def _finders_and_trace_are_given_back() -> Iterator[None]:
    before, traced = list(sys.meta_path), sys.gettrace()
    sys.settrace(None)
    yield
    sys.meta_path[:] = before
    sys.settrace(traced)


def looked_at(*modules: str) -> ImportLines:
    imports = ImportLines(modules)
    imports.install()
    return imports


MODULE = """\
    import sys

    LIMIT = 3
    if sys.maxsize < 0:
        LIMIT = 4


    class Thing:
        size = LIMIT

        def run(self):
            return 1


    WHOLE = [Thing().run() for _ in range(2)]
"""


def test_lines_outside_functions_that_ran_are_told(written: Written) -> None:
    """Of the module and its classes; a branch that is not taken and a function's body are not among them, though it was called."""
    imports = looked_at(name := written(MODULE))
    assert imports.found == {}
    module = importlib.import_module(name)
    assert imports.found == {name: [1, 3, 4, 8, 9, 11, 15]}
    assert (module.WHOLE, sys.gettrace()) == ([1, 1], None)


def test_a_module_that_nothing_imports_is_not_there(written: Written) -> None:
    """Nor is one that nobody asked for."""
    name, other = written("A = 1\n"), written("B = 1\n")
    imports = looked_at(name)
    importlib.import_module(other)
    assert imports.found == {}


def test_each_module_has_its_own_lines_though_one_imports_the_other(written: Written) -> None:
    """The one that imports goes on being looked at afterwards."""
    inner = written("C = 1\n")
    outer = written(f"A = 1\nimport {inner}\nB = 2\n")
    imports = looked_at(inner, outer)
    importlib.import_module(outer)
    assert imports.found == {inner: [1], outer: [1, 2, 3]}


def test_a_module_that_was_there_before_has_lines_that_nobody_knows(written: Written) -> None:
    """None, which is not the same as no lines."""
    name = written("A = 1\n")
    importlib.import_module(name)
    assert looked_at(name).found == {name: None}


def test_an_import_that_fails_is_told_as_far_as_it_came_and_raises(written: Written) -> None:
    """The error is the module's own."""
    imports = looked_at(name := written("A = 1\nA.nothing\nB = 1\n"))
    with pytest.raises(AttributeError, match="nothing"):
        importlib.import_module(name)
    assert (imports.found, sys.gettrace()) == ({name: [1, 2]}, None)


def test_a_module_that_sets_a_trace_function_of_its_own_has_lines_that_nobody_knows(written: Written) -> None:
    """It is imported, and more is not claimed."""
    imports = looked_at(name := written("import sys\nsys.settrace(lambda *asked: None)\nA = 1\n"))
    importlib.import_module(name)
    assert imports.found == {name: None}


def test_an_import_that_is_counted_stays_counted(written: Written) -> None:
    """The counter's function is not taken away from it."""
    imports, counter = looked_at(name := written("A = 1\n")), Counter()
    counter.install()
    try:
        counter.start()
        importlib.import_module(name)
        assert any(one.startswith(f"{name}:") for one in counter.stop().functions)
    finally:
        counter.remove()
    assert name in imports.found


def test_a_loader_that_has_no_way_to_run_a_module_is_left_alone() -> None:
    """Built-in modules and packages without a file are imported as ever."""
    imports = looked_at("json", "nothing_of_this_name")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("nothing_of_this_name")
    assert imports.found == {"json": None}
