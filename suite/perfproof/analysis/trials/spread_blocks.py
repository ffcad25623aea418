"""Blocks of one plan that ran as jobs, perhaps on several hosts: each block counts once, whatever was killed, requeued or run twice.

The first whole valid attempt of a block counts, by the time when it began: a rule that reads no measured value. Trials of two hosts are
never one attempt. What failed in another attempt stays, for running a job again must not hide a crash.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from perfproof.model.records.record import Record

UNKNOWN = "unknown"
"""The host of a record that names none."""
FINAL = ("failed", "unattested")
"""The statuses that no other attempt replaces."""


def host_of(record: Record) -> str:
    """The host of a trial, as its record tells hosts apart.

    Source: none, a reading of the record.
    """
    return str(record.environment.get("host") or UNKNOWN)


def counted_once(records: Sequence[Record]) -> list[Record]:
    """The trials of a scenario of which one counts for each block and arm, by block and place; a block that ran more often has a warning.

    Source: none, bookkeeping.
    """
    blocks: dict[int, list[Record]] = {}
    for record in records:
        blocks.setdefault(record.block, []).append(record)
    return [trial for block in sorted(blocks) for trial in _once(_attempts(blocks[block]))]


def _attempts(block: Iterable[Record]) -> list[list[Record]]:
    """The attempts at a block in the order in which they began; each has one host and no arm twice."""
    attempts: list[list[Record]] = []
    running: dict[str, list[Record]] = {}
    for record in block:
        host = host_of(record)
        if host not in running or record.arm in {other.arm for other in running[host]}:
            running[host] = []
            attempts.append(running[host])
        running[host].append(record)
    return sorted(attempts, key=lambda attempt: (attempt[0].started, host_of(attempt[0])))


def _once(attempts: Sequence[Sequence[Record]]) -> list[Record]:
    """The trials of a block that count."""
    whole = [attempt for attempt in attempts if _is_whole(attempt)]
    counted = whole[0] if whole else attempts[-1]
    lasting = {record.arm: record for attempt in reversed(attempts) for record in attempt if record.status in FINAL}
    trials = {**{record.arm: record for record in counted}, **lasting}
    told = (_told(whole),) if len(whole) > 1 else ()
    return [_warned(trial, told) for trial in sorted(trials.values(), key=lambda trial: trial.position)]


def _is_whole(attempt: Sequence[Record]) -> bool:
    return {record.arm for record in attempt} >= set(attempt[0].order) and all(record.status != "invalid" for record in attempt)


def _told(whole: Sequence[Sequence[Record]]) -> str:
    hosts = dict.fromkeys(f"host {host_of(attempt[0])}" for attempt in whole)
    return f"block {whole[0][0].block} was measured {len(whole)} times ({', '.join(hosts)}): the first time counts"


def _warned(trial: Record, told: Sequence[str]) -> Record:
    return dataclasses.replace(trial, warnings=(*trial.warnings, *told)) if told else trial
