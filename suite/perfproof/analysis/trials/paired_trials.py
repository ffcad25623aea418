"""From the records of a scenario to paired samples: each trial once, with blocks of unequal work marked."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from perfproof.analysis.stats.samples import Observation, PairedSample, Status, pair
from perfproof.analysis.trials import trial_groups, work_equivalence
from perfproof.analysis.trials.invalidation import ONLY_COUNTED, spoils_times_alone
from perfproof.analysis.trials.mean_median_check import twin
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import METRICS, NORMALIZED, base_name, is_count, is_timed, metric
from perfproof.model.scenarios.scenario import Arm, Scenario


def attempts(records: Iterable[Record]) -> Iterator[tuple[Record, int]]:
    """Each record, in the order of their ends, with the number of earlier attempts of its block.

    A new attempt begins with the first arm that is measured again.

    Source: none, bookkeeping.
    """
    seen: dict[tuple[str, int], set[str]] = defaultdict(set)
    begun: dict[tuple[str, int], int] = defaultdict(int)
    for record in records:
        block = (record.scenario, record.block)
        if only_counted(record):
            yield record, 0
            continue
        if record.arm in seen[block]:
            seen[block].clear()
            begun[block] += 1
        seen[block].add(record.arm)
        yield record, begun[block]


def latest(records: Sequence[Record]) -> list[Record]:
    """Each trial once: the last attempt of each block, and final failures of earlier attempts.

    Trials of different attempts are never paired. One that was only counted stands until it is timed.

    Source: none, bookkeeping.
    """
    numbered = list(attempts(records))
    last = {(record.scenario, record.block): number for record, number in numbered if not only_counted(record)}
    trials: dict[tuple[str, int, str], Record] = {}
    for record, number in sorted(numbered, key=lambda one: only_counted(one[0])):
        if only_counted(record) or number == last[record.scenario, record.block] or record.status not in ("ok", "invalid"):
            trials.setdefault(record.trial, record)
    return list(trials.values())


def paired(scenario: Scenario, candidate: Arm, records: Sequence[Record]) -> dict[str, PairedSample]:
    """The paired sample of each of a scenario's metrics, by name: what `judge_scenario` judges; with the mean the median, and vice versa.

    Source: none, bookkeeping.
    """
    every = latest(records)
    miscounted = _as(Status.UNEQUAL, unequal_blocks(every, counts))
    trials = [trial for trial in every if trial.arm in (scenario.baseline.name, candidate.name) and not only_counted(trial)]
    names = dict.fromkeys(
        name
        for choice in scenario.metrics
        for name in (choice.name, twin(choice.name))
        if (name in METRICS or "@" in name) and not is_count(name)
    )
    arms = scenario.baseline.name, candidate.name
    timed = _as(Status.INVALID, trial_groups.broken_off(every))
    timed |= _as(Status.UNEQUAL, {**trial_groups.parted(every), **unequal_blocks(every)})
    normalized = _as(Status.UNEQUAL, _pythons(trials)) | timed

    def without(name: str) -> Mapping[int, tuple[Status, str]]:
        return normalized if base_name(name) == NORMALIZED else timed if is_timed(name) else miscounted

    return {name: _sample(name, *arms, trials, without(name)) for name in names}


def spoilt(scenario: Scenario, candidate: Arm, records: Sequence[Record]) -> dict[str, PairedSample]:
    """What `paired` would give if the machine had not been busy: blocks whose times alone were excluded are whole.

    Source: `invalidation.spoils_times_alone`.
    """
    every = [dataclasses.replace(one, status="ok", reason="") if counts(one) else one for one in latest(records)]
    return paired(scenario, candidate, every)


def fine(trial: Record) -> bool:
    """Whether all values of a trial count.

    Source: none, bookkeeping.
    """
    return trial.status == "ok"


def counts(trial: Record) -> bool:
    """Whether a trial's exact counts and answers count: a busy machine spoils only its times.

    Source: `invalidation.spoils_times_alone`.
    """
    environment = trial.environment
    return fine(trial) or (
        trial.status == "invalid" and spoils_times_alone(trial.reason, environment.get("telemetry"), environment.get("rules"))
    )


def only_counted(trial: Record) -> bool:
    """Whether a trial holds counts alone, of runs before anything is timed.

    Source: none, bookkeeping.
    """
    return trial.status == "invalid" and trial.reason == ONLY_COUNTED


def spoilt_for(scenario: Scenario, trial: Record) -> bool:
    """Whether a rule excluded a trial that this scenario needs: a busy machine spoils no counts, which are enough where no time decides.

    Source: `invalidation.spoils_times_alone`.
    """
    return trial.status == "invalid" and (any(is_timed(choice.name) for choice in scenario.primaries) or not counts(trial))


def unequal_blocks(trials: Sequence[Record], counted: Callable[[Record], bool] = fine) -> Mapping[int, str]:
    """Blocks whose arms did different work in trials that are `counted`, with the difference in words.

    Source: `work.unequal`.
    """
    done: dict[int, dict[str, Mapping[str, int]]] = defaultdict(dict)
    for trial in trials:
        if counted(trial) and not only_counted(trial):
            done[trial.block][trial.arm] = trial.work
    differences = {block: work_equivalence.unequal(arms) for block, arms in done.items() if len(arms) > 1}
    return {block: reason for block, reason in differences.items() if reason}


def _pythons(trials: Sequence[Record]) -> Mapping[int, str]:
    """Blocks whose arms ran on different Pythons, in words: each runs the fixed loop of a normalized time at a speed of its own."""
    ran: dict[int, set[str]] = defaultdict(set)
    for trial in trials:
        if trial.attestation is not None:
            ran[trial.block].add(trial.attestation.python)
    return {
        block: f"Python {' and '.join(sorted(found))} run the fixed loop, by whose time a round is divided, at different speeds"
        for block, found in ran.items()
        if len(found) > 1
    }


def whole_blocks(trials: Sequence[Record], scenario: Scenario, *, exact: bool = False) -> int:
    """The number of blocks in which every arm has a valid trial: for times, or for `exact` values.

    Source: none, bookkeeping.
    """
    arms: dict[int, set[str]] = defaultdict(set)
    for trial in trials:
        if trial.status != "invalid" or (exact and counts(trial)):
            arms[trial.block].add(trial.arm)
    return sum(len(seen) == len(scenario.arms) for seen in arms.values())


def minutes_per_block(records: Sequence[Record]) -> float | None:
    """Minutes that a block of these records took, on average; None where there is none.

    Source: none, bookkeeping.
    """
    seconds: dict[int, float] = defaultdict(float)
    for trial in latest(records):
        seconds[trial.block] += trial.took
    return sum(seconds.values()) / len(seconds) / 60 if seconds else None


def _as(status: Status, blocks: Mapping[int, str]) -> dict[int, tuple[Status, str]]:
    return {block: (status, reason) for block, reason in blocks.items()}


def _sample(name: str, baseline: str, candidate: str, trials: Sequence[Record], without: Mapping[int, tuple[Status, str]]) -> PairedSample:
    row = metric(name)
    return pair(
        [_observation(trial, name, without.get(trial.block)) for trial in trials],
        baseline=baseline,
        candidate=candidate,
        metric=name,
        unit=row.unit,
        better=row.better,
        scale="log" if is_timed(name) else "difference",
    )


def _observation(trial: Record, name: str, without: tuple[Status, str] | None) -> Observation:
    """A trial's observation of one metric; `without` says why a valid trial's block is no pair of it."""
    timed = is_timed(name)
    value = trial.measurements.get(name) if timed else trial.witnesses.get(name)
    status, reason = (Status.OK, "") if not timed and counts(trial) else (Status(trial.status), trial.reason)
    if status is Status.OK and without is not None:
        status, reason = without
    return Observation(block=trial.block, arm=trial.arm, value=value, status=status, reason=reason, position=trial.position)
