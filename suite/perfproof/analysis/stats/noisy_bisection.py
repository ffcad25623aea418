"""Where in a row of builds something changed, when some can't be tested and answers may stay open.

The row runs from a good build, at place 0, to a bad one, at the last place; from one place between them on, builds are bad. An open answer
("skipped", "undecided") moves no bound: the search goes on beside it, and places that it could not settle are part of its result. There are
no statistics here; the caller decides what is good or bad.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Answer = Literal["good", "bad", "skipped", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The last place known to be good, the first known to be bad, and the open places between them."""

    good: int
    bad: int
    open: tuple[int, ...]

    @property
    def found(self) -> bool:
        """Whether the first bad build is known: its neighbour is good."""
        return self.bad - self.good == 1


def bounds(count: int, answers: Mapping[int, Answer]) -> Bounds:
    """The bounds of a row of `count` places after these answers. Raises ValueError for answers that contradict each other.

    Source: binary search; open answers as `git bisect skip` has them.
    """
    good = max([0, *(place for place, answer in answers.items() if answer == "good")])
    bad = min([count - 1, *(place for place, answer in answers.items() if answer == "bad")])
    if good >= bad:
        raise ValueError(f"place {good} is good and place {bad}, which is not after it, is bad")
    return Bounds(good=good, bad=bad, open=tuple(place for place in range(good + 1, bad) if place in answers))


def next_place(count: int, answers: Mapping[int, Answer]) -> int | None:
    """The place to test next: the one without an answer that is nearest to the middle between the bounds; None if there is none.

    Source: see `bounds`.
    """
    found = bounds(count, answers)
    unknown = [place for place in range(found.good + 1, found.bad) if place not in answers]
    middle = (found.good + found.bad) / 2
    return min(unknown, key=lambda place: (abs(place - middle), place)) if unknown else None


def steps_left(count: int, answers: Mapping[int, Answer]) -> int:
    """The most tests that are still needed if every answer is good or bad.

    Source: see `bounds`.
    """
    found = bounds(count, answers)
    return max(0, (found.bad - found.good - 1 - len(found.open))).bit_length()
