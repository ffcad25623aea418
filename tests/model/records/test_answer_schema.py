"""Answers in a record: columns that belong together, and what is reported of those that don't."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perfproof import store
from perfproof.cli import main
from perfproof.model.base.errors import EXIT_USAGE
from perfproof.model.kinds.equality.said_column import column_of
from perfproof.model.records.answer_schema import faults
from perfproof.model.records.eval_items import AGAIN, FIRST, Item, TaskItems, raw_of
from tests.factory import record

Raw = dict[str, list[float]]


def prompts() -> Raw:
    """Answers of two prompts, two tokens and one."""
    return {
        "greedy_outputs.lengths": [2, 1],
        "greedy_outputs.tokens": [4, 5, 6],
        "greedy_outputs.logprobs": [-0.1, -0.2, -0.3],
        "greedy_outputs.runners_up": [-1, -1, -1],
    }


def said() -> Raw:
    """What the two answers say besides."""
    column = column_of([{"text": "a", "stop_reason": None}, {"text": "b" * 1000, "cumulative_logprob": -0.3}])
    return {**prompts(), "greedy_outputs.ranks": [1, 1, 2], "greedy_outputs.said": column}


def embeddings() -> Raw:
    return {"embeddings.lengths": [2.0, 2.0], "embeddings.values": [0.1, 0.2, 0.3, 0.4]}


def items() -> Raw:
    """Two items of one task, asked twice."""
    kept = {str(number): Item(score=float(number), digest=b"abcdef", passage=number) for number in range(2)}
    task = TaskItems(task="sums", filter="none", metric="acc", items=kept)
    return {**raw_of([task], FIRST), **raw_of([task], AGAIN)}


def key(column: str, run: str = FIRST) -> str:
    return json.dumps([run, column, "sums", "none", "acc"])


def test_what_the_suite_keeps_has_no_faults() -> None:
    """Answers as runners keep them, an empty answer among others, and lists of anything else, pass."""
    told = [*faults(prompts()), *faults(embeddings()), *faults(items()), *faults({"round_time": [1.0]})]
    told += faults({**prompts(), "greedy_outputs.lengths": [3, 0]})
    told += faults({**prompts(), "greedy_outputs.logprobs": [0.0, 1e-6, -9999.0]})
    told += faults({**items(), key("empty"): [0, 1]})
    told += faults({**prompts(), **said()})
    assert told == []


ITEMS = "raw, items of sums, none, acc (first run): "


@pytest.mark.parametrize(
    ("made", "name", "values", "told"),
    [
        (prompts, "greedy_outputs.logprobs", [-0.1], "raw.greedy_outputs.logprobs: expected 3 values, as the lengths of the answers say"),
        (prompts, "greedy_outputs.runners_up", None, "raw.greedy_outputs.runners_up: is missing"),
        (prompts, "greedy_outputs.lengths", None, "raw.greedy_outputs.lengths: expected the length of every answer"),
        (prompts, "greedy_outputs.lengths", [4, -1], "raw.greedy_outputs.lengths: expected the length of every answer"),
        (prompts, "greedy_outputs.lengths", [1.5, 1.5], "raw.greedy_outputs.lengths: expected the length of every answer"),
        (prompts, "greedy_outputs.lengths", [0, 0], "raw.greedy_outputs.lengths: expected answers that are not empty"),
        (said, "greedy_outputs.ranks", [1], "raw.greedy_outputs.ranks: expected 3 values"),
        (said, "greedy_outputs.said", [65.0], "raw.greedy_outputs.said: expected compressed JSON"),
        (said, "greedy_outputs.said", column_of([{}]), "raw.greedy_outputs.said: expected what 2 answers say, got 1"),
        (prompts, "greedy_outputs.tokens", [4, 5.5, 6], "raw.greedy_outputs.tokens: expected whole numbers from 0 on"),
        (prompts, "greedy_outputs.tokens", [4, -1, 6], "raw.greedy_outputs.tokens: expected whole numbers from 0 on"),
        (prompts, "greedy_outputs.tokens", [4, 1e15 + 0.5, 6], "raw.greedy_outputs.tokens: expected whole numbers from 0 on"),
        (
            prompts,
            "greedy_outputs.logprobs",
            [-0.1, 3.0, -0.3],
            "raw.greedy_outputs.logprobs: expected logarithms of shares, 0 at most, got 3",
        ),
        (prompts, "greedy_outputs.runners_up", [-1, 0.5, -1], "raw.greedy_outputs.runners_up: expected logarithms of shares, 0 at most"),
        (embeddings, "embeddings.lengths", [4, 0], "raw.embeddings.lengths: expected answers that are not empty, got an empty one"),
        (items, key("digest"), None, f"{ITEMS}expected score, item, digest, digest missing"),
        (items, key("score"), [1.0], f"{ITEMS}expected one value per item in every column, got 1 of score, 2 of item"),
        (items, key("passage"), [1.0], f"{ITEMS}expected one value per item in every column"),
        (items, key("digest"), [-1, 2**48], f"{ITEMS}digest: expected whole numbers from 0 to 281,474,976,710,655"),
        (items, key("item"), [0.5, 1], f"{ITEMS}item: expected whole numbers"),
        (items, key("item"), [1, 1], f"{ITEMS}item: the same one occurs twice"),
        (items, key("empty"), [0, 2], f"{ITEMS}empty: expected whole numbers from 0 to 1"),
        (items, key("empty"), [0], f"{ITEMS}expected one value per item in every column"),
        (items, '["first"', [1], "raw: '[\"first\"' names no items (run, column, task, filter, metric)"),
    ],
)
def test_columns_that_do_not_belong_together_are_reported(made: Callable[[], Raw], name: str, values: Any, told: str) -> None:
    """Lists of different lengths, missing ones and values that are no lengths, ids or hashes are named by their key."""
    raw = {**made(), name: values}
    assert next(faults({each: kept for each, kept in raw.items() if kept is not None})).startswith(told)


@pytest.mark.parametrize(
    ("made", "work", "told"),
    [
        (prompts, {"greedy_outputs prompts": 2, "greedy_outputs tokens": 3}, ""),
        (prompts, {"greedy_outputs prompts": 2.0, "greedy_outputs tokens": 3.0, "more": 1}, ""),
        (prompts, {"greedy_outputs prompts": 2, "greedy_outputs tokens": 9}, "work.greedy_outputs tokens: is 9, there are 3 in raw"),
        (prompts, {"greedy_outputs prompts": 3, "greedy_outputs tokens": 3}, "work.greedy_outputs prompts: is 3, there are 2 in raw"),
        (prompts, {}, "work.greedy_outputs prompts: is missing, there are 2 in raw"),
        (embeddings, {"embeddings prompts": 2, "embeddings values": 4}, ""),
        (embeddings, {"embeddings prompts": 2}, "work.embeddings values: is missing, there are 4 in raw"),
        (items, {"items sums": 2}, ""),
        (items, {"items sums": 3}, "work.items sums: is 3, there are 2 in raw"),
        (items, {}, "work.items sums: is missing, there are 2 in raw"),
    ],
)
def test_answers_and_their_counts_agree(made: Callable[[], Raw], work: dict[str, float], told: str, tmp_path: Path) -> None:
    """A trial that is ok has counted the answers that it kept: prompts, tokens, values, items; one that failed may not have."""
    for name, changes in (("ok", {}), ("failed", {"status": "failed", "reason": "crashed"})):
        data = dataclasses.asdict(record(raw=made(), work=work, **changes))
        store.records_file(tmp_path, "swap_states").write_text(json.dumps(data) + "\n")
        read = store.read(tmp_path)
        assert len(read.records) == (not told or name == "failed")
        assert told in "".join(read.warnings) or name == "failed"


@pytest.mark.parametrize("verb", [["report", "--pr"], ["gate"], ["compare", "--json"]])
def test_such_a_record_ends_no_command_in_a_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: list[str]) -> None:
    """The line is skipped and reported; where nothing else is there, that is what the command says."""
    data = dataclasses.asdict(record(raw={**items(), key("digest"): [-1.0]}))
    store.records_file(tmp_path, "swap_states").write_text(json.dumps(data) + "\n")
    assert main([*verb, "--results", str(tmp_path)]) == EXIT_USAGE
    assert "swap_states.jsonl:1: raw, items of sums, none, acc (first run): expected one value per item" in capsys.readouterr().err
