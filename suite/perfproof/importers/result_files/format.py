"""What a format is: a name, what one trial is in it, a test of content, and a reader."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perfproof.importers.result_files.source import Source
from perfproof.model.records.result_runs import ResultRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """`name` is the tool's, with what tells one of its formats from another in brackets; `trial` says in words what one trial is.

    `recognises` looks at content alone and never raises for another tool's file. `runs` reads a file that was recognised and raises
    `BadInput` with all its faults, each with file, field and remedy. `rounded` says that the tool writes two decimals.
    """

    name: str
    trial: str
    recognises: Callable[[Source], bool]
    runs: Callable[[Source], Sequence[ResultRun]]
    rounded: bool = False
