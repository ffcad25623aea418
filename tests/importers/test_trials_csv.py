"""Anybody's numbers from a CSV: whatever is done to a table, it says the same as before or is refused by line and column."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof.importers.trials_csv import Table, read
from perfproof.model.base.errors import BadInput

HEAD = ["block", "arm", "value", "unit", "note"]
ROWS = [
    [str(block), arm, f"{value + block / 7:.4f}", "ms", "x"] for block in range(1, 7) for arm, value in (("main", 991.1), ("pr", 1001.4))
]
UNITS = {"ns": 1e6, "us": 1e3, "ms": 1.0, "s": 1e-3}
PLACES = st.integers(0, len(ROWS) - 1)


def written(folder: Any, rows: list[list[str]], mark: str = ",", name: str = "n.csv") -> Path:
    """A table of these cells, the head first, quoted where it must be."""
    path = Path(folder.mktemp("any") if hasattr(folder, "mktemp") else folder) / name
    text = io.StringIO()
    csv.writer(text, delimiter=mark, lineterminator="\n").writerows(rows)
    path.write_text(text.getvalue())
    return path


def said(table: Table) -> dict[tuple[str, str], float]:
    """What a table says: a value of each block and arm, in milliseconds."""
    (unit,) = table.units.values()
    return {(row.block, row.arm): pytest.approx(row.value / UNITS[unit]) for row in table.rows}


def refused(path: Path) -> str:
    """What is told of a table that must be refused."""
    with pytest.raises(BadInput) as caught:
        read(path)
    assert all(str(path) in fault for fault in caught.value.faults)
    return str(caught.value)


WHOLE = {(row[0], row[1]): float(row[2]) for row in ROWS}


@settings(max_examples=60, deadline=None)
@given(st.permutations(range(len(HEAD))), st.permutations(range(len(ROWS))), st.sampled_from([",", ";", "\t"]), st.booleans())
def test_columns_and_lines_may_stand_in_any_order_with_any_separator(
    tmp_path_factory: pytest.TempPathFactory, columns: list[int], lines: list[int], mark: str, loud: bool
) -> None:
    """The same table, however it is written down; capitals and blanks of a header are no other column."""
    head = [f" {HEAD[column].upper()} " if loud else HEAD[column] for column in columns]
    rows = [head, *([ROWS[line][column] for column in columns] for line in lines)]
    assert said(read(written(tmp_path_factory, rows, mark))) == WHOLE


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(sorted(UNITS)), min_size=len(ROWS), max_size=len(ROWS)), st.sampled_from(["column", "cell", "both"]))
def test_values_are_compared_in_one_unit(tmp_path_factory: pytest.TempPathFactory, units: list[str], where: str) -> None:
    """0.41 s and 410 ms are the same time, whether the unit stands beside the number or behind it."""
    rows = [["block", "arm", "value", "unit"]]
    for (block, arm, value, *_), unit in zip(ROWS, units, strict=True):
        number = repr(float(value) * UNITS[unit])
        rows.append([block, arm, number + (unit if where != "column" else ""), unit if where != "cell" else ""])
    head = rows if where != "cell" else [row[:3] for row in rows]
    assert said(read(written(tmp_path_factory, head))) == WHOLE


@settings(max_examples=60, deadline=None)
@given(PLACES, st.integers(0, len(HEAD)), st.booleans())
def test_a_line_with_a_cell_too_many_or_too_few_is_refused(
    tmp_path_factory: pytest.TempPathFactory, place: int, column: int, more: bool
) -> None:
    """An unquoted thousands comma, or a cell that was left out: which of the others are where they belong, nobody knows."""
    rows = [list(row) for row in ROWS]
    if more:
        rows[place].insert(column, "1")
    else:
        del rows[place][min(column, len(HEAD) - 1)]
    told = refused(written(tmp_path_factory, [HEAD, *rows]))
    assert f":{place + 2}: {'more' if more else 'fewer'} cells than the first line has columns" in told


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(["block", "arm", "value", "unit"]), st.integers(0, len(HEAD)), st.sampled_from(["", " ", "s"]))
def test_a_column_that_is_there_twice_is_refused(tmp_path_factory: pytest.TempPathFactory, name: str, place: int, more: str) -> None:
    """In whatever spelling: neither the first nor the last is the right one."""
    head, rows = list(HEAD), [list(row) for row in ROWS]
    head.insert(place, name + more)
    for row in rows:
        row.insert(place, "1")
    assert f":1: column {name} is there twice: keep one" in refused(written(tmp_path_factory, [head, *rows]))


@settings(max_examples=40, deadline=None)
@given(
    PLACES,
    st.sampled_from(
        ["fast", "1_0", "٣", "12e", "1.2.3", "12.1x", "2.4k", "1 01.4", "1'0014", "1 001 4", "1,00,1.4", "", "nan", "inf", "-1", "0"]
    ),
)
def test_a_value_that_is_no_positive_number_is_refused(tmp_path_factory: pytest.TempPathFactory, place: int, odd: str) -> None:
    """Nothing is made of what only looks like a number."""
    rows = [list(row) for row in ROWS]
    rows[place][2] = odd
    assert f":{place + 2}: value: " in refused(written(tmp_path_factory, [HEAD, *rows]))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["point", "comma", "thousands"]), st.lists(st.integers(1000, 9_999_999), min_size=12, max_size=12))
def test_what_a_comma_means_is_asked_of_the_whole_column(tmp_path_factory: pytest.TempPathFactory, how: str, sizes: list[int]) -> None:
    """Decimal commas and commas of thousands are read where one number is sure, and never mixed."""
    forms = {
        "point": [f"{size / 100:.2f}" for size in sizes],
        "comma": [f"{size / 100:.2f}".replace(".", ",") for size in sizes],
        "thousands": [f"{size / 100:,.2f}" for size in sizes],
    }
    rows = [[*row[:2], text] for row, text in zip(ROWS, forms[how], strict=True)]
    found = read(written(tmp_path_factory, [HEAD[:3], *rows], ";"))
    assert [row.value for row in found.rows] == [pytest.approx(size / 100) for size in sizes]


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (("1,001", "998"), "the comma may separate thousands or decimals: write 1001 or 1.001"),
        (("7,5", "7.25"), "some numbers of this column have decimal points and others decimal commas"),
        (("7,5", "12.125"), "some numbers of this column have decimal points and others decimal commas"),
        (("0.41 s", "40"), "40 has no unit, but others of its column have s"),
        (("0.41 s", "40 MiB"), "40 MiB can't be converted to s"),
    ],
)
def test_a_column_that_can_be_read_in_two_ways_is_refused(texts: tuple[str, str], told: str, tmp_path: Path) -> None:
    """With what to write instead."""
    assert told in refused(written(tmp_path, [HEAD[:3], *([*row[:2], texts[row[1] == "pr"]] for row in ROWS)]))


@pytest.mark.parametrize("head", ["value (ms)", "Value [ms]"])
def test_a_unit_in_the_header_counts(head: str, tmp_path: Path) -> None:
    """And --unit, into which values are converted; numbers without a unit are in it."""
    path = written(tmp_path, [["block", "arm", head], *(row[:3] for row in ROWS)])
    assert said(read(path)) == WHOLE
    assert said(read(path, "s")) == WHOLE
    assert read(path, "s").units == {"": "s"}
    bare = written(tmp_path, [HEAD[:3], *(row[:3] for row in ROWS)])
    assert said(read(bare, "ms")) == WHOLE


def test_metrics_are_kept_apart_each_with_its_unit(tmp_path: Path) -> None:
    """One table of several metrics is several comparisons, each of which must be whole."""
    rows = [[block, arm, value, unit, metric] for block, arm, value, *_ in ROWS for unit, metric in (("ms", "ttft"), ("tok/s", "speed"))]
    table = read(written(tmp_path, [[*HEAD[:4], "metric"], *rows]))
    assert table.units == {"ttft": "ms", "speed": "tok/s"}
    assert sum(row.metric == "speed" for row in table.rows) == len(ROWS)
    assert "metric ttft, block 1: arm main has no value" in refused(written(tmp_path, [[*HEAD[:4], "metric"], *rows[1:]]))


def test_other_spellings_of_an_arm_are_one_and_told(tmp_path: Path) -> None:
    """Capitals and blanks make no other arm; twice in one block it is refused all the same."""
    rows = [[*row[:3]] for row in ROWS]
    rows[2][1], rows[4][1] = "Main ", "MAIN"
    table = read(written(tmp_path, [HEAD[:3], *rows]))
    assert {row.arm for row in table.rows} == {"main", "pr"}
    assert "arm main is also spelt Main, MAIN: taken for one" in table.notes
    assert "arm main has 2 values" in refused(written(tmp_path, [HEAD[:3], *rows, ["1", "Main", "9"]]))


def test_blocks_that_repeat_are_told(tmp_path: Path) -> None:
    """The same numbers once more, under new block numbers, are no new evidence."""
    again = [[str(int(block) + 6), arm, value] for block, arm, value, *_ in ROWS]
    (note,) = read(written(tmp_path, [HEAD[:3], *(row[:3] for row in ROWS), *again])).notes
    assert note.startswith("6 blocks have the very values of others (block 7 like 1, 8 like 2")


@pytest.mark.parametrize("name", ["machine", "gpu", "benchmark"])
@settings(max_examples=10, deadline=None)
@given(place=PLACES)
def test_arms_of_one_block_share_machine_and_task(tmp_path_factory: pytest.TempPathFactory, name: str, place: int) -> None:
    """Another machine in one record of a block is no property of its arm."""
    rows = [[*row[:3], "other" if each == place else "one"] for each, row in enumerate(ROWS)]
    told = refused(written(tmp_path_factory, [[*HEAD[:3], name], *rows]))
    assert f"{name} is " in told
    assert "arms of one block must share it" in told


def test_columns_that_are_passed_over_are_told(tmp_path: Path) -> None:
    """Nobody is to think that they counted."""
    assert read(written(tmp_path, [HEAD, *ROWS])).notes == ("columns that were not used: note",)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=100).map(lambda text: f"block,arm,value\n{text}".encode()))
def test_nothing_but_a_table_or_a_fault_comes_of_any_file(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """Whatever a file holds, it is read or refused in words, and never printed whole."""
    path = tmp_path_factory.mktemp("any") / "n.csv"
    path.write_bytes(content)
    faults: tuple[str, ...] = ()
    rows: tuple[object, ...] = ()
    try:
        rows = read(path).rows
    except BadInput as error:
        faults = tuple(error.faults)
    assert bool(rows) is not bool(faults)
    assert all(str(path) in fault for fault in faults)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([" ", "\u00a0", "\u202f", "'", "’"]),
    st.sampled_from(".,"),
    st.lists(st.integers(100_000, 99_999_999), min_size=12, max_size=12),
)
def test_thousands_parted_by_blanks_or_apostrophes_are_read(
    tmp_path_factory: pytest.TempPathFactory, mark: str, point: str, sizes: list[int]
) -> None:
    """As spreadsheets of France and Switzerland write them."""
    texts = [f"{size / 100:_.2f}".replace(".", point).replace("_", mark) for size in sizes]
    rows = [[*row[:2], text] for row, text in zip(ROWS, texts, strict=True)]
    found = read(written(tmp_path_factory, [HEAD[:3], *rows], ";"))
    assert [row.value for row in found.rows] == [pytest.approx(size / 100) for size in sizes]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize("first", ["", "sep=;\r\n", '"sep=;"\n'])
def test_what_a_spreadsheet_puts_before_a_table_is_no_part_of_it(encoding: str, first: str, tmp_path: Path) -> None:
    """Marks of the encoding, and the line that names the separator."""
    path = written(tmp_path, [HEAD, *ROWS], ";")
    path.write_bytes((first + path.read_text()).encode(encoding))
    assert said(read(path)) == WHOLE


def test_another_encoding_says_how_to_save_it(tmp_path: Path) -> None:
    """A µ of a Western spreadsheet is no UTF-8."""
    path = tmp_path / "n.csv"
    path.write_bytes("block,arm,value (µs)\n1,main,2\n".encode("latin-1"))
    assert "a spreadsheet calls it CSV UTF-8" in refused(path)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(["model", "version", "branch", "notes"]), st.integers(0, 3), st.booleans())
def test_what_differs_between_the_arms_is_told(tmp_path_factory: pytest.TempPathFactory, name: str, place: int, shared: bool) -> None:
    """A column that nobody asked for may say that the arms are not of one model."""
    rows = [[*row[:3]] for row in ROWS]
    for row in rows:
        row.insert(place, "small" if shared or row[1] == "main" else "large")
    head = HEAD[:3]
    found = read(written(tmp_path_factory, [[*head[:place], name, *head[place:]], *rows]))
    told = f"{name} is not the same for the arms (small for main, large for pr): what differs there is judged with them"
    assert (told in found.notes) is not shared
    assert f"columns that were not used: {name}" in found.notes


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("block,arm,value,note,note\n1,main,2,a,b\n1,pr,3,a,b\n", ":1: column note is there twice: keep one"),
        ("block,arm,value (ms),unit\n1,main,2,us\n1,pr,3,us\n", ":2: the column says ms, and this line's unit is us: keep one"),
        (
            "block,arm,value\n1,main,9,980.4\n1,pr,9,870.1\n",
            ":2: more cells than the first line has columns: quote cells that hold a comma",
        ),
        ('block,arm,value\n1,main,"1,234"\n1,pr,"1,190"\n', "write 1234 or 1.234"),
    ],
)
def test_what_may_be_read_in_two_ways_is_refused(text: str, fault: str, tmp_path: Path) -> None:
    """A name twice, a unit that contradicts its column, and commas that may be of thousands or of decimals."""
    (path := tmp_path / "n.csv").write_text(text)
    assert fault in refused(path)


@pytest.mark.parametrize(
    ("cells", "values"),
    [(('"9,980.4"', '"9,870.1"'), [9980.4, 9870.1]), (("12.1ms", "11.9ms"), [12.1, 11.9]), (('"12,34"', '"11,9"'), [12.34, 11.9])],
)
def test_digits_and_units_within_a_cell_are_read(cells: tuple[str, str], values: list[float], tmp_path: Path) -> None:
    """A comma of thousands, a unit right behind its number, a decimal comma: 12,34 is never 1234."""
    (path := tmp_path / "n.csv").write_text("".join(["block,arm,value\n", f"1,main,{cells[0]}\n", f"1,pr,{cells[1]}\n"]))
    assert [row.value for row in read(path).rows] == values
