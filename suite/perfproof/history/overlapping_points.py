"""Finds points with the same trials: when a run continues with more blocks, its new point has the old one's trials too."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence


def covered(points: Iterable[tuple[Hashable, str, Sequence[float]]]) -> set[str]:
    """The ids of points whose trials another point has too, so that no trial is in a series twice.

    A point is given as `same`, its id and its values, one per trial. `same` is what points of one run share: the series, the build, the
    settings, and the start of the first trial. Of two points with the same values the first stays.
    """
    apart: dict[Hashable, list[tuple[str, Counter[float]]]] = defaultdict(list)
    for same, name, values in points:
        apart[same].append((name, Counter(values)))
    gone: set[str] = set()
    for own in apart.values():
        kept: list[Counter[float]] = []
        for name, trials in sorted(own, key=lambda one: -one[1].total()):
            if any(trials <= larger for larger in kept):
                gone.add(name)
            else:
                kept.append(trials)
    return gone
