"""What of a plan is there already, and what is left to measure.

The records of a results folder are held against the plan: those of another question, design or seed are refused, with what differs.
Of those that stand, a block is whole where every arm has left a record; one that was thrown out goes whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from suite import store
from suite.analysis.judge import JudgedScenario, judge_scenario
from suite.analysis.trials import latest
from suite.model import differences
from suite.model.errors import BadInput
from suite.model.floor import Floor
from suite.model.plan import Block, Plan
from suite.model.record import Record
from suite.model.scenario import Scenario

Enough = Callable[[JudgedScenario], bool]
"""Whether a scenario needs no more blocks, as it is judged so far."""
DONT_MIX = "records of different questions don't mix"


def decided(judged: JudgedScenario) -> bool:
    """Whether the looks say so."""
    return bool(judged.stop)


def of_block(block: Block, records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record.scenario == block.scenario.name and record.block == block.number]


def missing(block: Block, kept: Sequence[Record]) -> tuple[str, ...]:
    """The block's arms that have left no record yet, in its order; all of them where one was invalid: the whole block goes."""
    mine = of_block(block, latest(kept))
    if any(record.status == "invalid" for record in mine):
        return block.order
    there = {record.arm for record in mine}
    return tuple(arm for arm in block.order if arm not in there)


def standing(records: Sequence[Record]) -> list[Record]:
    """The records that a run goes on from: blocks that a rule threw out in an earlier one have yet to be measured, on a quieter machine."""
    spoilt = {record.block for record in latest(records) if record.status == "invalid"}
    return [record for record in records if record.block not in spoilt or record.status not in ("ok", "invalid")]


def left(plan: Plan, records: Sequence[Record], floors: Sequence[Floor], enough: Enough = decided) -> dict[str, int]:
    """How many trials of each scenario a run has still to make at most, for it stops where a look decides, or what else is `enough`."""
    kept = {s.name: standing([record for record in records if record.scenario == s.name]) for s in plan.scenarios}
    blocks = list(open_blocks(plan, kept, floors, enough))
    return {name: sum(len(missing(block, mine)) for block in blocks if block.scenario.name == name) for name, mine in kept.items()}


def open_blocks(plan: Plan, kept: Mapping[str, Sequence[Record]], floors: Sequence[Floor], enough: Enough) -> Iterator[Block]:
    """Blocks that may still have to run: of scenarios that are not decided, with a trial missing."""
    done = {name for name, mine in kept.items() if mine and enough(judge_scenario(name, mine, final=False, floors=floors))}
    return (b for b in plan.blocks if b.scenario.name not in done and missing(b, kept[b.scenario.name]))


def already(plan: Plan, results: Path) -> tuple[tuple[Record, ...], tuple[str, ...]]:
    """The records that are there, all of them of this very plan, and what was skipped. Raises `BadInput` for records of another one."""
    store.check_folder(results)
    if not results.is_dir() or not any(results.glob("*.jsonl")):
        return (), ()
    read = store.read(results)
    for scenario in plan.scenarios:
        for record in (r for r in read.records if r.scenario == scenario.name):
            path = store.records_file(results, scenario.name)
            if record.digest != scenario.digest:
                raise BadInput(f"{path}: {_another(scenario, record)}; name another --results folder, or delete that file to begin anew")
            if record.seed != plan.seed:
                raise BadInput(
                    f"{path}: was begun with --seed {record.seed}, not {plan.seed}: go on with that seed or name another --results folder"
                )
    return read.records, read.warnings


def _another(scenario: Scenario, record: Record) -> str:
    """What a record of that name asks differently, and why it does not mix with the scenario's."""
    changed = [key for key, *_ in differences.differences(record.definition, scenario.definition) if key != "question"]
    why = "the looks of a design are planned beforehand, so it takes no more blocks" if changed == ["blocks"] else DONT_MIX
    told = differences.told(record.definition, scenario.definition) or f"its digest was {record.digest} and is {scenario.digest}"
    return f"holds records of another '{scenario.name}' ({told}): {why}"
