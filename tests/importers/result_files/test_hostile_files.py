"""Result files that are cut, reordered or hostile: a clear refusal or the right values, and never a wrong number."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfproof.importers.result_files import read, read_side, source
from perfproof.model.base.errors import BadInput
from perfproof.model.records.result_runs import ResultFile
from tests.importers.result_files.test_formats import FILES, SHOWN

NAMES = [row[0] for row in SHOWN]
JSON_NAMES = [name for name in NAMES if name.endswith(".json") and "lines" not in name]
PATIENT = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SERVE = "vllm_serve_first.json"


def values(path: Path) -> list[dict[str, float]]:
    """The values of a file's runs, by metric."""
    return [{value.metric: value.value for value in run.values} for run in read(path).runs]


def outcome(path: Path) -> ResultFile | str:
    """A file, read; or the refusal."""
    try:
        return read(path)
    except BadInput as refusal:
        return str(refusal)


def document() -> dict[str, Any]:
    """A result of `vllm bench serve`."""
    found: dict[str, Any] = json.loads((FILES / SERVE).read_text())
    return found


def written(folder: Path, content: Any) -> Path:
    """A file with this document, or with this text."""
    path = folder / "x.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@PATIENT
@given(name=st.sampled_from(NAMES), share=st.floats(0, 1))
def test_a_file_that_was_cut_off_has_no_other_numbers(name: str, share: float, tmp_path: Path) -> None:
    """It is refused, or holds runs of the whole file alone, value for value."""
    text = (FILES / name).read_text()
    (path := tmp_path / "cut").write_text(text[: int(len(text) * share)])
    whole = values(FILES / name)
    found = outcome(path)
    if isinstance(found, str):
        assert str(path) in found
        return
    for run in values(path):
        assert any(run.items() <= one.items() for one in whole) or name.endswith(".csv")


@PATIENT
@given(name=st.sampled_from(JSON_NAMES), seed=st.integers(0, 2**32))
def test_the_order_of_keys_says_nothing(name: str, seed: int, tmp_path: Path) -> None:
    """A file with its keys in another order, at every depth, has the same values."""

    def shuffled(raw: Any) -> Any:
        if isinstance(raw, list):
            return [shuffled(each) for each in raw]
        if not isinstance(raw, dict):
            return raw
        keys = list(raw)
        random.Random(seed).shuffle(keys)
        return {key: shuffled(raw[key]) for key in keys}

    path = written(tmp_path, shuffled(json.loads((FILES / name).read_text())))
    assert values(path) == values(FILES / name)


@PATIENT
@given(
    key=st.sampled_from(["output_throughput", "request_throughput", "mean_ttft_ms", "median_tpot_ms", "p99_itl_ms", "median_e2el_ms"]),
    bad=st.sampled_from([math.nan, math.inf, -math.inf, -3.1, 1e300, 1e-300, None, [1.0], {"a": 1}, "12", True, 10**400]),
)
def test_a_bad_number_is_named_and_never_compared(key: str, bad: Any, tmp_path: Path) -> None:
    """Left out or refused by its name; every other value stays as it is."""
    path = written(tmp_path, document() | {key: bad})
    metric = key.removesuffix("_ms")
    whole = values(FILES / SERVE)[0]
    found = outcome(path)
    if isinstance(found, str):
        assert key in found or "thousands of digits" in found
        return
    there = {value.metric: value.value for value in found.runs[0].values}
    assert metric not in there
    assert there == {name: value for name, value in whole.items() if name != metric}
    assert bad is None or any(key in each for each in found.runs[0].left_out)


@PATIENT
@given(text=st.text(max_size=300))
def test_any_text_is_refused_in_a_few_lines(text: str, tmp_path: Path) -> None:
    """Whatever it is: with the path, without the text."""
    (path := tmp_path / "any").write_text(text, encoding="utf-8", errors="replace")
    with pytest.raises(BadInput) as refusal:
        read(path)
    assert len(refusal.value.faults) <= 3
    assert str(path) in str(refusal.value)


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@PATIENT
@given(name=st.sampled_from(JSON_NAMES), data=st.data())
def test_any_value_in_any_place_is_read_or_refused(name: str, data: st.DataObject, tmp_path: Path) -> None:
    """A reader never falls over a file: it reads it, or says what is wrong with it."""
    whole = json.loads((FILES / name).read_text())
    place, path = whole, []
    while isinstance(place, dict | list) and place and (not path or data.draw(st.booleans())):
        key = data.draw(st.sampled_from(sorted(place))) if isinstance(place, dict) else data.draw(st.integers(0, len(place) - 1))
        path.append(key)
        place = place[key]
    inner = whole
    for key in path[:-1]:
        inner = inner[key]
    if path:
        inner[path[-1]] = data.draw(JSONS)
    file = written(tmp_path, whole)
    found = outcome(file)
    assert str(file) in found if isinstance(found, str) else all(math.isfinite(value.value) for run in found.runs for value in run.values)


def test_a_key_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    """Readers differ in which of the two they believe."""
    text = (FILES / SERVE).read_text()
    path = written(tmp_path, text[:-1] + ', "output_throughput": 9999.0}')
    with pytest.raises(BadInput, match="the key 'output_throughput' is there twice"):
        read(path)


def test_a_list_for_a_number_is_refused_with_its_field(tmp_path: Path) -> None:
    """All such faults of a file together."""
    path = written(tmp_path, document() | {"output_throughput": [1, 2], "median_ttft_ms": "5"})
    with pytest.raises(BadInput) as refusal:
        read(path)
    assert [fault.partition(": ")[2] for fault in refusal.value.faults] == [
        "output_throughput: expected a number, got a list ([1, 2])",
        "median_ttft_ms: expected a number, got a text (5)",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("{" * 200_000, "cut off or no JSON|nests too deeply"),
        ('{"a":' * 50_000 + "1" + "}" * 50_000, "nests too deeply"),
        ('{"a": ' + "9" * 6000 + "}", "thousands of digits"),
        ('{"model_id": "m"}\n{"model_id": ', ":2: this line is cut off"),
        ("[1, 2, 3]", "no result file that can be read"),
        ("block,arm,value\n1,a,2\n", "no result file that can be read"),
    ],
)
def test_a_file_that_is_none_says_why(content: str, message: str, tmp_path: Path) -> None:
    """In one sentence, and never with the file."""
    with pytest.raises(BadInput, match=message) as refusal:
        read(written(tmp_path, content))
    assert max(map(len, refusal.value.faults)) < 700


def test_a_file_of_bytes_is_refused(tmp_path: Path) -> None:
    """With the place of the first byte that is no text."""
    (path := tmp_path / "x.json").write_bytes(b'{"a": "\xff\xfe"}')
    with pytest.raises(BadInput, match="not a text in UTF-8"):
        read(path)


def test_a_file_beyond_the_largest_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """100 MB, with what to leave out."""
    assert source.LARGEST_FILE == 100_000_000
    monkeypatch.setattr(source, "LARGEST_FILE", 1000)
    with pytest.raises(BadInput, match=r"larger than .*--save-detailed"):
        read(FILES / SERVE)
    sparse = tmp_path / "big.json"
    monkeypatch.undo()
    with open(sparse, "wb") as file:
        file.truncate(source.LARGEST_FILE + 1)
    with pytest.raises(BadInput, match="larger than 100 MB"):
        read(sparse)


def test_a_row_of_a_sweep_that_lost_a_cell_is_refused(tmp_path: Path) -> None:
    """Values under other names would be wrong numbers."""
    head, first, *rest = (FILES / "vllm_sweep/summary.csv").read_text().splitlines()
    (path := tmp_path / "summary.csv").write_text("\n".join([head, first.partition(",")[2], *rest]))
    with pytest.raises(BadInput, match=r"row 1: \d+ cells under \d+ columns"):
        read(path)


def test_a_folder_says_what_it_passes_over(tmp_path: Path) -> None:
    """Files that are no results and runs that failed are named; a folder without a result is refused."""
    (tmp_path / "run=0.json").write_bytes((FILES / SERVE).read_bytes())
    (tmp_path / "run=1.failure.json").write_text(json.dumps({"run_number": 1, "error_type": "RuntimeError", "error": "it broke"}))
    (tmp_path / "settings.json").write_text("{}")
    files, left_out = read_side([tmp_path])
    assert len(files) == 1
    assert [each.rpartition("/")[2] for each in left_out] == [
        "run=1.failure.json: a run that failed (RuntimeError)",
        "settings.json: no result file that can be read",
    ]
    (empty := tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="no result file lies there"):
        read_side([empty])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "Request Latency (ms),",
            "Inter Token Latency (ms),1,1,1,1,1,1,1,1,1,1,1,1,1,1\r\nRequest Latency (ms),",
            "inter_token_latency .*is there twice",
        ),
        ("Request Throughput (requests/sec),25.05", "Request Throughput (requests/sec),25,05", "3 cells under 2 columns"),
        ("Metric,avg,min", "Metric,avg,avg", "cells under 14 columns"),
        ("Request Throughput (requests/sec),25.05", "Request Throughput (requests/sec),fast", "expected a number, got a text"),
    ],
)
def test_a_csv_with_a_row_a_cell_or_a_column_too_many_is_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    """The last of two would win without a word."""
    text = (FILES / "aiperf.csv").read_bytes().decode()
    assert old in text
    (path := tmp_path / "x.csv").write_bytes(text.replace(old, new, 1).encode())
    with pytest.raises(BadInput, match=message):
        read(path)
