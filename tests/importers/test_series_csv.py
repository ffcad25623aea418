"""A series from a CSV: what is right is read, what is wrong is told by line and column with its remedy."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof.importers.series_csv import read
from perfproof.model.base.errors import EXIT_USAGE, BadInput


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "series.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_points_with_and_without_groups(tmp_path: Path) -> None:
    """Columns may come in any order, others are passed over, and what is not there is empty."""
    rows = read(written(tmp_path, "value,note,point,group\n1.5,x,7,a\n2,y,8,b\n")).rows
    assert [(row.point, row.value, row.group, row.machine, row.line) for row in rows] == [("7", 1.5, "a", "", 2), ("8", 2.0, "b", "", 3)]
    assert read(written(tmp_path, "point,value\n0.32.0,1\n")).rows[0].group == ""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ":1: column point, value is missing; a series needs point,value as its first line"),
        ("point|value\n1|2\n", ":1: column point, value is missing"),
        ('{"point": 1, "value": 2}', ": is JSON, not a CSV"),
        ("point,value,note\n1,2\n", ":2: fewer cells than the first line has columns"),
        ("point,value,unit\n1,2,s\n2,3,MiB\n", ":3: value: 3 MiB can't be converted to s: give all the same unit"),
        ("point,value,metric\n1,2,\n", ":2: metric: is empty: name what was measured"),
        ("point,value,date\n1,2,2026-01-31\n2,3,soon\n", ": date: 'soon' among moments"),
        ("point,value,time\n1,2,2026-01-31T12:00\n2,3,2026-01-31T12:00Z\n", ": time: '2026-01-31T12:00' has no zone, and others have one"),
        ("point,value,value\n1,2,3\n", ":1: column value is there twice: keep one"),
        ("point,value\n", ":2: no points: give one line a measurement"),
        ("point,value\n1,fast\n", ":2: value: expected a number, got 'fast'"),
        ("point,value\n1,1_0\n", ":2: value: expected a number, got '1_0'"),
        ("point,value\n1,2\n1,\n", ":3: value: is empty: give a number, or leave the line out"),
        ("point,value\n1,nan\n", ":2: value: nan is not a finite number: leave the line out"),
        ("point,value\n1,1e999\n", ":2: value: 1e999 is not a finite number: leave the line out"),
        ("point,value\n,2\n", ":2: point: is empty: name the build, commit or date"),
        ("point,value,group\n1,2,\n", ":2: group: is empty: name the build"),
        ("point,value\n1,2,5\n", ":2: more cells than the first line has columns"),
        (b"point,value\n\xff,2\n", ": not a CSV in UTF-8"),
    ],
)
def test_a_faulty_table_is_told_with_line_column_and_remedy(tmp_path: Path, text: str | bytes, told: str) -> None:
    """Every kind of fault names file and line, says what was expected, and ends with exit code 2."""
    path = written(tmp_path, text)
    with pytest.raises(BadInput) as caught:
        read(path)
    assert f"{path}{told}" in str(caught.value)
    assert caught.value.exit_code == EXIT_USAGE


def test_all_faults_are_told_at_once_and_the_first_twenty_named(tmp_path: Path) -> None:
    """A table with many faults is told in one go, without flooding the screen."""
    with pytest.raises(BadInput) as caught:
        read(written(tmp_path, "point,value\n" + "1,x\n" * 30))
    assert len(caught.value.faults) == 21
    assert caught.value.faults[-1].endswith("and 10 more faults")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    """A missing file and a folder are told by name."""
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(BadInput, match="can't be read"):
            read(path)


@settings(max_examples=60, deadline=None)
@given(
    st.binary(max_size=200)
    | st.text(max_size=200).map(str.encode)
    | st.text(max_size=100).map(lambda text: f"point,value\n{text}".encode())
)
def test_nothing_but_a_table_or_a_fault_comes_of_any_file(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """Whatever a file holds, it is read or refused in words."""
    path = written(tmp_path_factory.mktemp("any"), content)
    faults: tuple[str, ...] = ()
    try:
        rows = read(path).rows
    except BadInput as error:
        rows, faults = (), tuple(error.faults)
    assert bool(rows) is not bool(faults)
    assert all(str(path) in fault for fault in faults)


# --- order ------------------------------------------------------------------------------------------------------

ORDERED = {
    "by their versions": [f"0.{minor}.0" for minor in range(12)],
    "by their dates": [f"2026-{month:02}-28" for month in range(1, 13)],
    "by their numbers": [f"b{number}" for number in range(5, 17)],
}


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["by their versions", "by their dates"]), st.permutations(range(12)))
def test_dates_and_versions_are_the_order_however_the_lines_stand(
    tmp_path_factory: pytest.TempPathFactory, order: str, places: list[int]
) -> None:
    """A slowdown listed newest first, or as text sorts its builds, is never told as a fall."""
    names = ORDERED[order]
    found = read(written(tmp_path_factory.mktemp("any"), "point,value\n" + "".join(f"{names[place]},{place + 1}\n" for place in places)))
    assert [row.point for row in found.rows] == names
    assert (found.order, found.sorted) == (order, places != sorted(places))


@pytest.mark.parametrize("turned", [sorted, lambda names: sorted(names, reverse=True), lambda names: names[::-1]])
def test_numbered_names_are_put_right_where_text_sorted_them_or_the_newest_is_first(tmp_path: Path, turned: Any) -> None:
    """b10 comes after b9; in any other order the numbers, of pull requests perhaps, need not be that of the builds."""
    names = ORDERED["by their numbers"]
    found = read(written(tmp_path, "point,value\n" + "".join(f"{name},1\n" for name in turned(names))))
    assert ([row.point for row in found.rows], found.order, found.sorted) == (names, "by their numbers", True)
    mixed = [names[place] for place in (3, 1, 2, 0, 4)]
    found = read(written(tmp_path, "point,value\n" + "".join(f"{name},1\n" for name in mixed)))
    assert ([row.point for row in found.rows], found.sorted) == (mixed, False)


def test_a_column_of_dates_comes_before_names(tmp_path: Path) -> None:
    """Commits have no order of their own; lines of one day that stand newest first are turned round with the rest."""
    text = "point,value,date\nd,4,2026-02-02\nc,3,2026-02-02\nb,2,2026-02-01\na,1,2026-02-01\n"
    found = read(written(tmp_path, text))
    assert ([row.point for row in found.rows], found.order) == (["a", "b", "c", "d"], "by the column date")


def test_units_of_a_series_are_converted_and_its_metrics_kept_apart(tmp_path: Path) -> None:
    """A change of unit is no step, nor is another metric."""
    found = read(written(tmp_path, "point,value,unit,metric\n1,0.41,s,ttft\n1,3,MiB,memory\n2,410,ms,ttft\n2,2,GiB,memory\n"))
    assert [(row.metric, row.value, row.unit) for row in found.rows] == [
        ("ttft", 0.41, "s"),
        ("memory", 3.0, "MiB"),
        ("ttft", 0.41, "s"),
        ("memory", 2048.0, "MiB"),
    ]


SHUFFLED = st.permutations(range(12))


@settings(max_examples=40, deadline=None)
@given(SHUFFLED, st.sampled_from(["%d.%m.%Y", "%m/%d/%Y", "%Y/%m/%d", "%b %d, %Y", "nightly-%Y-%m-%d"]), st.booleans())
def test_dates_of_any_form_are_the_order(tmp_path_factory: pytest.TempPathFactory, places: list[int], form: str, beside: bool) -> None:
    """In a column or as names, however the lines stand."""
    if beside and form.startswith("nightly"):
        form = form.removeprefix("nightly-")
    days = [datetime(2026, 1, 14) + timedelta(days=25 * place) for place in range(12)]
    cells = [f'c{place},{place + 1},"{days[place].strftime(form)}"' for place in places]
    names = [f'"{days[place].strftime(form)}",{place + 1}' for place in places]
    text = "\n".join(["point,value,date", *cells] if beside else ["point,value", *names])
    found = read(written(tmp_path_factory.mktemp("any"), text + "\n"))
    assert [row.value for row in found.rows] == list(range(1, 13))


@pytest.mark.parametrize("form", ["2026w{}", "run{}-main", "v0.9.1-{}-gabc123{}", "Jan {}", "#{}"])
def test_names_with_a_number_inside_are_put_right(form: str, tmp_path: Path) -> None:
    """Whatever stands around it; two steps had been seen where text had sorted the builds of one."""
    names = [form.format(number, number % 10) for number in range(1, 25)]
    for turned in (sorted(names), names[::-1]):
        if form == "Jan {}" and turned == sorted(names):
            continue
        found = read(written(tmp_path, "point,value\n" + "".join(f"{name},1\n" for name in turned)))
        assert [row.point for row in found.rows] == names


@pytest.mark.parametrize(
    ("head", "rest"), [("main", ["0.12.0", "0.11.0", "0.10.0", "0.9.0"]), ("nightly", ["2026-03-03", "2026-03-02", "2026-03-01"])]
)
def test_a_name_among_versions_or_dates_does_not_hide_that_they_fall(head: str, rest: list[str], tmp_path: Path) -> None:
    """A table with main on top is turned round; where those that are known do not fall, the odd one has no place."""
    names = [head, *rest]
    found = read(written(tmp_path, "point,value\n" + "".join(f"{name},1\n" for name in names)))
    assert [row.point for row in found.rows] == names[::-1]
    found = read(written(tmp_path, "point,value\n" + "".join(f"{name},1\n" for name in names[::-1])))
    assert [row.point for row in found.rows] == names[::-1]
    with pytest.raises(BadInput, match=f"{head}' has no place among"):
        read(written(tmp_path, "point,value\n" + "".join(f"{name},1\n" for name in (rest[1], rest[0], head, *rest[2:]))))


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["host", "hostname", "gpu", "node", "driver"]),
    st.sampled_from(["benchmark", "model", "arm", "case"]),
    st.permutations(range(5)),
)
def test_machines_and_benchmarks_of_any_name_never_mix(
    tmp_path_factory: pytest.TempPathFactory, machine: str, series: str, places: list[int]
) -> None:
    """Whichever column says so, wherever it stands; what else there is, is told."""
    head = ["point", "value", machine, series, "note"]
    rows = [[f"b{number}", "1", one, other, "x"] for number in range(4) for one in ("a", "A ", "b") for other in ("p", "q")]
    text = "\n".join(",".join(row[place] for place in places) for row in [head, *rows])
    found = read(written(tmp_path_factory.mktemp("any"), text + "\n"))
    assert {(row.machine, row.metric) for row in found.rows} == {(one, other) for one in "ab" for other in "pq"}
    assert found.notes == (f"{machine} a is also spelt A: taken for one", "columns that were not used: note")


def test_a_date_that_all_lines_share_does_not_hide_their_versions(tmp_path: Path) -> None:
    """Measured on one day, listed newest first: versions are the order."""
    names = ["0.11.0", "0.10.0", "0.9.0"]
    found = read(written(tmp_path, "point,value,date\n" + "".join(f"{name},1,2026-03-01\n" for name in names)))
    assert ([row.point for row in found.rows], found.order) == (names[::-1], "by their versions")


def test_a_version_longer_than_any_number_is_a_name(tmp_path: Path) -> None:
    """Python reads no number of more than 4,300 digits: such a point is a point all the same."""
    path = tmp_path / "long.csv"
    path.write_text("point,value\n" + f"0.{'9' * 5000},1.0\n0.1.0,1.1\n")
    assert len(read(path).rows) == 2
