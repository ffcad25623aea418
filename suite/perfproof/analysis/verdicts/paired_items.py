"""The items of both arms paired one by one: which may be paired, and which have no answer.

Items with the same id are paired if both got the same question: document, prompt, target and arguments, as far as both are known. Items
that neither arm answered show no change and are left out; items that only one arm left unanswered stay, and are marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from perfproof.analysis.stats import number_format
from perfproof.analysis.stats.samples import Floats
from perfproof.model.records.eval_items import ASKED, Item, TaskItems
from perfproof.model.scenarios.metrics import Better


class Unpairable(ValueError):
    """The two arms were not asked the same items: the verdict is *untestable*."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedItems:
    """The values of one task's items in both arms, in one order; `clusters` numbers the passage that an item belongs to, or is None.

    `unanswered` are, for the baseline and the candidate, the places of items that only this arm left unanswered; `left_out` counts items
    that neither answered. `better` is None where the direction is unknown.
    """

    name: str
    baseline: Floats
    candidate: Floats
    clusters: Sequence[str] | None
    better: Better | None = "higher"
    unanswered: tuple[Sequence[int], Sequence[int]] = ((), ())
    left_out: int = 0

    def __post_init__(self) -> None:
        if self.baseline.shape != self.candidate.shape or self.baseline.ndim != 1:
            raise ValueError(f"{self.name}: one value an item and arm, not {self.baseline.shape} and {self.candidate.shape}")
        if not (np.isfinite(self.baseline).all() and np.isfinite(self.candidate).all()):
            raise ValueError(f"{self.name}: values must be finite")
        if self.clusters is not None and len(self.clusters) != self.baseline.size:
            raise ValueError(f"{self.name}: {len(self.clusters)} clusters for {self.baseline.size} items")

    @property
    def binary(self) -> bool:
        """Whether every value is 0 or 1."""
        return bool(np.isin(self.baseline, (0.0, 1.0)).all() and np.isin(self.candidate, (0.0, 1.0)).all())

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest value; (0, 1) of no items."""
        values = np.concatenate([self.baseline, self.candidate])
        return (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)

    @property
    def shares(self) -> bool:
        """Whether every value lies between 0 and 1."""
        return self.range[0] >= 0 and self.range[1] <= 1


def pair_items(name: str, baseline: ArrayLike, candidate: ArrayLike, clusters: Sequence[str] | None = None) -> PairedItems:
    """Values of one task of which more is better, item by item. Raises ValueError where they don't pair or are not finite. Source: none,
    bookkeeping."""
    return PairedItems(name=name, baseline=np.asarray(baseline, float), candidate=np.asarray(candidate, float), clusters=clusters)


def paired_ids(baseline: TaskItems, candidate: TaskItems) -> list[str]:
    """The ids of the items that `match` pairs, in its order. Source: none, bookkeeping."""
    first, second = baseline.items, candidate.items
    return [item for item in first if not (first[item].empty and second[item].empty)]


def match(baseline: TaskItems, candidate: TaskItems) -> PairedItems:
    """The items of both arms, paired by id.

    Raises `Unpairable` where an item is missing or different on one side, where neither arm answered any, and where the arms disagree on
    the better direction.
    Source: none, bookkeeping.
    """
    first, second = baseline.items, candidate.items
    sides = (
        ("the candidate", [item for item in first if item not in second]),
        ("the baseline", [item for item in second if item not in first]),
    )
    lacking = [f"{side} lacks {_named(ids)}" for side, ids in sides if ids]
    if lacking:
        raise Unpairable(f"{baseline.name}: {', '.join(lacking)}: run both arms with one limit, over all items")
    if other := _different_questions(first, second):
        raise Unpairable(f"{baseline.name}: {other}: both arms must be asked the same")
    if baseline.better and candidate.better and baseline.better != candidate.better:
        raise Unpairable(f"{baseline.name}: {baseline.better} is better in the baseline's results, {candidate.better} in the candidate's")
    ids = paired_ids(baseline, candidate)
    if not ids:
        raise Unpairable(f"{baseline.name}: no item was answered: neither arm answered any of {number_format.count(len(first), 'item')}")
    pairs = [(first[item], second[item]) for item in ids]
    passages = [one.passage for one, _ in pairs]
    return PairedItems(
        name=baseline.name,
        baseline=np.array([one.score for one, _ in pairs], float),
        candidate=np.array([two.score for _, two in pairs], float),
        clusters=None if None in passages else [str(passage) for passage in passages],
        better=baseline.better or candidate.better,
        unanswered=tuple([place for place, pair in enumerate(pairs) if pair[side].empty] for side in (0, 1)),  # type: ignore[arg-type]
        left_out=len(first) - len(ids),
    )


def _different_questions(first: Mapping[str, Item], second: Mapping[str, Item]) -> str:
    """The parts of the questions that differ, and in which items; "" where none is known to differ."""
    start, differences = 0, []
    for what, size in ASKED:
        part = slice(start, start + size)
        other = [item for item in first if _differ(first[item].digest[part], second[item].digest[part])]
        differences += [f"{what} differ in {_named(other)}"] if other else []
        start += size
    return next(iter(differences), "")


def _differ(first: bytes, second: bytes) -> bool:
    return first != second and any(first) and any(second)


def _named(ids: Iterable[str]) -> str:
    """How many items, and the first three of them."""
    found = sorted(ids)
    return f"{number_format.count(len(found), 'item')} ({', '.join(found[:3])}{', …' if len(found) > 3 else ''})"
