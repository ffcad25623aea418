"""The schema of the answers in a record's `raw`: columns that belong together have one length, and hold the values that their names say.

Two kinds of answers are kept there: those of an equality scenario, every part's prompts joined with their lengths beside
(`greedy_outputs.tokens`, `greedy_outputs.lengths`), and the items of an accuracy scenario (`items.raw_of`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from perfproof.model.kinds.equality.said_column import SAID, said_of
from perfproof.model.records.eval_items import AGAIN, EXACT_BYTES, FIRST
from perfproof.model.scenarios.metrics import PARTS

Raw = Mapping[str, Sequence[float]]

_ANSWERED = ("tokens", "logprobs", "runners_up")
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "greedy_outputs": _ANSWERED,
    "sampled_outputs": _ANSWERED,
    "text_perplexity": ("tokens", "logprobs"),
    "embeddings": ("values",),
}
"""The columns of each part, besides the lengths."""
LATER: Mapping[str, tuple[str, ...]] = {part: ("ranks",) for part in COLUMNS if part != "embeddings"}
"""Columns that older records lack; so do they `said`."""
ITEM_COLUMNS = ("score", "item", "digest")
"""The columns of a task's items; `passage` too if all items have one, `empty` if some have no answer."""
MOST_LOGPROB = 1e-4
"""The logarithm of a share is 0 at most; of sums in float32 it may be rounded up by this."""
MOST_WHOLE = 2**53
"""Integers up to this are exact in JSON."""


def faults(raw: Raw) -> Iterator[str]:
    """The faults of the answers among these lists of numbers, a sentence each; other lists are skipped."""
    for part in PARTS:
        if any(f"{part}.{name}" in raw for name in ("lengths", *COLUMNS[part])):
            yield from _part_faults(part, raw)
    yield from _item_faults(raw)


def counts(raw: Raw) -> dict[str, float]:
    """How many prompts, tokens, values and items answers without faults have, by the names under which `Record.work` counts them."""
    found: dict[str, float] = {}
    for part in PARTS:
        if lengths := raw.get(f"{part}.lengths"):
            found |= {f"{part} prompts": len(lengths), f"{part} {'values' if part == 'embeddings' else 'tokens'}": sum(lengths)}
    for words, values in ((_words(key), values) for key, values in raw.items() if key.startswith('["')):
        if words and words[:2] == [FIRST, "item"]:
            found[f"items {words[2]}"] = len(values)
    return found


def _part_faults(part: str, raw: Raw) -> Iterator[str]:
    lengths = raw.get(f"{part}.lengths", ())
    if not lengths or not _whole(lengths, MOST_WHOLE):
        yield f"raw.{part}.lengths: expected the length of every answer, whole numbers from 0 on"
        return
    if not min(lengths) and (part == "embeddings" or not any(lengths)):
        yield f"raw.{part}.lengths: expected answers that are not empty, got an empty one"
        return
    for name in (*COLUMNS[part], *LATER.get(part, ())):
        values = raw.get(f"{part}.{name}")
        if values is None:
            yield from [f"raw.{part}.{name}: is missing"] if name in COLUMNS[part] else []
        elif len(values) != sum(lengths):
            yield f"raw.{part}.{name}: expected {sum(lengths):,.0f} values, as the lengths of the answers say, got {len(values):,}"
        elif name in ("tokens", "ranks") and not _whole(values, MOST_WHOLE):
            yield f"raw.{part}.{name}: expected whole numbers from 0 on"
        elif name in ("logprobs", "runners_up") and max(values) > MOST_LOGPROB:
            yield f"raw.{part}.{name}: expected logarithms of shares, 0 at most, got {max(values):.9g}"
    yield from _said_faults(part, raw, len(lengths))


def _said_faults(part: str, raw: Raw, answers: int) -> Iterator[str]:
    """The faults of what the answers say besides, which older records lack."""
    if f"{part}.{SAID}" not in raw:
        return
    try:
        said = said_of(raw[f"{part}.{SAID}"])
    except ValueError as error:
        yield f"raw.{part}.{SAID}: {error}"
        return
    if len(said) != answers:
        yield f"raw.{part}.{SAID}: expected what {answers:,} answers say, got {len(said):,}"


def _item_faults(raw: Raw) -> Iterator[str]:
    tasks: dict[tuple[str, ...], dict[str, Sequence[float]]] = {}
    for key, values in raw.items():
        if not key.startswith('["'):
            continue
        words = _words(key)
        if words is None:
            yield f"raw: {key[:80]!r} names no items (run, column, task, filter, metric)"
            return
        run, column, *task = words
        tasks.setdefault((run, *task), {})[column] = values
    for (run, *task), columns in tasks.items():
        yield from (f"raw, items of {', '.join(task)} ({run} run): {fault}" for fault in _task_faults(columns))


def _words(key: str) -> list[str] | None:
    """The five words of an item's key; None for another key."""
    try:
        words = json.loads(key)
    except (ValueError, RecursionError):
        return None
    whole = isinstance(words, list) and len(words) == 5 and all(isinstance(word, str) for word in words)
    return words if whole and words[0] in (FIRST, AGAIN) and words[1] in (*ITEM_COLUMNS, "passage", "empty") else None


def _task_faults(columns: Mapping[str, Sequence[float]]) -> Iterator[str]:
    missing = [name for name in ITEM_COLUMNS if name not in columns]
    if missing:
        yield f"expected {', '.join(ITEM_COLUMNS)}, {', '.join(missing)} missing"
        return
    sizes = {name: len(values) for name, values in columns.items()}
    if len(set(sizes.values())) > 1 or not sizes["score"]:
        yield f"expected one value per item in every column, got {', '.join(f'{size:,} of {name}' for name, size in sizes.items())}"
        return
    for name, most in (("item", MOST_WHOLE), ("digest", 256**EXACT_BYTES - 1), ("passage", MOST_WHOLE), ("empty", 1)):
        if not _whole(columns.get(name, ()), most):
            yield f"{name}: expected whole numbers from 0 to {most:,}"
    if len(set(columns["item"])) != len(columns["item"]):
        yield "item: the same one occurs twice"


def _whole(values: Sequence[float], most: int) -> bool:
    """Whether all are integers from 0 to `most`."""
    return all(0 <= value <= most and value == int(value) for value in values)
