"""Samples files of lm_eval (`--log_samples`): one JSON line an item and filter, `samples_<task>_<date>.jsonl`.

An item's score is a number of its own. What is kept as a pair or a list (f1 of gold and predicted, references and a translation) scores
all items together, and is left out with the reason; of rolling log-likelihoods and their lengths an item's own is made.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from perfproof.importers.lm_eval import lm_eval_runs
from perfproof.importers.lm_eval.lm_eval_runs import REMEDY
from perfproof.model.base import strict_json
from perfproof.model.base.errors import BadInput
from perfproof.model.base.untrusted import line as shown
from perfproof.model.records.eval_items import ASKED, EXACT_BYTES, Item, Items, TaskItems
from perfproof.model.records.eval_settings import Settings
from perfproof.model.scenarios.eval_metrics import direction
from perfproof.model.scenarios.metrics import Better

MOST_FAULTS = 20
_FIXED = """
    doc_id doc target arguments resps filtered_resps filter metrics doc_hash prompt_hash target_hash
"""
_ROLLING: Mapping[str, float] = {"word_perplexity": 1.0, "byte_perplexity": 1.0, "bits_per_byte": 1 / math.log(2)}
"""Metrics that lm_eval keeps as (log-likelihood, length) an item, and what the one by the other is multiplied with."""
_NOTHING = re.compile(r"\s|[\u00ad\u200b-\u200f\u2060\ufeff\x00]|<\|[\w-]{1,40}\|>|</?s>|<(?:pad|eos|bos|unk)>")
"""What an answer may hold and be empty: blanks, seen or not, and marks of a model's own."""
_PAIRS = "kept as pairs or lists, which score all items together and no item by itself"

Key = tuple[str, str, str]


def tasks(path: Path) -> list[str]:
    """The tasks that a samples file, a results file or a folder is of; raises `BadInput` as `runs.find` does."""
    return list(lm_eval_runs.find(path))


def files(path: Path) -> list[Path]:
    """The samples files that `read` reads; raises `BadInput` likewise."""
    return [file.path for file in lm_eval_runs.find(path).values()]


def results(path: Path) -> list[Path]:
    """The results files beside them, as far as there are any; raises `BadInput` likewise."""
    return list({file.results: None for file in lm_eval_runs.find(path).values() if file.results is not None})


def settings(path: Path) -> dict[str, Settings]:
    """What was asked, by task, as far as results files say; raises `BadInput` for a results file that is none."""
    return {task: lm_eval_runs.settings(file) for task, file in lm_eval_runs.find(path).items()}


def read(path: Path, passages: Mapping[str, str] | None = None) -> tuple[list[TaskItems], list[str]]:
    """The scores of a samples file, or of one run's samples files, and warnings.

    `passages` names, for tasks whose items share passages, the key of a document that holds the passage.
    A metric without one number an item is left out with a warning. Perplexities are per item, in nats a word or byte (bits for
    `bits_per_byte`), so that less is better. Raises `BadInput` with every faulty line (the first twenty are named), for a folder without
    samples or with several runs of a task, and for an item that comes twice.
    """
    taken = _Taken()
    faults: list[str] = []
    for task, file in lm_eval_runs.find(path).items():
        told, lines = [], 0
        better = lm_eval_runs.settings(file).better
        for number, line in _lines(file.path):
            lines += 1
            try:
                fault = taken.add(task, line, (passages or {}).get(task, ""), better)
            except RecursionError:
                fault = "is nested too deeply"
            told += [f"{file.path}:{number}: {fault}"] if fault else []
        foreign = len(told) == lines > MOST_FAULTS
        faults += [f"{file.path}: no line of it is a sample of lm_eval; the first: {told[0]}"] if foreign else told
    if faults:
        more = len(faults) - MOST_FAULTS
        raise BadInput(*faults[:MOST_FAULTS], *([f"{path}: and {more} more faults"] if more > 0 else []))
    if not taken.found:
        raise BadInput(f"{path}: no item has a score; {REMEDY}", *taken.warnings())
    return taken.tasks(), taken.warnings()


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
        return strict_json.loads(line)
    except strict_json.Twice as twice:
        return _twice(twice)
    except RecursionError:
        return "is nested too deeply"
    except orjson.JSONDecodeError as error:
        fault = f"not JSON: {error}"
    try:
        return json.loads(line, object_pairs_hook=strict_json.once) if b"NaN" in line or b"Infinity" in line else fault
    except strict_json.Twice as twice:
        return _twice(twice)
    except (ValueError, RecursionError):
        return fault


def _twice(twice: strict_json.Twice) -> str:
    return f"the key {shown(twice, 80)!r} stands twice in one object: keep one"


@dataclass(slots=True, kw_only=True)
class _Taken:
    """What was read so far, by task, filter and metric; of what was left out, how many items and why; tasks whose answers are not there."""

    found: dict[Key, Items] = field(default_factory=dict)
    better: dict[Key, Better | None] = field(default_factory=dict)
    left_out: dict[tuple[Key, str], int] = field(default_factory=dict)
    unsaid: dict[str, int] = field(default_factory=dict)

    def add(self, task: str, line: Any, shared: str, better: Mapping[str, Better]) -> str:
        """Adds what a line says of its item; the fault, or nothing."""
        if isinstance(line, str):
            return line
        if not isinstance(line, Mapping) or "doc_id" not in line:
            return "doc_id: is missing; is this a samples file of lm_eval?"
        if isinstance(line["doc_id"], bool) or not isinstance(line["doc_id"], int | str):
            return "doc_id: must be a number or a text"
        which, item = shown(line.get("filter") or "none"), shown(line["doc_id"])
        if _not_a_number(line.get("resps")):
            return f"resps: item {item} has a logprob that is no number (NaN), so its score means nothing"
        try:
            digest, passage = _digest(line), _passage(line.get("doc"), shared) if shared else None
        except TypeError:  # orjson reads deeper than it writes
            return "doc: is nested too deeply to be compared"
        except _NoQuestion:
            return f"doc, arguments: are missing, so nobody can tell what item {item} asked; {REMEDY}"
        except KeyError:
            return f"doc.{shared}: is missing, so nobody can tell which passage item {item} belongs to"
        if "resps" not in line:
            self.unsaid[task] = self.unsaid.get(task, 0) + 1
        empty = "resps" in line and _unanswered(line["resps"], line.get("target"))
        for metric in map(shown, _metrics(line)):
            key, (score, why) = (task, which, metric), _score(metric, line.get(metric))
            if score is None:
                self.left_out[key, why] = self.left_out.get((key, why), 0) + 1
                continue
            if not math.isfinite(score):
                return f"{metric}: item {item} scored {score}: the model gave no usable answer there"
            if not self.found.setdefault(key, Items()).add(item, Item(score=score, digest=digest, passage=passage, empty=empty)):
                return f"doc_id: item {item} comes twice for {which}, {metric}"
            self.better[key] = better.get(metric) or direction(metric)
        return ""

    def tasks(self) -> list[TaskItems]:
        """Everything that has scores."""
        return [TaskItems(task=t, filter=f, metric=m, items=items, better=self.better[t, f, m]) for (t, f, m), items in self.found.items()]

    def warnings(self) -> list[str]:
        """What was left out, and what can't be told."""
        left = [
            f"{task}, {which}, {metric}: {count} items left out: {why}" for ((task, which, metric), why), count in self.left_out.items()
        ]
        return [*left, *(f"{task}: {count} items have no resps, so empty answers can't be told" for task, count in self.unsaid.items())]


class _NoQuestion(Exception):
    """A line that does not say what was asked."""


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
    return [key for key, value in line.items() if key not in _FIXED.split() and isinstance(value, int | float)]


def _score(metric: str, value: Any) -> tuple[float | None, str]:
    """An item's score; None, and why, where it has none of its own."""
    if isinstance(value, list):
        pair = metric in _ROLLING and len(value) == 2 and all(map(_is_number, value)) and value[0] <= 0 < value[1]
        return (-value[0] / value[1] * _ROLLING[metric], "") if pair else (None, _PAIRS)
    if not isinstance(value, bool) and not _is_number(value):
        return None, "they have no number"
    score = float(value)
    return (abs(score) if metric == "perplexity" else score), ""  # lm_eval keeps an item's log-likelihood under this name


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1e300)


def _unanswered(said: Any, target: Any) -> bool:
    """Whether an item was given no answer: its first, or half of them, blank. lm_eval writes a null as "None", which may be the answer."""
    answers = [_blank(one, str(target).strip() != "None") for one in _flat(said)]
    return not answers or answers[0] or 2 * sum(answers) >= len(answers)


def _flat(said: Any) -> Iterator[Any]:
    """The answers in lists of lists, or of mappings."""
    if isinstance(said, list | Mapping):
        for one in said.values() if isinstance(said, Mapping) else said:
            yield from _flat(one) if one not in ([], {}) else [None]
    else:
        yield said


def _blank(answer: Any, none: bool) -> bool:
    return answer is None or (isinstance(answer, str) and (not _NOTHING.sub("", answer) or (none and answer == "None")))


def _passage(doc: Any, key: str) -> int:
    """A number that all documents with one passage share; raises KeyError for one that has none."""
    if not isinstance(doc, Mapping):
        raise KeyError(key)
    return int.from_bytes(_hashed(doc[key], EXACT_BYTES), "big")


def _digest(line: Mapping[str, Any]) -> bytes:
    """What was asked, in the parts of `ASKED`, each of zeros where the line does not say: lm_eval's own hashes of document and prompt, made
    from these where it wrote none; the document with its target; and all arguments. Raises `_NoQuestion` where neither is there."""
    doc, arguments = line.get("doc"), line.get("arguments")
    parts = [_hashes(line, doc, arguments), [doc, str(line.get("target"))] if doc and "target" in line else None, arguments or None]
    found = [bytes(size) if part is None else _hashed(part, size) for part, (_, size) in zip(parts, ASKED, strict=True)]
    if parts[0] is None:
        raise _NoQuestion
    return b"".join(found)


def _hashes(line: Mapping[str, Any], doc: Any, arguments: Any) -> bytes | None:
    """lm_eval's hashes of document and prompt; None where they are not there and can't be made."""
    found = [line.get("doc_hash"), line.get("prompt_hash")]
    if not found[0] and doc:
        found[0] = hashlib.sha256(json.dumps(doc, indent=2, ensure_ascii=False).encode(errors="replace")).hexdigest()
    if not found[1] and (prompt := next(_flat(_values(arguments)), None)):
        found[1] = hashlib.sha256(str(prompt).encode(errors="replace")).hexdigest()
    return f"{found[0]} {found[1]}".encode(errors="replace") if all(isinstance(one, str) and one for one in found) else None


def _values(said: Any) -> Any:
    """Arguments without their names: lm_eval writes `{"gen_args_0": {"arg_0": PROMPT, ...}}`, before it was written a list of lists."""
    return [_values(one) for one in said.values()] if isinstance(said, Mapping) else said


def _hashed(said: Any, size: int) -> bytes:
    told = said if isinstance(said, bytes) else orjson.dumps(said, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(told, digest_size=16).digest()[:size]
