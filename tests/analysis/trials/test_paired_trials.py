"""Which trials of a block count: those of the last time that it was measured, and what failed for good."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.analysis.judging.judge import judge_records
from perfproof.analysis.trials.invalidation import ONLY_COUNTED, STANDARD, invalid
from perfproof.analysis.trials.paired_trials import attempts, counts, latest, paired, unequal_blocks, whole_blocks
from perfproof.model.documents.decode import scenario_of
from perfproof.model.records.record import Record, Status
from perfproof.model.verdicts.judged import Outcome
from perfproof.run.checks.resume import standing
from tests.factory import ATTESTATION, DEFINITION, record, run


def _told(said: str) -> list[Record]:
    """Trials of one block in the order of their ends: "a- b+" is arm a, thrown out, and arm b, fine; "a!" failed."""
    statuses: dict[str, Status] = {"+": "ok", "-": "invalid", "!": "failed"}
    return [record(arm=one[0], status=statuses[one[1]], started=str(place)) for place, one in enumerate(said.split())]


@pytest.mark.parametrize(
    ("ran", "count"),
    [
        ("a+ b+", "a0 b1"),
        ("a- b+ a+ b+", "a2 b3"),
        ("a- b+ a+", "a2"),
        ("a- a+ b+", "a1 b2"),
        ("a+ b- b+ a+", "b2 a3"),
        ("a- b- a- b+ a+ b+", "a4 b5"),
        ("a! b- a+ b+", "a0 b3"),
        ("a+", "a0"),
        ("", ""),
    ],
)
def test_the_trials_that_count_are_of_one_time(ran: str, count: str) -> None:
    """No trial of an earlier time stands beside one of a later; what failed for good stays failed, however often it is measured."""
    assert " ".join(f"{one.arm}{one.started}" for one in latest(_told(ran))) == count


def test_a_new_attempt_of_a_block_begins_with_the_first_arm_that_is_measured_again() -> None:
    """Each record is told with how often its block had been measured before; blocks are counted by themselves."""
    records = [*_told("a- b+ a+ b+"), record(block=2, arm="a"), record(block=2, arm="b")]
    assert [number for _, number in attempts(records)] == [0, 0, 1, 1, 0, 0]


# --- what a busy machine spoils ---------------------------------------------------------------------------------


def busy(telemetry: dict[str, float], **more: Any) -> Record:
    """A trial as the rules of invalidation leave it."""
    environment = {"telemetry": telemetry, "rules": dataclasses.asdict(STANDARD)}
    why = invalid(telemetry)
    return record(status="invalid" if why else "ok", reason=why, environment=environment, **more)


@given(
    st.dictionaries(st.sampled_from(["steal", "foreign"]), st.floats(0, 1)),
    st.dictionaries(st.sampled_from(["throttled", "foreign_gpu", "swapped"]), st.integers(0, 2**40)),
    st.dictionaries(st.sampled_from(["failed_requests", "missing_requests"]), st.integers(0, 3)),
)
def test_counts_hold_whatever_the_neighbours_did_and_never_where_work_was_left_undone(
    shares: dict[str, float], others: dict[str, float], requests: dict[str, float]
) -> None:
    """Steal, other processes, swapping and throttling spoil times alone; a request that failed spoils the counts too."""
    assert counts(busy({**shares, **others, **requests})) is not any(requests.values())


@pytest.mark.parametrize(
    "trial",
    [
        record(status="invalid", reason="interrupted: killed by signal 9", environment={"telemetry": {"foreign": 0.9}}),
        record(status="invalid", reason="", environment={}),
        record(status="failed", reason=invalid({"foreign": 0.9}), environment={"telemetry": {"foreign": 0.9}}),
        record(status="unattested", reason="no process attested", environment={}),
        record(status="invalid", reason=invalid({"foreign": 0.9}) + "; 1 x failed request", environment={"telemetry": {"foreign": 0.9}}),
    ],
)
def test_what_was_thrown_out_for_anything_else_counts_nothing(trial: Record) -> None:
    """An interruption, a crash, a trial without proof, a reason that the telemetry does not bear out."""
    assert not counts(trial)


def test_what_was_only_counted_stands_until_it_is_timed() -> None:
    """Its counts hold, and it is no attempt of its block: a timed trial replaces that of its own arm alone. No time is paired with it, and
    a run that goes on has it still to measure."""
    counted = [record(arm=arm, status="invalid", reason=ONLY_COUNTED, work={}) for arm in ("before", "after")]
    timed = record(arm="before", work={"swaps": 1})
    assert all(map(counts, counted))
    assert latest([*counted, timed]) == [timed, counted[1]]
    assert [number for _, number in attempts([*counted, timed])] == [0, 0, 0]
    assert standing([*counted, timed]) == [timed]
    assert not unequal_blocks([timed, counted[1]], counts)
    made = scenario_of(DEFINITION, source="example")
    assert paired(made, made.candidates[0], counted)["round_time"].lost == ()


def restless(candidate: float, work: int = 1000) -> list[Record]:
    """Six blocks of which each has a trial that a neighbour spoilt, in turn of either arm."""
    made = []
    for block in range(1, 7):
        for place, arm in enumerate(("before", "after")):
            telemetry = {"foreign": 0.9} if block % 2 == place else {}
            value, done = (1024.0, 1000) if arm == "before" else (candidate, work)
            made.append(busy(telemetry, block=block, arm=arm, position=place, witnesses={"bytes_per_swap": value}, work={"swaps": done}))
    return made


@pytest.mark.parametrize(("candidate", "outcome"), [(1025, "regressed"), (1024, "equivalent"), (1000, "improved")])
def test_exact_counts_decide_where_every_block_lost_its_times(candidate: float, outcome: str) -> None:
    """The count has its verdict of all blocks, the time is untestable."""
    (found,) = judge_records(restless(candidate))
    verdicts = {row.metric: (row.verdict, row.blocks) for row in found.judged}
    assert verdicts["bytes_per_swap"] == (Outcome(outcome), 6)
    assert verdicts["round_time"][0] is Outcome.UNTESTABLE
    scenario = scenario_of(copy.deepcopy(DEFINITION), source="example")
    assert (whole_blocks(restless(candidate), scenario), whole_blocks(restless(candidate), scenario, exact=True)) == (0, 6)


def test_unequal_work_is_told_of_counts_too_where_the_times_are_spoilt() -> None:
    """Who did less has counted less: no verdict."""
    (found,) = judge_records(restless(512, work=500))
    (row,) = (row for row in found.judged if row.metric == "bytes_per_swap")
    assert row.verdict is Outcome.UNTESTABLE
    assert "did different work" in row.reason


@pytest.mark.parametrize(("python", "outcome"), [("3.11.7", Outcome.REGRESSED), ("3.12.4", Outcome.UNTESTABLE)])
def test_rounds_over_a_loop_are_not_compared_between_pythons(python: str, outcome: Outcome) -> None:
    """The loop has another speed in each; the rounds' own time is compared all the same."""
    definition = {**DEFINITION, "metrics": {"round_time": {"primary": True}, "normalized_round_time": {"primary": True}}}
    _, after = list(definition["arms"])
    records = [
        dataclasses.replace(
            trial,
            measurements={**trial.measurements, "normalized_round_time": 1e3 * trial.measurements["round_time"]},
            attestation=dataclasses.replace(ATTESTATION, python=python if trial.arm == after else ATTESTATION.python),
        )
        for trial in run([1.0, 1.01, 0.99, 1.0, 1.01, 0.99], [2.0, 2.02, 1.98, 2.0, 2.02, 1.99], definition=definition)
    ]
    (found,) = judge_records(records)
    verdicts = {row.metric: row.verdict for row in found.judged}
    assert verdicts == {"round_time": Outcome.REGRESSED, "normalized_round_time": outcome}
