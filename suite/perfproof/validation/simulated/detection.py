"""A true slowdown: how often it is called *regressed*, after how many blocks, and whether the printed reach is true."""

from __future__ import annotations

import math

import numpy as np

from perfproof.analysis.stats import power
from perfproof.analysis.stats.alpha_spending import Spending, one_look, sequential
from perfproof.validation.simulated import noise, simulated_runs
from perfproof.validation.simulated.simulated_runs import REGRESSED
from perfproof.validation.tables import BLOCKS, DELTA, SPREADS, Chapter, Target, pc, source, table

EFFECTS = (0.0, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.1, 0.2, 0.4)


def detection(seed: int, runs: int) -> Chapter:
    """How often a true slowdown is called *regressed*, and after how many blocks."""
    draw = source(seed, "detection")
    parts, targets = [], []
    for primaries, title in ((1, "One primary metric"), (6, "One of six primary metrics moved")):
        rows = []
        for sd in SPREADS:
            cells = [pc(sd)]
            for effect in EFFECTS:
                x = noise.trials(draw, noise.GAUSSIAN, (runs, primaries, BLOCKS), sd).x
                truth = math.log1p(effect)
                x[:, 0] += truth
                found = simulated_runs.fast(x, sequential(primaries), DELTA, truth)
                rate, blocks = float((found.codes[:, 0] == REGRESSED).mean()), float(found.blocks.mean())
                cells.append(f"{pc(rate)} / {blocks:.1f}")
                if sd == 0.02 and effect == 0.03:
                    targets.append(_detected(primaries, rate, blocks))
            reach = power.smallest_effect(np.array([sd]), np.array([DELTA]), sequential(primaries).looks)[0]
            rows.append([*cells, f"+{pc(math.expm1(reach))} %"])
        header = ["sd %", *(f"+{pc(effect)} %" for effect in EFFECTS), "printed: seen with 80 %"]
        parts.append(f"{title}: regressed % / mean blocks, by true slowdown.\n\n{table(header, rows)}")
    reach_rows, reach_target = _reach(draw, runs)
    parts.append(
        "Is the printed smallest detectable effect true? Runs with just that effect, called regressed, where 80 % is right:\n\n"
        + reach_rows
    )
    return Chapter(title="Detection", text="\n\n".join(parts), targets=(*targets, reach_target))


def _detected(primaries: int, rate: float, blocks: float) -> Target:
    most = 11 if primaries == 1 else 14
    which = "one primary" if primaries == 1 else "one of six moved"
    return Target(
        promise=f"a true 3 % slowdown at 2 % noise is *regressed* in at least 99 %, with {most} blocks or fewer on average ({which})",
        measured=f"{pc(rate)} %, {blocks:.1f} blocks",
        met=rate >= 0.99 and blocks <= most,
    )


def _reach(draw: np.random.Generator, runs: int) -> tuple[str, Target]:
    plans: list[tuple[str, Spending]] = [
        ("one look at 6", one_look(6)),
        ("one look at 12", one_look(12)),
        ("one look at 24", one_look(24)),
        ("four looks, 1 primary", sequential(1)),
        ("four looks, 6 primaries", sequential(6)),
    ]
    rows, farthest = [], 0.0
    for name, plan in plans:
        cells = [name]
        for sd in SPREADS:
            effect = float(power.smallest_effect(np.array([sd]), np.array([DELTA]), plan.looks)[0])
            x = noise.trials(draw, noise.GAUSSIAN, (runs, 1, plan.blocks), sd, effect).x
            rate = simulated_runs.fast(x, plan, DELTA).any(REGRESSED) / runs
            farthest = max(farthest, abs(rate - 0.8))
            cells.append(f"+{pc(math.expm1(effect))} %: {pc(rate)}")
        rows.append(cells)
    target = Target(
        promise="the printed minimum detectable effect is called *regressed* with 80 % power, to within 3 points",
        measured=f"at most {100 * farthest:.1f} points off",
        met=farthest <= 0.03,
    )
    return table(["rule", *(f"sd {pc(sd)} %" for sd in SPREADS)], rows), target
