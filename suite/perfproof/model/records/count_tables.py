"""The tables of counted trials: what each function did, too large for a record, in a file of the results folder that the record names.

A table may come from elsewhere: it is taken only from the folder's own `counts/`, up to a size, and only if it is what the record saw.
"""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perfproof.model.base import regular_files
from perfproof.model.base.errors import BadInput
from perfproof.model.records.count_lines import count_of
from perfproof.model.records.counts import Count, PhaseWork
from perfproof.model.records.record import Record

TABLES = "counts"
"""Below a results folder: the tables of its trials."""
TOLD = "engine"
"""Where the environment of a record says what lies behind its counts; its table there is `{"file": ..., "sha256": ...}`."""
OURS = "perfproof.patches.guard:"
"""How the functions begin that count the calls of what an arm replaces: work of the suite, the same in every arm, and in no number."""
LARGEST = 256 * 2**20
"""Bytes of a table, unpacked."""
_NAME = re.compile(rf"{TABLES}/[A-Za-z0-9_][A-Za-z0-9._-]*\.jsonl\.gz")


def keep_table(text: str, folder: Path, name: str) -> dict[str, str]:
    """Keeps what was counted in a results folder; where that is, and its hash, as the record says it."""
    file = folder / TABLES / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', name)}.jsonl.gz"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(text.encode(), mtime=0))
    return {"file": f"{TABLES}/{file.name}", "sha256": hashlib.sha256(text.encode()).hexdigest()}


def told_of(record: Record) -> Mapping[str, Any]:
    """What a record says of its counts; empty for one that counted nothing."""
    entry = record.environment.get(TOLD)
    return entry if isinstance(entry, Mapping) else {}


def read_table(folder: Path, record: Record) -> Count | None:
    """The table of a record of a results folder; None for a record that has none. Raises `BadInput` for one that is not there, is another
    than the record saw, or can't be read."""
    entry = told_of(record).get("table")
    if not isinstance(entry, Mapping):
        return None
    name, want = str(entry.get("file")), entry.get("sha256")
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"{folder}: record of {record.arm}: environment.engine.table.file: expected {TABLES}/NAME.jsonl.gz, got {name[:80]!r}"
        )
    path = folder / name
    if not path.is_file():
        raise BadInput(f"{path}: is not there; its record names it: copy the folder {TABLES} along with the records")
    text = _unpacked(path)
    if hashlib.sha256(text).hexdigest() != want:
        raise BadInput(f"{path}: is another table than its record saw: delete the record and the table, and count again")
    return without_ours(count_of(text.decode("utf-8", "replace"), str(path)))


def without_ours(count: Count) -> Count:
    """What vLLM did, without the suite's own wrappers."""
    cells = [dataclasses.replace(cell, phases={phase: _theirs(work) for phase, work in cell.phases.items()}) for cell in count.cells]
    return dataclasses.replace(count, cells=tuple(cells))


def _theirs(work: PhaseWork) -> PhaseWork:
    return dataclasses.replace(work, functions={name: one for name, one in work.functions.items() if not name.startswith(OURS)})


def _unpacked(path: Path) -> bytes:
    unpack = zlib.decompressobj(wbits=31)
    try:
        text = unpack.decompress(regular_files.content(path), LARGEST)
    except zlib.error as error:
        raise BadInput(f"{path}: is no gzip file ({error}): count again") from error
    if unpack.unconsumed_tail or not unpack.eof:
        raise BadInput(f"{path}: is cut off, or larger than {LARGEST // 2**20} MB unpacked: count again")
    return text
