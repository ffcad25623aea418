"""The traits of a kind of workload: they do not depend on its document, and the other rooms use them instead of its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from perfproof.model.workloads.document_parts import WorkloadDoc

JudgedBy = Literal["blocks", "items", "bits", "counts"]
"""Times and counts of paired blocks; answers that are scored item by item; answers that are compared bit by bit; exact counts of the host's
work, of one process and a second."""
Scope = Literal["end to end", "part", "host", "program", "answers"]
"""The scope of a result: the speed of a whole vLLM or of a part, the work of vLLM's host, the numbers of any program, or vLLM's answers."""


def _no_sentences(data: Mapping[str, Any]) -> Iterator[str]:
    yield from ()


def _no_words(workload: Mapping[str, Any]) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of workload. The fields after `describe` default to the values of most kinds.

    `name` is its `kind:` in a scenario file. `measures` says whether it can measure a metric. `guessed_seconds` is the assumed wall time of
    a trial before any has been measured, without the start of a server. `describe` says what was run, from a definition's workload as plain
    JSON.

    `inapplicable` are keys of an arm that have no meaning for it; `arms_have_files` says that an arm may have files of its own.
    `own_metrics` says that only its benchmark's file defines the metrics.
    `not_by_file` is why no scenario file may use it; "" if one may. `attests` says that its trials prove what they ran; `planned` that a
    run takes no more blocks than its looks. `calls_vary` is why arms with the same work may call functions unequally often, "" if they must
    not. `contradicted` gives the contradictions in its records, `repeat` the command that measures a definition's workload again, if that
    is not `perfproof run`.
    """

    name: str
    document: type[WorkloadDoc]
    judged_by: JudgedBy
    scope: Scope
    measures: Callable[[str], bool]
    guessed_seconds: float
    describe: Callable[[Mapping[str, Any]], str]
    inapplicable: tuple[str, ...] = ()
    arms_have_files: bool = False
    own_metrics: bool = False
    not_by_file: str = ""
    attests: bool = True
    planned: bool = True
    calls_vary: str = ""
    contradicted: Callable[[Mapping[str, Any]], Iterator[str]] = _no_sentences
    repeat: Callable[[Mapping[str, Any]], Sequence[str]] = _no_words

    @property
    def of_answers(self) -> bool:
        """Whether it compares answers, not times: then it runs once, and another processor may give other answers."""
        return self.judged_by in ("items", "bits")

    @property
    def exact(self) -> bool:
        """Whether it leaves exact counts alone: one trial of a build says all, on a busy machine too."""
        return self.judged_by == "counts"

    @property
    def untimed(self) -> bool:
        """Whether nothing of it is timed: it has no looks to choose, and no busy machine spoils it."""
        return self.judged_by != "blocks"
