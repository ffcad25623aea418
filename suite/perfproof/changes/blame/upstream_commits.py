"""Which commits of a clone changed the lines that bring a change, between the commits that two builds were made from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from perfproof.builds.overlays import git_changes
from perfproof.changes.blame.difference import HUNK, PIECE
from perfproof.changes.blame.search import Guilty

MOST = 5
"""Commits of a unit that are named, at most: the newest."""
_PULL = re.compile(r"\(#(\d+)\)\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit, the pull request at the end of its subject (None where there is none), and the subject without it."""

    commit: str
    pull: int | None
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Clone:
    """A clone of vLLM, and the commits that the good and the bad build were made from."""

    folder: Path
    good: str
    bad: str

    def behind(self, one: Guilty, unit: str, lines: Mapping[str, tuple[int, int] | None]) -> tuple[Commit, ...]:
        """The commits after the good build's that changed the lines of a unit in the bad one, the newest first: those of its hunks, where
        these were found."""
        spans = [lines[hunk] for hunk in one.hunks if hunk.startswith(f"{unit}{HUNK}")] or [lines[unit]]
        there = [span for span in spans if span is not None]
        found = git_changes.commits_of_lines(str(self.folder), self.good, self.bad, unit.partition(PIECE)[0], there)
        return tuple(_commit(line) for line in found[:MOST])


def clone_of(folder: Path, versions: tuple[str, str]) -> Clone:
    """A clone whose tags name the versions of two builds. Raises `BadInput` where it has none of that name."""
    good, bad = (git_changes.resolved(str(folder), f"v{version.partition('+')[0]}") for version in versions)
    return Clone(folder=folder, good=good, bad=bad)


def _commit(line: str) -> Commit:
    commit, _, subject = line.partition(" ")
    pull = _PULL.search(subject)
    return Commit(commit=commit, pull=int(pull[1]) if pull else None, subject=_PULL.sub("", subject).strip())
