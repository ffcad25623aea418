"""The order in which arms run within blocks.

Randomised multiple interleaved trials (Abedi & Brecht, ICPE 2017, 10.1145/3030207.3030229), in permuted pairs of blocks: a random
order, then its reverse. After every second block each arm has run before each other arm equally often, so that a linear drift, or
an effect of going first, cancels at every look (6, 10, 16 and 24 are even). Everything follows from the seed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence


def orders(arms: Sequence[str], blocks: int, seed: int, name: str = "") -> list[tuple[str, ...]]:
    """The order in which the arms run in each of `blocks` blocks; every second one is the reverse of the one before.

    `name` (of the scenario) makes the orders of scenarios that share a seed independent of each other. More blocks with the same
    seed begin with the same orders. Raises ValueError for fewer than two arms, a name twice, or negative blocks.
    Source: Abedi & Brecht, ICPE 2017, 10.1145/3030207.3030229.
    """
    if len(arms) < 2 or len(set(arms)) != len(arms) or blocks < 0:
        raise ValueError(
            f"a design needs at least two arms of different names and no negative count of blocks, not {list(arms)} and {blocks}"
        )
    source = random.Random(f"{seed}/order/{name}")
    found: list[tuple[str, ...]] = []
    while len(found) < blocks:
        order = tuple(source.sample(list(arms), len(arms)))
        found += [order, order[::-1]]
    return found[:blocks]
