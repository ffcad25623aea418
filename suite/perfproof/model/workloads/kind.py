"""The traits of a kind of workload: what holds of it whatever its document says, and what the other rooms ask instead of its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from perfproof.model.workloads.document_parts import WorkloadDoc

JudgedBy = Literal["blocks", "items", "bits", "counts"]
"""Times and counts of paired blocks; answers that are scored item by item; answers that are compared bit by bit; exact counts of the host's
work, of one process and a second."""
Scope = Literal["end to end", "part", "host", "answers"]
"""What a result speaks of: a whole vLLM's speed, a part's, the work of vLLM's host, or what vLLM answers."""


def _no_sentences(data: Mapping[str, Any]) -> Iterator[str]:
    yield from ()


def _no_words(workload: Mapping[str, Any]) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of workload. Those below `describe` have the values of most kinds.

    `name` is its `kind:` in a scenario file. `measures` says whether it can leave a metric. `guessed_seconds` is a trial's wall time before
    any has been measured, without the start of a server. `describe` says what was run, from a definition's workload as plain JSON.

    `inapplicable` are keys of an arm that mean nothing to it. `own_metrics` says that only its benchmark's file knows what is measured.
    `not_by_file` is why no scenario file may ask it; "" where one may. `attests` says that its trials prove what they ran; `planned` that
    a run takes no more blocks than its looks. `calls_vary` is why arms that did the same call functions unequally often, "" where they
    should not. `contradicted` gives what is at odds in a record of it, `repeat` the command that measures a definition's workload again
    where that is not `perfproof run`.
    """

    name: str
    document: type[WorkloadDoc]
    judged_by: JudgedBy
    scope: Scope
    measures: Callable[[str], bool]
    guessed_seconds: float
    describe: Callable[[Mapping[str, Any]], str]
    inapplicable: tuple[str, ...] = ()
    own_metrics: bool = False
    not_by_file: str = ""
    attests: bool = True
    planned: bool = True
    calls_vary: str = ""
    contradicted: Callable[[Mapping[str, Any]], Iterator[str]] = _no_sentences
    repeat: Callable[[Mapping[str, Any]], Sequence[str]] = _no_words

    @property
    def of_answers(self) -> bool:
        """Whether it compares answers, and not times: it is asked once, and another processor may answer otherwise."""
        return self.judged_by in ("items", "bits")

    @property
    def exact(self) -> bool:
        """Whether it leaves exact counts alone: one trial of a build says all, on a busy machine too."""
        return self.judged_by == "counts"

    @property
    def untimed(self) -> bool:
        """Whether nothing of it is timed: it has no looks to choose, and no busy machine spoils it."""
        return self.judged_by != "blocks"
