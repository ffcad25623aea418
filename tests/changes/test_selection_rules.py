"""Which scenarios a change is measured by, and why."""

from __future__ import annotations

import ast
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.changes import selection_rules
from perfproof.changes.selection_rules import IMPORTS, TOP, TouchedModule
from perfproof.model.base.errors import BadInput
from perfproof.model.documents.decode import scenario_of
from tests.factory import DEFINITION

BATCH = "vllm/v1/worker/gpu_input_batch.py"
SOURCE = '''
import numpy as np

LIMIT = 8


class InputBatch:
    """A batch."""

    width = 1

    def swap_states(self, first, second):
        return self._active(first) + self._active(second)

    def _active(self, row):
        return helper(row)

    def condense(self):
        return 0


def helper(row):
    return row
'''
MODULE = "vllm.v1.worker.gpu_input_batch"
EXERCISED = {
    "swap_states": (f"{MODULE}:InputBatch.swap_states",),
    "condense": (f"{MODULE}:InputBatch.condense",),
    "thinking": ("vllm.v1.sample.thinking:Holder.update",),
    "server": ("vllm.v1.core.sched.scheduler",),
}

names = st.sampled_from(["a", "b", "c", "swap"])
numbers = st.integers(0, 3)


@st.composite
def sources(draw: st.DrawFn) -> str:
    """A small module: functions that return numbers and name one another, a class with methods, a constant."""
    lines = [f"CONSTANT = {draw(numbers)}"]
    for name in draw(st.lists(names, unique=True, max_size=3)):
        lines += [f"def {name}():", f"    return {draw(names)}, {draw(numbers)}"]
    methods = draw(st.lists(names, unique=True, max_size=3))
    lines += ["class Batch:", f"    width = {draw(numbers)}"]
    for name in methods:
        lines += [f"    def {name}(self):", f"        return self.{draw(names)}(), {draw(numbers)}"]
    return "\n".join(lines) + "\n"


def change(old: str, new: str) -> TouchedModule:
    assert old in SOURCE
    return selection_rules.touched(BATCH, SOURCE, SOURCE.replace(old, new))


def scenario(**changes: Any) -> Any:
    return scenario_of({**copy.deepcopy(DEFINITION), **changes}, source="example")


@pytest.mark.parametrize(
    ("path", "module"),
    [(BATCH, MODULE), ("vllm/v1/__init__.py", "vllm.v1"), ("vllm/__init__.py", "vllm"), ("vllm/envs.py", "vllm.envs")],
)
def test_a_file_is_known_by_its_module(path: str, module: str) -> None:
    """Packages are named by their folder."""
    assert selection_rules.module_of(path) == module


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("return helper(row)", "return 2 * helper(row)", ("InputBatch._active",)),
        ("width = 1", "width = 2", ("InputBatch",)),
        ("LIMIT = 8", "LIMIT = 9", (TOP,)),
        ("import numpy as np", "import numpy", (IMPORTS,)),
        ("    return row\n", "    return row  # the row\n\n", ()),
        ("def condense(self)", "def shrink(self)", ("InputBatch.condense", "InputBatch.shrink")),
    ],
)
def test_functions_that_differ_are_told_and_comments_do_not_count(old: str, new: str, told: tuple[str, ...]) -> None:
    """Each piece of a file that a change touches is named as a person would."""
    assert change(old, new).names == told


def test_a_new_and_a_deleted_file_touch_all_they_hold() -> None:
    """With nothing on one side, every function is touched."""
    assert "InputBatch.swap_states" in (selection_rules.touched(BATCH, None, SOURCE).names or ())
    assert "helper" in (selection_rules.touched(BATCH, SOURCE, None).names or ())


def test_a_change_that_is_no_python_is_refused_with_its_line() -> None:
    """A file that can't be read after the change would fail in every trial: it is told at once."""
    with pytest.raises(BadInput, match=r"gpu_input_batch.py: is not Python after the change: .*\(line 1\)"):
        selection_rules.touched(BATCH, SOURCE, "def swap(:\n")


def test_the_scenario_of_a_touched_function_is_chosen_before_its_neighbour() -> None:
    """Same file, two scenarios: the one whose function changed stands first, and says so."""
    first, second = selection_rules.choose([change("self._active(first)", "0")], EXERCISED)
    assert (first.scenario, first.level, first.reasons) == (
        "swap_states",
        "function",
        ("touches InputBatch.swap_states, which it exercises",),
    )
    assert (second.scenario, second.level) == ("condense", "module")
    assert second.reasons == (f"touches InputBatch.swap_states of {MODULE}, of which it exercises only InputBatch.condense",)
    assert selection_rules.picked([first, second]) == ((first,), (second,))


def test_what_an_exercised_function_calls_in_its_file_counts_as_exercised() -> None:
    """A helper of a helper reaches the scenario too."""
    choices = {choice.scenario: choice for choice in selection_rules.choose([change("    return row\n", "    return -row\n")], EXERCISED)}
    assert choices["swap_states"].reasons == ("touches helper, which InputBatch.swap_states may call, which it exercises",)
    assert choices["condense"].level == "module"


def test_a_new_import_alone_reaches_no_function() -> None:
    """Most changes add an import; it must not make every scenario of the file seem touched."""
    assert {choice.level for choice in selection_rules.choose([change("import numpy as np", "import os")], EXERCISED)} == {"module"}


def test_a_whole_module_may_be_exercised() -> None:
    """A server exercises modules, not functions: it may run what changed, or not."""
    touched = selection_rules.touched("vllm/v1/core/sched/scheduler.py", SOURCE, SOURCE.replace("LIMIT = 8", "LIMIT = 9"))
    (choice,) = selection_rules.choose([touched], EXERCISED)
    assert (choice.scenario, choice.level) == ("server", "whole")
    assert choice.reasons == ("touches the top level of vllm.v1.core.sched.scheduler, in a module that it exercises",)


def test_who_names_the_function_comes_before_who_exercises_the_module_and_both_before_neighbours() -> None:
    """The two first are run: only its trials tell whether the second runs what changed."""
    exercised = {"answers": (MODULE,), **EXERCISED}
    choices = selection_rules.choose([change("self._active(first)", "0")], exercised)
    assert [(choice.scenario, choice.level) for choice in choices] == [
        ("swap_states", "function"),
        ("answers", "whole"),
        ("condense", "module"),
    ]
    assert selection_rules.picked(choices) == (choices[:2], choices[2:])


def test_without_sources_modules_decide() -> None:
    """The gate knows the names of files only; all scenarios of the module are chosen."""
    choices = selection_rules.choose([TouchedModule(module=MODULE, names=None, uses={})], EXERCISED)
    assert [choice.scenario for choice in choices] == ["swap_states", "condense"]


def test_the_nearest_scenarios_come_in_order_of_nearness() -> None:
    """An importer of the touched module, then its package, then its top folder; what is further away is not told."""
    exercised = {**EXERCISED, "elsewhere": ("vllm.lora.layers:Layer.forward",), "beside": ("vllm.v1.pool.metadata:Pool.make",)}
    near = selection_rules.nearest(["vllm.v1.pool.cursor"], exercised, {MODULE: frozenset(["vllm.v1.pool.cursor"])})
    assert [one.scenario for one in near] == ["swap_states", "condense", "beside", "thinking", "server"]
    assert near[0].reason == f"{MODULE}, which it exercises, imports vllm.v1.pool.cursor"
    assert selection_rules.nearest(["vllm.transformers_utils.config"], exercised, {}) == ()


def test_imports_are_read_wherever_they_stand_and_relative_ones_are_resolved() -> None:
    """A module in a function's import counts; foreign packages don't."""
    source = "import os\nimport vllm.envs\ndef f():\n    from .block_table import Table\n    from ..sample import ops\n"
    found = selection_rules.imports_of(MODULE, source)
    assert {"vllm.envs", "vllm.v1.worker.block_table", "vllm.v1.sample.ops"} <= found
    assert "os" not in found
    assert "vllm.v1.worker.x" in selection_rules.imports_of("vllm.v1.worker", "from .x import y", package=True)


def test_scenarios_of_the_same_workload_are_one() -> None:
    """Two scenarios that differ in their arms alone ask the same of a change."""
    one, again = scenario(), scenario(name="swap_states_releases")
    other = scenario(name="longer", workload={**DEFINITION["workload"], "parameters": {"swaps": 5}})
    assert [each.name for each in selection_rules.one_per_workload([one, again, other])] == ["swap_states", "longer"]


@given(sources())
def test_a_file_against_itself_touches_nothing(source: str) -> None:
    """No change, no names."""
    assert selection_rules.touched(BATCH, source, source).names == ()


@given(sources())
def test_layout_and_comments_touch_nothing(source: str) -> None:
    """A file as the parser prints it, with a comment on top, is the same code."""
    assert selection_rules.touched(BATCH, source, "# a comment\n" + ast.unparse(ast.parse(source))).names == ()


@given(sources(), sources())
def test_what_differs_is_told_from_both_sides(before: str, after: str) -> None:
    """The change and its inverse touch the same names; and there is a name wherever the code differs."""
    there = set(selection_rules.touched(BATCH, before, after).names or ())
    back = set(selection_rules.touched(BATCH, after, before).names or ())
    assert there == back
    same = ast.dump(ast.parse(before)) == ast.dump(ast.parse(after))
    assert not (same and there)
    assert (
        there or sorted(map(ast.dump, ast.parse(before).body)) == sorted(map(ast.dump, ast.parse(after).body)) or _reordered(before, after)
    )


def _reordered(before: str, after: str) -> bool:
    """Whether two sources differ in the order of their functions only, which is no change of any of them."""
    return sorted(before.splitlines()) == sorted(after.splitlines())


@given(st.lists(st.tuples(sources(), sources()), max_size=3))
def test_every_scenario_of_a_touched_module_is_chosen_and_no_other(changes: list[tuple[str, str]]) -> None:
    """Whatever the functions: the module decides who is chosen, the functions only the level."""
    touched = [selection_rules.touched(f"vllm/m{n}.py", *pair) for n, pair in enumerate(changes)]
    exercised = {f"s{n}": (f"vllm.m{n}:Batch.swap",) for n in range(4)}
    chosen = {choice.scenario for choice in selection_rules.choose(touched, exercised)}
    assert chosen == {f"s{n}" for n in range(len(changes))}
    run, left = selection_rules.picked(selection_rules.choose(touched, exercised))
    assert {choice.scenario for choice in (*run, *left)} == chosen
    assert run or not chosen
