"""What a result file of any benchmark holds: runs, each of them one trial.

A run is one launch of whatever was measured: one `vllm bench serve`, one process of pyperf. Requests, rounds and iterations of one run
share its launch and are never trials; a run says how many of them its values were made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from perfproof.model.scenarios.metrics import Better

Word = str | int | float | bool
"""What was asked, done or used, as it is compared and shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultValue:
    """One number of a run.

    `statistic` is "" for the run's own figure (a throughput, a duration), else what was made of its requests or rounds: "mean", "p99",
    "std". `better` is None where nobody can tell. `headline` values are judged; others are shown.
    """

    metric: str
    value: float
    unit: str
    better: Better | None
    statistic: str = ""
    headline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRun:
    """One trial.

    `source` says where it stands ("a.json", "a.jsonl, line 3"). `benchmark` names what was measured where a file measures several things.

    `asked` must be equal on both sides for a fair comparison (prompts, concurrency, rate, model); runs of a side that differ in it are no
    repeats. `done` is the work as it came out (tokens, completed requests) and may differ by a little. `setting` is what it ran on:
    versions, GPU, machine, commit. `at` is a moment of the run in seconds since 1970, None without one.

    `inside` is what its values were made of and is no trial ("200 requests"). `left_out` are numbers that are none, `doubts` what speaks
    against the whole run ("3 of 200 requests failed"), in sentences.
    """

    source: str
    values: tuple[ResultValue, ...]
    benchmark: str = ""
    asked: Mapping[str, Word] = field(default_factory=dict)
    done: Mapping[str, Word] = field(default_factory=dict)
    setting: Mapping[str, Word] = field(default_factory=dict)
    at: float | None = None
    inside: str = ""
    left_out: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFile:
    """One file, read: the name of its format, what one trial is there in words, and its runs in the order of the file.

    `rounded` says that its numbers have two decimals, as those of a table for people have.
    """

    format: str
    trial: str
    runs: tuple[ResultRun, ...]
    rounded: bool = False

    @property
    def tool(self) -> str:
        """The tool that wrote it: the format without what stands in brackets."""
        return self.format.partition(" (")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSide:
    """One side of a comparison: its name, its files, their runs, each once, and what was left out of them, in words."""

    name: str
    files: tuple[ResultFile, ...]
    runs: tuple[ResultRun, ...]
    left_out: tuple[str, ...]
