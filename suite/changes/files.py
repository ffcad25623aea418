"""A change as a gate meets it: which of its files an overlay can follow, which it can't, and which need no measuring.

`perfproof pr` refuses what it can't measure; a gate meets every pull request, so documents, tests and compiled code are told apart
here before anything is refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from suite.builds import git
from suite.builds.diff import PYTHON_FILE, read_diff, touched
from suite.model.errors import BadInput

_SECTION = re.compile(rb"^(?=diff --git )", re.M)
_HEADER = re.compile(rb"diff --git (?:\"?[ab]/)?(?P<old>[^\n]*?)\"? (?:\"?b/)?(?P<new>[^\n\"]*)\"?\r?(?:\n|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The paths of a change: Python below `vllm/`, what an overlay can't follow, and all else (tests, documents, tools)."""

    python: tuple[str, ...]
    beyond: tuple[str, ...]
    other: tuple[str, ...]


def sorted_files(paths: Sequence[str]) -> Files:
    """The paths by what a gate can do with them."""
    python = tuple(path for path in paths if PYTHON_FILE.fullmatch(path))
    beyond = tuple(path for path in paths if path not in python and (path.startswith("vllm/") or path.split("/")[0] in git.COMPILED))
    return Files(python=python, beyond=beyond, other=tuple(path for path in paths if path not in python and path not in beyond))


def of_git(repo: Path, base: str, ref: str) -> Files:
    """The files between two commits of a local clone."""
    return sorted_files(git.files(str(repo), base, ref))


def of_diff(file: Path, keep: Path) -> tuple[Files, Path]:
    """The files of a diff, and a diff of those alone that an overlay can follow: itself where it has no others, else one below `keep`.

    One without git's headers is taken whole. Raises `BadInput` for a file that can't be read, or such a one with other files in it.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise BadInput(f"--diff {file}: {error.strerror}; git diff main -- vllm > {file.name or 'my.diff'} makes one") from error
    sections = [section for section in _SECTION.split(data) if section.startswith(b"diff --git ")]
    named = [(_paths(section), section) for section in sections]
    if not sections or not all(paths for paths, _ in named):
        return sorted_files(touched(read_diff(data, file.name))), file
    found = sorted_files(list(dict.fromkeys(path for paths, _ in named for path in paths)))
    kept = [section for paths, section in named if set(paths) <= set(found.python)]
    if len(kept) == len(sections) or not kept:
        return found, file
    only = b"".join(kept)
    made = keep / f"{file.stem}-vllm-{hashlib.sha256(only).hexdigest()[:8]}.diff"
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_bytes(only)
    return found, made


def _paths(section: bytes) -> tuple[str, ...]:
    """The paths before and after of one file of a diff; none where its header can't be told apart."""
    header = _HEADER.match(section)
    if header is None:
        return ()
    return tuple(dict.fromkeys(name.decode("utf-8", "replace") for name in (header["old"], header["new"])))
