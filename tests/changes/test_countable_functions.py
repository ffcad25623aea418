"""Which changed functions can be counted, and what of a change no count can tell of."""

from __future__ import annotations

import pytest

from perfproof.changes.countable_functions import MOST, Watching, of_file, watching

PATH = "vllm/v1/worker/batch.py"
AT = "vllm.v1.worker.batch"
SOURCE = """
import numpy as np
from vllm.old import helper

LIMIT = 8
TABLE = {"handed": handed}


def handed(x):
    return x


def free(x):
    return helper(x)


class Batch:
    width = 1

    def swap(self, first, second):
        return (second, first)

    @property
    def size(self):
        return 1

    @staticmethod
    def still(x):
        return x

    @torch.compile(dynamic=True)
    def traced(self):
        return 2

    def __eq__(self, other):
        return True
"""


def changed(*swaps: tuple[str, str], path: str = PATH) -> Watching:
    after = SOURCE
    for old, new in swaps:
        assert old in after
        after = after.replace(old, new)
    return of_file(path, SOURCE, after)


@pytest.mark.parametrize(
    ("old", "new", "functions", "unknown"),
    [
        ("return (second, first)", "raise RuntimeError", (f"{AT}:Batch.swap",), ()),
        ("return helper(x)", "return helper(x) + 1", (f"{AT}:free",), ()),
        (
            "@staticmethod\n    def still(x):\n        return x",
            "@staticmethod\n    def still(x):\n        return 2",
            (f"{AT}:Batch.still",),
            (),
        ),
        ("    def size(self):\n        return 1", "    def size(self):\n        return 2", (), (f"{AT}:Batch.size",)),
        ("return 2", "return 3", (), (f"{AT}:Batch.traced",)),
        ("return True", "return False", (f"{AT}:Batch.__eq__",), ()),
        ("def handed(x):\n    return x", "def handed(x):\n    return 1", (), (f"{AT}:handed",)),
        ("width = 1", "width = 2", (), (f"{AT}:Batch, outside its methods",)),
        ("LIMIT = 8", "LIMIT = 9", (), (f"the top level of {AT}",)),
        ("from vllm.old import helper", "from vllm.new import helper", (), (f"the imports of {AT}",)),
        ("import numpy as np", "import numpy as np\nimport os", (), (AT,)),
    ],
)
def test_a_changed_piece_is_counted_or_named(old: str, new: str, functions: tuple[str, ...], unknown: tuple[str, ...]) -> None:
    """Plain functions and special methods are counted; what is decorated, handed on at import, or no function at all is unknown."""
    assert changed((old, new)) == Watching(functions=functions, unknown=unknown)


@pytest.mark.parametrize("name", ["__bool__", "__iter__", "__len__", "__contains__", "__next__", "__getattr__", "__init__", "__exit__"])
def test_special_methods_are_counted(name: str) -> None:
    """Python looks them up in the class at every call, and so meets what counts them."""
    before = f"class Queue:\n    def {name}(self, *more):\n        return True\n"
    assert of_file(PATH, before, before.replace("True", "False")).functions == (f"{AT}:Queue.{name}",)


@pytest.mark.parametrize(
    "name", ["__new__", "__post_init__", "__init_subclass__", "__set_name__", "__class_getitem__", "__torch_function__"]
)
def test_special_methods_that_a_class_reads_once_are_named(name: str) -> None:
    """What replaces them later may never be called, which would be taken for code that never ran."""
    before = f"class Queue:\n    def {name}(self, *more):\n        return True\n"
    assert of_file(PATH, before, before.replace("True", "False")) == Watching(functions=(), unknown=(f"{AT}:Queue.{name}",))


def test_what_only_changed_functions_can_reach_is_not_asked_for() -> None:
    """A helper that a changed function calls, a new constant and a new import ran where that function did: an extract stays untestable
    where nothing calls it."""
    swap = "        return (second, first)\n"
    found = changed(
        (swap, f"        return self._pair(second, FIRST, os)\n\n    def _pair(self, *rows):\n    {swap}"),
        ("LIMIT = 8", "LIMIT = 8\nFIRST = 1\nimport os"),
    )
    assert found == Watching(functions=(f"{AT}:Batch.swap",), unknown=())


def test_a_new_method_that_nothing_of_the_change_calls_is_counted() -> None:
    """It may override another's: where it runs, the change does."""
    found = changed(("return (second, first)", "return 1\n\n    def execute(self):\n        return 5"))
    assert found.functions == (f"{AT}:Batch.swap", f"{AT}:Batch.execute")


def test_functions_that_the_compiler_traces_are_not_touched() -> None:
    """A counter in a layer of a model would break its graph."""
    path = "vllm/model_executor/layers/batch.py"
    assert changed(("return (second, first)", "return 1"), path=path).unknown == ("vllm.model_executor.layers.batch:Batch.swap",)


def test_comments_are_nothing_to_count() -> None:
    """A change of comments alone has no code that could run."""
    assert changed(("LIMIT = 8", "LIMIT = 8  # rows")) == Watching(functions=(), unknown=())


def test_a_new_file_and_one_that_goes_are_counted_too() -> None:
    """Before or after there is no text: what is on the other side is watched there."""
    assert of_file(PATH, None, "def f():\n    return 1\n").functions == (f"{AT}:f",)
    assert of_file(PATH, "def f():\n    return 1\n", None).functions == (f"{AT}:f",)


def test_of_a_vast_change_some_functions_are_counted_and_the_rest_is_unknown() -> None:
    """Counters are few: past the limit nothing is read, and the rest is told."""
    text = "".join(f"def f{n}():\n    return 1\n" for n in range(MOST + 2))
    found = watching([(PATH, None, text), ("vllm/other.py", None, "no python (")])
    assert len(found.functions) == MOST
    assert found.unknown == ("vllm/other.py", "2 more functions")
