"""The trials of a plan that exist already, and those still to measure.

The records of a results folder are compared with the plan: records of another question, design or seed are refused, with what differs. A
block is complete if every arm has a record; a block that was thrown out is measured again, all arms of it. Trials of another machine stay
in the folder and are judged separately: a run on this machine begins its own group. A build that has changed since its trials is refused.
"""

from __future__ import annotations

import dataclasses
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from perfproof import store
from perfproof.analysis.judging.judge import JudgedScenario, judge_scenario
from perfproof.analysis.trials import trial_groups
from perfproof.analysis.trials.paired_trials import latest, only_counted
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.clock import is_moment
from perfproof.model.base.errors import BadInput
from perfproof.model.records import definition_diff
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import is_timed
from perfproof.model.scenarios.plan import Block, Plan
from perfproof.model.scenarios.scenario import Scenario, without_names
from perfproof.model.verdicts.noise_floor import Floor
from perfproof.run.host import environment

Enough = Callable[[JudgedScenario], bool]
"""Whether a scenario needs no more blocks, by its present verdicts."""
DONT_MIX = "records of different questions don't mix"


def decided(judged: JudgedScenario) -> bool:
    """Whether the looks have decided every metric."""
    return bool(judged.stop)


def of_block(block: Block, records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record.scenario == block.scenario.name and record.block == block.number]


def missing(block: Block, kept: Sequence[Record]) -> tuple[str, ...]:
    """The block's arms without a record, in its order; all its arms where the whole block is measured again: if one was invalid, or if one
    is missing of a block whose trials belong together."""
    records = of_block(block, latest(kept))
    if any(record.status == "invalid" for record in records):
        return block.order
    there = {record.arm for record in records}
    absent = tuple(arm for arm in block.order if arm not in there)
    return block.order if absent and block.scenario.workload.measured_whole else absent


def standing(records: Sequence[Record]) -> list[Record]:
    """The records that a run continues from: blocks that a rule threw out in an earlier run are still to be measured, on a quieter
    machine, and so are those that were only counted."""
    records = [record for record in records if not only_counted(record)]
    spoilt = {record.block for record in latest(records) if record.status == "invalid"}
    return [record for record in records if record.block not in spoilt or record.status not in ("ok", "invalid")]


def left(plan: Plan, records: Sequence[Record], floors: Sequence[Floor], enough: Enough = decided) -> dict[str, int]:
    """The most trials of each scenario that a run still has to make; it stops earlier once a look decides, or `enough` says so."""
    kept = {s.name: standing([record for record in records if record.scenario == s.name]) for s in plan.scenarios}
    blocks = list(open_blocks(plan, kept, floors, enough))
    return {
        name: sum(len(missing(block, scenario_records)) for block in blocks if block.scenario.name == name)
        for name, scenario_records in kept.items()
    }


def open_blocks(plan: Plan, kept: Mapping[str, Sequence[Record]], floors: Sequence[Floor], enough: Enough) -> Iterator[Block]:
    """Blocks that may still have to run: those with a missing trial, of scenarios that are not decided."""
    done = {
        name
        for name, scenario_records in kept.items()
        if scenario_records and enough(judge_scenario(name, scenario_records, final=False, floors=floors))
    }
    return (b for b in plan.blocks if b.scenario.name not in done and missing(b, kept[b.scenario.name]))


def as_asked_before(scenario: Scenario, results: Path) -> Scenario:
    """The scenario, its files called what the records of the results folder call the same files: identity is content, not a folder's
    name."""
    if not store.records_file(results, scenario.name).is_file():
        return scenario
    own = without_names(scenario.definition)
    known = (record.definition for record in store.records_in(results) if record.scenario == scenario.name)
    before = next((each for each in known if without_names(each) == own), None)
    return scenario if before is None else dataclasses.replace(scenario, definition={**before, "question": scenario.question})


def already(plan: Plan, results: Path) -> tuple[tuple[Record, ...], tuple[str, ...]]:
    """The records of this plan that a run on this machine continues from, and sentences about what was skipped or is judged separately.
    Raises `BadInput` for records of another plan."""
    store.check_folder(results)
    if not results.is_dir() or not any(results.glob("*.jsonl")):
        return (), ()
    read = store.read(results)
    for scenario in plan.scenarios:
        for record in (r for r in read.records if r.scenario == scenario.name):
            path = store.records_file(results, scenario.name)
            if record.digest != scenario.digest:
                raise BadInput(f"{path}: {_another(scenario, record)}; name another --results folder, or delete that file to start again")
            if record.seed != plan.seed:
                raise BadInput(
                    f"{path}: was begun with --seed {record.seed}, not {plan.seed}: use that seed again or name another --results folder"
                )
    kept, notes = here([record for record in read.records if record.scenario in {s.name for s in plan.scenarios}])
    late = {scenario.name: _too_late(scenario, kept) for scenario in plan.scenarios}
    notes += [_again(name, sorted(blocks)) for name, blocks in late.items() if blocks]
    return tuple(record for record in kept if record.block not in late[record.scenario]), (*read.warnings, *notes)


def _too_late(scenario: Scenario, kept: Sequence[Record]) -> set[int]:
    """The blocks of a scenario of times whose trials lie further apart than `APART`, or would if the missing ones came now."""
    if not any(is_timed(choice.name) for choice in scenario.metrics):
        return set()
    trials = latest([record for record in kept if record.scenario == scenario.name])
    blocks: dict[int, list[Record]] = defaultdict(list)
    for trial in trials:
        blocks[trial.block].append(trial)
    halves = {block: own for block, own in blocks.items() if len(own) < len(scenario.arms)}
    ends = {block: [trial_groups.ended(trial) for trial in own if is_moment(trial.started)] for block, own in halves.items()}
    return {
        *trial_groups.broken_off(trials),
        *(block for block, moments in ends.items() if moments and time.time() - max(moments) > trial_groups.APART),
    }


def _again(name: str, blocks: Sequence[int]) -> str:
    which = f"block {blocks[0]} was" if len(blocks) == 1 else f"blocks {', '.join(map(str, blocks))} were"
    return f"{name}: {which} broken off more than an hour ago; all arms are measured again, for a machine is another an hour later"


def here(records: Sequence[Record]) -> tuple[list[Record], list[str]]:
    """The trials of each scenario that a run on this machine continues from, and a sentence for every scenario that has others.

    If this machine measured several groups, it is the last. A block whose arms ran on two machines is measured again, all arms of it.
    """
    kept, notes, now = list[Record](), list[str](), trial_groups.machine_of(environment.machine())
    for name in dict.fromkeys(record.scenario for record in records):
        scenario_records = [record for record in records if record.scenario == name]
        sound = [_sound(group) for group in trial_groups.grouped(scenario_records)]
        fitting = [group for group in sound if group and not any(_elsewhere(record, now) for record in group)]
        going = fitting[-1] if fitting else []
        kept += going
        if len(going) < len(scenario_records):
            what = dict.fromkeys(each for record in scenario_records for each in _elsewhere(record, now))
            notes.append(_beside(name, len(scenario_records) - len(going), len(scenario_records), list(what) or ["build"]))
    return kept, notes


def _sound(group: Sequence[Record]) -> list[Record]:
    """The trials of a group without the blocks whose arms ran on different machines."""
    torn = trial_groups.parted(latest(group))
    return [record for record in group if record.block not in torn]


def _elsewhere(record: Record, now: Mapping[str, str]) -> list[str]:
    """The keys in which a trial's machine differs from this one."""
    return trial_groups.differing(trial_groups.machine_of(record.environment), now)


def _beside(name: str, others: int, every: int, what: Sequence[str]) -> str:
    begins = "this run begins its own group" if others == every else f"this run continues from the other {every - others}"
    return (
        f"{name}: {others} of the {every} trials were measured on another machine or build than this run's "
        f"({', '.join(what)} differ{'s' if len(what) == 1 else ''}): they stay and are judged separately; {begins}"
    )


def changed_builds(plan: Plan, results: Path, ready: Mapping[str, ReadyBuild]) -> list[str]:
    """A fault for every arm whose build has changed since its trials in the results folder. `ready` maps keys to builds."""
    faults, records = [], store.records_in(results)
    for scenario in plan.scenarios:
        own_records, _ = here([record for record in records if record.scenario == scenario.name])
        for arm in (arm for arm in scenario.arms if scenario.builds[arm.build].key in ready):
            now = _of_ready(ready[scenario.builds[arm.build].key])
            before: dict[str, str] = {}
            for record in (record for record in own_records if record.arm == arm.name and record.status == "ok"):
                before |= trial_groups.build_of(record.attestation, record.environment)
            if what := trial_groups.differing(before, now):
                changes = ", ".join(f"{key} was {before[key]} and is {now[key]}" for key in what[: trial_groups.SHOWN])
                faults.append(
                    f"{store.records_file(results, scenario.name)}: the build of arm {arm.name} is not the one that its trials ran on "
                    f"({changes}): trials of different builds don't mix; name another --results folder, delete that file to start again, "
                    "or restore the build"
                )
    return faults


def _of_ready(build: ReadyBuild) -> dict[str, str]:
    """What a trial of a ready build would attest."""
    fingerprint = build.fingerprint
    overlay = {"sources": build.touched.sources} if build.touched else None
    attested = {
        "vLLM": fingerprint.vllm_version,
        "vLLM's files": fingerprint.sources,
        "PyTorch": fingerprint.torch_version,
        "Python": fingerprint.python,
        "compiled operators": str(fingerprint.compiled_operators),
    }
    beside = {
        "packages": fingerprint.packages,
        "lock": build.lock,
        "commit": build.commit,
        "overlay": overlay,
        "image": environment.of_image(build),
    }
    return {**trial_groups.build_of(None, beside), **{name: value for name, value in attested.items() if value}}


def _another(scenario: Scenario, record: Record) -> str:
    """How a record's question differs from the scenario's, and why the two don't mix."""
    changed = [key for key, *_ in definition_diff.differences(record.definition, scenario.definition) if key != "question"]
    why = "the looks of a design are planned beforehand, so it can't take more blocks" if changed == ["blocks"] else DONT_MIX
    differences = (
        definition_diff.describe(record.definition, scenario.definition) or f"its digest was {record.digest} and is {scenario.digest}"
    )
    return f"holds records of another '{scenario.name}' ({differences}): {why}"
