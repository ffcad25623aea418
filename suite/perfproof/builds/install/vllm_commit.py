"""The commit that a vLLM was made from, if it is recorded: read from files, without a program."""

from __future__ import annotations

import re
from pathlib import Path

_WRITTEN = re.compile(r"^(?:__commit_id__ = )?commit_id = ['\"]g?([0-9a-f]{7,40})['\"]", re.MULTILINE)
_COMMIT = re.compile(r"[0-9a-f]{40}")


def commit_of(package: Path) -> str:
    """The commit in vLLM's own `_version.py`, or that of the checkout that holds the package; "" if there is neither."""
    written = _WRITTEN.search(_text(package / "_version.py"))
    return _head(package.resolve().parent) or (written.group(1) if written else "")


def _head(tree: Path) -> str:
    """The commit that is checked out in a tree; in a worktree `.git` is a file with the path of the folder."""
    folder = tree / ".git"
    if folder.is_file():
        folder = (tree / _text(folder).removeprefix("gitdir:").strip()).resolve()
    head = _text(folder / "HEAD").strip()
    if not head.startswith("ref:"):
        return head if _COMMIT.fullmatch(head) else ""
    name = head.removeprefix("ref:").strip()
    common = (folder / (_text(folder / "commondir").strip() or ".")).resolve()
    for place in (folder, common):
        hash_text = _text(place / name).strip() if ".." not in name else ""
        if _COMMIT.fullmatch(hash_text):
            return hash_text
    packed = re.search(rf"^([0-9a-f]{{40}}) {re.escape(name)}$", _text(common / "packed-refs"), re.MULTILINE)
    return packed.group(1) if packed else ""


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
