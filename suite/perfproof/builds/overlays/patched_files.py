"""The files of a base after a diff: made in memory, so that a diff that does not apply leaves nothing behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perfproof.builds.overlays.hunks import DoesNotApply, Hunk, apply
from perfproof.builds.overlays.unified_diff import Change
from perfproof.model.base.errors import BadInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """Every file that a diff touches: its new bytes, None if it is deleted. `moved` lists the hunks that were found at other lines."""

    files: dict[str, bytes | None]
    moved: tuple[str, ...]


def changed(changes: Sequence[Change], root: Path, name: str, base: str) -> Changed:
    """The files below `root` (the folder that holds `vllm`) after the changes, one after the other.

    `name` is the diff and `base` the build in words. Raises `BadInput` for everything that does not apply.
    """
    texts: dict[str, str | None] = {}
    moved: list[str] = []
    faults: list[str] = []
    for change in changes:
        fault = _one(change, root, texts, moved)
        if fault:
            faults.append(f"{name}: {change.path or change.origin}: {fault} (against {base})")
    if faults:
        raise BadInput(*faults)
    made = {path: None if text is None else text.encode("utf-8", "surrogateescape") for path, text in texts.items()}
    return Changed(files={path: data for path, data in sorted(made.items()) if data != _bytes(root, path)}, moved=tuple(moved))


def _one(change: Change, root: Path, texts: dict[str, str | None], moved: list[str]) -> str:
    """Applies one change to `texts`; returns why it does not apply, "" if it does."""
    origin = _now(change.origin, root, texts) if change.origin else None
    if change.origin and origin is None:
        if not _creates(change.hunks):
            return f"{change.origin} is not in this base"
        origin = ""
    elif not change.origin and _now(change.path, root, texts) is not None:
        return "the diff creates this file, but the base has it already"
    elif change.path not in ("", change.origin) and _now(change.path, root, texts) is not None:
        return f"the diff creates this file from {change.origin}, but the base has it already"
    try:
        text, notes = apply(origin or "", change.hunks)
    except DoesNotApply as error:
        return str(error)
    if not change.path and change.hunks and text:
        return "the diff deletes this file, but not every line of it: the file differs here"
    moved += [f"{change.path or change.origin}: {words}" for words in notes]
    if change.origin and not change.keeps:
        texts[change.origin] = None
    if change.path:
        texts[change.path] = text
    return ""


def _creates(hunks: Sequence[Hunk]) -> bool:
    """Whether hunks create a file, as in a diff without git's headers."""
    return len(hunks) == 1 and hunks[0].start == 0 and not hunks[0].before


def _now(path: str, root: Path, texts: dict[str, str | None]) -> str | None:
    """The text of a file after the earlier changes; None if there is none."""
    if path in texts:
        return texts[path]
    data = _bytes(root, path)
    return None if data is None else data.decode("utf-8", "surrogateescape")


def _bytes(root: Path, path: str) -> bytes | None:
    try:
        return (root / path).read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
