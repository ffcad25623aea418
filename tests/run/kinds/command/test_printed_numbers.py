"""Numbers are read out of what a command printed: each exactly once, in its unit, or its trial has failed."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.model.kinds.command.command_workload import Printed
from perfproof.run.kinds.command.printed_numbers import NotThere, column, number, read, whole

NOWHERE = Path("/nonexistent")
TABLE = """
 Name        Iters   Avg (us)   P99 (us)
 ---------  ------  ---------  ---------
 allocate     1000       2.50       4.10
 free         1000       1.25       2.00

done
"""
BARS = """
| Name     | Avg (us) |
|----------|----------|
| allocate | 2.5      |
"""


GRID = """
+--------------+-------------+--------------+---------------+
|   Iterations |   Allocated |   Get Blocks |   Free Blocks |
|              |      Blocks |     Avg (us) |      Avg (us) |
+==============+=============+==============+===============+
|         1000 |          10 |        3.200 |         4.100 |
+--------------+-------------+--------------+---------------+
|         1000 |         100 |       22.500 |        30.250 |
+--------------+-------------+--------------+---------------+
"""


def latency(output: str, unit: str = "ms", pattern: str = r"latency: ([0-9.,]+)") -> float:
    return read("latency", Printed(pattern=pattern, unit=unit), output, NOWHERE)


@pytest.mark.parametrize(
    ("output", "unit", "value"),
    [
        ("latency: 12.5", "ms", 0.0125),
        ("latency: 1,234.5", "us", 0.0012345),
        ("latency: 3\nother: 4", "s", 3.0),
        ("latency: 7", "1", 7.0),
        ("latency: 2", "MiB", 2 * 2**20),
        ("latency: 5\nagain, latency: 5.0", "s", 5.0),
    ],
)
def test_a_number_is_read_in_base_units(output: str, unit: str, value: float) -> None:
    """Times become seconds, memory bytes; thousands may be separated; the same number twice is one."""
    assert latency(output, unit) == pytest.approx(value)


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("", "is not in what the command printed:\n(nothing)"),
        ("time: 3", "is not in what the command printed:\ntime: 3"),
        ("latency: 1\nlatency: 2", "2 different numbers (1 ms, 2 ms)"),
        ("latency: 1.2.3", "expected a number"),
    ],
)
def test_a_number_that_is_not_there_once_is_a_fault_that_shows_the_output(output: str, why: str) -> None:
    """Nothing printed, another word, two different numbers, no number: each is said."""
    with pytest.raises(NotThere) as caught:
        latency(output)
    assert why in str(caught.value)


def test_a_unit_that_stands_beside_the_number_is_obeyed() -> None:
    """A program that prints ms or us as it fits is read rightly; a unit of something else is a fault."""
    pattern = r"latency: (?P<value>[0-9.]+) (?P<unit>\w+)"
    assert latency("latency: 1.5 ms", "s", pattern) == latency("latency: 1500 us", "s", pattern) == pytest.approx(0.0015)
    with pytest.raises(NotThere, match="is printed in MiB, the scenario says s"):
        latency("latency: 1.5 MiB", "s", pattern)


@pytest.mark.parametrize(
    ("printed", "fine"), [("3 ms", True), ("3ms.", True), ("3 of 4", True), ("3 s", False), ("3us", False), ("3 MiB", False)]
)
def test_another_unit_behind_the_number_than_the_scenario_says_is_a_fault(printed: str, fine: bool) -> None:
    """A trial that prints s where the others print ms is not counted a thousandfold; what is no unit does no harm."""
    if fine:
        assert latency(f"latency: {printed}") == pytest.approx(0.003)
    else:
        with pytest.raises(NotThere, match="stands behind the number, the scenario says ms; if it changes, have the pattern catch it"):
            latency(f"latency: {printed}")


def test_a_column_of_a_printed_table_is_read_by_its_row() -> None:
    """The head names the column, the first cell the row; rules between are no cells; bars or gaps of spaces part columns."""
    assert read("allocate", Printed(column="Avg (us)", row="allocate", unit="us"), TABLE, NOWHERE) == pytest.approx(2.5e-6)
    assert list(column(TABLE, "P99 (us)")) == ["4.10", "2.00"]
    assert list(column(BARS, "Avg (us)", "allocate")) == ["2.5"]
    assert list(column(TABLE, "P50 (us)")) == []
    with pytest.raises(NotThere, match="2 different numbers"):
        read("any", Printed(column="Avg (us)", unit="us"), TABLE, NOWHERE)


def test_a_table_may_have_heads_of_several_lines_and_rows_named_by_any_column() -> None:
    """As tabulate prints it: the lines of a head are joined, and `head=cell` names a row."""
    for row, value in (("Allocated Blocks=10", 3.2e-6), ("Allocated Blocks=100", 22.5e-6)):
        assert read("get", Printed(column="Get Blocks Avg (us)", row=row, unit="us"), GRID, NOWHERE) == pytest.approx(value)
    assert list(column(GRID, "Iterations", "Free Blocks Avg (us)=4.100")) == ["1000"]
    assert list(column(GRID, "Iterations")) == ["1000", "1000"]
    assert list(column(GRID, "Avg (us)")) == []
    assert list(column(TABLE, "Avg (us)", "Name=free")) == ["1.25"]


@pytest.mark.parametrize("printed", ["3.2", "1e-3", "0.5"])
def test_a_count_that_is_no_whole_number_is_refused_with_where_it_stands(printed: str) -> None:
    """3.2 and 3.9 are not equal work: the field, the place and the output are named."""
    items = Printed(pattern=r"items: (\S+)")
    with pytest.raises(NotThere, match=rf"counts.items: the pattern 'items: .*' is {float(printed):g}, and a count is a whole number"):
        whole("items", items, f"items: {printed}", NOWHERE)
    assert whole("items", items, "items: 3.0", NOWHERE) == 3


def test_json_is_read_from_the_output_or_from_a_file_that_the_command_wrote(tmp_path: Path) -> None:
    """Keys with dots between lead to the number; what leads nowhere, is no number or lies outside of the folder is a fault."""
    (tmp_path / "result.json").write_text('{"runs": [{"tok_s": 12.5}], "name": "x", "ok": true}')
    assert read("rate", Printed(json_file="result.json", json_path="runs.0.tok_s"), "", tmp_path) == 12.5
    assert read("rate", Printed(json_file="-", json_path="a.b"), 'starting\n{"a": {"b": 3}}\nbye', tmp_path) == 3
    for path, why in (("runs.1.tok_s", "nothing at '1'"), ("name", "is no number"), ("ok", "is no number")):
        with pytest.raises(NotThere, match=why):
            read("rate", Printed(json_file="result.json", json_path=path), "", tmp_path)
    with pytest.raises(NotThere, match="wrote no file"):
        read("rate", Printed(json_file="../secret.json", json_path="a"), "", tmp_path / "below")
    with pytest.raises(NotThere, match="no JSON"):
        read("rate", Printed(json_file="-", json_path="a"), "{broken", tmp_path)


@given(st.floats(min_value=1e-9, max_value=1e12))
def test_any_positive_number_comes_back(value: float) -> None:
    """As Python prints it, with an exponent or not, plainly or with thousands separated."""
    assert number("x", repr(value)) == value
    assert number("x", f"{value:,.3f}") == pytest.approx(float(f"{value:.3f}"))


@given(st.text(max_size=200), st.text(max_size=20))
def test_whatever_a_command_prints_is_a_number_or_a_fault(output: str, cell: str) -> None:
    """Nothing that is printed raises anything else, and no fault becomes a number."""
    for attempt in (lambda: latency(output), lambda: number("x", cell)):
        with contextlib.suppress(NotThere):
            assert isinstance(attempt(), float)
    list(column(output, "x"))
