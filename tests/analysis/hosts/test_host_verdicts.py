"""The host as a factor: verdicts over hosts, whether hosts differ, and which hosts count."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest

from perfproof.analysis.hosts.host_effects import host_effects, host_means
from perfproof.analysis.hosts.host_verdicts import Hosts, judge_over_hosts
from perfproof.analysis.judging.judge import judge_records
from perfproof.analysis.stats.alpha_spending import one_look, sequential
from perfproof.analysis.stats.samples import PairedSample, pair_arrays
from perfproof.analysis.verdicts.verdict import Verdict, judge
from perfproof.model.documents.decode import scenario_of
from perfproof.model.records.record import Record
from perfproof.model.verdicts.judged import Judged
from perfproof.model.verdicts.noise_floor import machine_fingerprint, workload_digest
from tests.jobs.spread import HOSTS, attempt, definition, machine, plan
from tests.jobs.test_merge_folders import floor


def sample_of(x: np.ndarray) -> PairedSample:
    """Blocks in which the candidate takes exp(x) times the baseline's time."""
    return pair_arrays(np.ones(x.size), np.exp(x), metric="round_time", unit="s")


def of_block(hosts: int, blocks: int) -> dict[int, str]:
    return {block: f"host{(block - 1) % hosts:08d}" for block in range(1, blocks + 1)}


def over(x: np.ndarray, hosts: int, margin: float = 0.02) -> Verdict:
    return judge_over_hosts(
        sample_of(x),
        one_look(x.size),
        Hosts(of_block=of_block(hosts, x.size), left_out={}),
        margin=margin,
        widening=1.0,
        final=True,
        minutes_per_block=None,
        planned=False,
    ).verdict


def drawn(
    source: np.random.Generator, hosts: int, each: int, *, mean: float = 0.0, between: float = 0.0, within: float = 0.004
) -> np.ndarray:
    """x of `hosts` hosts in turn, `each` block of a host with its own deviation."""
    of_host = mean + between * source.standard_normal(hosts)
    return (of_host + within * source.standard_normal((each, hosts))).ravel()


def test_the_test_of_interaction_is_the_analysis_of_variance() -> None:
    """The p of no difference between hosts is scipy's one-way F test."""
    from scipy.stats import f_oneway

    x = drawn(np.random.default_rng(1), 5, 4, between=0.003)
    found = host_effects(sample_of(x), of_block(5, x.size))
    assert found.p == pytest.approx(float(f_oneway(*x.reshape(4, 5).T).pvalue))
    assert [one.blocks for one in found.hosts] == [4] * 5
    assert [one.mean for one in found.hosts] == pytest.approx(x.reshape(4, 5).mean(axis=0).tolist())


def test_a_host_counts_as_one_value_however_many_blocks_it_has() -> None:
    """The mean of x of a host is the x of its typical values."""
    x = drawn(np.random.default_rng(2), 7, 3)
    means = host_means(sample_of(x), of_block(7, x.size))
    assert means.n == 7
    assert means.x == pytest.approx(x.reshape(3, 7).mean(axis=0))


def test_from_six_hosts_on_false_alarms_hold_where_hosts_differ_by_chance() -> None:
    """With a random host as large as the noise, 24 blocks of 8 hosts are called worse or better less often than 3 % of 400 times, though
    no block was planned for it; a pooled verdict on blocks is wrong far more often."""
    source = np.random.default_rng(3)
    wrong = pooled = 0
    for _ in range(400):
        x = drawn(source, 8, 12, between=0.03, within=0.004)
        wrong += over(x, 8, margin=0.001).outcome.value in ("regressed", "improved")
        pooled += judge(sample_of(x), one_look(x.size), margin=0.001).outcome.value in ("regressed", "improved")
    assert wrong <= 12
    assert pooled > 100


def test_words_say_what_was_counted() -> None:
    """A verdict over eight hosts speaks of hosts; one over two of blocks."""
    source = np.random.default_rng(4)
    many, few = over(drawn(source, 8, 3, mean=0.05), 8), over(drawn(source, 2, 6, mean=0.05), 2)
    assert (many.outcome, few.outcome) == ("regressed", "regressed")
    assert "after 8 hosts" in many.reason
    assert "after 12 blocks" in few.reason
    assert any("the hosts do not differ detectably" in warning for warning in few.warnings)


def test_the_average_of_hosts_that_differ_is_not_equivalent() -> None:
    """One host 4 % faster, one 4 % slower: the average is nothing, and the verdict says to judge them apart."""
    x = np.tile([0.04, -0.04], 200) + 0.002 * np.random.default_rng(5).standard_normal(400)
    assert judge(sample_of(x), one_look(x.size)).outcome == "equivalent"
    found = over(x, 2)
    assert found.outcome == "inconclusive"
    assert "the hosts differ" in found.reason


def test_a_look_that_decided_stays_decided() -> None:
    """Blocks beyond the look that decided change nothing: jobs may all be started at once."""
    source = np.random.default_rng(6)
    x = np.concatenate([drawn(source, 6, 2, mean=0.05), drawn(source, 6, 2, mean=0.0)])
    hosts = Hosts(of_block=of_block(6, 24), left_out={})
    options = {"margin": 0.02, "widening": 1.0, "final": True, "minutes_per_block": None, "planned": True}
    whole = judge_over_hosts(sample_of(x), sequential(1), hosts, **options)  # type: ignore[arg-type]
    first = judge_over_hosts(sample_of(x[:10]), sequential(1), hosts, **options)  # type: ignore[arg-type]
    assert whole.verdict.outcome == first.verdict.outcome == "regressed"
    assert (whole.blocks, first.blocks) == (6, 6)


def row(records: list[Record], floors: list[object] | None = None) -> Judged:
    [one] = judge_records(records, floors=floors or [])  # type: ignore[arg-type]
    return one.judged[0]


def test_a_row_over_many_hosts_says_its_blocks_and_its_values() -> None:
    """Its blocks are those that were measured, and the ratio of its values is its effect."""
    hosts = [f"{number:012x}" for number in range(1, 9)]
    found = row(plan(24, hosts, change=1.03))
    assert (found.verdict, found.blocks) == ("regressed", 24)
    assert found.baseline_value is not None
    assert found.candidate_value is not None
    assert found.effect == pytest.approx(found.candidate_value / found.baseline_value - 1)


def floors_of(records: list[Record], **changes: dict[str, object]) -> list[object]:
    """An A/A of every host of these records; `changes` by host."""
    digest = workload_digest(scenario_of(records[0].definition, source="records").definition, "")
    return [
        floor(host, machine=machine_fingerprint(machine(host)), workload=digest, **changes.get(host, {}))  # type: ignore[arg-type]
        for host in HOSTS
    ]


def test_a_host_whose_aa_failed_is_left_out_and_told() -> None:
    """Its blocks count for nothing, whatever they show; the others decide. If all failed, nothing is judged."""
    slow = [one for block in range(1, 5) for one in attempt(block, HOSTS[2], at=block, asked=definition(24), change=1.5)]
    records = slow + [one for one in plan(24, HOSTS[:2]) if one.block > 4]
    bad = {"passed": False, "reason": "the baseline differs from itself"}
    found = row(records, floors_of(records, **{HOSTS[2]: bad}))
    assert (found.verdict, found.blocks) == ("equivalent", 20)
    assert any(f"host {HOSTS[2][:6]} is left out" in warning for warning in found.warnings)
    assert row(records, floors_of(records)).verdict != "equivalent"
    assert row(records, floors_of(records, **dict.fromkeys(HOSTS, bad))).verdict == "untestable"


def test_a_host_whose_aa_scatters_far_more_is_left_out() -> None:
    """By its A/A alone, at three times the median of the hosts."""
    records = plan(24)
    found = row(records, floors_of(records, **{HOSTS[1]: {"sd": 0.05, "sd_low": 0.03}}))
    assert found.blocks == 16
    assert any("its A/A scatters by" in warning for warning in found.warnings)
    assert row(records, floors_of(records, **{HOSTS[1]: {"sd": 0.008, "sd_low": 0.006}})).blocks == 24


def test_an_aa_counts_for_its_own_host() -> None:
    """On one host, a failure of another host of its kind is no reason to distrust it once it has an A/A of its own."""
    alone = [dataclasses.replace(one, environment=machine(HOSTS[0])) for one in plan(6, HOSTS[:1])]
    failed = {HOSTS[1]: {"passed": False, "reason": "no"}}
    every = floors_of(alone, **failed)
    assert row(alone, every).verdict == "equivalent"
    others = [one for one in every if one.host == HOSTS[1]]  # type: ignore[attr-defined]
    assert row(alone, others).verdict == "untestable"


def test_the_order_of_hosts_and_records_changes_no_verdict() -> None:
    """Judged from any order of the same records: the same row."""
    records = plan(24, change=1.01)
    rows = {dataclasses.astuple(row(random.Random(seed).sample(records, len(records))))[:19] for seed in range(5)}
    assert len({one[:5] + one[11:14] for one in rows}) == 1
