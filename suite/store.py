"""The only reader and writer of our own format: `results/<scenario>.jsonl`, one Record a line.

Files are only ever appended to, a whole line at a time, flushed to the disk; a line that a crash cut
off is skipped on reading, with a warning that names file and line. Nothing derived is stored.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from suite.model.errors import BadInput, CannotRun
from suite.model.record import SCHEMA, Attestation, Record, Status

_RECORD_KEYS = frozenset(field.name for field in dataclasses.fields(Record))
_ATTESTATION_KEYS = frozenset(field.name for field in dataclasses.fields(Attestation))
_MAPPINGS = ("definition", "measurements", "raw", "witnesses", "work", "seconds", "environment")
_TEXTS = ("scenario", "digest", "profile", "arm", "started", "status", "reason", "how", "log")
_NUMBERS = ("measurements", "witnesses", "work", "seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a results folder holds: its records in the order of their files and lines, and what was skipped."""

    records: tuple[Record, ...]
    warnings: tuple[str, ...]


def records_file(folder: Path, scenario: str) -> Path:
    return folder / f"{scenario}.jsonl"


def append(folder: Path, record: Record) -> None:
    """Appends one record; after a full disk the file is as it was before and stays readable.

    Raises `CannotRun` if the line can't be written, `ValueError` for a number that is not finite.
    """
    line = json.dumps(dataclasses.asdict(record), allow_nan=False, separators=(",", ":")).encode() + b"\n"
    path = records_file(folder, record.scenario)
    size = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(path, "ab") as file:
            size = file.tell()
            file.write((b"\n" if _ends_mid_line(path, size) else b"") + line)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        _cut_back(path, size)
        raise CannotRun(
            f"{path}: the record of {record.arm}, block {record.block} could not be written: {error.strerror}; what was there is kept"
        ) from error


def _ends_mid_line(path: Path, size: int) -> bool:
    if size == 0:
        return False
    with open(path, "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def _cut_back(path: Path, size: int) -> None:
    if path.exists() and path.stat().st_size > size:
        os.truncate(path, size)


def read(folder: Path) -> Read:
    """Every record of a results folder; raises `BadInput` for a missing folder, no records, or a newer schema."""
    if not folder.is_dir():
        raise BadInput(f"{folder}: no such results folder; 'perfproof run SCENARIO --results {folder}' makes one")
    paths = sorted(folder.glob("*.jsonl"))
    if not paths:
        raise BadInput(f"{folder}: holds no records (*.jsonl)")
    records: list[Record] = []
    warnings: list[str] = []
    for path in paths:
        for found in _lines(path):
            if isinstance(found, Record):
                records.append(found)
            else:
                warnings.append(found)
    return Read(records=tuple(records), warnings=tuple(warnings))


def _lines(path: Path) -> Iterator[Record | str]:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: can't be read: {error.strerror}") from error
    for number, line in enumerate(text.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except ValueError:
            yield f"{path}:{number}: not a whole record, skipped"
            continue
        try:
            yield record_of(data)
        except _Newer as newer:
            raise BadInput(
                f"{path}:{number}: written by a newer perfproof (schema {newer.schema}, this one reads {SCHEMA}): upgrade perfproof"
            ) from newer
        except (TypeError, ValueError) as error:
            yield f"{path}:{number}: {error}, skipped"


class _Newer(Exception):
    def __init__(self, schema: int) -> None:
        super().__init__(schema)
        self.schema = schema


def record_of(data: Any) -> Record:
    """A record from its JSON object; `ValueError` says what is wrong with it."""
    if not isinstance(data, dict):
        raise ValueError("not a record")
    schema = data.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool):
        raise ValueError("a record without a schema number")
    if schema > SCHEMA:
        raise _Newer(schema)
    _check_keys(data, _RECORD_KEYS, "record")
    attestation = data["attestation"]
    if attestation is not None:
        if not isinstance(attestation, dict):
            raise ValueError("attestation: expected a mapping")
        _check_keys(attestation, _ATTESTATION_KEYS, "attestation")
        attestation = Attestation(**attestation)
    for key in _MAPPINGS:
        if not isinstance(data[key], dict):
            raise ValueError(f"{key}: expected a mapping")
    for key in _TEXTS:
        if not isinstance(data[key], str):
            raise ValueError(f"{key}: expected a text")
    for key in ("block", "position", "seed"):
        if not isinstance(data[key], int):
            raise ValueError(f"{key}: expected an integer")
    if data["status"] not in get_args(Status):
        raise ValueError(f"status: unknown {data['status']!r}")
    for key in _NUMBERS:
        _check_numbers(key, data[key])
    return Record(**{**data, "attestation": attestation})


def _check_numbers(key: str, numbers: Mapping[str, Any]) -> None:
    for name, value in numbers.items():
        if not isinstance(value, (int, float)) or value != value:
            raise ValueError(f"{key}.{name}: expected a number, got {value!r}")


def _check_keys(data: dict[str, Any], keys: frozenset[str], what: str) -> None:
    missing, unknown = keys - data.keys(), data.keys() - keys
    if missing:
        raise ValueError(f"{what}: {', '.join(sorted(missing))} missing")
    if unknown:
        raise ValueError(f"{what}: unknown {', '.join(sorted(unknown))}")
