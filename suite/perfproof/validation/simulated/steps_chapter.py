"""Steps of series: false alarms on quiet ones, how soon a step is found, other tools for comparison, and series that others labelled."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np

from perfproof.analysis.steps import find
from perfproof.model.scenarios.scenario import DEFAULT_MARGIN
from perfproof.validation.simulated.generated_series import generated
from perfproof.validation.simulated.noise import Floats, correlated
from perfproof.validation.simulated.step_detectors import hit, perfproof
from perfproof.validation.tables import Chapter, Target, pc, source, table

SD = 0.02
LENGTHS = (50, 60, 100, 200, 500)
QUIET = ((0.0, SD), (0.3, SD), (0.6, SD), (0.6, 0.05))
"""Autocorrelation and deviation of series without a step; in the last, chance shifts are often larger than the floor."""
AFTER = (4, 6, 8, 10)
PLACED = 5
"""How many points off so small a step may be placed."""
LABELLED = Path(os.environ.get("PERFPROOF_LABELLED", Path(__file__).parents[4].parent / "shared/data/sap-hana-small-2021"))
"""Where SAP's labelled series are looked for."""


def steps(seed: int, runs: int) -> Chapter:
    """Alarms on quiet series, steps of five per cent, the generators of otava-test-data beside other tools, and labelled series."""
    count = max(runs // 40, 5)
    parts, targets = [], []
    for part in (_quiet, _five_per_cent, generated, _labelled):
        text, kept = part(seed, count)
        parts.append(text)
        targets += kept
    return Chapter(title="Steps of a series", text="\n\n".join(parts), targets=tuple(targets))


def _quiet(seed: int, count: int) -> tuple[str, list[Target]]:
    draw = source(seed, "quiet series")
    rows, alarmed = [], 0
    for rho, sd in QUIET:
        made = [[_series(draw, length, rho, sd) for _ in range(count)] for length in LENGTHS]
        alarms = [sum(bool(perfproof(values)) for values in series) for series in made]
        alarmed += sum(alarms)
        rows.append([f"{rho:g}", pc(sd), *(pc(each / count) for each in alarms)])
    total = count * len(QUIET) * len(LENGTHS)
    head = f"Series without a step, {count} a case, noise with first-order autocorrelation: per cent with an alarm, by number of points."
    target = Target(
        promise="of quiet series with autocorrelation up to .6 at most 2 % are alarmed",
        measured=f"{pc(alarmed / total)} % of {total:,}",
        met=alarmed <= 0.02 * total,
    )
    return f"{head}\n\n{table(['autocorrelation', 'noise %', *(f'{length} points' for length in LENGTHS)], rows)}", [target]


def _series(draw: np.random.Generator, length: int, rho: float, sd: float = SD) -> Floats:
    values: Floats = 100 * np.exp(sd * correlated(rho)(draw, (length + 20,))[20:])
    return values


def _five_per_cent(seed: int, count: int) -> tuple[str, list[Target]]:
    draw = source(seed, "five per cent")
    rows, seen = [], 0
    befores = (30, 60, 120)
    for before in befores:
        cells = []
        for after in AFTER:
            hits = sum(hit(perfproof(_stepped(draw, before, after)), before, PLACED) for _ in range(count))
            seen += hits if after == 10 else 0
            cells.append(pc(hits / count))
        rows.append([str(before), *cells])
    total = count * len(befores)
    head = f"A step of 5 % in {pc(SD)} % noise: per cent that are found, placed within {PLACED} points, by points before and after."
    target = Target(
        promise="steps of 5 % in 2 % noise are found within 10 points in at least 90 %",
        measured=f"{pc(seen / total)} % of {total}",
        met=seen >= 0.9 * total,
    )
    return f"{head}\n\n{table(['points before', *(f'{after} after' for after in AFTER)], rows)}", [target]


def _stepped(draw: np.random.Generator, before: int, after: int) -> Floats:
    values = _series(draw, before + after, 0.0)
    values[before:] *= 1.05
    return values


def _labelled(seed: int, count: int) -> tuple[str, list[Target]]:
    """SAP's labelled series, where they are: `PERFPROOF_LABELLED` names their folder."""
    del seed, count
    if not (LABELLED / "dataset_details.csv").is_file():
        return "SAP's labelled series are not here, and left out (`PERFPROOF_LABELLED` names their folder).", []
    with open(LABELLED / "dataset_details.csv", newline="", encoding="utf-8") as file:
        labels = [(row["Type"].strip(), row["Dataset"], int(row["Change Point"])) for row in csv.DictReader(file, delimiter=";")]
    rows, found, alarmed = [], 0, 0
    for kind, name, last in sorted(labels):
        builds, place = _builds(LABELLED / "data" / name, last)
        changes = find(builds, floor=DEFAULT_MARGIN, kind="timed").changes
        hit = bool(last) and any(abs(one.index - place) <= 5 and one.direction == "rise" for one in changes)
        found += hit
        alarmed += not last and any(one.direction == "rise" for one in changes)
        shown = ", ".join(f"{one.direction} at {one.index + 1}" for one in changes) or "none"
        rows.append([name.removesuffix(".csv"), kind, str(len(builds)), str(place + 1) if last else "none", shown])
    real = sum(bool(last) for _, _, last in labels)
    others = len(labels) - real
    targets = [
        Target(
            promise="labelled regressions are found within 5 builds, and at most 1 other series is alarmed upwards",
            measured=f"{found} of {real}; {alarmed} of {others}",
            met=found == real and alarmed <= 1,
        )
    ]
    head = (
        "SAP's labelled series (hana/small_2021, those that are here): the first build after the change by the label, and the steps found."
    )
    return f"{head}\n\n{table(['series', 'type', 'builds', 'label', 'shown'], rows)}", targets


def _builds(path: Path, last: int) -> tuple[list[Floats], int]:
    """The measurements of each build, and the place of the first build after the measurement number `last`."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = [(row["GHC"], float(row["Measurement"])) for row in csv.DictReader(file)]
    names = list(dict.fromkeys(build for build, _ in rows))
    own = {name: np.array([value for build, value in rows if build == name]) for name in names}
    return list(own.values()), names.index(rows[last][0]) if last else 0
