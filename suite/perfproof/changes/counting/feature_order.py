"""The order in which features are counted for a change, and what of a count is known by now. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from perfproof.analysis.stats.number_format import duration
from perfproof.child.engine.features import FEATURES
from perfproof.model.base.name_lists import few
from perfproof.model.records.counts import Count
from perfproof.run.trials.engine_counting import Cells

MOST = 6
"""The most names in a sentence."""


def sizes_of(quick: bool) -> dict[str, Sequence[int]]:
    """The numbers of requests of each feature that is counted for a change; with `quick` the least number alone."""
    return {one.name: one.sizes[:1] if quick else one.sizes for one in FEATURES if not one.positions}


def with_caller(first: Cells, calling: Sequence[str], quick: bool) -> dict[str, Sequence[int]]:
    """The features to count for every change, and the first that is known to call this one, if none of them is; with `quick` that one at
    any rate, those that are known to call it first, each with its least number of requests."""
    caller = () if set(calling) & set(first) and not quick else calling[:1]
    found = {one.name: first.get(one.name, one.sizes) for one in FEATURES if one.name in first or one.name in caller}
    return in_turn(calling, {name: sizes[:1] for name, sizes in found.items()}) if quick else found


def in_turn(calling: Sequence[str], cells: Cells) -> dict[str, Sequence[int]]:
    """The features in another order: those first that are known to call a change, in their order."""
    return {name: cells[name] for name in dict.fromkeys([*(name for name in calling if name in cells), *cells])}


def order(cells: Cells) -> str:
    """Features in the order in which they are counted, with their numbers of requests where there are several."""
    return ", ".join(f"{name} ({', '.join(map(str, sizes))} requests)" if len(sizes) > 1 else name for name, sizes in cells.items())


def limit(seconds: float | None) -> str:
    return "" if seconds is None else f"; in this order, for {duration(seconds / 60)} at most"


def left_out(names: Sequence[str], first: Cells, *, over: bool) -> list[str]:
    """A sentence on features that were not counted, because the time was `over`, or of the `first` because another answered."""
    if over:
        return [f"not counted, because the time for counting was over: {few(names, MOST)}"] if names else []
    late = [name for name in names if name in first]
    return [f"not counted, for the budget, once the change had run: {', '.join(late)}"] if late else []


def known_cells(cells: Cells, counts: Sequence[Count]) -> dict[str, list[int]]:
    """The cells that every count contains."""
    known = {name: [size for size in sizes if all(_says(one, name, size) for one in counts)] for name, sizes in cells.items()}
    return {name: sizes for name, sizes in known.items() if sizes}


def fails_alone(counts: Sequence[Count]) -> bool:
    """Whether the last of these builds fails in a feature that the first can run."""
    base, candidate = counts[0], counts[-1]
    return any(candidate.cell(cell.key) is None and not candidate.has(*cell.key) for cell in base.cells)


def _says(count: Count, feature: str, requests: int) -> bool:
    gone = any(one.feature == feature and one.requests in (None, requests) for one in count.left_out)
    return gone or count.cell((feature, requests)) is not None
