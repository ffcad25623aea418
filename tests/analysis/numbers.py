"""Samples made to order, for the tests of the analysis."""

from __future__ import annotations

import numpy as np

from perfproof.analysis.stats.samples import PairedSample, pair_arrays
from perfproof.model.scenarios.metrics import Better


def made(effect: float, sd: float = 0.02, blocks: int = 24, seed: int = 1, better: Better = "lower", exactly: bool = False) -> PairedSample:
    """A sample whose candidate changes by the log ratio `effect` in the worse direction, with block deviation `sd` (exact if asked)."""
    source = np.random.default_rng(seed)
    noise = source.standard_normal(blocks)
    if exactly:
        noise = (noise - noise.mean()) / noise.std(ddof=1)
    sign = 1 if better == "lower" else -1
    baseline = 10 * np.exp(source.normal(0, 0.1, blocks))
    return pair_arrays(baseline, baseline * np.exp(sign * (effect + sd * noise)), metric="round_time", unit="s", better=better)
