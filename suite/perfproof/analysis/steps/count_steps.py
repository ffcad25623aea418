"""Steps of a count: it has no noise, so every change beyond its margin is a step, after one point already."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from perfproof.analysis.stats.samples import Floats

FEW = 30
"""The most builds of a series that may look like counts."""
REPEATED = 0.5
"""The share of numbers that must equal the one before."""


def changes(values: Floats, margin: float = 0.0) -> list[int]:
    """Where a count differs from its level by more than the margin, a fraction: index of the first point after. `values` has shape (n,).

    The level is the value at the last step, so that many small changes one way become a step once they come to more than the margin.
    Source: none, exact counts.
    """
    found: list[int] = []
    for index in range(1, values.size):
        level = float(values[found[-1] if found else 0])
        if abs(float(values[index]) - level) > margin * abs(level):
            found.append(index)
    return found


def looks_exact(groups: Sequence[Floats]) -> bool:
    """Whether numbers of unknown origin look like changed counts: few builds, whole numbers, equal within a build, mostly equal to the one
    before.

    Source: none, a guess that only supports a hint: memory in whole MiB looks the same.
    """
    firsts = [float(group[0]) for group in groups]
    whole = all(float(value).is_integer() for group in groups for value in group)
    equal = all((group == group[0]).all() for group in groups)
    same = sum(one == other for one, other in pairwise(firsts))
    return whole and equal and len(set(firsts)) > 1 and len(groups) <= FEW and same >= REPEATED * (len(groups) - 1)
