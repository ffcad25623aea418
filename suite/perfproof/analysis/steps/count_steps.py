"""Steps of a count of work: it has no noise, so every change of it is a step, after one point already."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from perfproof.analysis.stats.samples import Floats

FEW = 30
"""The most builds of a series that may look like counts."""
REPEATED = 0.5
"""The share of numbers that must equal the one before."""


def changes(values: Floats) -> list[int]:
    """Where a count differs from the one before: index of the first point after. `values` has shape (n,).

    Source: none, exact counts.
    """
    return [index for index in range(1, values.size) if values[index] != values[index - 1]]


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
