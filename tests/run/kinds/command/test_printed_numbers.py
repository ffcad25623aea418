"""Numbers are read out of what a command printed: each exactly once, in its unit, or its trial has failed."""

from __future__ import annotations

import contextlib
import json
import re
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


@pytest.mark.parametrize(
    ("printed", "behind"),
    [
        ("12_100 us", "_100"),
        ("12'100 us", "'100"),
        ("1,100.25 us", ",100.25"),
        ("12,5 ms", ",5"),
        ("9.8e-05", "e-05"),
        ("1.02E4", "E4"),
        ("1m02s", "m02s"),
        ("1m02.512s", "m02.512s"),
        ("1h2m", "h2m"),
        ("1m 02s", "m 02s"),
        ("1s 200ms", "s 200ms"),
        ("2 minutes 3 seconds", " minutes 3 seconds"),
        ("1:02.5", ":02.5"),
        ("0x1f", "x1f"),
    ],
)
def test_a_number_of_which_only_the_beginning_would_be_read_is_a_fault(printed: str, behind: str) -> None:
    """What stands behind it is named, and what to do."""
    with pytest.raises(NotThere, match=re.escape(f"{behind!r} stands behind ")) as caught:
        latency(f"latency: {printed}", "ms", r"latency: ([0-9.]+)")
    assert "have the pattern catch the whole number" in str(caught.value)


@pytest.mark.parametrize("pattern", [r"latency: (\S+)", r"latency: ([0-9]+).*", r"latency: ([0-9]+)m"])
def test_a_pattern_that_takes_the_rest_of_a_number_reads_it_whole_or_not_at_all(pattern: str) -> None:
    """In its group or behind it, 1m02s is no 1; exponents and thousands in the group are read."""
    with pytest.raises(NotThere, match="'m02s' stands behind 1 and belongs to it"):
        latency("latency: 1m02s", "s", pattern)
    whole_words = r"latency: (\S+)"
    assert (latency("latency: 9.8e-05", "s", whole_words), latency("latency: 1,100.25", "s", whole_words)) == (9.8e-05, 1100.25)


@pytest.mark.parametrize(
    ("output", "pattern", "value"),
    [
        ("latency: 3.5,4.25", r"latency: ([0-9.]+)", 3.5),
        ("latency: 3,5", r"latency: ([0-9]+),", 3),
        ("latency: [3, 5]", r"latency: \[([0-9]+)", 3),
        ("latency: 3 of 4", r"latency: ([0-9.]+)", 3),
        ("latency: 3%", r"latency: ([0-9.]+)", 3),
        ("latency: 3.", r"latency: ([0-9]+)", 3),
        ("latency: 3x16", r"latency: ([0-9]+)", 3),
        ("latency: 3 (p99 5)", r"latency: ([0-9]+)", 3),
        ("latency: 3ms 5ms", r"latency: ([0-9]+)", 3),
        ("latency: 3: 12", r"latency: ([0-9]+)", 3),
        ("latency:3 in 2 s", r"latency:(.*) in", 3),
    ],
)
def test_what_stands_behind_a_number_and_is_no_part_of_it_does_no_harm(output: str, pattern: str, value: float) -> None:
    """Lists, shares, sentences and words are no digits of it."""
    assert latency(output, "1", pattern) == value


def test_the_end_of_a_number_is_not_taken_for_the_number() -> None:
    """A greedy pattern that leaves the group one digit is a fault."""
    for output in ("latency: 123 ms", "latency: 12.3 ms"):
        with pytest.raises(NotThere, match="3 is only the end of a number"):
            latency(output, "ms", r"latency: .*([0-9]+)")


@pytest.mark.parametrize(
    ("printed", "unit", "said"),
    [
        ("1.2k", "1", "k"),
        ("1.2k tokens", "tokens", "k"),
        ("1.2M", "k", "M"),
        ("900M", "GB", "M"),
        ("1.2Gi", "MiB", "Gi"),
        ("1.2M", "ms", "M"),
        ("1.2k", "k", ""),
        ("1.2K tok/s", "ktok/s", ""),
        ("1.2G", "GiB", ""),
        ("1.2 GB/s", "MB/s", "GB/s"),
        ("1.2 GB/sec", "GB/s", ""),
        ("1.2 GBps", "MB/s", "GBps"),
        ("900 MBps", "MB/s", ""),
        ("2 Gbit/s", "Mbit/s", "Gbit/s"),
        ("2 TFLOPS", "GFLOP/s", "TFLOPS"),
        ("2 ktok/s", "tok/s", "ktok/s"),
        ("2 tokens/s", "tok/s", ""),
        ("2 req/min", "req/s", "req/min"),
        ("2 img/min", "images/s", "img/min"),
        ("2 img/s", "images/s", ""),
        ("2 s/it", "it/s", "s/it"),
        ("2 req/s", "tok/s", "req/s"),
        ("2 ms/iter", "ms", ""),
        ("2 us/iter", "ms", "us/iter"),
        ("2 tok/s/GPU", "tok/s", ""),
        ("2m", "s", "m"),
        ("2 h", "s", "h"),
        ("2 heads", "s", ""),
    ],
)
def test_a_rate_of_another_unit_and_a_letter_that_multiplies_are_faults(printed: str, unit: str, said: str) -> None:
    """A program that prints GB/s where others print MB/s, or 1.2k for 1200, is not misread; another spelling does no harm."""
    if said:
        with pytest.raises(NotThere, match=rf"{said} stands behind the number.* the scenario says {unit}"):
            latency(f"latency: {printed}", unit)
    else:
        assert latency(f"latency: {printed}", unit) > 0


def test_a_rates_unit_that_the_pattern_catches_is_converted() -> None:
    """GB/s and MB/s, tokens and ktokens become one; a letter alone has no unit to be converted to."""
    pattern = r"latency: (?P<value>[0-9.]+) ?(?P<unit>\S+)"
    assert latency("latency: 1.2 GB/s", "MB/s", pattern) == latency("latency: 1200 MB/s", "MB/s", pattern) == pytest.approx(1.2e9)
    assert latency("latency: 1.2 ktokens", "tokens", pattern) == latency("latency: 1200 tokens", "tokens", pattern) == 1200
    with pytest.raises(NotThere, match="is printed in k, the scenario says 1"):
        latency("latency: 1.2k", "1", pattern)


def test_a_tables_cell_is_read_with_the_unit_in_it() -> None:
    """A cell that has another unit, or more of a number, is a fault as behind a pattern."""
    for cell, why in (("2 s", "s stands behind"), ("1m02s", "'m02s' stands behind"), ("1.2k", "k stands behind")):
        with pytest.raises(NotThere, match=why):
            read("any", Printed(column="Avg", unit="us"), f"Name  Avg\nfree  {cell}\n", NOWHERE)
    assert read("any", Printed(column="Avg", unit="us"), "Name  Avg\nfree  2 us\n", NOWHERE) == pytest.approx(2e-6)


def test_counts_are_exact_however_large() -> None:
    """2^53 and 2^53 + 1 differ, behind a pattern and in JSON; two of them in one output are two numbers."""
    items, of_json = Printed(pattern=r"items: (\S+)"), Printed(json_file="-", json_path="items")
    for count in (2**53, 2**53 + 1, 10**18 + 1):
        assert whole("items", items, f"items: {count}", NOWHERE) == whole("items", items, f"items: {count:,}.0", NOWHERE) == count
        assert whole("items", of_json, f'{{"items": {count}}}', NOWHERE) == count
    with pytest.raises(NotThere, match="2 different numbers"):
        whole("items", items, f"items: {2**53}\nitems: {2**53 + 1}", NOWHERE)
    with pytest.raises(NotThere, match="'_900' stands behind 12"):
        whole("items", items, "items: 12_900", NOWHERE)


def test_the_last_object_that_is_in_no_other_one_is_the_document() -> None:
    """However it is indented; where a line broke into it, none of its parts is taken for it."""
    latencies = Printed(json_file="-", json_path="latency")
    document = json.dumps({"latency": 10, "runs": [{"latency": 3}, {"latency": 5}]}, indent=2)
    assert read("x", latencies, f"[INFO] begins\n{document}\n[INFO] ends", NOWHERE) == 10
    assert read("x", latencies, f'{document}\n  {{"latency": 11}}\n', NOWHERE) == 11
    with pytest.raises(NotThere, match="no object stands at the beginning of a line"):
        read("x", latencies, document.replace('"runs"', 'WARNING\n"runs"'), NOWHERE)


@pytest.mark.parametrize(
    "output", ['{"a": 1' + "0" * 400 + "}", '{"a": 1' + "0" * 5000 + "}", "[" * 200_000, '{"a": 1e400}', '{"a": NaN}', "\n" * 200_000]
)
@pytest.mark.parametrize("file", ["-", "out.json"])
def test_json_of_any_size_and_depth_is_a_fault_and_no_traceback(output: str, file: str, tmp_path: Path) -> None:
    """A number beyond all floats, brackets without end, what JSON does not know."""
    (tmp_path / "out.json").write_text(output)
    with pytest.raises(NotThere):
        read("x", Printed(json_file=file, json_path="a"), output, tmp_path)


def test_a_number_that_its_unit_makes_infinite_is_a_fault() -> None:
    """1e308 hours are no seconds; a number with thousands of zeros before it is one."""
    with pytest.raises(NotThere, match="is too large"):
        latency("latency: 1e308", "hours", r"latency: (\S+)")
    assert latency(f"latency: {'0' * 5000}7", "1") == 7


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
