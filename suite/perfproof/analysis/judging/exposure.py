"""What host time is worth: how much of a known delay in every step of the engine's host shows in the times of a server.

A scenario becomes one whose arms are its baseline with different delays (`delayed`). From its records comes the share of a step's host time
that is exposed (`exposure_of`): 1 where the device waits for the host, near 0 where the host works ahead of it. A device that waits less
can't wait more when the host gets faster, so a saving shows at most what the smallest delays cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from perfproof.analysis.stats.samples import Floats
from perfproof.analysis.trials.paired_trials import fine, latest
from perfproof.analysis.verdicts.paired_slope import Slope, paired_slope
from perfproof.model.records.record import Record
from perfproof.patches.planted.step_delay import PATCH, STEPS, VARIABLE, WAITED

DELAYS = (0, 50, 100, 200, 400)
"""Microseconds."""
EARLY = 100
"""Delays up to so many microseconds speak of savings."""
SAVED = 100
"""The microseconds that a sentence speaks of."""
TPOT, THROUGHPUT = "median_tpot", "output_throughput"
REQUESTS, LATENCY = "request_throughput", "mean_e2el"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """One scenario's exposure over `blocks` whole blocks. `delays` are the delays of the arms as they were really waited, in microseconds,
    and `costs` the median change of TPOT with each against the same block's without, in microseconds.

    `tpot` is TPOT's slope over the delay: the share of host time that shows; `early` the same over the smallest delays; None where the
    workload has no TPOT. `throughput` is the relative loss of throughput a microsecond.
    """

    scenario: str
    blocks: int
    delays: tuple[float, ...]
    costs: tuple[float, ...]
    tpot: Slope | None
    early: Slope | None
    throughput: Slope


def delayed(definition: Mapping[str, Any], delays: Sequence[int], blocks: int) -> dict[str, Any]:
    """The definition of a scenario's exposure: its baseline with each delay, on one shared server, `blocks` blocks, one look.

    Source: none.
    """
    baseline = next(arm for arm in definition["arms"].values() if arm["baseline"])
    arms = {
        f"delay_{delay}us": {
            **baseline,
            "baseline": number == 0,
            "patches": [*baseline["patches"], PATCH.name],
            "environment": {**baseline["environment"], VARIABLE: str(delay)},
        }
        for number, delay in enumerate(delays)
    }
    pools = not any(name.partition("@")[0].endswith(("tpot", "output_throughput")) for name in definition["metrics"])
    primary, secondary = (REQUESTS, LATENCY) if pools else (THROUGHPUT, TPOT)
    return {
        **definition,
        "name": f"{definition['name'][:55]}_exposure",
        "question": f"Of the time that a step of vLLM's host takes, how much shows in the times of {definition['name']}?",
        "workload": {**definition["workload"], "launches": "shared"},
        "arms": arms,
        "metrics": {primary: {"primary": True, "margin": 0.02}, secondary: {"primary": False, "margin": 0.02}},
        "blocks": blocks,
    }


def is_exposure(definition: Mapping[str, Any]) -> bool:
    """Whether the arms of a definition differ in the delay of a step, and in nothing else.

    Source: none.
    """
    arms = definition.get("arms")
    if not isinstance(arms, Mapping) or len(arms) < 2:
        return False
    said = [(arm.get("environment") or {}).get(VARIABLE) for arm in arms.values()]
    return all(map(_microseconds, said)) and len(set(said)) == len(said) and len({repr(_rest(arm)) for arm in arms.values()}) == 1


def _microseconds(said: object) -> bool:
    return isinstance(said, str) and said.isascii() and said.isdigit()


def _rest(arm: Mapping[str, Any]) -> dict[str, Any]:
    others = {name: value for name, value in (arm.get("environment") or {}).items() if name != VARIABLE}
    return {**{key: value for key, value in arm.items() if key not in ("baseline", "environment")}, "environment": others}


def exposure_of(records: Sequence[Record]) -> Exposure | None:
    """The exposure from the records of one scenario whose arms are delays; None where fewer than two blocks are whole, or where a block's
    waits are all the same.

    Source: `paired_slope`.
    """
    trials = [trial for trial in latest(records) if fine(trial) and waited(trial) is not None]
    definition = records[-1].definition if records else {}
    if not trials or not is_exposure(definition):
        return None
    arms = sorted(definition["arms"], key=lambda name: int(definition["arms"][name]["environment"][VARIABLE]))
    by_block: dict[int, dict[str, Record]] = {}
    for trial in trials:
        by_block.setdefault(trial.block, {})[trial.arm] = trial
    whole = [own for _, own in sorted(by_block.items()) if len(own) == len(arms)]
    x = np.array([[waited(own[arm]) for arm in arms] for own in whole], dtype=float)
    if len(whole) < 2 or not _apart(x):
        return None
    tpot, speed = (_values(whole, arms, name) for name in (TPOT, THROUGHPUT))
    if speed is None:
        speed = _values(whole, arms, REQUESTS)
    if speed is None:
        return None
    few = [place for place, arm in enumerate(arms) if int(definition["arms"][arm]["environment"][VARIABLE]) <= EARLY]
    micro = None if tpot is None else tpot * 1e6
    return Exposure(
        scenario=records[-1].scenario,
        blocks=len(whole),
        delays=tuple(np.median(x, axis=0).tolist()),
        costs=() if micro is None else tuple(median(row) for row in (micro - micro[:, :1]).T.tolist()),
        tpot=None if micro is None else paired_slope(x, micro),
        early=paired_slope(x[:, few], micro[:, few]) if micro is not None and 1 < len(few) < len(arms) and _apart(x[:, few]) else None,
        throughput=paired_slope(x, -np.log(speed)),
    )


def _apart(x: Floats) -> bool:
    """Whether every block has waits that differ."""
    return bool((np.ptp(x, axis=1) > 0).all())


def waited(trial: Record) -> float | None:
    """The microseconds that a trial's steps really waited, on average; None where no step was counted.

    Source: none, a quotient of the attested counts.
    """
    counts = trial.attestation.counts if trial.attestation else {}
    return counts.get(WAITED, 0) / counts[STEPS] / 1000 if counts.get(STEPS) else None


def _values(whole: Sequence[Mapping[str, Record]], arms: Sequence[str], name: str) -> Floats | None:
    """A metric of each block and arm; None where a trial lacks it."""
    rows = [[own[arm].measurements.get(name) for arm in arms] for own in whole]
    if any(value is None or value <= 0 for row in rows for value in row):
        return None
    return np.array(rows, dtype=float)


def sentences(found: Exposure) -> list[str]:
    """The answer in sentences: what a saving shows, what throughput gains, and whether the smallest delays say otherwise.

    Source: none.
    """
    spoken = [_share(found.tpot, found.scenario)] if found.tpot else []
    if found.early and found.tpot and (found.early.high < found.tpot.low or found.early.low > found.tpot.high):
        spoken.append(
            f"of the first {SAVED} us alone it is {_size(found.early)}: the cost is no straight line, and a saving shows at most that much"
        )
    value, low, high = (100 * SAVED * each for each in (found.throughput.value, found.throughput.low, found.throughput.high))
    spoken.append(
        f"{SAVED} us a step are worth {value:.2g} % [{low:.2g}, {high:.2g}] of the throughput, from {found.blocks} blocks of "
        f"{len(found.delays)} delays up to {max(found.delays):.0f} us"
    )
    return spoken


def _share(slope: Slope, scenario: str) -> str:
    return f"of {SAVED} us saved on the host per step, {_size(slope)} show in TPOT on {scenario.removesuffix('_exposure')}"


def _size(slope: Slope) -> str:
    return f"{SAVED * slope.value:.0f} us [{SAVED * slope.low:.0f}, {SAVED * slope.high:.0f}]"
