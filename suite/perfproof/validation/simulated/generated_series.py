"""The generators of `otava-test-data`, whose steps are known by construction: this suite beside Otava alone and ruptures alone."""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np

from perfproof.model.scenarios.scenario import DEFAULT_MARGIN
from perfproof.validation.simulated.noise import Floats
from perfproof.validation.simulated.step_detectors import NEAR, OTAVA, PELT, Detector, Family, hit, perfproof
from perfproof.validation.tables import Target, pc, table

PATIENCE = (4, 5, 6, 8, 10, 15, 20)
"""Points after a step when a detector is asked."""
GENERATORS = "otava_test_data"

Pattern = tuple[str, Callable[[Any, int], Any]]
QUIET: Sequence[Pattern] = (
    ("normal, 2 %", lambda made, seed: made.noise_normal(100, mean=100, sigma=2, seed=seed)),
    ("normal, 5 %", lambda made, seed: made.noise_normal(100, mean=100, sigma=5, seed=seed)),
    ("uniform, 10 %", lambda made, seed: made.noise_uniform(100, min_val=90, max_val=110, seed=seed)),
    ("one outlier", lambda made, seed: made.outlier(100, sigma=2, seed=seed)),
    ("two bands", lambda made, seed: made.banding(100, sigma=2, seed=seed)),
    ("variance changes", lambda made, seed: made.variance_change(100, sigma_before=2, sigma_after=5, seed=seed)),
    ("phase changes", lambda made, seed: made.phase_change(100, sigma=2, seed=seed)),
)
"""Name and maker of series whose level never changes."""
STEPPED: Sequence[Pattern] = (
    ("+5 % in 2 %", lambda made, seed: made.step_function(80, value_after=105, change_index=60, sigma=2, seed=seed)),
    ("+10 % in 5 %", lambda made, seed: made.step_function(80, value_after=110, change_index=60, sigma=5, seed=seed)),
    ("+20 % in 5 %", lambda made, seed: made.step_function(80, value_after=120, change_index=60, sigma=5, seed=seed)),
    ("+20 % in 10 %", lambda made, seed: made.step_function(80, value_after=120, change_index=60, sigma=10, seed=seed)),
    (
        "+30 %, mended after 20, in 5 %",
        lambda made, seed: made.regression_fix(100, regression_start=60, regression_duration=20, sigma=5, seed=seed),
    ),
)
"""Name and maker of series with a rise after 60 points, and 20 points after it."""
PLACE = 60


def generated(seed: int, count: int) -> tuple[str, list[Target]]:
    if importlib.util.find_spec(GENERATORS) is None:
        return f"`{GENERATORS.replace('_', '-')}` is not installed: its series are left out.", []
    makers = importlib.import_module(GENERATORS)
    each = max(count // 8, 2)
    quiet = {name: [make(makers, 1000 * seed + one).data for one in range(each)] for name, make in QUIET}
    stepped = {name: [make(makers, 1000 * seed + one).data for one in range(each)] for name, make in STEPPED}
    contestants = [_contestant("**perfproof**", perfproof, quiet, stepped)]
    for family in (OTAVA, PELT):
        if family is OTAVA and importlib.util.find_spec("otava") is None:
            continue
        contestants += _of_family(family, contestants[0].alarms, quiet, stepped)
    rows = [[one.name, *(pc(share) for share in one.alarms_each), pc(one.alarms)] for one in contestants]
    seen = [[one.name, *one.cells, pc(one.seen)] for one in contestants]
    best = max((one for one in contestants[1:] if one.tuned), key=lambda one: one.seen, default=None)
    head = (
        f"Series of otava-test-data, {each} a pattern. Otava and ruptures have the same floor of {pc(DEFAULT_MARGIN)} %, and answer twice: "
        "as they are usually set, and with the most sensitive setting that raises no more false alarms on these series than perfproof. "
        + _versions()
    )
    text = "\n\n".join(
        [
            head,
            "Without a change of level, per cent with an alarm (one series counts once):",
            table(["", *(name for name, _ in QUIET), "all"], rows),
            f"With a rise after {PLACE} points: per cent that are found within 10 points after it (within {NEAR} of their place), and the "
            f"median of the points that it took; asked after {', '.join(map(str, PATIENCE))} points.",
            table(["", *(name for name, _ in STEPPED), "all within 10"], seen),
        ]
    )
    return text, [_not_worse(contestants[0], best)] if best else []


def _versions() -> str:
    there = [
        name
        for name in ("apache-otava", "ruptures", "otava-test-data")
        if importlib.util.find_spec(name.replace("apache-", "").replace("-", "_"))
    ]
    return f"By their own code: {', '.join(f'{name} {metadata.version(name)}' for name in there)}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """How a detector did: shares alarmed by pattern and over all, shares seen within 10 points, and the cells of its row."""

    name: str
    tuned: bool
    alarms_each: tuple[float, ...]
    alarms: float
    seen: float
    cells: tuple[str, ...]


def _contestant(
    name: str, detector: Detector, quiet: dict[str, list[Floats]], stepped: dict[str, list[Floats]], tuned: bool = False
) -> Contestant:
    alarms = tuple(float(np.mean([bool(detector(values)) for values in series])) for series in quiet.values())
    delays = [[_delay(detector, values) for values in series] for series in stepped.values()]
    within = [[delay <= 10 for delay in each] for each in delays]
    return Contestant(
        name=name,
        tuned=tuned,
        alarms_each=alarms,
        alarms=float(np.mean(alarms)),
        seen=float(np.mean(within)),
        cells=tuple(f"{pc(float(np.mean(hits)))} / {_points(each)}" for hits, each in zip(within, delays, strict=True)),
    )


def _delay(detector: Detector, values: Floats) -> float:
    """The number of points after which the rise is found at its place; infinite if it never is."""
    for after in PATIENCE:
        if hit(detector(values[: PLACE + after]), PLACE):
            return after
    return math.inf


def _points(delays: Sequence[float]) -> str:
    middle = float(np.median(delays))
    return f"{middle:g}" if math.isfinite(middle) else "never"


def _of_family(family: Family, most: float, quiet: dict[str, list[Floats]], stepped: dict[str, list[Floats]]) -> list[Contestant]:
    """A tool with its usual setting, and with its most sensitive setting that raises alarms at most at the rate `most`."""
    usual = _contestant(f"{family.name}, {family.usual}", family.default, quiet, stepped)
    for name, detector in family.settings:
        alarms = np.mean([np.mean([bool(detector(values)) for values in series]) for series in quiet.values()])
        if alarms <= most:
            return [usual, _contestant(f"{family.name}, {name}", detector, quiet, stepped, tuned=True)]
    return [usual]


def _not_worse(ours: Contestant, best: Contestant) -> Target:
    """The promise against the better of the two that are set to no more false alarms."""
    measured = (ours.name.strip("*"), ours), (best.name, best)
    return Target(
        promise="on otava-test-data no worse than the better of Otava alone and ruptures alone, at no more false alarms",
        measured="; ".join(f"{name}: {pc(one.seen)} % within 10 points, {pc(one.alarms)} % alarmed" for name, one in measured),
        met=ours.seen >= best.seen,
    )
