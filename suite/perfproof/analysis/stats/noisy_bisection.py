"""Where in a row of builds something changed, when some can't be tested and an answer may stay open.

The row runs from a build that is good, at place 0, to one that is bad, at the last place; in between lies one place from which on
builds are bad. An answer that is open ("skipped", "undecided") moves no bound: the search goes on beside it, and what it
could not settle is part of its result. No statistics here; what is good or bad is decided by whoever asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Answer = Literal["good", "bad", "skipped", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The last place known to be good, the first known to be bad, and the places between them whose answers are open."""

    good: int
    bad: int
    open: tuple[int, ...]

    @property
    def found(self) -> bool:
        """Whether the first bad build is known: its neighbour is good."""
        return self.bad - self.good == 1


def bounds(count: int, answers: Mapping[int, Answer]) -> Bounds:
    """What the answers leave of a row of `count` places; raises ValueError for answers that contradict each other.

    Source: binary search; open answers as `git bisect skip` has them.
    """
    good = max([0, *(place for place, answer in answers.items() if answer == "good")])
    bad = min([count - 1, *(place for place, answer in answers.items() if answer == "bad")])
    if good >= bad:
        raise ValueError(f"place {good} is good and place {bad}, which is not after it, is bad")
    return Bounds(good=good, bad=bad, open=tuple(place for place in range(good + 1, bad) if place in answers))


def next_place(count: int, answers: Mapping[int, Answer]) -> int | None:
    """The place to ask next: of those between the bounds without an answer the one nearest to their middle; None when there is none.

    Source: see `bounds`.
    """
    found = bounds(count, answers)
    unknown = [place for place in range(found.good + 1, found.bad) if place not in answers]
    middle = (found.good + found.bad) / 2
    return min(unknown, key=lambda place: (abs(place - middle), place)) if unknown else None


def steps_left(count: int, answers: Mapping[int, Answer]) -> int:
    """How many more questions it takes at most where every answer is good or bad.

    Source: see `bounds`.
    """
    found = bounds(count, answers)
    return max(0, (found.bad - found.good - 1 - len(found.open))).bit_length()
