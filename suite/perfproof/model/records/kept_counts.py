"""Counted rounds that are too large for every record of an arm: kept once, in a file that its content names.

Trials of one build that counted the same share a file. A record then holds the file's name in place of the round; a file
that was changed no longer fits its name, and is reported.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perfproof.model.base import regular_files, strict_json
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.records.count_lines import round_of

LARGEST = 30_000
"""Bytes that the counts of one record may take."""
KEPT = "kept"
"""The only key of a round that is kept elsewhere."""
_NAME = re.compile(r"[0-9a-f]{24}")


def content_of(table: Any) -> bytes:
    """The file's content; the same for the same counts."""
    return json.dumps(table, allow_nan=False, sort_keys=True, separators=(",", ":")).encode()


def name_of(content: bytes) -> str:
    """The name of a file with that content, without its ending."""
    return hashlib.sha256(content).hexdigest()[:24]


def parted(counts: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The counts as a record takes them, and the files that hold the rest by name: the largest rounds go until the others fit."""
    contents = {case: content_of(table) for case, table in counts.items()}
    left, files = dict(counts), dict[str, bytes]()
    for case in sorted(contents, key=lambda case: -len(contents[case])):
        if len(content_of(left)) <= LARGEST:
            break
        name = name_of(contents[case])
        files[name], left[case] = contents[case], {KEPT: name}
    return left, files


def elsewhere(table: Any) -> str:
    """The name of the file that holds a round; "" where the record has it."""
    found = table.get(KEPT) if isinstance(table, dict) and set(table) == {KEPT} else None
    return found if isinstance(found, str) and _NAME.fullmatch(found) else ""


def keep(folder: Path, files: Mapping[str, bytes], what: str) -> None:
    """Writes the files that are not there yet, each whole or not at all. Raises `CannotRun` naming `what` they belong to."""
    for name, content in files.items():
        path, draft = folder / f"{name}.json", folder / f"{name}.json.new"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                draft.write_bytes(content)
                draft.replace(path)
        except OSError as error:
            raise CannotRun(f"{path}: the counts of {what} could not be written: {error.strerror}") from error


def found(counts: Mapping[str, Any], folder: Path) -> tuple[dict[str, Any], list[str]]:
    """The counts with the rounds that lie in a folder; without those that are not there or were changed, of which a sentence each tells."""
    whole, faults = dict(counts), list[str]()
    for case, name in [(case, name) for case, table in counts.items() if (name := elsewhere(table))]:
        try:
            whole[case] = _read(folder / f"{name}.json")
        except BadInput as error:
            faults.append(error.faults[0])
            del whole[case]
    return whole, faults


def _read(path: Path) -> Any:
    """A round that a file holds. Raises `BadInput` where it is not there, was changed or is none."""
    content = regular_files.content(path)
    if name_of(content) != path.stem:
        raise BadInput(f"{path}: is not what its name says, so it was changed")
    try:
        table = strict_json.loads(content)
    except ValueError as error:
        raise BadInput(f"{path}: is no JSON ({error})") from error
    round_of(table, "counts")
    return table
