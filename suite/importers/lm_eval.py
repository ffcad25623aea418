"""Samples files of lm_eval (`--log_samples`): one JSON line an item and filter, `samples_<task>_<date>.jsonl`."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from suite.model.errors import BadInput
from suite.model.items import EXACT_BYTES, Item, Items, TaskItems

_NAME = re.compile(r"^samples_(?P<task>.+?)(?:_\d{4}-\d{2}-\d{2}T[\d.:-]+)?\.jsonl$")
MOST_FAULTS = 20
_FIXED = frozenset({"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash"})

Key = tuple[str, str, str]


def tasks(path: Path) -> list[str]:
    """The tasks that a samples file, or a folder of them, is of; raises `BadInput` for a folder without any."""
    return list(_files(path))


def read(path: Path, passages: Mapping[str, str] | None = None) -> tuple[list[TaskItems], list[str]]:
    """The scores of a samples file, or of all samples files below a folder, and warnings.

    `passages` names, for tasks whose items share passages, the key of a document that holds the passage.
    Of several files of one task the newest counts. A metric without one number an item (a group's, say) is left out with a warning; a
    pair of numbers, as rolling log-likelihoods have, is the first divided by the second. Raises `BadInput` with every faulty line
    (the first twenty are named), for a folder without samples, and for an item that comes twice.
    """
    files = _files(path)
    found: dict[Key, Items] = {}
    left_out: dict[Key, int] = {}
    faults: list[str] = []
    for task, file in files.items():
        for number, line in _lines(file):
            fault = _take(task, line, (passages or {}).get(task, ""), found, left_out)
            if fault:
                faults.append(f"{file}:{number}: {fault}")
    if faults:
        more = len(faults) - MOST_FAULTS
        raise BadInput(*faults[:MOST_FAULTS], *([f"{path}: and {more} more faults"] if more > 0 else []))
    warnings = [f"{task}, {which}, {metric}: {count} items have no number, left out" for (task, which, metric), count in left_out.items()]
    if not found:
        raise BadInput(f"{path}: no item has a score; run lm_eval with --log_samples", *warnings)
    return [TaskItems(task=t, filter=f, metric=m, items=items) for (t, f, m), items in found.items()], warnings


def _files(path: Path) -> dict[str, Path]:
    """The newest samples file of every task."""
    if path.is_file():
        matched = _NAME.match(path.name)
        return {matched["task"] if matched else path.stem: path}
    files = {m["task"]: file for file in sorted(path.rglob("samples_*.jsonl"), key=lambda file: file.name) if (m := _NAME.match(file.name))}
    if not files:
        raise BadInput(f"{path}: no samples_<task>_<date>.jsonl there; run lm_eval with --log_samples --output_path {path}")
    return files


def _lines(file: Path) -> Iterator[tuple[int, Any]]:
    """Line numbers and what stands there: a mapping, or the fault as a string."""
    try:
        with open(file, "rb") as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield number, _parsed(line)
    except OSError as error:
        raise BadInput(f"{file}: can't be read: {error.strerror}") from error


def _parsed(line: bytes) -> Any:
    """The line's JSON; the fault as a string. lm_eval writes NaN as JSON has it not, which `json` still reads."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        fault = f"not JSON: {error}"
    try:
        return json.loads(line) if b"NaN" in line or b"Infinity" in line else fault
    except (ValueError, RecursionError):
        return fault


def _take(task: str, line: Any, shared: str, found: dict[Key, Items], left_out: dict[Key, int]) -> str:
    """Adds what a line says of its item; the fault, or nothing."""
    if isinstance(line, str):
        return line
    if not isinstance(line, Mapping) or "doc_id" not in line:
        return "doc_id: is missing; is this a samples file of lm_eval?"
    which, item = str(line.get("filter", "none")), str(line["doc_id"])
    if _not_a_number(line.get("resps")):
        return f"resps: item {item} has a logprob that is no number (NaN), so its score means nothing"
    try:
        digest, passage = _digest(line), _passage(line.get("doc"), shared) if shared else None
    except TypeError:  # orjson reads deeper than it writes
        return "doc: is nested too deeply to be compared"
    except KeyError:
        return f"doc.{shared}: is missing, so nobody can tell which passage item {item} belongs to"
    for metric in _metrics(line):
        score = _score(line.get(metric))
        key = (task, which, metric)
        if score is None:
            left_out[key] = left_out.get(key, 0) + 1
            continue
        if not math.isfinite(score):
            return f"{metric}: item {item} scored {score}: the model gave no usable answer there"
        if not found.setdefault(key, Items()).add(item, Item(score=score, digest=digest, passage=passage)):
            return f"doc_id: item {item} comes twice for {which}, {metric}"
    return ""


def _not_a_number(said: Any) -> bool:
    """Whether an answer is a log-likelihood that is no number: `["nan", "False"]`, as lm_eval writes it."""
    if not isinstance(said, list):
        return False
    if len(said) == 2 and said[1] in ("True", "False") and isinstance(said[0], str):
        return said[0] in ("nan", "-nan")
    return any(_not_a_number(one) for one in said)


def _metrics(line: Mapping[str, Any]) -> list[str]:
    """The metrics that a line names, or its numbers where an old version names none."""
    named = line.get("metrics")
    if isinstance(named, list):
        return [str(name) for name in named]
    return [key for key, value in line.items() if key not in _FIXED and isinstance(value, int | float)]


def _score(value: Any) -> float | None:
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, list) and len(value) == 2 and all(isinstance(one, int | float) for one in value) and value[1]:
        return float(value[0]) / float(value[1])
    return None


def _passage(doc: Any, key: str) -> int:
    """A number that all documents with one passage share; raises KeyError for one that has none."""
    if not isinstance(doc, Mapping):
        raise KeyError(key)
    return int.from_bytes(hashlib.blake2b(orjson.dumps(doc[key]), digest_size=EXACT_BYTES).digest(), "big")


def _digest(line: Mapping[str, Any]) -> bytes:
    """Document and prompt in sixteen bytes; lm_eval's own hashes where it wrote them."""
    if "doc_hash" in line and "prompt_hash" in line:
        told = f"{line['doc_hash']} {line['prompt_hash']}".encode()
    else:
        told = orjson.dumps([line.get("doc"), line.get("arguments")], option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(told, digest_size=16).digest()
