"""What share of a step's time the counted functions take, roughly, and what of the step was not Python.

The time is the least of the steps of some uncounted waves, what went by in C functions the least of as many profiled ones. Where the waves
differ too much, the machine was busy, and the process that counted leaves the share out. It puts a count into proportion, and decides
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfproof.model.records.counts import Cell, Count

STEP = "decode"
"""The phase whose time is given."""
NAMED = 3
"""C functions that are named, at most."""
SCATTERED = (
    "what share of a step's time the counted Python takes is not said: the machine was busy, and like steps took very different times"
)
LEAST = 0.01
"""A C function that takes a smaller part of a step is not named."""


def python_shares(count: Count, cells: Sequence[tuple[str, int]]) -> Iterator[str]:
    """A sentence for each of these cells whose step was timed; one for all where the times of none could be believed.

    Source: none, two times of the same process, rough.
    """
    timed = [cell for cell in map(count.cell, cells) if cell is not None and cell.seconds.get(STEP)]
    shares = [cell for cell in timed if _believed(cell)]
    yield from map(_sentence, shares)
    if timed and not shares:
        yield SCATTERED


def python_share(cell: Cell) -> float:
    """The part of a decode step that did not go by in C functions, from 0 to 1; what the profiler adds to short C calls makes it too small.

    Source: none, two times of the same process, rough.
    """
    return max(0.0, 1 - sum(cell.outside[STEP].values()) / cell.seconds[STEP])


def _believed(cell: Cell) -> bool:
    """Whether the C functions of a step take no longer than the step."""
    return STEP in cell.outside and sum(cell.outside[STEP].values()) <= cell.seconds[STEP]


def _sentence(cell: Cell) -> str:
    whole, share = cell.seconds[STEP], python_share(cell)
    named = [(name, seconds) for name, seconds in cell.outside[STEP].items() if name and seconds >= LEAST * whole][:NAMED]
    most = ", ".join(f"{name} {100 * seconds / whole:.0f} %" for name, seconds in named)
    return (
        f"{cell.feature}, {cell.requests} requests: the counted Python takes about {100 * share:.0f} % of a decode step's "
        f"{1000 * whole:.1f} ms (rough, the least of untraced runs beside); the rest is not Python"
        + (f", most of it {most}" if most else "")
    )
