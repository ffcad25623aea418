"""All that a blame found out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from perfproof.changes.blame.mixture_trials import Tried
from perfproof.changes.blame.other_packages import PackagesFactor
from perfproof.changes.blame.search import Found
from perfproof.changes.blame.suspects import FunctionShare
from perfproof.changes.blame.upstream_commits import Commit
from perfproof.model.history.upstream_notes import UpstreamChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """All that was found: what changed, who is guilty, what was tried, the diff back (None where there is none), and what lies elsewhere.

    `answer` is what the scenario says of the bad build with the diff back, `known` what upstream is known to have changed, `commits` those
    of a clone that changed the lines of a guilty unit. `packages` is
    what the bad build's packages do beside the good one's vLLM, where a part of the change is not in vLLM's Python. `along`
    has for each guilty unit the others that are taken back with it, because it needs them or they call it: its share is that of them all.
    """

    scenario: str
    builds: tuple[str, str]
    metric: str
    values: tuple[float, float]
    blamed: Found
    lines: Mapping[str, tuple[int, int] | None]
    along: Mapping[str, tuple[str, ...]]
    shares: tuple[FunctionShare, ...]
    tried: tuple[Tried, ...]
    diff_back: Path | None
    answer: str
    elsewhere: tuple[str, ...]
    packages: PackagesFactor | None
    known: tuple[UpstreamChange, ...]
    commits: Mapping[str, tuple[Commit, ...]]
    seconds: float
