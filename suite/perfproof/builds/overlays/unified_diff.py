"""Parses and checks a unified diff before it is applied.

It takes the output of `git diff` and `git format-patch`, and a pull request's `.diff` and `.patch` downloads: with or without prefixes,
inside mail, several commits in a row, renames, copies, new and deleted files, Windows line ends. Files that are not Python below `vllm/`
are refused by name, and so is everything that an overlay can't do: links, submodules, binary files, paths that lead out of the tree.
`unidiff` parses the format itself; it knows git's headers and counts the lines of every hunk.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchedFile, PatchSet

from perfproof.builds.overlays.hunks import Hunk
from perfproof.model.base.errors import BadInput
from perfproof.model.base.name_lists import few
from perfproof.model.documents.decode_builds import LARGEST_DIFF

LONGEST_NAME, LONGEST_PATH = 250, 1000
"""The longest name in bytes, and path in characters, for file systems, with room for Python's compiled files."""
PYTHON_FILE = re.compile(r"vllm/(?:[A-Za-z0-9_][A-Za-z0-9_.-]*/)*[A-Za-z0-9_][A-Za-z0-9_.-]*\.py", re.ASCII)
"""The only paths that an overlay writes: no part can be `..`, and none begins with a slash."""

SHOWN = 12
"""How many files a refusal lists by name."""

_PREFIX = re.compile(r"[abciow12]/")
_LINK, _SUBMODULE = "120000", "160000"
_NOT_TAKEN = (
    (re.compile(r"^(?:diff --(?:cc|combined) |@@@ )", re.M), "it is the combined diff of a merge: use the diff of two commits"),
    (re.compile(r"^\x1b\[", re.M), "it has terminal colours: make it again with git diff --no-color"),
    (
        re.compile(r"^Content-Transfer-Encoding: *(?:base64|quoted-printable)", re.M | re.I),
        "it is an encoded mail: use the file that git format-patch or git diff writes",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The change of one file: from `origin` ("" for a new file) to `path` ("" for a deleted one).

    `keeps` says that the origin stays (a copy). Paths are relative to the folder that holds `vllm`.
    """

    path: str
    origin: str
    keeps: bool
    hunks: tuple[Hunk, ...]


@lru_cache(maxsize=1)  # a command reads the same diff for its checks, for the choice of scenarios and for the build
def read_diff(data: bytes, name: str) -> tuple[Change, ...]:
    """The changes of a diff, in their order; `name` is its name in faults. Raises `BadInput` with all its faults."""
    files = _files(data, name)
    _refuse(files, name)
    changes = tuple(_change(file) for file in files if file or _moves(file))
    if not changes:
        raise BadInput(f"{name}: it changes no line of any file, only modes")
    return changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A diff's part about one file: its `paths` before and after, and its `text`. `changes` is False if only the mode changes; `follows`
    says that an overlay can apply it, as far as shows without the base."""

    paths: tuple[str, ...]
    changes: bool
    follows: bool
    text: bytes


def pieces(data: bytes, name: str) -> tuple[Piece, ...]:
    """A diff split by files of any kind: with git's headers or plain, or both. Raises `BadInput` for a diff that can't be read."""
    return tuple(
        Piece(
            paths=tuple(_both(file)),
            changes=bool(file) or _moves(file) or file.is_binary_file,
            follows=all(PYTHON_FILE.fullmatch(path) for path in _both(file)) and not any(_file_faults(file)),
            text=str(file).encode("utf-8", "surrogateescape"),
        )
        for file in _files(data, name)
        if _both(file)
    )


def _files(data: bytes, name: str) -> PatchSet:
    if len(data) > LARGEST_DIFF:
        raise BadInput(
            f"{name}: a diff may have up to {LARGEST_DIFF / 1e6:.0f} MB, this one has {len(data) / 1e6:.0f}: limit it to vLLM's Python "
            "files (git diff BASE -- 'vllm/*.py')"
        )
    text = _plain(data)
    for pattern, why in _NOT_TAKEN:
        if pattern.search(text):
            raise BadInput(f"{name}: {why}")
    try:
        files = PatchSet(text)
    except (UnidiffParseError, UnicodeError, ValueError) as error:
        raise BadInput(f"{name}: this is not a readable unified diff: {str(error).strip()}; make it again with git diff") from error
    if not files:
        what = "it has no change" if not text.strip() else "this is no diff"
        raise BadInput(f"{name}: {what}: expected a unified diff, as git diff prints it")
    return files


def touched(changes: Sequence[Change]) -> tuple[str, ...]:
    """Every file that is written or deleted, by name."""
    return tuple(sorted({path for change in changes for path in _paths(change) if path}))


def _paths(change: Change) -> Iterator[str]:
    yield change.path
    yield "" if change.keeps else change.origin


def _plain(data: bytes) -> str:
    """The text without the marks of a Windows editor or shell; bytes that are not UTF-8 stay unchanged."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = data.decode("utf-16", "replace")
    else:
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")
    heads: list[str] = re.findall(r"^(?:--- |\+\+\+ |@@ |diff --git ).*", text, re.M)
    if heads and all(line.endswith("\r") for line in heads):
        text = text.replace("\r\n", "\n")
    return text


# --- refusals ------------------------------------------------------------------------------------------------


def _refuse(files: Sequence[PatchedFile], name: str) -> None:
    """Raises `BadInput` with everything that an overlay can't do."""
    faults = [f"{name}: {fault}" for file in files for fault in _file_faults(file)]
    outside = sorted({path for file in files for path in _both(file) if not PYTHON_FILE.fullmatch(path) and not _leads_out(path)})
    if outside:
        faults.append(
            f"{name}: an overlay takes only Python files below vllm/, but this diff changes {few(outside, SHOWN)}; leave out "
            "files that do not run (git diff BASE -- 'vllm/*.py'); for compiled or packaged files use a build of kind 'editable', "
            "or the interpreter of an environment that was built with them"
        )
    if faults:
        raise BadInput(*dict.fromkeys(faults))


def _file_faults(file: PatchedFile) -> Iterator[str]:
    where = _shown(file)
    modes = {file.source_mode, file.target_mode}
    for path in _both(file):
        if _leads_out(path):
            yield f"the path {path[:200]!r} leads out of the tree; an overlay writes nowhere else"
        elif _too_long(path):
            yield f"the path {path[:60]!r}… is longer than a file system allows: {LONGEST_NAME} bytes a name, {LONGEST_PATH:,} in all"
        elif any(part.endswith(".py") for part in path.split("/")[:-1]):
            yield f"the path {path!r} leads through a folder that is named like a Python file"
    if _LINK in modes:
        yield f"{where}: it creates or changes a symbolic link, which an overlay can't do"
    if _SUBMODULE in modes:
        yield f"{where}: it changes a submodule; use a build of kind 'editable'"
    if file.is_binary_file:
        yield f"{where}: it is a binary patch; an overlay takes only Python files"


def _too_long(path: str) -> bool:
    longest = max(len(part.encode(errors="surrogateescape")) for part in path.split("/"))
    return longest > LONGEST_NAME or len(path) > LONGEST_PATH


def _leads_out(path: str) -> bool:
    plain = path.strip('"').replace("\\", "/")
    return plain.startswith(("/", "~")) or ".." in plain.split("/") or bool(re.match(r"[A-Za-z]:", plain)) or "\0" in plain


def _shown(file: PatchedFile) -> str:
    return next(iter(_both(file)), "?")


# --- one file ------------------------------------------------------------------------------------------------


def _both(file: PatchedFile) -> list[str]:
    """The paths of a file before and after, without git's prefixes and without an empty one."""
    paths = [path for path in (_old(file), _new(file)) if path]
    return list(dict.fromkeys(paths))


def _old(file: PatchedFile) -> str:
    return "" if file.source_file == "/dev/null" else _bare(file.source_file)


def _new(file: PatchedFile) -> str:
    """The path after; a deleted file shows in `diff -N` only by its date, in git by its header."""
    gone = file.target_file == "/dev/null" or (file.is_removed_file and (file.target_timestamp or "").startswith("1970-01-01"))
    return "" if gone else _bare(file.target_file)


def _bare(path: str) -> str:
    path = _unquoted(path.strip().rstrip("\r"))
    return path[2:] if _PREFIX.match(path) else path


def _unquoted(path: str) -> str:
    """A path without git's quotes and escapes for special characters."""
    if not (len(path) > 1 and path[0] == path[-1] == '"'):
        return path
    try:
        return path[1:-1].encode("latin-1").decode("unicode_escape").encode("latin-1").decode("utf-8", "replace")
    except UnicodeError:
        return path


def _moves(file: PatchedFile) -> bool:
    """Whether a file without hunks changes anyway: renamed, copied, made empty, deleted; a change of mode does not count."""
    return _old(file) != _new(file)


def _change(file: PatchedFile) -> Change:
    head = str(file.patch_info or "")
    return Change(
        path=_new(file),
        origin=_old(file),
        keeps=bool(re.search(r"^copy from ", head, re.M)),
        hunks=tuple(_hunk(hunk) for hunk in file),
    )


def _hunk(hunk: Any) -> Hunk:
    """A hunk as the lines that it expects and their replacement, each with its line end."""
    before: list[str] = []
    after: list[str] = []
    last: tuple[list[str], ...] = ()
    for line in hunk:
        if line.line_type == "\\":
            for side in last:
                side[-1] = side[-1].removesuffix("\n").removesuffix("\r")
            continue
        if line.line_type == "":
            continue  # an empty line after the hunk, which does not belong to it
        last = {"+": (after,), "-": (before,)}.get(line.line_type, (before, after))
        for side in last:
            side.append(line.value)
    leading, trailing = _context(hunk), _context(reversed(hunk))
    return Hunk(start=hunk.source_start, before=tuple(before), after=tuple(after), leading=leading, trailing=trailing)


def _context(lines: Any) -> int:
    count = 0
    for line in lines:
        if line.line_type in ("\\", ""):
            continue
        if line.line_type != " ":
            break
        count += 1
    return count
