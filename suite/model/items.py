"""What an evaluation leaves of every item: a score, and the hashes that prove it was the same item."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item's score. `digest` covers document and prompt: two arms asked the same thing if theirs are equal."""

    score: float
    digest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskItems:
    """The scores of one task, filter and metric in one arm, by the item's id."""

    task: str
    filter: str
    metric: str
    items: Mapping[str, Item]

    @property
    def name(self) -> str:
        """What was scored, in words: "gsm8k, strict-match, exact_match"."""
        return _called(self.task, self.filter, self.metric)

    @property
    def mean(self) -> float:
        """The mean score; of nothing it is not a number."""
        return math.fsum(item.score for item in self.items.values()) / len(self.items) if self.items else math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """A score of which only the total is known: its value, its standard error, and what it was called."""

    side: str
    task: str
    filter: str
    metric: str
    value: float
    error: float

    @property
    def name(self) -> str:
        """As `TaskItems.name`."""
        return _called(self.task, self.filter, self.metric)


def _called(task: str, which: str, metric: str) -> str:
    """Task, filter and metric together; a filter called none is left out."""
    return ", ".join(part for part in (task, "" if which == "none" else which, metric) if part)


# --- items as a record keeps them -----------------------------------------------------------------------

FIRST, AGAIN = "first", "again"
"""The two runs of a trial's tasks: the one that is compared, and the baseline's second, the floor."""
_DIGEST = 6
"""Bytes of a digest that a record keeps: as many as a number of JSON holds exactly."""


def raw_of(found: Iterable[TaskItems], run: str) -> dict[str, list[float]]:
    """The items of one run as numbers, for `Record.raw`: score, id and digest of every item, by ascending id.

    Ids must be whole numbers, as lm_eval's are; raises ValueError for others.
    """
    raw: dict[str, list[float]] = {}
    for task in found:
        ordered = sorted((int(name), item) for name, item in task.items.items())
        for what, values in (
            ("score", [item.score for _, item in ordered]),
            ("item", [float(number) for number, _ in ordered]),
            ("digest", [float(int.from_bytes(item.digest[:_DIGEST], "big")) for _, item in ordered]),
        ):
            raw[json.dumps([run, what, task.task, task.filter, task.metric])] = values
    return raw


def items_of(raw: Mapping[str, Sequence[float]], run: str) -> list[TaskItems]:
    """What `raw_of` kept of one run; [] where that is nothing."""
    found = []
    for key, scores in raw.items():
        said = _key(key)
        if said is not None and said[:2] == [run, "score"]:
            ids, digests = (raw[json.dumps([run, what, *said[2:]])] for what in ("item", "digest"))
            items = {
                str(int(number)): Item(score=float(score), digest=int(digest).to_bytes(_DIGEST, "big"))
                for number, score, digest in zip(ids, scores, digests, strict=True)
            }
            found.append(TaskItems(task=said[2], filter=said[3], metric=said[4], items=items))
    return found


def _key(key: str) -> list[str] | None:
    """The five words of a key that `raw_of` made; None for any other."""
    if not key.startswith('["'):
        return None
    said = json.loads(key)
    return [str(word) for word in said] if isinstance(said, list) and len(said) == 5 else None
