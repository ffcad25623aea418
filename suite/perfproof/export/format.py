"""What a format is: a name, and how trials become the contents of its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from perfproof.model.records.record import Record
from perfproof.model.verdicts.judged import Judged

Content = str | bytes
Files = Mapping[str, Content]
"""The contents of files, by names that may have folders in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What is exported: the `trials` that count, in their order, and which don't, in sentences (`left_out`).

    `results` is their folder in words; `judged` gives the verdicts on all.
    """

    trials: Sequence[Record]
    left_out: Sequence[str]
    results: str
    judged: Callable[[], Sequence[Judged]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """`files` raises `BadInput` where this format can hold none of the trials."""

    name: str
    files: Callable[[Exported], Files]
