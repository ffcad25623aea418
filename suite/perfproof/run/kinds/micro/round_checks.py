"""What the rounds of a microbenchmark say of themselves: work that was done once, and rounds that are over before a clock can tell."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median

LEAST_ROUNDS = 5
FIRST = 10.0
"""How many times their median the first round may take."""
CLOCK = 100e-9
"""Seconds that a round's two looks at the clock and its call cost by themselves, about, in any process of Python."""
SEEN = 50.0
"""How many times that a round must take for its own cost to be what is measured."""
WANTED = 1e-3
"""Seconds of a round that nobody need ask about."""


def warnings(metric: str, rounds: Sequence[float], iterations: int = 1) -> Iterator[str]:
    """What a reader of a metric must know of its rounds. `rounds` are seconds an iteration; each round times so many of them."""
    usual = median(rounds) if rounds else 0.0
    if usual <= 0:
        return
    if len(rounds) >= LEAST_ROUNDS and (times := rounds[0] / usual) >= FIRST:
        yield (
            f"{metric}: the first round took {times:,.0f} times the median of all {len(rounds)}: perhaps the first call uses up what the "
            "benchmark works on, and the work was done once (build it anew for every round: setup= of benchmark.pedantic), or makes "
            "what the others find (then give it a warm-up: warmup_rounds=1)"
        )
    if (took := usual * iterations) < SEEN * CLOCK:
        needed = 10 ** math.ceil(math.log10(WANTED / usual))
        yield (
            f"{metric}: a round takes {took * 1e6:.2g} us, some {CLOCK * 1e6:.1g} us of it the clock and the call that measure it: "
            f"the clock is a part of what was measured; time more calls a round (iterations={needed} of benchmark.pedantic)"
        )
