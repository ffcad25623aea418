"""Counts in the records of a scenario, judged beside its metrics, and what a policy makes of them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from perfproof import store
from perfproof.analysis.judging.apply_policy import decide
from perfproof.analysis.judging.judge import judge_scenario
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED
from perfproof.model.documents.decode import scenario_of
from perfproof.model.documents.policy_documents import load_policy
from perfproof.model.records.record import Record
from perfproof.model.verdicts.judged import Judged
from perfproof.model.verdicts.policy import DEFAULT_POLICY, Policy
from perfproof.report.base import formatting
from tests.factory import ATTESTATION, DEFINITION, record, run

NOISE = {"foreign": 0.9}


def table(instructions: int, **changed: Any) -> dict[str, Any]:
    """A counted round of one function that makes one C call."""
    return {
        "functions": {"m:f": [instructions, 1, instructions, 1, 3]},
        "c_calls": {"len": 1},
        "operators": {},
        "lines": {},
        "waiting": {},
        "missed": [],
        "odd": [],
        "steps": 1,
        "waves": 2,
        **changed,
    }


def counted(before: int, after: int, definition: Mapping[str, Any] = DEFINITION, **changed: Any) -> list[Record]:
    """Two whole blocks, each arm with a counted round of so many instructions."""
    rounds = {"before": table(before), "after": table(after)}
    return [
        record(definition, block=block, arm=arm, counts={"": rounds[arm]}, **changed) for block in (1, 2) for arm in ("before", "after")
    ]


def of(records: list[Record], metric: str = "python_instructions") -> Judged:
    return next(row for row in judge_scenario("swap_states", records).judged if row.metric == metric)


def primary(margin: float = 0.005) -> dict[str, Any]:
    """The scenario, a count among what decides."""
    return {**DEFINITION, "metrics": {"python_instructions": {"primary": True, "margin": margin}}}


def test_counts_that_no_scenario_names_have_a_verdict_and_make_no_outcome() -> None:
    """They stand beside the times, and a harmless headline stays one."""
    row = of(counted(100, 200))
    assert (row.verdict, row.primary, row.kind, row.margin, row.effect, row.blocks) == ("regressed", False, "count", 0.005, 1.0, 2)
    assert row not in formatting.deciding([row])


def test_a_count_that_its_scenario_names_makes_the_outcome() -> None:
    """A primary count decides like a time, and less of it is no improvement."""
    more, less = of(counted(100, 200, primary())), of(counted(200, 100, primary()))
    assert (formatting.outcome([more]), formatting.outcome([less])) == ("regressed", "less")


def test_the_margin_of_a_count_comes_from_the_scenario() -> None:
    """Half a per cent unless the file says otherwise, and never the margin of times."""
    plain = scenario_of({**DEFINITION, "metrics": {"c_calls": {"primary": True}, "round_time": {}}}, source="test")
    assert {choice.name: choice.margin for choice in plain.metrics} == {"c_calls": 0.005, "round_time": 0.02}
    assert of(counted(100, 109, primary(margin=0.1))).verdict == "equivalent"


def test_a_busy_machine_leaves_counts_whole() -> None:
    """A trial whose times were thrown out has counted what it counted."""
    reason = "90.0 % of the CPU time went to other processes, more than 25.0 %"
    assert of(counted(100, 100, status="invalid", reason=reason, environment={"telemetry": NOISE})).verdict == "identical"


def test_a_candidate_without_counts_is_told() -> None:
    """One arm that counts and one that does not is no pass."""
    records = [one if one.arm == "before" else record(block=one.block, arm="after") for one in counted(100, 100)]
    row = of(records)
    assert (row.verdict, row.reason) == ("untestable", "after counted nothing in 2 trials (the first: block 1)")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"at": {"swaps": 20}}, "rounds of different sizes were counted (as timed, and swaps 20)"),
        ({"counter": 9}, "what counted the trials changed between them"),
    ],
)
def test_rounds_that_are_not_alike_are_not_compared(changed: dict[str, Any], told: str) -> None:
    """Another size, or another counter, is no change of the code."""
    records = [record(block=1, arm="before", counts={"": table(100)}), record(block=1, arm="after", counts={"": table(100, **changed)})]
    row = of(records)
    assert row.verdict == "untestable"
    assert told in row.reason


def test_counts_of_two_pythons_are_not_compared() -> None:
    """An instruction of one Python is none of another."""
    newer = dataclasses.replace(ATTESTATION, python="3.12.1")
    records = [
        record(block=1, arm="before", counts={"": table(100)}),
        record(block=1, arm="after", counts={"": table(100)}, attestation=newer),
    ]
    row = of(records)
    assert (row.verdict, "Python 3.11 and 3.12" in row.reason) == ("untestable", True)


def test_a_smaller_size_is_told_with_the_count() -> None:
    """Whoever reads the number knows of which round it is."""
    small = {"": table(100, at={"swaps": 20, "requests": 16})}
    row = of([record(block=1, arm=arm, counts=small) for arm in ("before", "after")])
    assert row.reason.endswith("; counted at swaps 20, requests 16")


def test_records_without_counts_have_no_line_of_counts() -> None:
    """What was measured before there was a counter reads as it did."""
    rows = judge_scenario("swap_states", run([0.04] * 6, [0.04] * 6)).judged
    assert [row.metric for row in rows] == ["round_time", "bytes_per_swap"]


@pytest.fixture
def policy(tmp_path: Path) -> Any:
    def made(**said: Any) -> Policy:
        path = tmp_path / "policy.yaml"
        path.write_text(json.dumps({"schema": 1, **said}))
        return load_policy(path)

    return made


@pytest.mark.parametrize(
    ("after", "effect", "code"), [(1_000, "report", 0), (1_004, "report", 0), (1_020, "warn", 0), (1_200, "fail", EXIT_REGRESSED)]
)
def test_a_policys_counts_rule_over_what_no_scenario_names(policy: Any, after: int, effect: str, code: int) -> None:
    """More work warns and fails from the policy's fractions on, and has no say below them."""
    found = decide([of(counted(1_000, after))], policy(counts={"warn": 0.005, "fail": 0.1}))
    assert (found.rulings[0].effect, found.rulings[0].code) == (effect, code)


def test_less_work_passes_no_gate_by_itself() -> None:
    """A count that nobody declared primary decides nothing, so that a gate with nothing else has judged nothing."""
    found = decide([of(counted(1_000, 500))], DEFAULT_POLICY)
    assert (found.rulings[0].effect, found.judged, found.stopped) == (
        "report",
        True,
        "nothing to judge: no deciding metric has a verdict",
    )


def test_a_primary_count_fails_against_its_own_margin_where_the_policy_names_none() -> None:
    """What a scenario declares primary decides."""
    assert decide([of(counted(1_000, 1_006, primary()))], DEFAULT_POLICY).exit_code == EXIT_REGRESSED
    assert decide([of(counted(1_000, 1_004, primary()))], DEFAULT_POLICY).exit_code == EXIT_PASS


def test_a_record_keeps_its_counts(tmp_path: Path) -> None:
    """They are read back as they were written; a record without any is written as before there was a counter."""
    kept = counted(100, 200)
    for one in (*kept, record(block=6)):
        store.append(tmp_path, one)
    lines = store.records_file(tmp_path, "swap_states").read_text().splitlines()
    assert list(store.read(tmp_path).records)[:-1] == kept
    assert ["counts" in json.loads(line) for line in lines] == [True] * 4 + [False]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"functions": {"m:f": [1, 2]}}, "counts.functions.m:f: expected 5 numbers"),
        ({"c_calls": {"len": -1}}, "counts.c_calls.len: expected a number that is not negative"),
        ({"odd": "all"}, "counts.odd: expected a list"),
    ],
)
def test_counts_of_another_shape_are_told_by_field(tmp_path: Path, changed: dict[str, Any], told: str) -> None:
    """A record whose counts nobody can read is skipped with the field that is wrong."""
    store.append(tmp_path, record(counts={"": table(1, **changed)}))
    assert told in store.read(tmp_path).warnings[0]
