"""What an evaluation leaves of every item: a score, and the hashes that prove it was the same item."""

from __future__ import annotations

from collections.abc import Mapping
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
