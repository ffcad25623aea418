"""What a counting process leaves is read whole; what is wrong with it is reported by file, line and field."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof.model.base.errors import BadInput
from perfproof.model.records.count_lines import count_of, read_count

STARTED = {"started": True, "counter": 1, "python": "3.11.7", "vllm": "0.32.0"}
CELL: dict[str, Any] = {
    "feature": "plain",
    "requests": 8,
    "took": 1.5,
    "phases": {
        "decode": {
            "functions": {"m:f": [5, 1, 9, 2, 33]},
            "c_calls": {"len": 2},
            "operators": {"aten::add": [1, 64]},
            "lines": {"m:f": {"34": 5}},
            "waiting": {"threading:Event.wait": 3},
            "missed": [],
            "odd": [],
            "steps": 1,
            "waves": 2,
        }
    },
    "outputs": [[[1, 2]]],
    "seconds": {"decode": 0.002},
    "outside": {"decode": {"torch._C._nn.linear": 0.0004, "": 0.0001}},
}


def text(*lines: object) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_a_count_is_read_whole() -> None:
    """Every number of a line is in the cell, under its name."""
    count = count_of(text(STARTED, CELL, {"done": True}), "here")
    cell = count.cells[0]
    work = cell.phases["decode"]
    assert (count.vllm, count.python, cell.key, cell.outputs) == ("0.32.0", "3.11.7", ("plain", 8), (((1, 2),),))
    assert (work.functions["m:f"].instructions, work.functions["m:f"].inclusive, work.functions["m:f"].line) == (5, 9, 33)
    assert cell.outside == CELL["outside"]
    assert (work.operators["aten::add"].bytes, work.lines["m:f"], work.waiting) == (64, {34: 5}, {"threading:Event.wait": 3})


def test_what_was_imported_is_what_any_process_of_the_build_imported() -> None:
    """Lines of both; where one of them does not know, nobody does. Two counts together say the same."""
    lines = [{"imported": {"m": [3, 1], "n": [2]}}, {"imported": {"m": [4], "n": None}}, {"imported": {"o": None}}]
    whole = count_of(text(STARTED, *lines), "here").imported
    assert whole == {"m": [1, 3, 4], "n": None, "o": None}
    one, *others = (count_of(text(STARTED, line), "here") for line in lines)
    for other in others:
        one = one.plus(other)
    assert one.imported == whole


@pytest.mark.parametrize("value", [[], {"m": 3}, {"m": ["x"]}, {"m": [-1]}, {"m": {"3": 1}}])
def test_imports_that_are_not_what_they_should_be_are_told(value: object) -> None:
    """By line and field."""
    with pytest.raises(BadInput, match=r"here: line 1: imported"):
        count_of(text({"imported": value}), "here")


def test_a_line_that_was_cut_off_is_not_there() -> None:
    """Its process was ended in it; the others count, and the same command continues."""
    whole = text(STARTED, CELL)
    assert len(count_of(whole + json.dumps(CELL)[:40], "here").cells) == 1


def test_a_line_that_is_broken_in_the_midst_is_reported() -> None:
    """It is no end of a process: something else wrote there."""
    with pytest.raises(BadInput, match="here: line 2: is no JSON"):
        count_of(text(STARTED) + "{oops\n" + text(CELL), "here")


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (("requests",), -1, "requests: expected a number"),
        (("requests",), True, "requests: expected a number"),
        (("phases", "decode", "functions", "m:f"), [1, 2], r"phases.decode.functions.m:f: expected 5 numbers"),
        (("phases", "decode", "functions", "m:f"), [1, 2, 3, 4, "x"], r"phases.decode.functions.m:f: expected a number"),
        (("phases", "decode", "c_calls"), [], r"phases.decode.c_calls: expected an object"),
        (("phases", "decode", "operators", "aten::add"), [1.5, 2], r"operators.aten::add: expected a number"),
        (("phases", "decode", "lines", "m:f"), {"x": 1}, r"phases.decode.lines.m:f: expected line numbers"),
        (("phases", "decode", "odd"), "x", r"phases.decode.odd: expected a list"),
        (("outputs",), [[["a"]]], "outputs: expected a number"),
        (("seconds", "decode"), None, "seconds.decode: expected seconds"),
        (("outside", "decode"), 1, "outside.decode: expected an object"),
        (("outside", "decode", ""), -1.0, "outside.decode.: expected seconds"),
        (("feature",), None, "feature: expected a text"),
    ],
)
def test_what_is_not_what_it_should_be_is_told_by_line_and_field(path: tuple[str, ...], value: object, field: str) -> None:
    """With what to do about it."""
    cell = copy.deepcopy(CELL)
    at = cell
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = value
    with pytest.raises(BadInput, match=rf"counts.jsonl: line 2: .*{field}.*delete the file"):
        count_of(text(STARTED, cell), "counts.jsonl")


def test_a_fault_that_did_not_come_again_is_gone() -> None:
    """What was counted later counts; what a release does not know stays, and is not asked again."""
    unknown = {"feature": "LoRA", "skipped": "its engine has no enable_lora"}
    count = count_of(text(STARTED, {"feature": "plain", "requests": 8, "fault": "died"}, STARTED, CELL, unknown), "here")
    assert [one.feature for one in count.left_out] == ["LoRA"]
    assert count.has("plain", 8)
    assert count.has("LoRA", 32)
    assert not count.has("plain", 32)


def test_a_feature_that_failed_is_tried_again() -> None:
    """A fault may not come again."""
    count = count_of(text(STARTED, {"feature": "plain", "requests": 8, "fault": "was ended by SIGKILL"}), "here")
    assert [(one.kind, one.why) for one in count.left_out] == [("fault", "was ended by SIGKILL")]
    assert not count.has("plain", 8)


def test_only_what_is_asked_for_is_taken_of_a_file_that_holds_more() -> None:
    """Another command may have counted other features."""
    count = count_of(text(STARTED, CELL, {"feature": "LoRA", "skipped": "no"}), "here")
    assert count.only({"plain": [8]}).left_out == ()
    assert count.only({"plain": [32], "LoRA": [32]}).cells == ()
    assert count.only({"plain": [8], "LoRA": [32]}) == count


def test_what_can_not_be_imported_is_kept_apart() -> None:
    """It says nothing of any feature."""
    assert count_of(text({"fault": "NameError: x", "importing": True}), "here").refused == "NameError: x"


def test_no_file_is_an_empty_count(tmp_path: Path) -> None:
    """Nothing was counted yet."""
    assert read_count(tmp_path / "none.jsonl").cells == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3), max_leaves=4
)


@settings(deadline=None)
@given(st.sampled_from(sorted(CELL["phases"]["decode"])), JSON)
def test_nothing_wrong_is_taken_for_a_count(field: str, value: object) -> None:
    """A field of another kind is refused, whatever it is; nothing else is raised."""
    cell = copy.deepcopy(CELL)
    cell["phases"]["decode"][field] = value
    faults: tuple[str, ...] = ()
    try:
        count = count_of(text(STARTED, cell), "here")
    except BadInput as error:
        faults = tuple(error.faults)
    assert all(fault.startswith("here: line 2") for fault in faults)
    kept = tuple(value) if isinstance(value, list) else value
    assert faults or getattr(count.cells[0].phases["decode"], field) in (value, kept)
