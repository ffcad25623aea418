"""The difference of two folders in units, and mixtures of them: what a unit needs comes along, and the diff applies as any other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from perfproof.builds.overlays.patched_files import changed
from perfproof.builds.overlays.unified_diff import read_diff
from perfproof.changes.blame.difference import Difference
from perfproof.changes.blame.mixture_texts import diff_of, fault_of

GOOD = {
    "vllm/__init__.py": "",
    "vllm/a.py": """import os
from vllm.b import tool

SIZE = 4


class Queue(dict):
    def push(self, item):
        return tool(item) + SIZE

    def pop(self):
        return self._last()

    def _last(self):
        return 1


def same():
    return 0
""",
    "vllm/b.py": "def tool(item):\n    return item\n\n\ndef old():\n    return 1\n",
    "vllm/gone.py": "x = 1\n",
    "vllm/same.py": "y = 1\n",
}
BAD = {
    "vllm/__init__.py": "",
    "vllm/a.py": """import sys

SIZE = 8


class Queue(dict):
    def push(self, item):
        one = item
        for _ in range(10):
            one = one
        two = one
        return two + SIZE + fresh()

    def pop(self):
        return 1

    def keys(self):
        return []


def same():
    # another comment
    return 0


def fresh():
    return 0
""",
    "vllm/b.py": "def old():\n    return 2\n",
    "vllm/new.py": "z = 1\n",
    "vllm/same.py": "y = 1\n",
}
RAN = {"vllm.a:Queue.push": 5.0, "vllm.a:same": 1.0}


@pytest.fixture
def difference(tmp_path: Path) -> Difference:
    for name, files in (("good", GOOD), ("bad", BAD)):
        for path, text in files.items():
            (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / path).write_text(text)
    return Difference(tmp_path / "good", tmp_path / "bad")


def of_one_file(folder: Path, texts: Mapping[str, str]) -> Difference:
    """The difference of two builds whose only file has these texts."""
    for name, text in texts.items():
        (folder / name / "vllm").mkdir(parents=True)
        (folder / name / "vllm" / "a.py").write_text(text)
    return Difference(folder / "good", folder / "bad")


def test_units_come_by_suspicion_and_what_only_goes_along_is_none(difference: Difference) -> None:
    """First what ran, then other pieces of its file, then other files; new functions, imports and files are no units of their own, but a
    method that may replace an inherited one is."""
    assert difference.tiers(RAN) == [
        ["vllm/a.py:Queue.push"],
        ["vllm/a.py:SIZE", "vllm/a.py:Queue.pop", "vllm/a.py:Queue.keys", "vllm/a.py:Queue._last"],
        ["vllm/b.py"],
    ]


def test_a_unit_brings_what_it_needs_from_its_file_and_from_others(difference: Difference) -> None:
    """An import that the base lacks, the function that it imports, a method that the function calls; nothing else changes."""
    mixture = difference.mixture("back", frozenset(["vllm/a.py:Queue.push", "vllm/a.py:Queue.pop"]))
    assert not mixture.fault
    a, b = mixture.files["vllm/a.py"] or "", mixture.files["vllm/b.py"] or ""
    assert "from vllm.b import tool\n" in a
    assert "def _last(self)" in a
    assert "SIZE = 8" in a
    assert "def tool(item)" in b
    assert "return 2" in b


def test_a_function_whose_parameters_changed_goes_with_those_that_call_it(tmp_path: Path) -> None:
    """Either of the two alone would call with what the other does not take. One that calls neither stays, and so does one whose call is the
    same in both builds."""
    texts = {
        "good": "def low(a):\n    return a\n\n\ndef high():\n    return low(1)\n\n\ndef other():\n    low(*SAME)\n    return 3\n",
        "bad": "def low(a, b):\n    return a + b\n\n\ndef high():\n    return low(1, 2)\n\n\ndef other():\n    low(*SAME)\n    return 4\n",
    }
    made = of_one_file(tmp_path, texts)
    made.tiers({"vllm.a:high": 1.0})
    assert made.brought_along("back", "vllm/a.py:other") == []
    for unit, besides in (("vllm/a.py:low", "vllm/a.py:high"), ("vllm/a.py:high", "vllm/a.py:low")):
        mixture = made.mixture("back", frozenset([unit]))
        assert mixture.files["vllm/a.py"] == texts["good"].replace("return 3", "return 4")
        assert made.brought_along("back", unit) == [besides]


def test_a_field_goes_with_those_that_make_its_class(tmp_path: Path) -> None:
    """A constructor that is made of fields takes what they are: one of them alone, or the call alone, would not run. A class with a
    constructor of its own takes nothing along."""
    texts = {
        "good": "@dataclass\nclass A:\n    one: int\n    two: int\n\n\n"
        "def make():\n    return A(one=1, two=2)\n\n\ndef other():\n    return 3\n",
        "bad": "@dataclass\nclass A:\n    one: int\n\n\ndef make():\n    return A(one=1)\n\n\ndef other():\n    return 4\n",
    }
    made = of_one_file(tmp_path, texts)
    made.tiers({"vllm.a:make": 1.0})
    for unit, besides in (("vllm/a.py:A.two", "vllm/a.py:make"), ("vllm/a.py:make", "vllm/a.py:A.two")):
        assert made.mixture("back", frozenset([unit])).files["vllm/a.py"] == texts["good"].replace("return 3", "return 4")
        assert made.mixture("forth", frozenset([unit])).files["vllm/a.py"] == texts["bad"].replace("return 4", "return 3")
        assert made.brought_along("back", unit) == [besides]


def test_a_method_comes_along_only_where_it_is_newly_called(tmp_path: Path) -> None:
    """What both builds call without the base having it in that file lies elsewhere; a method that only the other build calls is needed."""
    texts = {
        "good": "class A:\n    def run(self):\n        return self.own() + self.more()\n\n"
        "    def own(self):\n        return 1\n\n    def more(self):\n        return 2\n",
        "bad": "class A(B):\n    def run(self):\n        return self.own()\n",
    }
    made = of_one_file(tmp_path, texts)
    made.tiers({"vllm.a:A.run": 1.0})
    text = made.mixture("back", frozenset(["vllm/a.py:A.run"])).files["vllm/a.py"] or ""
    assert "def more" in text
    assert "def own" not in text


def test_the_good_build_takes_units_of_the_bad_one_in_the_same_way(difference: Difference) -> None:
    """Brought in, a function brings the new ones that it calls."""
    mixture = difference.mixture("forth", frozenset(["vllm/a.py:Queue.push"]))
    text = mixture.files["vllm/a.py"] or ""
    assert "return two + SIZE + fresh()" in text
    assert "def fresh()" in text
    assert "SIZE = 4" in text


@pytest.mark.parametrize("side", ["back", "forth"])
def test_the_diff_of_a_mixture_applies_to_its_base(difference: Difference, side: str, tmp_path: Path) -> None:
    """The files that an overlay would have are those of the mixture, byte by byte."""
    units = frozenset(unit for tier in difference.tiers(RAN) for unit in tier)
    mixture = difference.mixture("back" if side == "back" else "forth", units)
    root = tmp_path / ("bad" if side == "back" else "good")
    made = changed(read_diff(mixture.diff.encode(), "mixture"), root, "mixture", "base").files
    assert {path: None if data is None else data.decode() for path, data in made.items()} == dict(mixture.files)


def test_a_hunk_of_a_function_can_be_taken_alone(difference: Difference) -> None:
    """Hunks are numbered as the bad build has them; all of them together are the function."""
    hunks = difference.hunks_of("vllm/a.py:Queue.push")
    whole = difference.mixture("back", frozenset(["vllm/a.py:Queue.push"]))
    assert difference.hunks_of("vllm/a.py:Queue.pop") == ["vllm/a.py:Queue.pop@1"]
    assert difference.mixture("back", frozenset(hunks)).files == whole.files


def test_units_have_the_lines_of_the_bad_build(difference: Difference) -> None:
    """A function's lines are those of the file that the user has."""
    lines = BAD["vllm/a.py"].splitlines()
    first, last = difference.lines_of("vllm/a.py:Queue.push") or (0, 0)
    assert lines[first - 1].strip() == "def push(self, item):"
    assert lines[last - 1].strip() == "return two + SIZE + fresh()"
    assert difference.lines_of("vllm/a.py:Queue._last") is None


def test_files_that_are_new_deleted_or_end_without_a_line_end_are_in_the_diff() -> None:
    """git's headers for new and deleted files, and its sentence for a last line without an end."""
    diff = diff_of(
        {"vllm/x.py": None, "vllm/y.py": "a\nb", "vllm/z.py": "c\n"}, {"vllm/x.py": "n\n", "vllm/y.py": "a\nc", "vllm/z.py": None}
    )
    assert "new file mode" in diff
    assert "deleted file mode" in diff
    assert diff.count("\\ No newline at end of file") == 2
    assert len(read_diff(diff.encode(), "it")) == 3


KEPT = """import os
try:
    import x
except ImportError as e:
    x = None
def f():
    global y
    y = x
    return [o for o in os.sep]
"""
"""A text in which everything is bound."""


@pytest.mark.parametrize(
    ("text", "base", "said"),
    [
        ("def f():\n    return lost\n", "def f():\n    return 1\n", "uses what nothing there binds: lost"),
        ("def f():\n    return lost\n", "def g():\n    return lost\n", ""),
        ("def f(:\n", "", "is no Python"),
        ("from x import *\ndef f():\n    return lost\n", "", ""),
        (
            "class A:\n    n = 1\n    m = [n for _ in range(3)]\n    def f(self):\n        return len(__file__)\n",
            "",
            "uses what nothing there binds: n",
        ),
        (KEPT, "", ""),
    ],
)
def test_a_mixture_that_can_not_run_is_told_without_running_it(text: str, base: str, said: str) -> None:
    """A name that nothing binds, where the base has it bound, and what is no Python."""
    assert fault_of(text, base).startswith(said) if said else not fault_of(text, base)
