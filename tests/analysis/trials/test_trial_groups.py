"""Trials stand beside each other only where one machine measured them, each arm on one build; others are judged apart, and told."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof.analysis.judging.apply_policy import decide
from perfproof.analysis.judging.judge import judge_records
from perfproof.analysis.trials.trial_groups import grouped, kept_apart, parted
from perfproof.model.base.errors import EXIT_UNTESTABLE
from perfproof.model.records.record import Record
from perfproof.model.scenarios.group_names import own_name
from perfproof.model.verdicts.judged import Judged
from perfproof.model.verdicts.policy import DEFAULT_POLICY
from tests.factory import ATTESTATION, DEFINITION, record, run

HERE: dict[str, Any] = {"host": "aaaa", "processor": "EPYC 9654", "cores": 4, "gpus": [{"name": "NVIDIA H200", "driver": "570.1"}]}
OTHERS: dict[str, dict[str, Any]] = {
    "host": HERE | {"host": "bbbb"},
    "processor": HERE | {"processor": "Xeon 8480"},
    "cores": HERE | {"cores": 8},
    "GPU": HERE | {"gpus": [{"name": "NVIDIA H100", "driver": "570.1"}]},
    "number of GPUs": HERE | {"gpus": HERE["gpus"] * 2},
    "no GPU": HERE | {"gpus": []},
    "driver": HERE | {"gpus": [{"name": "NVIDIA H200", "driver": "580.9"}]},
}
BUILDS: dict[str, Callable[[Record], Record]] = {
    "sources": lambda one: attested(one, sources="ffff"),
    "version": lambda one: attested(one, vllm_version="0.33.0"),
    "PyTorch": lambda one: attested(one, torch_version="2.14.0"),
    "Python": lambda one: attested(one, python="3.12.1"),
    "operators": lambda one: attested(one, compiled_operators=False),
    "package": lambda one: dataclasses.replace(one, environment={**one.environment, "packages": {"numpy": "9"}}),
    "lock": lambda one: dataclasses.replace(one, environment={**one.environment, "lock": "ffff"}),
}


def attested(one: Record, **changes: Any) -> Record:
    return dataclasses.replace(one, attestation=dataclasses.replace(ATTESTATION, **changes))


def trials(change: float = 2.0, blocks: int = 6, **definition: Any) -> list[Record]:
    """A run on one machine whose candidate takes so many times the baseline's time."""
    source = random.Random(1)
    before, after = ([mean * source.gauss(1, 0.004) for _ in range(blocks)] for mean in (0.04, 0.04 * change))
    surroundings = HERE | {"packages": {"numpy": "2"}, "lock": "aaaa"}
    asked = copy.deepcopy(DEFINITION) | definition
    return [dataclasses.replace(one, environment=surroundings) for one in run(before, after, definition=asked)]


def on(machine: dict[str, Any], one: Record) -> Record:
    return dataclasses.replace(one, environment={**one.environment, **machine})


def rows(records: list[Record], metric: str = "round_time") -> list[Judged]:
    return [row for one in judge_records(records) for row in one.judged if row.metric == metric]


@pytest.mark.parametrize("what", OTHERS)
def test_arms_on_two_machines_are_no_pair(what: str) -> None:
    """Whatever tells two machines apart, times measured one arm on each are not comparable; counts of work are, and say so."""
    records = [on(OTHERS[what], one) if one.arm == "after" else one for one in trials()]
    [row] = rows(records)
    assert row.verdict == "untestable"
    assert "not comparable, the arms were not measured on one machine" in row.reason
    assert decide([row], DEFAULT_POLICY).exit_code == EXIT_UNTESTABLE
    assert [one.verdict for one in rows(records, "bytes_per_swap")] == ["equivalent"]


@pytest.mark.parametrize("what", OTHERS)
def test_one_trial_on_another_machine_spoils_the_times_of_its_scenario(what: str) -> None:
    """One record among twelve that comes from another machine is enough, and its block is named."""
    records = [on(OTHERS[what], one) if (one.block, one.arm) == (3, "after") else one for one in trials()]
    [row] = rows(records)
    assert (row.verdict, "block 3" in row.reason) == ("untestable", True)


@pytest.mark.parametrize("what", OTHERS)
@pytest.mark.parametrize("at", [1, 3, 5])
def test_blocks_of_another_machine_are_judged_by_themselves(what: str, at: int) -> None:
    """Blocks from some block on that another machine measured make a group: neither group counts the other's, and each is told."""
    records = [on(OTHERS[what], one) if one.block > at else one for one in trials()]
    found = rows(records)
    assert [row.blocks for row in found] == [at, 6 - at]
    assert [row.scenario for row in found] == ["swap_states [1 of 2]", "swap_states [2 of 2]"]
    assert all(row.verdict == "inconclusive" for row in found)
    assert all("judged apart" in warning for row in found for warning in row.warnings[-1:])


@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize("arm", ["before", "after"])
def test_a_build_that_changed_parts_the_blocks(name: str, arm: str) -> None:
    """An arm whose build is another one from block 4 on makes two groups of three blocks, whichever arm it is."""
    records = [BUILDS[name](one) if one.block > 3 and one.arm == arm else one for one in trials()]
    assert [row.blocks for row in rows(records)] == [3, 3]


@pytest.mark.parametrize("name", BUILDS)
def test_one_trial_of_another_build_takes_its_block_away(name: str) -> None:
    """One record whose build differs leaves five blocks that count together, and one by itself."""
    records = [BUILDS[name](one) if (one.block, one.arm) == (3, "after") else one for one in trials()]
    assert sorted(row.blocks for row in rows(records)) == [1, 5]


def test_two_whole_runs_in_one_file_are_two_verdicts() -> None:
    """A run on another machine with the same blocks replaces none of the first one's: each decides for itself."""
    slower, faster = trials(2.0), [on(OTHERS["processor"], one) for one in trials(0.5)]
    assert [(row.blocks, row.verdict) for row in rows([*slower, *faster])] == [(6, "regressed"), (6, "improved")]


def test_a_half_block_that_another_machine_measured_whole_is_no_pair_with_it() -> None:
    """What one machine left of a block when its run ended stays pending there; the block of the other machine counts there."""
    here, there = trials(), [on(OTHERS["host"], one) for one in trials()]
    for cut in (5, 6, 7):
        assert [row.blocks for row in rows([*here[:cut], *there])] == [cut // 2, 6]


def test_a_failed_trial_stays_with_its_own_block() -> None:
    """A trial that failed because another vLLM answered is the failure of its own group, and is not put aside as another build."""
    records = trials()
    records[7] = dataclasses.replace(BUILDS["version"](records[7]), status="unattested", reason="vLLM 0.33.0, not 0.32.0")
    [row] = rows(records)
    assert (row.verdict, "0.33.0" in row.reason) == ("untestable", True)


@settings(deadline=None)
@given(st.lists(st.sampled_from(sorted({*HERE, "packages", "lock"})), unique=True), st.sets(st.integers(0, 11)))
def test_what_a_record_does_not_say_parts_nothing(unsaid: list[str], where: set[int]) -> None:
    """Older records lack some of what newer ones say: unknown is not different, whichever records lack whatever."""
    records = trials()
    for place in where:
        kept = {key: value for key, value in records[place].environment.items() if key not in unsaid}
        records[place] = dataclasses.replace(records[place], environment=kept)
    assert len(grouped(records)) == 1
    assert kept_apart(records) == records


@settings(deadline=None)
@given(st.lists(st.sampled_from([HERE, *OTHERS.values()]), min_size=12, max_size=12))
def test_no_pair_is_ever_of_two_machines(machines: list[dict[str, Any]]) -> None:
    """However the trials of a run are scattered over machines, every group holds one machine's pairs or calls them parted, and none is
    lost."""
    records = [on(machine, one) for machine, one in zip(machines, trials(), strict=True)]
    groups = grouped(records)
    assert sorted(one.trial for group in groups for one in group) == sorted(one.trial for one in records)
    for group in groups:
        whole: dict[int, list[Record]] = {}
        for one in group:
            whole.setdefault(one.block, []).append(one)
        torn = parted(group)
        sound = [{str(one.environment[key]) for key in HERE} for mine in whole.values() for one in mine if one.block not in torn]
        assert all(one == other for one, other in itertools.pairwise(sound))


def test_answers_of_two_machines_are_not_compared() -> None:
    """Where the metric is answers, which another processor may give differently, the trials of a torn block do not count at all."""
    definition = copy.deepcopy(DEFINITION)
    definition["workload"] = {"kind": "equality"}
    torn = [record(definition, arm="before", environment=HERE), record(definition, arm="after", environment=OTHERS["GPU"])]
    assert [one.status for one in kept_apart(torn)] == ["invalid", "invalid"]


def test_a_policy_knows_a_group_by_its_scenario() -> None:
    """What a policy says of a scenario holds for every group of its records."""
    policy = dataclasses.replace(DEFAULT_POLICY, scenarios=("swap_*s",))
    assert policy.asks("swap_states [2 of 2]", "round_time", primary=True).decides
    assert own_name("swap_states [2 of 13]") == "swap_states"
    assert own_name("swap_states") == "swap_states"


@pytest.mark.parametrize(
    ("name", "here", "there"),
    [
        ("kernel", "6.18.44", "5.15.0"),
        ("device", "cpu", "cuda"),
        ("cores_of_machine", 64, 128),
        ("memory_bytes", 64 * 2**30, 32 * 2**30),
    ],
)
def test_arms_of_one_block_share_what_nobody_changes_between_two_trials(name: str, here: Any, there: Any) -> None:
    """A record that names no host betrays another machine by its kernel, memory or cores; between blocks these may change."""
    torn = [on({name: there if one.arm == "after" else here}, one) for one in trials()]
    [row] = rows(torn)
    assert (row.verdict, "not measured on one machine" in row.reason) == ("untestable", True)
    assert [one.verdict for one in rows(torn, "bytes_per_swap")] == ["equivalent"]
    later = [on({name: there if one.block > 3 else here}, one) for one in trials()]
    assert [row.verdict for row in rows(later)] == ["regressed"]


@pytest.mark.parametrize("block", [1, 3, 6])
@pytest.mark.parametrize("elsewhere", ["before", "after"])
def test_a_torn_block_that_was_measured_again_leaves_nothing_behind(block: int, elsewhere: str) -> None:
    """The whole block that came later counts; the torn one is no group of its own."""
    records = [on(OTHERS["host"], one) if (one.block, one.arm) == (block, elsewhere) else one for one in trials()]
    again = [one for one in trials() if one.block == block]
    assert [(row.scenario, row.blocks, row.verdict) for row in rows([*records, *again])] == [("swap_states", 6, "regressed")]


@pytest.mark.parametrize(
    ("telemetry", "times", "counts"),
    [
        ({"foreign": 0.9}, "untestable", "equivalent"),
        ({"steal": 0.4}, "untestable", "equivalent"),
        ({"failed_requests": 2}, "untestable", "untestable"),
        ({"missing_requests": 1, "foreign": 0.9}, "untestable", "untestable"),
        ({"foreign": 0.01, "steal": None}, "regressed", "equivalent"),
    ],
)
def test_a_trial_that_its_own_telemetry_belies_does_not_count(telemetry: dict[str, Any], times: str, counts: str) -> None:
    """*ok* beside telemetry that breaks the rules which the record names is no ok: as busy, or without its requests, it is thrown out."""
    rules = {"steal": 0.25, "foreign": 0.25, "swapped": 64 * 2**20}
    records = [on({"telemetry": telemetry, "rules": rules} if one.arm == "after" else {}, one) for one in trials()]
    assert [row.verdict for row in rows(records)] == [times]
    assert [row.verdict for row in rows(records, "bytes_per_swap")] == [counts]


@pytest.mark.parametrize(("mebibytes", "verdict"), [(0, "regressed"), (100, "regressed"), (-1000, "regressed"), (8192, "untestable")])
def test_a_little_less_memory_is_the_same_machine(mebibytes: int, verdict: str) -> None:
    """A balloon of the hypervisor's parts no pair, half of the memory does."""
    sizes = {"before": 16 * 2**30, "after": 16 * 2**30 + mebibytes * 2**20}
    assert [row.verdict for row in rows([on({"memory_bytes": sizes[one.arm]}, one) for one in trials()])] == [verdict]


@pytest.mark.parametrize("by", [1, 3, 5])
@pytest.mark.parametrize("arm", ["before", "after"])
def test_pairs_that_were_shifted_are_none(by: int, arm: str) -> None:
    """The arms of a block were planned in one order: a trial whose record has another belongs to another block."""
    shifted = [dataclasses.replace(one, block=(one.block + by - 1) % 6 + 1) if one.arm == arm else one for one in trials()]
    [row] = rows(shifted)
    assert (row.verdict, "the arms are not those of one block" in row.reason) == ("untestable", True)
    assert [one.verdict for one in rows(shifted, "bytes_per_swap")] == ["equivalent"]


@pytest.mark.parametrize(("hours", "whole"), [(-24, False), (0, True), (0.9, True), (1.1, False), (24 * 365, False)])
def test_a_block_that_was_broken_off_is_no_pair_hours_later(hours: float, whole: bool) -> None:
    """A machine is another an hour later: times of a block with more between two of its trials are not comparable, its counts are."""
    first, *rest = trials()
    moved = dataclasses.replace(first, started=(datetime.fromisoformat(first.started) - timedelta(hours=hours)).isoformat())
    times, counts = (rows([moved, *rest], metric)[0] for metric in ("round_time", "bytes_per_swap"))
    assert (times.blocks, counts.blocks) == (6 if whole else 5, 6)
    assert whole or ["the block was broken off" in warning for warning in times.warnings] == [True]


FACTS = sorted({*HERE, "kernel", "device", "cores_of_machine", "memory_bytes"})


@settings(deadline=None)
@given(st.sampled_from(FACTS), st.integers(0, 11), st.one_of(st.text(min_size=1, max_size=6), st.integers(1, 2**40)))
def test_a_machine_that_changed_in_one_record_never_passes_for_the_others(name: str, at: int, value: Any) -> None:
    """One fact of one record's surroundings, whatever it becomes: it is as before, or no time of that block is a pair."""
    records = [on({"kernel": "6", "device": "cpu", "cores_of_machine": 4, "memory_bytes": 2**34}, one) for one in trials()]
    was = records[at].environment[name]
    value = [{"name": str(value)}] if name == "gpus" else value if name in ("cores", "cores_of_machine", "memory_bytes") else str(value)
    if name in ("cores", "cores_of_machine", "memory_bytes") and not isinstance(value, int):
        return
    records[at] = on({name: value}, records[at])
    same = value == was or (name == "memory_bytes" and max(value, was) <= 1.1 * min(value, was))
    found = {str(row.verdict) for row in rows(records)}
    assert found == {"regressed"} if same else "untestable" in found and found <= {"untestable", "inconclusive"}
