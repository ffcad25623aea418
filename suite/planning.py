"""From scenarios to a Plan: which trials, in which order, with which seeds.

Block n of every scenario belongs to round n; within a round the scenarios come in random order, and the arms of
a block in the order that `analysis.design` gives. So all scenarios share the machine's drift, and the micro
trials of a round can share one freshly imported parent. Blocks are numbered from 1, everywhere.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from suite.analysis.design import orders
from suite.model.plan import Block, Plan
from suite.model.scenario import Scenario


def make_plan(scenarios: Sequence[Scenario], seed: int) -> Plan:
    """The plan of a run; the same scenarios and seed give the same plan."""
    blocks: list[Block] = []
    arms = {s.name: orders([arm.name for arm in s.arms], s.most_blocks, seed, s.name) for s in scenarios}
    for place in range(max(s.most_blocks for s in scenarios)):
        taking_part = [s for s in scenarios if place < s.most_blocks]
        random.Random(f"{seed}/round/{place}").shuffle(taking_part)
        blocks += [
            Block(scenario=s, number=place + 1, order=arms[s.name][place], seed=_block_seed(seed, s.name, place)) for s in taking_part
        ]
    return Plan(scenarios=tuple(scenarios), blocks=tuple(blocks), seed=seed)


def _block_seed(seed: int, scenario: str, place: int) -> int:
    """What the arms of a block share and no other block has: else a server's prefix cache would be measured."""
    return random.Random(f"{seed}/block/{scenario}/{place}").randrange(2**31)
