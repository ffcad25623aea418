"""What trials call on a build: learnt from counts and records, kept by vLLM's files, and asked by scenario."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from perfproof.changes.observed import observed_calls
from perfproof.changes.observed.call_table import CallTable, write_table
from perfproof.changes.observed.observed_calls import START, features_calling, keep_calls, keep_count, keep_records
from perfproof.child.engine.features import FEATURES
from perfproof.model.documents.decode import scenario_of
from perfproof.model.records.counts import Cell, Count, FunctionWork, LeftOut
from tests.analysis.counts.test_count_comparison import phase
from tests.factory import ATTESTATION, DEFINITION, record

SCENARIO = scenario_of(copy.deepcopy(DEFINITION), source="example")
SWAP = "vllm.v1.worker.gpu_input_batch:InputBatch.swap_states"
WORK = FunctionWork(instructions=1, calls=1, inclusive=1, c_calls=0, line=1)


def build(sources: str = ATTESTATION.sources, device: str = "cpu") -> Any:
    return SimpleNamespace(fingerprint=SimpleNamespace(sources=sources, vllm_version="1.0", device=device))


def counted(**functions: tuple[str, ...]) -> Count:
    cells = [
        Cell(
            feature=name.replace("_", " "),
            requests=32,
            phases={"decode": dataclasses.replace(phase({}), functions=dict.fromkeys(names, WORK))},
            outputs=(),
            seconds={},
        )
        for name, names in functions.items()
    ]
    return Count(vllm="1.0", python="3", cells=tuple(cells), left_out=(), refused="")


@pytest.fixture(autouse=True)
def nothing_ships(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The table that ships would answer for what is not known here."""
    monkeypatch.setattr(observed_calls, "SHIPPED", tmp_path / "shipped.json")


def test_counts_tell_which_features_call_a_function(tmp_path: Path) -> None:
    """vLLM's functions alone, without what is defined inside them; certain only once every feature was counted on this very vLLM."""
    keep_count(build(), counted(plain=("vllm.a:f", "json:dumps"), LoRA=("vllm.a:f", "vllm.b:g.<locals>.<genexpr>")), tmp_path)
    assert features_calling(build(), ["vllm.a:f"], tmp_path) == (("plain", "LoRA"), False)
    assert features_calling(build(), ["vllm.b:g"], tmp_path) == (("LoRA",), False)
    assert features_calling(build(), ["json:dumps"], tmp_path) == ((), False)
    assert features_calling(build("another"), ["vllm.a:f"], tmp_path) == ((), False)
    gone = [LeftOut(feature=one.name, requests=None, kind="unknown", why="") for one in FEATURES if one.name not in ("plain", "LoRA")]
    keep_count(build(), dataclasses.replace(counted(), left_out=tuple(gone)), tmp_path)
    assert features_calling(build(), ["vllm.c:h"], tmp_path) == ((), True)


def test_an_engine_s_start_calls_what_any_start_was_seen_to_call_until_it_is_counted(tmp_path: Path) -> None:
    """That is likely, and not certain: other engines' starts were seen, too."""
    keep_calls(build(), {START: frozenset({"vllm.a:made"})}, tmp_path)
    starts = ("start and end", "start and end with a KV connector")
    assert features_calling(build(), ["vllm.a:made"], tmp_path) == (starts, False)
    keep_calls(build(), {f"feature {starts[0]}": frozenset()}, tmp_path)
    assert features_calling(build(), ["vllm.a:made"], tmp_path) == (starts[1:], False)


def test_a_feature_that_failed_is_not_known_to_call_nothing(tmp_path: Path) -> None:
    """Its fault may not come again."""
    gone = tuple(LeftOut(feature=one.name, requests=None, kind="fault", why="") for one in FEATURES)
    keep_count(build(), dataclasses.replace(counted(), left_out=gone), tmp_path)
    assert features_calling(build(), ["vllm.c:h"], tmp_path) == ((), False)


def test_records_tell_what_a_benchmark_calls(tmp_path: Path) -> None:
    """On the same vLLM; records of another one, or without counts, say nothing."""
    assert observed_calls.observed_calls(observed_calls.tables_for(build(), tmp_path), SCENARIO) is None
    seen = record(counts={"": {"functions": {SWAP: [1, 1, 1, 0, 1], "numpy:copyto": [1, 1, 1, 0, 1]}}})
    keep_records(build(), [SCENARIO], [record(), seen], tmp_path)
    found = observed_calls.observed_calls(observed_calls.tables_for(build(), tmp_path), SCENARIO)
    assert found is not None
    assert (found.functions, found.exact) == (frozenset({SWAP}), True)
    assert found.any_of(["vllm.a:f", SWAP]) == (SWAP,)
    keep_records(build("another"), [SCENARIO], [seen], tmp_path)
    assert observed_calls.observed_calls(observed_calls.tables_for(build("another"), tmp_path), SCENARIO) is None
    other = dataclasses.replace(SCENARIO, workload=dataclasses.replace(SCENARIO.workload, parameters={"swaps": 77}))  # type: ignore[call-arg]
    found = observed_calls.observed_calls(observed_calls.tables_for(build(), tmp_path), other)
    assert found is not None
    assert (found.functions, found.exact) == (frozenset({SWAP}), False), "other parameters may call more"


def test_what_ships_stands_in_for_a_vllm_that_nobody_counted(tmp_path: Path) -> None:
    """It is exact for its own release only; what was seen here comes first."""
    calls = {"benchmark swap_states": frozenset({"vllm.a:f"}), "feature plain": frozenset({"vllm.a:g"})}
    write_table(CallTable(version="0.32.0", sources="its own", device="cpu", calls=calls), tmp_path / "shipped.json")
    for sources, device, exact in (("its own", "cpu", True), ("its own", "cuda", False), (ATTESTATION.sources, "cpu", False)):
        tables = observed_calls.tables_for(build(sources, device), tmp_path)
        found = observed_calls.calls_of(tables, ["feature plain"])
        assert found is not None
        assert (found.functions, found.exact) == (frozenset({"vllm.a:g"}), exact)
        rough = observed_calls.observed_calls(observed_calls.tables_for(build(sources, device), tmp_path), SCENARIO)
        assert rough is not None
        assert (rough.functions, rough.exact) == (frozenset({"vllm.a:f"}), False), "with whatever parameters it was measured"
    keep_records(build(), [SCENARIO], [record(counts={"": {"functions": {SWAP: []}}})], tmp_path)
    found = observed_calls.observed_calls(observed_calls.tables_for(build(), tmp_path), SCENARIO)
    assert found is not None
    assert found.functions == {SWAP}


def test_a_damaged_table_is_made_again(tmp_path: Path) -> None:
    """It says nothing, and stops nothing."""
    keep_count(build(), counted(plain=("vllm.a:f",)), tmp_path)
    (file,) = (tmp_path / "observed").glob("*.json")
    file.write_text("{")
    assert features_calling(build(), ["vllm.a:f"], tmp_path) == ((), False)
    keep_count(build(), counted(plain=("vllm.a:f",)), tmp_path)
    assert features_calling(build(), ["vllm.a:f"], tmp_path) == (("plain",), False)
