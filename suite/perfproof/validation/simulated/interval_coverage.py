"""Whether the printed intervals hold the truth as often as they say."""

from __future__ import annotations

import math

import numpy as np

from perfproof.analysis.stats import intervals
from perfproof.analysis.stats.alpha_spending import sequential
from perfproof.validation.simulated import noise, simulated_runs
from perfproof.validation.tables import BLOCKS, DELTA, SPREADS, Chapter, Target, pc, source, table


def coverage(seed: int, runs: int) -> Chapter:
    """How often the printed intervals hold the truth: at a fixed number of blocks, and at the look where a run stopped."""
    draw = source(seed, "coverage")
    fixed, farthest = [], 0.0
    sizes = (6, 7, 8, 10, 12, 16, 20, 24)
    for kind in (*noise.KINDS, *noise.HARDER):
        for level in (0.95, 0.98):
            cells = [kind.name, pc(level)]
            for n in sizes:
                found = intervals.student(noise.trials(draw, kind, (runs, n), 0.05).x)
                held = float((np.abs(found.mean) <= found.half(level)).mean())
                farthest = max(farthest, abs(held - level)) if kind is noise.GAUSSIAN else farthest
                cells.append(pc(held))
            fixed.append(cells)
    stopped, least = _after_stopping(draw, runs)
    targets = (
        Target(
            promise="coverage at fixed n = 6 to 24 within 2 points of nominal (Gaussian)",
            measured=f"at most {100 * farthest:.1f} points off",
            met=farthest <= 0.02,
        ),
        Target(promise="coverage at least 95 % overall after stopping (Gaussian)", measured=f"at least {pc(least)} %", met=least >= 0.95),
    )
    text = (
        "At a fixed number of blocks, block deviation 5 %: share of intervals that hold the true change.\n\n"
        + table(["noise", "nominal %", *(f"{n} blocks" for n in sizes)], fixed)
        + "\n\nAt the look where the run stopped (nominal 99.5 % a look, all looks together at least 98 %), one primary metric:\n\n"
        + stopped
    )
    return Chapter(title="Coverage", text=text, targets=targets)


def _after_stopping(draw: np.random.Generator, runs: int) -> tuple[str, float]:
    rows, least = [], 1.0
    effects = (0.0, 0.01, 0.02, 0.03, 0.05, 0.1)
    for kind in (*noise.KINDS, *noise.HARDER):
        for sd in SPREADS:
            cells = [kind.name, pc(sd)]
            for effect in effects:
                truth = math.log1p(effect)
                x = noise.trials(draw, kind, (runs, 1, BLOCKS), sd, truth).x
                held = float(simulated_runs.fast(x, sequential(1), DELTA, truth).held.mean())
                least = min(least, held) if kind is noise.GAUSSIAN else least
                cells.append(pc(held))
            rows.append(cells)
    return table(["noise", "sd %", *(f"+{pc(effect)} %" for effect in effects)], rows), least
