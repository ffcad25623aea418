"""Samples files of lm_eval: what counts as an item's score, and every way in which a file can be unfit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from suite.analysis.pairing import Unpairable, match
from suite.importers import lm_eval
from suite.model.errors import BadInput


def line(number: int, **changed: Any) -> dict[str, Any]:
    """An item as lm_eval 0.4.13 logs it."""
    fields = {
        "doc_id": number,
        "doc": {"question": f"{number} + 1 ="},
        "target": str(number + 1),
        "arguments": {"gen_args_0": {"arg_0": f"{number} + 1 ="}},
        "resps": [["2"]],
        "filtered_resps": ["2"],
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": f"d{number}",
        "prompt_hash": f"p{number}",
        "target_hash": "t",
        "acc": 1.0,
    }
    return {**fields, **changed}


def write(folder: Path, lines: list[Any], name: str = "samples_sums_2026-11-28T01-02-03.456.jsonl") -> Path:
    """A samples file; strings are written as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines))
    return path


def test_a_folder_gives_every_task_filter_and_metric(tmp_path: Path) -> None:
    """Two filters of one task and a second task are three sets of items, named by what tells them apart."""
    two = [line(n, filter=which, metrics=["exact_match"], exact_match=n % 2) for which in ("strict", "flexible") for n in range(3)]
    write(tmp_path / "model", two, "samples_gsm8k_2026-11-28T01-02-03.4.jsonl")
    write(tmp_path / "model", [line(0), line(1, acc=False)])
    found, warnings = lm_eval.read(tmp_path)
    assert {task.name: [item.score for item in task.items.values()] for task in found} == {
        "gsm8k, strict, exact_match": [0.0, 1.0, 0.0],
        "gsm8k, flexible, exact_match": [0.0, 1.0, 0.0],
        "sums, acc": [1.0, 0.0],
    }
    assert warnings == []


def test_the_newest_file_of_a_task_counts(tmp_path: Path) -> None:
    """A folder that two runs wrote into is read as the later one."""
    write(tmp_path, [line(0, acc=0.0)], "samples_sums_2026-11-27T01-02-03.4.jsonl")
    write(tmp_path, [line(0, acc=1.0)], "samples_sums_2026-11-28T01-02-03.4.jsonl")
    (task,), _ = lm_eval.read(tmp_path)
    assert task.items["0"].score == 1.0


def test_a_rolling_pair_is_its_ratio_and_a_list_is_left_out_with_a_warning(tmp_path: Path) -> None:
    """(log-likelihood, words) is a mean; what is no number an item is told, not guessed."""
    lines = [line(n, metrics=["word_perplexity", "f1"], word_perplexity=[-12.0, 4], f1=[1, 2, 3]) for n in range(2)]
    (task,), warnings = lm_eval.read(write(tmp_path, lines))
    assert (task.metric, task.items["1"].score) == ("word_perplexity", -3.0)
    assert warnings == ["sums, none, f1: 2 items have no number, left out"]


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (["{"], "not JSON"),
        (["[1]"], "doc_id: is missing"),
        (['{"doc_id": 1, "acc": 1, "doc": ' + "[" * 300 + "]" * 300 + "}"], "samples_sums.*:1: doc: is nested too deeply"),
        ([{"doc": 1}], "doc_id: is missing"),
        ([line(1), line(1)], "item 1 comes twice"),
        (['{"doc_id": 1, "metrics": ["acc"], "acc": 1e999}'], "not JSON|no usable answer"),
        ([line(1, metrics=[])], "no item has a score"),
        ([line(1, resps=[[["nan", "False"]], [["-2.0", "True"]]])], "item 1 has a logprob that is no number"),
        (['{"doc_id": 1, "metrics": ["acc"], "acc": NaN}'], "item 1 scored nan"),
        ([], "no item has a score"),
    ],
)
def test_an_unfit_file_is_told_by_line(lines: list[Any], fault: str, tmp_path: Path) -> None:
    """Cut-off lines, foreign files, items that come twice, and answers that are no numbers are refused."""
    with pytest.raises(BadInput, match=fault):
        lm_eval.read(write(tmp_path, lines))


def test_a_text_that_reads_nan_is_an_answer_like_any_other(tmp_path: Path) -> None:
    """Only log-likelihoods are numbers: what was generated may say what it likes."""
    (task,), _ = lm_eval.read(write(tmp_path, [line(1, resps=[["nan"]], acc=0.0)]))
    assert task.items["1"].score == 0.0


def test_a_folder_without_samples_says_how_to_get_them(tmp_path: Path) -> None:
    """The remedy is lm_eval's own flag."""
    with pytest.raises(BadInput, match="--log_samples"):
        lm_eval.read(tmp_path)


def test_arms_of_different_limits_or_prompts_do_not_pair(tmp_path: Path) -> None:
    """An item missing on one side, and one that was asked something else, are named."""
    (whole,), _ = lm_eval.read(write(tmp_path / "a", [line(n) for n in range(30)]))
    (less,), _ = lm_eval.read(write(tmp_path / "b", [line(n) for n in range(20)]))
    (other,), _ = lm_eval.read(write(tmp_path / "c", [line(n, prompt_hash="x" if n == 7 else f"p{n}") for n in range(30)]))
    with pytest.raises(Unpairable, match=r"the candidate lacks 10 items"):
        match(whole, less)
    with pytest.raises(Unpairable, match=r"differ in 1 item \(7\)"):
        match(whole, other)
    assert match(whole, whole).baseline.size == 30


def test_items_of_one_passage_are_known_by_what_they_share(tmp_path: Path) -> None:
    """The key that the caller names is compared, whatever it holds; an item without it is told by line."""
    lines = [line(n, doc={"question": f"q{n}", "context": ["a text", n // 3]}) for n in range(9)]
    (task,), _ = lm_eval.read(write(tmp_path / "a", lines), {"sums": "context"})
    passages = [item.passage for item in task.items.values()]
    assert [passages.index(passage) for passage in passages] == [0, 0, 0, 3, 3, 3, 6, 6, 6]
    (plain,), _ = lm_eval.read(write(tmp_path / "b", lines), {"other": "context"})
    assert {item.passage for item in plain.items.values()} == {None}
    assert match(task, task).clusters is not None
    assert match(plain, plain).clusters is None
    with pytest.raises(BadInput, match=r":2: doc.context: is missing, so nobody can tell which passage item 1 belongs to"):
        lm_eval.read(write(tmp_path / "c", [lines[0], line(1)]), {"sums": "context"})
