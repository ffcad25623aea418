"""Which trials are comparable: the arms of a block on one machine, and each arm on one build from block to block.

A record says where it was measured (host, processor, cores, GPUs, driver), and its attestation says what ran. Records of a scenario that
agree in all of this make one group. Those of another machine or a changed build make further groups, each judged by itself: a difference
between two machines is never a candidate's. Where one plan's blocks were spread over hosts as jobs, the hosts make one group, and where
each host measured a plan of its own, one more group has all of them: the host is a factor there (`analysis.hosts`). A missing fact is
unknown, which is not a difference. A block whose arms ran on different machines is not complete in any group: its times are not
comparable; its counts may be.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

from perfproof.analysis.trials import spread_blocks
from perfproof.analysis.trials.invalidation import belied
from perfproof.model.base.clock import is_moment, seconds_of
from perfproof.model.kinds import kind_in
from perfproof.model.records.record import INTERRUPTED, Attestation, Record
from perfproof.model.scenarios.group_names import is_of_all_hosts, named, of_all_hosts
from perfproof.model.scenarios.scenario import LEAST_BLOCKS

Facts = Mapping[str, str]
"""The known facts of a trial's environment, by their names for people."""
SHOWN = 3
"""The most differences that are listed."""
PARTED = "the arms were not measured on one machine"
APART = 3600.0
"""The most seconds between the end of a trial and the start of the next one of its block: a machine is another an hour later."""
SHIFTED = "the arms are not those of one block"
MEMORY = 1.1
"""The largest ratio of one machine's memory sizes in two trials."""


def machine_of(environment: Mapping[str, Any]) -> dict[str, str]:
    """The machine in a record's environment; another model, driver, host or number of cores is another machine.

    Source: none, what a time is known to depend on.
    """
    gpus = environment.get("gpus")
    facts = {"host": environment.get("host"), "processor": environment.get("processor"), "cores": environment.get("cores")}
    if isinstance(gpus, list | tuple):
        facts |= {"GPU": " and ".join(str(gpu.get("name") or "unknown") for gpu in gpus) or "none"}
        facts |= {"driver": " and ".join(sorted({str(gpu["driver"]) for gpu in gpus if gpu.get("driver")}))}
    return {name: str(value) for name, value in facts.items() if value not in (None, "")}


def _of_block(environment: Mapping[str, Any]) -> dict[str, str]:
    """The facts that trials of one block also share: the kernel does not change between two of them."""
    facts = {"device": environment.get("device"), "cores of the machine": environment.get("cores_of_machine")}
    facts |= {"kernel": environment.get("kernel")}
    return machine_of(environment) | {name: str(value) for name, value in facts.items() if value not in (None, "")}


def build_of(attestation: Attestation | None, environment: Mapping[str, Any]) -> dict[str, str]:
    """The build that a trial proved to run on, whatever its name and place, and the model runner that it chose.

    Source: none, what tells two builds apart.
    """
    overlay = environment.get("overlay")
    facts: dict[str, Any] = {f"package {name}": version for name, version in (environment.get("packages") or {}).items()}
    facts |= {"lock": environment.get("lock"), "commit": environment.get("commit")}
    facts |= {"overlay": overlay.get("sources") if isinstance(overlay, Mapping) else None}
    image = environment.get("image")
    facts |= {"image": image.get("digest") if isinstance(image, Mapping) else None}
    if attestation is not None:
        facts |= {"vLLM": attestation.vllm_version, "vLLM's files": attestation.sources, "PyTorch": attestation.torch_version}
        facts |= {"Python": attestation.python, "compiled operators": attestation.compiled_operators, "model runner": attestation.runner}
    return {name: str(value) for name, value in facts.items() if value not in (None, "")}


def differing(one: Facts, other: Facts) -> list[str]:
    """The names of facts that both have, with different values.

    Source: none, bookkeeping.
    """
    return [name for name, value in one.items() if other.get(name, value) != value]


def grouped(records: Sequence[Record], *, over_hosts: bool = False) -> list[list[Record]]:
    """The records of one scenario in groups that agree, in the order in which each begins; `over_hosts` only in GPUs and builds.

    A trial joins the group that was measured last before it, if they agree. A block whose arms would be split goes whole into a group that
    agrees with all of it; a block of two machines goes with its baseline. Source: none, bookkeeping.
    """
    known: list[dict[str, str]] = []
    place: list[int] = []
    last = 0
    facts_of = lasting_facts if over_hosts else _facts
    for record in records:
        facts = facts_of(record)
        fitting = [number for number in (last, *reversed(range(len(known)))) if number < len(known) and not differing(known[number], facts)]
        if not fitting:
            known.append({})
        last = fitting[0] if fitting else len(known) - 1
        known[last].update(facts)
        place.append(last)
    if len(known) > 1:
        for block in dict.fromkeys(record.block for record in records):
            _kept_whole([at for at, record in enumerate(records) if record.block == block], records, place, known, facts_of)
    return [[record for record, at in zip(records, place, strict=True) if at == number] for number in dict.fromkeys(place)]


def _facts(record: Record) -> dict[str, str]:
    """The facts of a record; those of the build only if the trial proved to run on it."""
    facts = machine_of(record.environment)
    if record.status in ("ok", "invalid"):
        facts |= {f"{record.arm}: {name}": value for name, value in build_of(record.attestation, record.environment).items()}
    return facts


def lasting_facts(record: Record) -> dict[str, str]:
    """The facts in which the hosts of one group agree: the models of their GPUs, and the builds.

    Source: none, what tells two builds and GPUs apart.
    """
    machine = machine_of(record.environment)
    return {name: value for name, value in _facts(record).items() if name not in machine or name == "GPU"}


def _kept_whole(
    block: Sequence[int],
    records: Sequence[Record],
    place: list[int],
    known: list[dict[str, str]],
    facts_of: Callable[[Record], dict[str, str]],
) -> None:
    """Puts the trials of a block (their numbers) into one group, unless a group has every arm already: then earlier split attempts go
    there, because the block was measured again."""
    arms: dict[int, set[str]] = {}
    for at in block:
        arms.setdefault(place[at], set()).add(records[at].arm)
    if whole := [number for number, own in arms.items() if own == set.union(*arms.values())]:
        for at in _torn_before(block, records, place):
            place[at] = place[at] if place[at] in whole else whole[-1]
        return
    last = {records[at].arm: at for at in block}
    baseline = next(
        (last[name] for name, arm in records[block[0]].definition["arms"].items() if arm.get("baseline") and name in last), None
    )
    known_facts = [facts_of(records[at]) for at in last.values()]
    if any(differing(one, other) for one, other in combinations(known_facts, 2)):
        goes = place[block[0] if baseline is None else baseline]
    else:
        facts = {name: value for one in known_facts for name, value in one.items()}
        goes = next((number for number in reversed(range(len(known))) if not differing(known[number], facts)), len(known))
        if goes == len(known):
            known.append({})
        known[goes].update(facts)
    for at in block:
        place[at] = goes


def _torn_before(block: Sequence[int], records: Sequence[Record], place: Sequence[int]) -> list[int]:
    """The trials of a block's earlier attempts that are split between groups; an attempt begins where an arm repeats."""
    times: list[dict[str, int]] = [{}]
    for at in block:
        if records[at].arm in times[-1]:
            times.append({})
        times[-1][records[at].arm] = at
    return [at for time in times[:-1] if len({place[at] for at in time.values()}) > 1 for at in time.values()]


def parted(trials: Iterable[Record]) -> Mapping[int, str]:
    """Blocks whose arms ran on different machines, with the difference in words.

    Source: none, a comparison of what records say.
    """
    by_block: dict[int, dict[str, Record]] = {}
    for trial in trials:
        if trial.status == "ok":
            by_block.setdefault(trial.block, {})[trial.arm] = trial
    reasons = {block: _parted(list(own.values())) for block, own in by_block.items() if len(own) > 1}
    return {block: reason for block, reason in reasons.items() if reason}


def _parted(trials: Sequence[Record]) -> str:
    for one, other in combinations(trials, 2):
        here, there = _of_block(one.environment), _of_block(other.environment)
        if not differing(here, there) and not _alike(memories := [trial.environment.get("memory_bytes") or 0 for trial in (one, other)]):
            here["memory"], there["memory"] = (f"{memory / 2**30:.1f} GiB" for memory in memories)
        if names := differing(here, there):
            what = "; ".join(f"{name} {here[name]} in {one.arm}, {there[name]} in {other.arm}" for name in names[:SHOWN])
            return f"not comparable, {PARTED}: {what}"
        if list(one.order) != list(other.order):
            orders = " and ".join(f"{', '.join(trial.order)} in that of {trial.arm}" for trial in (one, other))
            return f"not comparable, {SHIFTED}: their order is {orders}"
    return ""


def broken_off(trials: Iterable[Record]) -> Mapping[int, str]:
    """Blocks with more than `APART` between two of their trials, in words: they were broken off, and finished much later.

    Source: none, a comparison of what records say.
    """
    by_block: dict[int, list[Record]] = {}
    for trial in trials:
        if trial.status == "ok" and is_moment(trial.started):
            by_block.setdefault(trial.block, []).append(trial)
    reasons = {block: _broken_off(sorted(own, key=_began)) for block, own in by_block.items()}
    return {block: reason for block, reason in reasons.items() if reason}


def _broken_off(trials: Sequence[Record]) -> str:
    for before, after in pairwise(trials):
        if (gap := _began(after) - ended(before)) > APART:
            return f"{INTERRUPTED}: the block was broken off: {after.arm} was measured {gap / 3600:,.1f} hours after {before.arm}"
    return ""


def _began(trial: Record) -> float:
    return seconds_of(trial.started)


def ended(trial: Record) -> float:
    """When a trial ended, in seconds since 1970; its start must be a moment.

    Source: none, a sum.
    """
    return seconds_of(trial.started) + trial.took


def _alike(memories: Sequence[float]) -> bool:
    """Whether two memory sizes may be of one machine; a balloon or a kernel changes them a little, and 0 is unknown."""
    return not all(memories) or max(memories) <= MEMORY * min(memories)


# --- records that are judged apart -------------------------------------------------------------------------------


def kept_apart(records: Sequence[Record]) -> list[Record]:
    """The records; where those of a scenario make several groups, each group has its own name and a warning that says what differs.

    Of blocks that were jobs each is there once (`spread_blocks`). Hosts that measured plans of their own make a further group together.
    Answers of a block that was split between machines do not count: its trials become *invalid*, and so does a trial whose own telemetry
    contradicts it.
    Source: `grouped`, `parted`, `invalidation.belied`.
    """
    records, of_name = [_ruled(record) for record in records], dict[str, list[Record]]()
    for record in records:
        of_name.setdefault(record.scenario, []).append(record)
    kept = {name: [record for group in _apart(own) for record in group] for name, own in of_name.items()}
    if all(
        len(own) == len(kept[name]) and all(one is other for one, other in zip(own, kept[name], strict=True))
        for name, own in of_name.items()
    ):
        return list(records)
    return [record for own in kept.values() for record in own]


def _ruled(record: Record) -> Record:
    environment = record.environment
    why = belied(environment.get("telemetry"), environment.get("rules")) if record.status == "ok" else ""
    return dataclasses.replace(record, status="invalid", reason=why) if why else record


def _apart(own: Sequence[Record]) -> list[list[Record]]:
    if len({record.digest for record in own}) > 1:
        return [list(own)]  # different questions are refused, not split
    if is_of_all_hosts(own[0].scenario):
        return [list(own)]
    spread = any(record.spread for record in own)
    own = spread_blocks.counted_once(own) if spread else own
    groups = [_answerable(group) for group in grouped(own, over_hosts=spread and not _asks_about_answers(own))]
    if len(groups) == 1:
        return groups
    names = [named(own[0].scenario, number, len(groups)) for number in range(1, len(groups) + 1)]
    words = _group_words(groups)
    apart = [
        [dataclasses.replace(record, scenario=names[at], warnings=(*record.warnings, _note(at, names, words))) for record in group]
        for at, group in enumerate(groups)
    ]
    return apart if spread or _asks_about_answers(own) else [*apart, *_over_hosts(groups)]


def _asks_about_answers(own: Sequence[Record]) -> bool:
    """Whether these records are of answers, which another processor may give otherwise."""
    kind = kind_in(own[0].definition)
    return kind is not None and kind.of_answers


def _over_hosts(groups: Sequence[list[Record]]) -> list[list[Record]]:
    """All groups as one further group, blocks numbered on from host to host, where each is a host with a whole design, and they agree in
    everything but the host and its kind."""
    if any(len({record.block for record in group}) < LEAST_BLOCKS for group in groups):
        return []
    hosts = [{spread_blocks.host_of(record) for record in group} for group in groups]
    if any(len(own) > 1 or spread_blocks.UNKNOWN in own for own in hosts) or len(set.union(*hosts)) < len(groups):
        return []
    every = [record for group in groups for record in group]
    if len(grouped(every, over_hosts=True)) > 1:
        return []
    name, joined, before = of_all_hosts(every[0].scenario, len(groups)), list[Record](), 0
    for group in groups:
        joined += [dataclasses.replace(record, scenario=name, block=before + record.block) for record in group]
        before = max(record.block for record in joined)
    return [joined]


def _answerable(group: list[Record]) -> list[Record]:
    if not _asks_about_answers(group) or not (torn := parted(group)):
        return group
    return [
        dataclasses.replace(record, status="invalid", reason=torn[record.block])
        if record.status == "ok" and record.block in torn
        else record
        for record in group
    ]


def _note(at: int, names: Sequence[str], words: Sequence[str]) -> str:
    others = "; ".join(f"{names[other]} are {words[other]}" for other in range(len(names)) if other != at)
    return (
        "the blocks of this scenario were not all measured on one machine with the same builds, so they are judged apart: these are "
        f"{words[at]}; {others}"
    )


def _group_words(groups: Sequence[Sequence[Record]]) -> list[str]:
    """Each group in words: its blocks, and its facts that differ from the others'."""
    facts = [{name: value for record in group for name, value in _facts(record).items()} for group in groups]
    names = [name for name in dict.fromkeys(name for each in facts for name in each) if len({e[name] for e in facts if name in e}) > 1]
    return [
        f"{_blocks(group)} ({', '.join(f'{name} {each[name]}' for name in names[:SHOWN] if name in each)})"
        for group, each in zip(groups, facts, strict=True)
    ]


def _blocks(group: Sequence[Record]) -> str:
    numbers = sorted({record.block for record in group})
    if len(numbers) == 1:
        return f"block {numbers[0]}"
    whole = numbers == list(range(numbers[0], numbers[-1] + 1))
    return f"blocks {numbers[0]} to {numbers[-1]}" if whole else f"{len(numbers)} blocks from {numbers[0]} to {numbers[-1]}"
