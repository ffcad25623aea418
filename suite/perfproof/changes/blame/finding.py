"""All that a blame found out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from perfproof.changes.blame.mixture_trials import Tried
from perfproof.changes.blame.other_packages import Beside, PackagesFactor, Part
from perfproof.changes.blame.search import Found
from perfproof.changes.blame.suspects import FunctionShare
from perfproof.changes.blame.upstream_commits import Commit
from perfproof.model.history.upstream_notes import UpstreamChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """All that was found: what changed, who is guilty, what was tried, the diff back (None where there is none), and what lies elsewhere.

    `folder` has the trials. `answer` is what the scenario says of the bad build with the diff back, `known` what upstream is known to have
    changed, `commits` those of a clone that changed the lines of a guilty unit. `elsewhere` is what differs beside vLLM's Python, and
    `packages` what one build's do beside the other's vLLM, where a part of the change is not in vLLM's Python; `lies_in` says where that
    part lies, or may lie. `along` has for each guilty unit the others that are taken back with it, because it needs them or they call it:
    its share is that of them all.
    """

    folder: Path
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
    elsewhere: Beside
    packages: PackagesFactor | None
    lies_in: tuple[Part, ...]
    known: tuple[UpstreamChange, ...]
    commits: Mapping[str, tuple[Commit, ...]]
    seconds: float

    @property
    def named(self) -> bool:
        """Whether somebody was named: units of vLLM's Python, or packages."""
        return bool(self.blamed.guilty) or bool(self.packages and self.packages.guilty)
