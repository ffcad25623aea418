"""Rows of commits: which of them have the files of another commit, asked of git once for all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from perfproof.builds.overlays.git_changes import COMPILED
from perfproof.builds.overlays.safe_git import git_text
from perfproof.model.base.errors import CannotRun

_PATHS = ("--", "vllm", *COMPILED)
_RAW = ("-r", "--raw", "--no-renames", "--no-abbrev", "--no-color", "--no-ext-diff", "--ignore-submodules=none", "-O/dev/null")
_LINE = re.compile(r":(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) \S+\t(.+)")
"""A file in a raw difference: its modes and its blobs before and after, and its path."""
_File = tuple[str, str]
"""A file's mode and blob."""


def with_the_files_of(repo: str, origin: str, row: Sequence[str]) -> frozenset[str]:
    """The commits of a row (from one commit along first parents, as `git_changes.commits` gives it) that have the same files below `vllm/`
    as `origin`, and the same of those that a vLLM is compiled from."""
    was: dict[str, _File] = {}
    now: dict[str, _File] = {}
    for path, old, new in _changed(_ask(repo, "diff-tree", *_RAW, origin, row[0], *_PATHS)):
        was[path], now[path] = old, new
    found = {row[0]} if was == now else set()
    told = _ask(repo, "log", "--reverse", "--first-parent", "-m", "--format=commit %H", *_RAW, f"{row[0]}..{row[-1]}", *_PATHS)
    for part in told.split("commit ")[1:] if len(row) > 1 else ():
        for path, old, new in _changed(part):
            was.setdefault(path, old)
            now[path] = new
        if was == now:
            found.add(part.partition("\n")[0])
    return frozenset(found)


def _changed(told: str) -> Iterator[tuple[str, _File, _File]]:
    """The files of a raw difference, before and after."""
    for line in told.splitlines():
        if match := _LINE.fullmatch(line):
            before, after, old, new, path = match.groups()
            yield path, (before, old), (after, new)


def _ask(repo: str, *words: str) -> str:
    output = git_text(repo, *words)
    if output is None:
        raise CannotRun(f"git {words[0]} in {Path(repo).name} failed: check that the repository is intact (git fsck)")
    return output
