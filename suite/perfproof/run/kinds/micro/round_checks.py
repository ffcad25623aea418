"""Checks of a microbenchmark's rounds: work that was done only once, and rounds too short for the clock."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median

LEAST_ROUNDS = 5
FIRST = 10.0
"""How many times the median of all rounds the first round may take."""
CLOCK = 100e-9
"""About how many seconds a round's two clock readings and its call take in any Python process."""
SEEN = 50.0
"""How many times `CLOCK` a round must take, so that the work dominates what is measured."""
WANTED = 1e-3
"""Seconds of a round that need no warning."""


def warnings(metric: str, rounds: Sequence[float], iterations: int = 1) -> Iterator[str]:
    """Warnings about a metric's rounds. `rounds` are seconds per iteration; each round times `iterations` of them."""
    usual = median(rounds) if rounds else 0.0
    if usual <= 0:
        return
    if len(rounds) >= LEAST_ROUNDS and (times := rounds[0] / usual) >= FIRST:
        yield (
            f"{metric}: the first round took {times:,.0f} times the median of all {len(rounds)}: either the first call uses up what the "
            "benchmark works on, and the work was done only once (build it again for every round: setup= of benchmark.pedantic), or it "
            "fills a cache that the others use (then add a warm-up: warmup_rounds=1)"
        )
    if (took := usual * iterations) < SEEN * CLOCK:
        needed = 10 ** math.ceil(math.log10(WANTED / usual))
        yield (
            f"{metric}: a round takes {took * 1e6:.2g} us, some {CLOCK * 1e6:.1g} us of which are the clock and the call: "
            f"the clock is part of what was measured; time more calls per round (iterations={needed} of benchmark.pedantic)"
        )
