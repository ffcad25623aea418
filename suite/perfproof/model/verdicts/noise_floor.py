"""The result of an A/A: the noise floor of one metric of one workload on one machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from perfproof.model.scenarios.model_runner import EVERY, settings, wanted
from perfproof.model.scenarios.scenario import digest_of

FLOOR_SCHEMA = 1
_GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """One metric's A/A: one line of `results/<DIR>/machine/<fingerprint>.jsonl`.

    `machine` and `workload` are the digests of `machine_fingerprint` and `workload_digest`: a floor does not apply to another machine
    or workload. `sd` is the deviation over blocks of the log ratio, with its 95 % interval; `widening` stretches later
    intervals for the autocorrelation `rho`. `order_p` and `rho` are None in the short form. `primary` metrics decide whether the
    machine is trusted. `records` is the folder of the A/A's records, relative to the results folder. `host` tells hosts of one kind apart;
    older floors have none.
    """

    schema: int
    scenario: str
    metric: str
    unit: str
    better: str
    primary: bool
    workload: str
    machine: str
    blocks: int
    sd: float
    sd_low: float
    sd_high: float
    effect: float
    order_p: float | None
    rho: float | None
    widening: float
    false_verdicts: int
    windows: int
    minutes_per_block: float | None
    passed: bool
    reason: str
    when: str
    records: str
    host: str = ""


def machine_fingerprint(environment: Mapping[str, Any]) -> str:
    """Twelve hex digits for a kind of machine, from its description in a record, without names of host or user.

    They cover processor, cores, memory (in GiB), governor, and the GPUs by name, on which a noise floor depends. They do not cover kernel
    and driver, whose small updates would invalidate the floor.
    """
    facts = {key: environment.get(key) for key in ("system", "machine", "processor", "cores", "cores_of_machine", "governor", "virtual")}
    facts["memory"] = round(float(environment.get("memory_bytes") or 0) / _GIB)
    facts["gpus"] = [gpu.get("name", "") for gpu in environment.get("gpus") or ()]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]


def workload_digest(definition: Mapping[str, Any], runner: str) -> str:
    """Twelve hex digits for the work that an A/A measures: the workload, and the baseline's build and settings, without the arm's name.

    So the A/A of a scenario counts for every scenario whose baseline is the same and does the same work, on the same model runner:
    `runner` is the attested one, "" if none took part.
    """
    baseline = _baseline(definition)
    build = definition["builds"][baseline["build"]]
    return digest_of({"workload": definition["workload"], "build": build, "settings": settings(baseline, runner)})


def workload_digests(definition: Mapping[str, Any], runners: Collection[str] = ()) -> frozenset[str]:
    """The digests of a definition's work on the model runners that its baseline was seen to run on; before it has run, on each that it
    may."""
    seen = frozenset(runners) or {wanted(_baseline(definition))} - {""} or EVERY
    return frozenset(workload_digest(definition, runner) for runner in seen)


def _baseline(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    return next(arm for arm in definition["arms"].values() if arm["baseline"])
