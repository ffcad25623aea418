"""The only reader and writer of our own formats: `results/<scenario>.jsonl`, one Record a line, and
`results/machine/<fingerprint>.jsonl`, one noise Floor a line. Counted rounds that are too large for every record lie in
`results/counts/`, each once, under a name that its content gives.

Files are only ever appended to, one complete line at a time, flushed to the disk. A line that a crash cut
off is skipped on reading, with a warning that names file and line. Nothing derived is stored.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

import orjson

from perfproof.model.base import clock, regular_files, strict_json
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.base.yaml_io import shown
from perfproof.model.records import contradictions, kept_counts, record_schema
from perfproof.model.records.record import SCHEMA, Attestation, Record, Status
from perfproof.model.verdicts.noise_floor import FLOOR_SCHEMA, Floor

Entry = TypeVar("Entry", Record, Floor)

_RECORD_KEYS = frozenset(field.name for field in dataclasses.fields(Record))
_RECORDED_LATER = frozenset({"counts"})
"""What older records do not have."""
_ATTESTATION_KEYS = frozenset(field.name for field in dataclasses.fields(Attestation))
_ATTESTED_LATER = frozenset({"plugins", "variables", "unknown", "workers"})
"""The keys that attestations of older records lack."""
_FLOOR_KEYS = frozenset(field.name for field in dataclasses.fields(Floor))
_FLOOR_LATER = frozenset({"host"})
"""What older noise floors do not have."""
_FLOOR_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(("scenario", "metric", "unit", "better", "workload", "machine", "reason", "when", "records", "host"), str),
    **dict.fromkeys(("sd", "sd_low", "sd_high", "effect", "widening"), int | float),
    **dict.fromkeys(("order_p", "rho", "minutes_per_block"), int | float | None),
    **dict.fromkeys(("blocks", "false_verdicts", "windows"), int),
    **dict.fromkeys(("primary", "passed"), bool),
}
_MAPPINGS = ("definition", "measurements", "raw", "witnesses", "work", "seconds", "environment", "counts")
_TEXTS = ("scenario", "digest", "profile", "arm", "started", "status", "reason", "how", "log")


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The contents of a results folder: its records in the order of files and lines, and warnings on skipped lines."""

    records: tuple[Record, ...]
    warnings: tuple[str, ...]


def records_file(folder: Path, scenario: str) -> Path:
    return folder / f"{scenario}.jsonl"


COUNTS = "counts"
"""The folder, beside the records, of counted rounds that are too large for these."""
LOST = "was deleted while this run wrote into it: what it held is lost, and nothing is judged; the same command begins again"


def append(folder: Path, record: Record, *, after: bool = False) -> None:
    """Appends one record. If the disk is full, the file is unchanged and stays readable.

    Raises `CannotRun` if the line can't be written, or if the file with earlier records (`after`) is gone; `ValueError` for a number that
    is not finite.
    """
    if after and not records_file(folder, record.scenario).exists():
        raise CannotRun(f"{records_file(folder, record.scenario)}: {LOST}")
    _append_line(records_file(folder, record.scenario), record, f"the record of {record.arm}, block {record.block}")


def floors_file(folder: Path, machine: str) -> Path:
    return folder / "machine" / f"{machine}.jsonl"


def append_floor(folder: Path, floor: Floor) -> None:
    """Appends one noise floor. Raises the same errors as `append`."""
    _append_line(floors_file(folder, floor.machine), floor, f"the noise floor of {floor.metric}")


def _append_line(path: Path, entry: Record | Floor, what: str) -> None:
    fields = dataclasses.asdict(entry)
    if fields.get("counts"):
        fields["counts"], files = kept_counts.parted(fields["counts"])
        kept_counts.keep(path.parent / COUNTS, files, what)
    kept = {key: value for key, value in fields.items() if value or key not in _RECORDED_LATER | _FLOOR_LATER}
    line = json.dumps(kept, allow_nan=False, separators=(",", ":")).encode() + b"\n"
    size: int | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab") as file:
            size = file.tell()
            file.write((b"\n" if _ends_mid_line(path, size) else b"") + line)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if size is not None:
            _cut_back(path, size)
        stays = "what was there is kept, and the same command goes on from there"
        raise CannotRun(f"{path}: {what} could not be written: {error.strerror}; {stays}") from error


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
    """Every record of a results folder. Raises `BadInput` for a missing folder, no records, or a newer schema."""
    check_folder(folder)
    if not folder.is_dir():
        raise BadInput(f"{folder}: no such results folder; 'perfproof run SCENARIO --results {folder}' makes one")
    paths = sorted(folder.glob("*.jsonl"))
    if not paths:
        raise BadInput(f"{folder}: holds no records (*.jsonl){_below(folder)}")
    records: list[Record] = []
    warnings: list[str] = []
    seen: dict[bytes, str] = {}
    for path in paths:
        for entry in _lines(path, record_of, "record", SCHEMA, seen):
            if isinstance(entry, Record):
                whole, lost = _with_counts(entry, folder / COUNTS)
                records.append(whole)
                warnings += [fault for fault in lost if fault not in warnings]
            else:
                warnings.append(entry if AGAIN in entry else entry + REMEDY)
    return Read(records=tuple(records), warnings=tuple(warnings))


def _with_counts(record: Record, folder: Path) -> tuple[Record, list[str]]:
    """The record with its counted rounds that lie in a folder, and what is wrong with those."""
    counts, faults = kept_counts.found(record.counts, folder)
    return dataclasses.replace(record, counts=counts), [f"{record.scenario}: {fault}: {record.arm} has no such counts" for fault in faults]


def _below(folder: Path) -> str:
    """A clause on the folders in this one that hold files of records: perhaps one of these was meant."""
    found = sorted({path.parent.name for path in folder.glob("*/*.jsonl")} - {"machine"})
    return f"; these in it may: {', '.join(found[:8])}{' …' if len(found) > 8 else ''}" if found else ""


def record_lines(path: Path) -> Iterator[tuple[bytes, Record | str]]:
    """Every line of a file of records as it stands there, with its record or its fault."""
    for number, line in enumerate(regular_files.content(path).split(b"\n"), start=1):
        if line.strip():
            yield line.strip(), _decoded(line, f"{path}:{number}", record_of, "record", SCHEMA)


def floor_lines(path: Path) -> Iterator[tuple[bytes, Floor]]:
    """Every line of a file of noise floors as it stands there; `read_floors` says what is refused."""
    for number, line in enumerate(regular_files.content(path).split(b"\n"), start=1):
        floor = _decoded(line, f"{path}:{number}", floor_of, "noise floor", FLOOR_SCHEMA) if line.strip() else CUT_OFF
        if isinstance(floor, Floor):
            yield line.strip(), floor
        elif CUT_OFF not in floor:
            raise BadInput(floor.removesuffix(SKIPPED))


def replace_lines(path: Path, lines: Sequence[bytes]) -> None:
    """Writes a whole file of such lines by way of a rename; a file that has just these stays untouched. Raises `CannotRun` if it can't."""
    data = b"".join(line + b"\n" for line in lines)
    draft = path.with_name(path.name + ".new")
    try:
        if path.is_file() and path.read_bytes() == data:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(draft, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise CannotRun(f"{path}: could not be written: {error.strerror}; what was there is kept") from error


def stamp(folder: Path) -> frozenset[tuple[str, int, int]]:
    """The state of a results folder, which changes with every written line: names, sizes and times of its files."""
    found = [(path, path.stat()) for path in (*folder.glob("*.jsonl"), *folder.glob("machine/*.jsonl"))]
    return frozenset((str(path), at.st_size, at.st_mtime_ns) for path, at in found)


def records_in(folder: Path) -> tuple[Record, ...]:
    """The records of a results folder, which may be empty or not exist."""
    return read(folder).records if any(folder.glob("*.jsonl")) else ()


def check_folder(folder: Path) -> None:
    """Raises `BadInput` where something other than a folder has the name of a results folder; a missing folder can be made."""
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder}: is a file; name a folder")
    if folder.is_symlink() and not folder.exists():
        raise BadInput(f"{folder}: is a link to {os.readlink(folder)}, which is not there; make that folder or name another")


def read_floors(folder: Path) -> tuple[Floor, ...]:
    """Every noise floor in a results folder, oldest first; none where no A/A was run.

    A line that can't be read raises `BadInput`: skipping it might skip a failed A/A. Only a line that a crash cut off is skipped.
    """
    floors: list[Floor] = []
    for path in sorted((folder / "machine").glob("*.jsonl")):
        for entry in _lines(path, floor_of, "noise floor", FLOOR_SCHEMA):
            if isinstance(entry, Floor):
                floors.append(entry)
            elif CUT_OFF not in entry:
                raise BadInput(entry.removesuffix(SKIPPED))
    return tuple(floors)


REMEDY = "; where its trial is missing, the next run measures it again"
"""What happens after a skipped record; files are only appended to, so the line stays."""
CUT_OFF, SKIPPED = "not a whole", ", skipped"
AGAIN = "the same line is also in "
"""The warning for a duplicate line; a trial that was measured again has another line."""


def _lines(
    path: Path, decode: Callable[[Any], Entry], what: str, schema: int, seen: dict[bytes, str] | None = None
) -> Iterator[Entry | str]:
    """Yields each line decoded, or its fault. `seen` maps the digests of earlier lines to their places; None accepts duplicates."""
    for number, line in enumerate(regular_files.content(path).split(b"\n"), start=1):
        if not line.strip():
            continue
        if seen is not None:
            first = seen.setdefault(hashlib.blake2b(line.strip(), digest_size=16).digest(), place := f"{path.name}:{number}")
            if first != place:
                yield f"{path}:{number}: {AGAIN}{first}{SKIPPED}"
                continue
        yield _decoded(line, f"{path}:{number}", decode, what, schema)


def _decoded(line: bytes, where: str, decode: Callable[[Any], Entry], what: str, schema: int) -> Entry | str:
    """A line decoded, or its fault; `where` names it."""
    try:
        data = _parsed(line)
    except strict_json.Twice as twice:
        return f"{where}: the key {str(twice)[:80]!r} stands twice{SKIPPED}"
    except ValueError:
        return f"{where}: {CUT_OFF} {what}{SKIPPED}"
    try:
        return decode(data)
    except _Newer as newer:
        raise BadInput(
            f"{where}: written by a newer perfproof (schema {newer.schema}, this one reads {schema}): upgrade perfproof"
        ) from newer
    except (TypeError, ValueError) as error:
        return f"{where}: {error}{SKIPPED}"


def _parsed(line: bytes) -> Any:
    """The line's JSON. `json` reads what orjson refuses, and a lone surrogate, which no file or terminal accepts, becomes U+FFFD. Raises
    `ValueError`, and `Twice` for a duplicate key in one object."""
    try:
        try:
            return strict_json.loads(line)
        except orjson.JSONDecodeError:
            text = json.dumps(json.loads(line, object_pairs_hook=strict_json.once), ensure_ascii=False)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


class _Newer(Exception):
    def __init__(self, schema: int) -> None:
        super().__init__(schema)
        self.schema = schema


def record_of(data: Any) -> Record:
    """A record from its JSON object; `ValueError` says what is wrong with it."""
    _check_object(data, _RECORD_KEYS, "record", SCHEMA, later=_RECORDED_LATER)
    attestation = data["attestation"]
    if attestation is not None:
        if not isinstance(attestation, dict):
            raise ValueError("attestation: expected a mapping")
        _check_keys(attestation, _ATTESTATION_KEYS - (_ATTESTED_LATER - attestation.keys()), "attestation")
    for key in _MAPPINGS:
        if not isinstance(data.get(key, {}), dict):
            raise ValueError(f"{key}: expected a mapping")
    for key in _TEXTS:
        if not isinstance(data[key], str):
            raise ValueError(f"{key}: expected a text")
    for key, least in (("block", 1), ("position", 0), ("seed", -(2**63))):
        if type(data[key]) is not int or not least <= data[key] < 2**63:
            raise ValueError(f"{key}: expected an integer{f' from {least} on' if least >= 0 else ''}, of 64 bits at most")
    _check_moment(data, "started")
    if data["status"] not in get_args(Status):
        raise ValueError(f"status: unknown {data['status']!r}")
    if fault := next(record_schema.faults(data), "") or next(contradictions.faults(data), ""):
        raise ValueError(fault)
    why = contradictions.unproven(data)
    status = {"status": "unattested", "reason": why} if why else {}
    return Record(**{**data, "attestation": Attestation(**attestation) if attestation else None, **status})


def floor_of(data: Any) -> Floor:
    """A noise floor from its JSON object; `ValueError` says what is wrong with it."""
    _check_object(data, _FLOOR_KEYS, "noise floor", FLOOR_SCHEMA, later=_FLOOR_LATER)
    for name, field in _FLOOR_KINDS.items():
        if name in _FLOOR_LATER and name not in data:
            continue
        if not isinstance(data[name], field) or isinstance(data[name], bool) is not (field is bool):
            raise ValueError(f"{name}: expected {field}, got {data[name]!r}")
    _check_moment(data, "when")
    return Floor(**data)


def _check_moment(data: Mapping[str, Any], key: str) -> None:
    if not clock.is_moment(data[key]):
        raise ValueError(f"{key}: expected a moment such as 2026-11-28T11:37:11Z, got {shown(data[key])}")


def _check_object(data: Any, keys: frozenset[str], what: str, schema: int, later: frozenset[str] = frozenset()) -> None:
    """An object of this schema with just these keys; those that came `later` may be missing."""
    if not isinstance(data, dict):
        raise ValueError(f"not a {what}")
    version = data.get("schema")
    if not isinstance(version, int) or isinstance(version, bool):
        raise ValueError(f"a {what} without a schema number")
    if version > schema:
        raise _Newer(version)
    _check_keys(data, keys - (later - data.keys()), what)


def _check_keys(data: dict[str, Any], keys: frozenset[str], what: str) -> None:
    missing, unknown = keys - data.keys(), data.keys() - keys
    if missing:
        raise ValueError(f"{what}: {', '.join(sorted(missing))} missing")
    if unknown:
        raise ValueError(f"{what}: unknown {', '.join(sorted(unknown))}")
