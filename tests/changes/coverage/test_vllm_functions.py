"""The functions that a vLLM defines, and which of them differ."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from perfproof.changes.coverage.vllm_functions import differing, functions_below, functions_of

BEFORE = '''
"""A module."""
import os

class Pool:
    """Blocks."""
    size: int = 3

    @property
    def free(self) -> int:
        """What is free."""
        return self.size

    @free.setter
    def free(self, value): self.size = value

    class Inner:
        async def take(self):
            def helper(): return 1
            return helper()

def lone(): return 0
'''
PATH = "vllm/v1/core/pool.py"
NAMES = {f"vllm.v1.core.pool:{name}" for name in ("Pool.free", "Pool.Inner.take", "lone")}


def test_functions_have_their_qualified_names_and_what_is_inside_belongs_to_them() -> None:
    """Methods, inner classes and asynchronous functions; a property and its setter are one, a helper inside is none."""
    assert set(functions_of(PATH, BEFORE)) == NAMES
    assert set(functions_of("vllm/v1/core/__init__.py", "def f(): pass")) == {"vllm.v1.core:f"}
    assert functions_of(PATH, "def f(:") == {}
    assert functions_of(PATH, b"\0") == {}


def test_docstrings_comments_and_layout_are_no_difference() -> None:
    """A function whose words alone changed does what it did; a changed helper inside changes it."""
    before = functions_of(PATH, BEFORE)
    words = BEFORE.replace("What is free.", "Free blocks.\n\n        More.").replace("return 0", "return (0)  # nothing")
    assert differing(before, functions_of(PATH, words)) == frozenset()
    changed = BEFORE.replace("return 1", "return 2").replace("self.size = value", "self.size = value + 1")
    assert differing(before, functions_of(PATH, changed)) == {"vllm.v1.core.pool:Pool.free", "vllm.v1.core.pool:Pool.Inner.take"}
    assert differing(before, functions_of(PATH, BEFORE + "def new(): pass")) == {"vllm.v1.core.pool:new"}
    assert differing(before, {}) == frozenset()


@given(st.sets(st.sampled_from(["a", "b", "c", "d"])), st.sets(st.sampled_from(["a", "b", "c", "d"])))
def test_what_differs_is_there_afterwards(old: set[str], new: set[str]) -> None:
    """Functions that are new differ, those that are gone are nobody's to call."""
    texts = ["".join(f"def {name}(): return {name!r}\n" for name in sorted(names)) for names in (old, new)]
    before, after = (functions_of(PATH, text) for text in texts)
    assert differing(before, after) == {f"vllm.v1.core.pool:{name}" for name in new - old}


def test_a_folder_is_read_whole(tmp_path: Path) -> None:
    """Every file below it, by its module."""
    package = tmp_path / "vllm"
    (package / "v1" / "core").mkdir(parents=True)
    (package / "v1" / "core" / "pool.py").write_text(BEFORE)
    (package / "v1" / "request.py").write_text("def f(): pass")
    (package / "other.py").write_text("def g(): pass")
    assert set(functions_below(package, "v1")) == NAMES | {"vllm.v1.request:f"}
