"""A block that ran as a job counts once, whatever was killed, requeued or run twice."""

from __future__ import annotations

import dataclasses
import random

import pytest

from perfproof.analysis.judging.judge import judge_records
from perfproof.analysis.trials.spread_blocks import counted_once, host_of
from perfproof.analysis.trials.trial_groups import kept_apart
from perfproof.model.records.record import Record
from tests.jobs.spread import HOSTS, attempt, definition, plan

A, B, C = HOSTS


def counted(records: list[Record]) -> list[tuple[int, str, str]]:
    return [(one.block, one.arm, host_of(one)) for one in counted_once(records)]


def test_the_first_whole_attempt_counts() -> None:
    """Of two hosts that measured the same block the earlier one counts, and the block has a warning."""
    records = attempt(1, B, at=50) + attempt(1, A, at=10)
    assert counted(records) == [(1, "before", A), (1, "after", A)]
    assert "block 1 was measured 2 times" in counted_once(records)[0].warnings[-1]


def test_a_job_that_was_killed_between_two_arms_is_no_pair_with_another_host() -> None:
    """Half a block of a killed job counts for nothing once another host has it whole; alone it stays what it is."""
    half, whole = attempt(1, A, at=10)[:1], attempt(1, B, at=50)
    assert counted(half + whole) == [(1, "before", B), (1, "after", B)]
    assert counted(half) == [(1, "before", A)]


def test_a_job_that_goes_on_on_its_host_is_one_attempt() -> None:
    """The same host completes its half: one attempt, no warning."""
    first, second = attempt(1, A, at=10)
    later = dataclasses.replace(second, started="2026-01-02T00:00:00+00:00")
    assert counted([first, later]) == [(1, "before", A), (1, "after", A)]
    assert counted_once([first, later])[0].warnings == []


def test_an_invalid_attempt_gives_way_to_a_later_one() -> None:
    """A rule threw the first one out; the second counts, on the same host or another."""
    spoilt = [dataclasses.replace(one, status="invalid", reason="busy") for one in attempt(1, A, at=10)]
    for host in (A, B):
        assert counted(spoilt + attempt(1, host, at=50)) == [(1, "before", host), (1, "after", host)]


def test_running_a_job_again_hides_no_crash() -> None:
    """A trial that failed stays failed, though the block is whole elsewhere: the verdict is untestable."""
    failed = [dataclasses.replace(one, status="failed", reason="it crashed") if one.arm == "after" else one for one in attempt(1, A, at=10)]
    records = failed + attempt(1, B, at=500) + [one for one in plan(6) if one.block > 1]
    assert [(one.block, one.status) for one in counted_once(records) if one.status != "ok"] == [(1, "failed")]
    [row] = [row for one in judge_records(records) for row in one.judged if row.metric == "round_time"]
    assert row.verdict == "untestable"


@pytest.mark.parametrize("hosts", [1, 2, 3])
def test_the_hosts_of_one_plan_are_judged_together(hosts: int) -> None:
    """A plan's blocks on several hosts are one scenario under its own name, in whatever order they are read; judging twice changes
    nothing."""
    records = plan(6, HOSTS[:hosts], change=1.05)
    [one] = judge_records(random.Random(3).sample(records, len(records)))
    assert (one.scenario.name, one.judged[0].verdict, one.judged[0].blocks) == ("swap_states", "regressed", 6)
    assert kept_apart(kept_apart(records)) == kept_apart(records)


def test_the_verdict_of_jobs_is_that_of_a_run_on_one_host() -> None:
    """The same values, spread over two hosts: the same effect and verdict as from one."""
    alone = [dataclasses.replace(one, environment={**one.environment, "host": A}) for one in plan(10, change=1.03)]
    for records in (alone, plan(10, change=1.03)):
        [one] = judge_records(records)
        assert (one.judged[0].verdict, one.judged[0].blocks) == ("regressed", 10)
    effects = {one.judged[0].effect for records in (alone, plan(10, change=1.03)) for one in judge_records(records)}
    assert len(effects) == 1


def test_hosts_that_measured_plans_of_their_own_are_judged_apart_and_together() -> None:
    """Each host has its verdict, and all of them one more."""
    asked = definition(6)
    own = [
        one for host in (A, B) for block in range(1, 7) for one in attempt(block, host, at=block, asked=asked, spread=False, change=1.05)
    ]
    found = {one.scenario.name: (one.judged[0].verdict, one.judged[0].blocks) for one in judge_records(own)}
    assert found == {
        "swap_states [1 of 2]": ("regressed", 6),
        "swap_states [2 of 2]": ("regressed", 6),
        "swap_states [2 hosts]": ("regressed", 12),
    }
    assert [one.scenario.name for one in judge_records(kept_apart(own))] == list(found)


def test_another_gpu_or_build_is_never_joined() -> None:
    """Jobs that landed on another kind of GPU make a group of their own."""
    odd = [
        dataclasses.replace(one, environment={**one.environment, "gpus": [{"name": "NVIDIA H100"}]}) for one in plan(12) if one.block > 6
    ]
    found = judge_records([one for one in plan(12) if one.block <= 6] + odd)
    assert [one.scenario.name for one in found] == ["swap_states [1 of 2]", "swap_states [2 of 2]"]
