"""The results of an evaluation, item by item: a score, and hashes that prove that it was the same item."""

from __future__ import annotations

import json
import math
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from perfproof.model.scenarios.metrics import Better

_WHOLE = re.compile(r"0|[1-9][0-9]{0,17}")
"""Ids that fit into eight bytes and have only one spelling."""
_WIDEST = 16
"""The most bytes of a digest in the arrays."""
EXACT_BYTES = 6
"""Bytes of a passage's number, and of a digest in a record: as many as a JSON number holds exactly."""
ASKED = (("document or prompt", EXACT_BYTES), ("document or target", 5), ("arguments of the request", 5))
"""The parts of a digest with their bytes; a part of zeros is unknown, and a shorter digest (a record's) has only the first part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item's score. `digest` covers the question, in the parts of `ASKED`: two arms had the same question if theirs are equal.

    `passage` is a number that items of one passage share, None if the scenario names no passage. `empty` items have no answer, which
    lm_eval scores as a wrong one.
    """

    score: float
    digest: bytes
    passage: int | None = None
    empty: bool = False


class Items(Mapping[str, Item]):
    """Items by their ids, in the order of their addition; items are never removed. A million of them take 40 MB.

    Integer ids, like lm_eval's, are in arrays with their scores and digests; others are in a mapping.
    """

    __slots__ = ("_digests", "_empty", "_ids", "_odd", "_passages", "_places", "_scores")

    def __init__(self) -> None:
        self._ids, self._scores, self._digests = array("q"), array("d"), bytearray()
        self._passages: dict[int, int] = {}
        self._empty: set[int] = set()
        self._odd: dict[str, Item] = {}
        self._places: dict[int, int] | None = None

    def add(self, name: str, item: Item) -> bool:
        """Adds an item; returns False, without a change, if its id exists already."""
        if name in self:
            return False
        if not _WHOLE.fullmatch(name) or len(item.digest) > _WIDEST:
            self._odd[name] = item
            return True
        number = int(name)
        if self._places is None and self._ids and number < self._ids[-1]:
            self._places = {each: place for place, each in enumerate(self._ids)}
        if self._places is not None:
            self._places[number] = len(self._ids)
        if item.passage is not None:
            self._passages[number] = item.passage
        if item.empty:
            self._empty.add(number)
        self._ids.append(number)
        self._scores.append(item.score)
        self._digests += bytes([len(item.digest)]) + item.digest.ljust(_WIDEST, b"\0")
        return True

    def __getitem__(self, name: str) -> Item:
        place = self._place(name)
        if place is None:
            return self._odd[name]
        start = place * (_WIDEST + 1)
        width = self._digests[start]
        digest = bytes(self._digests[start + 1 : start + 1 + width])
        number = self._ids[place]
        return Item(score=self._scores[place], digest=digest, passage=self._passages.get(number), empty=number in self._empty)

    def __contains__(self, name: object) -> bool:
        return name in self._odd or (isinstance(name, str) and self._place(name) is not None)

    def __iter__(self) -> Iterator[str]:
        yield from map(str, self._ids)
        yield from self._odd

    def __len__(self) -> int:
        return len(self._ids) + len(self._odd)

    def _place(self, name: str) -> int | None:
        """The index of an id in the arrays; they are in ascending order until an id comes that breaks it."""
        if not _WHOLE.fullmatch(name):
            return None
        number = int(name)
        if self._places is not None:
            return self._places.get(number)
        place = bisect_left(self._ids, number)
        return place if place < len(self._ids) and self._ids[place] == number else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskItems:
    """The scores of one task, filter and metric in one arm, by the item's id; `better` is None if the better direction is unknown."""

    task: str
    filter: str
    metric: str
    items: Mapping[str, Item]
    better: Better | None = None

    @property
    def name(self) -> str:
        """Task, filter and metric in words: "gsm8k, strict-match, exact_match"."""
        return _called(self.task, self.filter, self.metric)

    @property
    def mean(self) -> float:
        """The mean score; NaN without items."""
        return math.fsum(item.score for item in self.items.values()) / len(self.items) if self.items else math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """A score of which only the total is known: its value, its standard error, its name, and its settings (shots, version) if they are
    known."""

    side: str
    task: str
    filter: str
    metric: str
    value: float
    error: float
    better: Better | None = None
    asked: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As `TaskItems.name`."""
        return _called(self.task, self.filter, self.metric)


def _called(task: str, which: str, metric: str) -> str:
    """Task, filter and metric together; a filter called none is left out."""
    return ", ".join(part for part in (task, "" if which == "none" else which, metric) if part)


# --- items in a record ----------------------------------------------------------------------------------

FIRST, AGAIN = "first", "again"
"""The two runs of a trial's tasks: the one that is compared, and the baseline's second, the noise floor."""


def raw_of(tasks: Iterable[TaskItems], run: str) -> dict[str, list[float]]:
    """The items of one run as numbers, for `Record.raw`: score, id and digest of every item, by ascending id; passages if all
    have one; and if some have no answer, a 1 for each of these.

    Ids must be integers, like lm_eval's; raises ValueError for others.
    """
    raw: dict[str, list[float]] = {}
    for task in tasks:
        ordered = sorted((int(name), item) for name, item in task.items.items())
        passages = [float(item.passage) for _, item in ordered if item.passage is not None]
        columns = {
            "score": [item.score for _, item in ordered],
            "item": [float(number) for number, _ in ordered],
            "digest": [float(int.from_bytes(item.digest[:EXACT_BYTES], "big")) for _, item in ordered],
            **({"passage": passages} if len(passages) == len(ordered) > 0 else {}),
            **({"empty": [float(item.empty) for _, item in ordered]} if any(item.empty for _, item in ordered) else {}),
        }
        raw |= {json.dumps([run, what, task.task, task.filter, task.metric]): values for what, values in columns.items()}
    return raw


def items_of(raw: Mapping[str, Sequence[float]], run: str) -> list[TaskItems]:
    """The items of one run that `raw_of` kept; [] if there are none."""
    tasks = []
    for key, scores in raw.items():
        words = _key(key)
        if words is not None and words[:2] == [run, "score"]:
            ids, digests = (raw[json.dumps([run, what, *words[2:]])] for what in ("item", "digest"))
            passages, empty = (raw.get(json.dumps([run, what, *words[2:]])) for what in ("passage", "empty"))
            items = Items()
            for place, (number, score, digest) in enumerate(zip(ids, scores, digests, strict=True)):
                item = Item(
                    score=float(score),
                    digest=int(digest).to_bytes(EXACT_BYTES, "big"),
                    passage=int(passages[place]) if passages else None,
                    empty=bool(empty and empty[place]),
                )
                items.add(str(int(number)), item)
            tasks.append(TaskItems(task=words[2], filter=words[3], metric=words[4], items=items))
    return tasks


def _key(key: str) -> list[str] | None:
    """The five words of a key that `raw_of` made; None for any other."""
    if not key.startswith('["'):
        return None
    words = json.loads(key)
    return [str(word) for word in words] if isinstance(words, list) and len(words) == 5 else None
