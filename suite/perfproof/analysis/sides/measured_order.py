"""In what order the runs of two sides were measured, from the dates that they carry: in turns, in batches, or nobody knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from perfproof.model.records.result_runs import ResultRun

BASELINE, CANDIDATE = "baseline", "candidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """`pairs` are places in the two sides, one run of each, of runs in turns; empty otherwise.

    `places` has each run's side and place in its side in the order of time, empty where that is not known. `how` says it in words.
    """

    pairs: tuple[tuple[int, int], ...]
    places: tuple[tuple[str, int], ...]
    how: str


def order(before: Sequence[ResultRun], after: Sequence[ResultRun], *, said_interleaved: bool = False) -> Order:
    """The order of two sides' runs. Dates are believed first; without them, `said_interleaved` makes run i of each side a pair.

    In turns are as many runs of either side that, by time, fall into pairs of one run of each. Source: none, the meaning of a block.
    """
    runs = [(run.at, BASELINE, place) for place, run in enumerate(before)] + [(run.at, CANDIDATE, place) for place, run in enumerate(after)]
    moments = [at for at, _, _ in runs if at is not None]
    if len(moments) < len(runs) or len(set(moments)) < len(moments):
        return _undated(before, after, bool(moments), said_interleaved)
    timed = tuple((side, place) for _, side, place in sorted((at or 0.0, side, place) for at, side, place in runs))
    halves = [timed[start : start + 2] for start in range(0, len(timed), 2)]
    if len(before) == len(after) and all(len({side for side, _ in half}) == 2 for half in halves):
        found = [dict(half) for half in halves]
        return Order(
            pairs=tuple((half[BASELINE], half[CANDIDATE]) for half in found), places=timed, how="their dates show that they took turns"
        )
    return Order(pairs=(), places=timed, how=_batches(timed))


def _undated(before: Sequence[ResultRun], after: Sequence[ResultRun], some: bool, said_interleaved: bool) -> Order:
    if said_interleaved and len(before) == len(after):
        pairs = tuple((place, place) for place in range(len(before)))
        return Order(pairs=pairs, places=(), how="they took turns, as --interleaved says: run by run in the order that they were named")
    lack = "not every run has a date of its own" if some else "nothing in the files says when they were measured"
    return Order(pairs=(), places=(), how=f"{lack}, so nobody knows whether they took turns")


def _batches(timed: Sequence[tuple[str, int]]) -> str:
    turns = 1 + sum(one[0] != other[0] for one, other in pairwise(timed))
    if turns == 2:
        return f"all of the {timed[0][0]} was measured before all of the {timed[-1][0]}"
    return f"by their dates they did not take turns one by one ({turns} turns in {len(timed)} runs)"
