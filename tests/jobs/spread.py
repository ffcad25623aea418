"""Records of a plan whose blocks ran as jobs on several hosts, and folders of them."""

from __future__ import annotations

import copy
import dataclasses
import json
import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from perfproof.model.records.record import SPREAD, Record
from tests.factory import DEFINITION, record

HOSTS = ("aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc")


def machine(host: str) -> dict[str, Any]:
    return {"host": host, "processor": "EPYC 9654", "cores": 4, "gpus": [{"name": "NVIDIA H200", "driver": "570.1"}]}


def definition(blocks: int = 6, **changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(DEFINITION), "blocks": blocks, **changes}


def attempt(
    block: int,
    host: str,
    *,
    at: int,
    change: float = 1.0,
    noise: float = 0.004,
    asked: Mapping[str, Any] | None = None,
    spread: bool = True,
    salt: int = 0,
) -> list[Record]:
    """One block as a host measured it, begun `at` seconds after noon; the candidate takes `change` times the baseline's time."""
    asked = asked or definition()
    order = list(asked["arms"])[:: 1 if block % 2 else -1]
    source = random.Random(f"{block}/{host}/{at}/{salt}")
    base = 0.04 * source.uniform(0.5, 2)
    return [
        record(
            asked,
            block=block,
            arm=arm,
            position=place,
            order=order,
            started=(datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(seconds=at + place)).isoformat(),
            measurements={"round_time": base * (change if arm == "after" else 1.0) * source.gauss(1, noise)},
            environment={**machine(host), **({SPREAD: True} if spread else {})},
        )
        for place, arm in enumerate(order)
    ]


def plan(blocks: int, hosts: Sequence[str] = HOSTS, **options: Any) -> list[Record]:
    """A whole plan whose blocks went to hosts in turn."""
    asked = options.pop("asked", None) or definition(blocks)
    return [
        one
        for block in range(1, blocks + 1)
        for one in attempt(block, hosts[(block - 1) // 2 % len(hosts)], at=100 * block, asked=asked, **options)
    ]


def lines(records: Sequence[Record]) -> list[bytes]:
    return [json.dumps({k: v for k, v in dataclasses.asdict(one).items() if v or k != "counts"}).encode() for one in records]


def write(folder: Path, records: Sequence[Record]) -> Path:
    """A results folder with these records, in this order."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in dict.fromkeys(one.scenario for one in records):
        own = lines([one for one in records if one.scenario == name])
        (folder / f"{name}.jsonl").write_bytes(b"".join(line + b"\n" for line in own))
    return folder
