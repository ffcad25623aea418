"""Makes a Record of a trial that has ended, for every runner.

The common steps are here: block and scenario are copied, texts are scrubbed, seconds are rounded, and the machine is looked at once more.
The record of a trial that does not count also has the end of its log: some readers get nothing but the record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from perfproof.model.records.record import SCHEMA, Attestation, Record, Status
from perfproof.model.scenarios.plan import Block
from perfproof.run.host import environment
from perfproof.run.processes import attestation as attest
from perfproof.run.processes.trial_process import scrub, tail
from perfproof.run.servers.log_diagnosis import last_words

LOG_LINES = 40
"""The most log lines in the record of a trial that does not count (`environment.log_end`)."""


def recorded(
    block: Block,
    arm: str,
    *,
    seed: int,
    started: str,
    status: Status,
    reason: str,
    how: str,
    log: Path | None,
    results: Path,
    attestation: Attestation | None,
    seconds: Mapping[str, float],
    known: Mapping[str, Any],
    warnings: Sequence[str],
    measurements: Mapping[str, float],
    raw: Mapping[str, Sequence[float]],
    work: Mapping[str, int],
    witnesses: Mapping[str, float] | None = None,
    counts: Mapping[str, Any] | None = None,
) -> Record:
    """The Record of one trial of a block. `log` lies below `results`, both absolute; `known` is its environment so far."""
    scenario = block.scenario
    there = log is not None and log.exists()
    end = last_words(tail(log, 4 * LOG_LINES), LOG_LINES) if log is not None and status != "ok" else ""
    return Record(
        schema=SCHEMA,
        scenario=scenario.name,
        digest=scenario.digest,
        definition=scenario.definition,
        profile=scenario.profile,
        seed=seed,
        block=block.number,
        position=block.order.index(arm),
        order=tuple(block.order),
        arm=arm,
        started=started,
        status=status,
        reason=scrub(reason),
        how=how,
        measurements=measurements,
        raw=raw,
        witnesses=witnesses or {},
        work=work,
        seconds={name: round(spent, 4) for name, spent in seconds.items()},
        warnings=tuple(map(scrub, [*warnings, *attest.notes(attestation)])),
        attestation=attestation,
        environment={**known, "after": environment.moment(), **({"log_end": end} if end else {})},
        log=str(log.relative_to(results)) if log is not None and there else "",
        counts=counts or {},
    )
