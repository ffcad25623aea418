"""From scenarios to a plan: which trials, in which order, with which seeds; how long it takes, and what it can detect.

Block n of every scenario belongs to round n; within a round the scenarios come in random order, and the arms of
a block in the order that `analysis.stats.block_order` gives. So all scenarios share the machine's drift, and the micro
trials of a round can share one freshly imported parent. Scenarios whose servers stay up between trials come after
these, one after another: nothing is measured beside another's idle servers, and a GPU need hold only one's at a time.
Blocks are numbered from 1, everywhere.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfproof.analysis.judging.design_power import DesignPower, design_power
from perfproof.analysis.stats.block_order import orders
from perfproof.model.base.errors import BadInput
from perfproof.model.kinds import kind_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block, Plan
from perfproof.model.scenarios.scenario import Scenario
from perfproof.model.verdicts.noise_floor import Floor

FRESH_SECONDS = 60.0
"""The seconds that a fresh server adds to a trial, until it has been measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The time of a scenario, in `minutes` for all its `trials` (`source` says where the numbers come from), and its `power`: what it can
    detect."""

    scenario: str
    trials: int
    minutes: float
    source: str
    power: DesignPower


def make_plan(scenarios: Sequence[Scenario], seed: int) -> Plan:
    """The plan of a run; the same scenarios and seed give the same plan."""
    alone = [[s] for s in scenarios if s.workload.servers_together]
    blocks = [block for group in [[s for s in scenarios if not s.workload.servers_together], *alone] for block in _rounds(group, seed)]
    return Plan(scenarios=tuple(scenarios), blocks=tuple(blocks), seed=seed)


def _rounds(scenarios: Sequence[Scenario], seed: int) -> Iterator[Block]:
    """The blocks of these scenarios, round by round."""
    arms = {s.name: _orders(s, seed) for s in scenarios}
    for place in range(max((s.most_blocks for s in scenarios), default=0)):
        taking_part = [s for s in scenarios if place < s.most_blocks]
        random.Random(f"{seed}/round/{place}").shuffle(taking_part)
        for s in taking_part:
            yield Block(scenario=s, number=place + 1, order=arms[s.name][place], seed=_block_seed(seed, s.name, place))


def _orders(scenario: Scenario, seed: int) -> Sequence[tuple[str, ...]]:
    """The arms of every block; for a scenario about answers all arms once, then the baseline alone."""
    found = orders([arm.name for arm in scenario.arms], 1 if scenario.again else scenario.most_blocks, seed, scenario.name)
    return [*found, *[(scenario.baseline.name,)] * scenario.again]


def _block_seed(seed: int, scenario: str, place: int) -> int:
    """The seed that the arms of a block share and no other block has: else a server's prefix cache would be measured."""
    return random.Random(f"{seed}/block/{scenario}/{place}").randrange(2**31)


def some_blocks(plan: Plan, numbers: Sequence[int]) -> Plan:
    """The plan with the blocks of these numbers alone. Raises `BadInput` for a number that one of its scenarios does not have."""
    for number in numbers:
        for scenario in plan.scenarios:
            if not 1 <= number <= scenario.most_blocks:
                raise BadInput(f"--block {number}: {scenario.name} has blocks 1 to {scenario.most_blocks}")
            if kind_of(scenario.workload).of_answers and set(numbers) != set(range(1, scenario.most_blocks + 1)):
                raise BadInput(f"--block {number}: {scenario.name} asks about answers: its blocks belong to one host, so give all of them")
    return _of_blocks(plan, [block for block in plan.blocks if block.number in numbers])


def shard_of(plan: Plan, number: int, shards: int) -> Plan:
    """The plan with every n-th pair of blocks alone: shard `number` (from 1 on) of `shards`.

    A pair has both orders of the arms, so that each shard is balanced; with fewer pairs than shards every n-th block. What is asked about
    answers stays together in one shard. Raises `BadInput` for a shard without a block.
    """
    if not 1 <= number <= shards:
        raise BadInput(f"--shard {number}/{shards}: expected 1/{shards} to {shards}/{shards}")
    places = {scenario.name: place for place, scenario in enumerate(plan.scenarios)}
    blocks = [block for block in plan.blocks if (places[block.scenario.name] + _unit(block, shards)) % shards == number - 1]
    if not blocks:
        raise BadInput(f"--shard {number}/{shards}: has no block, for the plan has fewer than {shards}: use fewer shards")
    return _of_blocks(plan, blocks)


def _of_blocks(plan: Plan, blocks: Sequence[Block]) -> Plan:
    """The plan of these blocks and their scenarios alone."""
    names = {block.scenario.name for block in blocks}
    return dataclasses.replace(plan, scenarios=tuple(s for s in plan.scenarios if s.name in names), blocks=tuple(blocks))


def _unit(block: Block, shards: int) -> int:
    """The number, from 0 on, of what is dealt out to shards: pairs of blocks, single blocks, or all of them at once."""
    if kind_of(block.scenario.workload).of_answers:
        return 0
    return (block.number - 1) // 2 if block.scenario.most_blocks >= 2 * shards else block.number - 1


def estimates(plan: Plan, records: Sequence[Record], floors: Sequence[Floor], machine: str) -> list[Estimate]:
    """One estimate per scenario, from existing records; `machine` is the fingerprint of the machine that will run it."""
    return [_estimate(scenario, records, design_power(scenario, floors, machine)) for scenario in plan.scenarios]


def _estimate(scenario: Scenario, records: Sequence[Record], seen: DesignPower) -> Estimate:
    own = [record for record in records if record.scenario == scenario.name and record.digest == scenario.digest]
    taken = [record.took for record in own if "total" in record.seconds]
    known = sum(taken) / len(taken) if taken else _calibrated_seconds(seen, len(scenario.arms))
    typical = known or guessed_seconds(scenario)
    trials = scenario.most_trials
    how = "measured" if taken else "measured in an A/A" if known else "guessed"
    source = f"{trials} trials, {how} at {typical:.1f} s each"
    measured = [record.seconds["measuring"] for record in own if "measuring" in record.seconds]
    power = dataclasses.replace(seen, sentences=(*seen.sentences, *scenario.workload.doubts(scenario.profile, measured)))
    return Estimate(scenario=scenario.name, trials=trials, minutes=trials * typical / 60, source=source, power=power)


def _calibrated_seconds(seen: DesignPower, arms: int) -> float | None:
    """The seconds of a trial in the A/A of this machine and workload; None where there was none."""
    looks = (looks[0] for looks in seen.looks.values())
    return next((60 * look.minutes / look.blocks / arms for look in looks if look.minutes is not None), None)


def guessed_seconds(scenario: Scenario) -> float:
    """The estimated seconds of a trial before any has been measured.

    Servers that start together are waited for once a block, so that each of its trials bears a part of one start.
    """
    workload, start = scenario.workload, FRESH_SECONDS if scenario.workload.starts_servers else 0.0
    return kind_of(workload).guessed_seconds + start / (len(scenario.arms) if workload.servers_together else 1)
