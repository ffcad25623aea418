"""How work grows with the length of an output: counts exactly, from steps at several output tokens, and rough times beside them.

Work inside a single instruction (a slice, `in`, a copy) or in compiled code is not counted. Times at two positions show that there is such
work. Each time is the least of a few steps, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from perfproof.analysis.counts.count_comparison import other_work
from perfproof.model.records.counts import METRICS, Cell, Count, Metric, numbers_of

GROWING: tuple[Metric, ...] = ("python_instructions", "python_calls", "c_calls", "torch_operators", "torch_bytes")
STEEPER = 1.5
"""The least excess growth of a candidate's time that is reported: times are rough."""


def growths(base: Count, candidate: Count, positions: Mapping[str, int]) -> Iterator[str]:
    """A sentence for every count whose growth changed, and for times that grow where counts do not.

    `positions` has the output token of a phase by its name.

    Source: none, differences of exact counts at two positions.
    """
    for cell in base.cells:
        other = candidate.cell(cell.key)
        if other is None or other_work(cell, other):
            continue
        places = sorted((positions[phase], phase) for phase in cell.phases if phase in positions and phase in other.phases)
        if len(places) >= 3:
            yield from _grown(cell, other, {phase: place for place, phase in places})


def _grown(base: Cell, candidate: Cell, places: Mapping[str, int]) -> Iterator[str]:
    where = f"{base.feature}, {base.requests} requests"
    first, last = next(iter(places)), list(places)[-1]
    grows = False
    for metric in GROWING:
        was, now = (_growth(cell, metric, places) for cell in (base, candidate))
        grows = grows or was != now
        if was != now:
            yield f"{where}: {METRICS[metric][0]} of a step grow {_words(now)} with the output, {_words(was)} before"
    was_times, now_times = (_times(cell, first, last) for cell in (base, candidate))
    if was_times and now_times > STEEPER * was_times and not grows:
        yield (
            f"{where}: a step at token {places[last]:,} takes {now_times:.1f} times as long as one at {places[first]:,}, {was_times:.1f} "
            "times before (rough), and no count grows with it: that work is inside single instructions or compiled code; measure it"
        )


def _growth(cell: Cell, metric: Metric, places: Mapping[str, int]) -> tuple[float, ...]:
    """What a token more adds, from each position to the next."""
    sums = [(place, sum(numbers_of(cell.phases[phase], metric).values())) for phase, place in places.items()]
    return tuple((more - less) / (far - near) for (near, less), (far, more) in pairwise(sums))


def _words(growth: tuple[float, ...]) -> str:
    if not any(growth):
        return "not at all"
    if len({round(each, 6) for each in growth}) == 1:
        return f"by {growth[0]:g} a token"
    return f"by {min(growth):.4g} to {max(growth):.4g} a token"


def _times(cell: Cell, first: str, last: str) -> float:
    """By what factor a step takes longer at the last position; 0 where that is not known."""
    near, far = cell.seconds.get(first, 0.0), cell.seconds.get(last, 0.0)
    return far / near if near else 0.0
