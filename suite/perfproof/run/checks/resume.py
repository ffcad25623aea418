"""What of a plan is there already, and what is left to measure.

The records of a results folder are held against the plan: those of another question, design or seed are refused, with what differs.
Of those that stand, a block is whole where every arm has left a record; one that was thrown out goes whole. Trials of another machine
stay where they are and are judged apart: a run on this one begins a group of its own. A build that is no longer the one that they ran on
is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from perfproof import store
from perfproof.analysis.judging.judge import JudgedScenario, judge_scenario
from perfproof.analysis.trials import trial_groups
from perfproof.analysis.trials.paired_trials import latest
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.errors import BadInput
from perfproof.model.records import definition_diff
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block, Plan
from perfproof.model.scenarios.scenario import Scenario
from perfproof.model.verdicts.noise_floor import Floor
from perfproof.run.host import environment

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
    """The records that are there and that a run on this machine goes on from, all of them of this very plan, and what was skipped or stays
    apart. Raises `BadInput` for records of another plan."""
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
    kept, told = here([record for record in read.records if record.scenario in {s.name for s in plan.scenarios}])
    return tuple(kept), (*read.warnings, *told)


def here(records: Sequence[Record]) -> tuple[list[Record], list[str]]:
    """Of the trials of each scenario those that a run on this machine goes on from, and a sentence for every scenario that has others.

    Of several groups that were measured here it is the last. A block whose arms ran on two machines is measured again, whole.
    """
    kept, told, now = list[Record](), list[str](), trial_groups.machine_of(environment.machine())
    for name in dict.fromkeys(record.scenario for record in records):
        mine = [record for record in records if record.scenario == name]
        sound = [_sound(group) for group in trial_groups.grouped(mine)]
        fitting = [group for group in sound if group and not any(_elsewhere(record, now) for record in group)]
        going = fitting[-1] if fitting else []
        kept += going
        if len(going) < len(mine):
            what = dict.fromkeys(each for record in mine for each in _elsewhere(record, now))
            told.append(_beside(name, len(mine) - len(going), len(mine), list(what) or ["build"]))
    return kept, told


def _sound(group: Sequence[Record]) -> list[Record]:
    """The trials of a group without the blocks that were torn between machines."""
    torn = trial_groups.parted(latest(group))
    return [record for record in group if record.block not in torn]


def _elsewhere(record: Record, now: Mapping[str, str]) -> list[str]:
    """In what a trial's machine is another one."""
    return trial_groups.differing(trial_groups.machine_of(record.environment), now)


def _beside(name: str, others: int, every: int, what: Sequence[str]) -> str:
    begins = "this run begins a group of its own" if others == every else f"this run goes on from the other {every - others}"
    return (
        f"{name}: {others} of the {every} trials that are there were measured on another machine or build than this run's "
        f"({', '.join(what)} differ{'s' if len(what) == 1 else ''}): they stay, and are judged by themselves; {begins}"
    )


def changed_builds(plan: Plan, results: Path, ready: Mapping[str, ReadyBuild]) -> list[str]:
    """A fault for every arm whose build is no longer the one that its trials in the results folder ran on. `ready` is by key."""
    faults, records = [], store.records_in(results)
    for scenario in plan.scenarios:
        mine, _ = here([record for record in records if record.scenario == scenario.name])
        for arm in (arm for arm in scenario.arms if scenario.builds[arm.build].key in ready):
            now = _of_ready(ready[scenario.builds[arm.build].key])
            before: dict[str, str] = {}
            for record in (record for record in mine if record.arm == arm.name and record.status == "ok"):
                before |= trial_groups.build_of(record.attestation, record.environment)
            if what := trial_groups.differing(before, now):
                told = ", ".join(f"{key} was {before[key]} and is {now[key]}" for key in what[: trial_groups.SHOWN])
                faults.append(
                    f"{store.records_file(results, scenario.name)}: the build of arm {arm.name} is not the one that its trials ran on "
                    f"({told}): trials of different builds don't mix; name another --results folder, delete that file to begin anew, or "
                    "put the build back as it was"
                )
    return faults


def _of_ready(build: ReadyBuild) -> dict[str, str]:
    """What a trial would prove of a build that is ready."""
    found = build.fingerprint
    overlay = {"sources": build.touched.sources} if build.touched else None
    told = {
        "vLLM": found.vllm_version,
        "vLLM's files": found.sources,
        "PyTorch": found.torch_version,
        "Python": found.python,
        "compiled operators": str(found.compiled_operators),
    }
    beside = {"packages": found.packages, "lock": build.lock, "commit": build.commit, "overlay": overlay}
    return {**trial_groups.build_of(None, beside), **{name: value for name, value in told.items() if value}}


def _another(scenario: Scenario, record: Record) -> str:
    """What a record of that name asks differently, and why it does not mix with the scenario's."""
    changed = [key for key, *_ in definition_diff.differences(record.definition, scenario.definition) if key != "question"]
    why = "the looks of a design are planned beforehand, so it takes no more blocks" if changed == ["blocks"] else DONT_MIX
    told = definition_diff.told(record.definition, scenario.definition) or f"its digest was {record.digest} and is {scenario.digest}"
    return f"holds records of another '{scenario.name}' ({told}): {why}"
