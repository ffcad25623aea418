"""Samples files of lm_eval: what counts as an item's score, and every way in which a file can be unfit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfproof.analysis.verdicts.paired_items import Unpairable, match
from perfproof.importers import lm_eval
from perfproof.model.base.errors import BadInput
from perfproof.model.records.eval_settings import notes


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


def results(folder: Path, name: str = "results_2026-11-28T01-02-03.456.json", **changed: Any) -> Path:
    """The results file beside `write`'s samples, as lm_eval writes it; `changed` are its keys."""
    folder.mkdir(parents=True, exist_ok=True)
    said = {
        "results": {"sums": {"acc,none": 0.5}},
        "configs": {"sums": {"num_fewshot": 5, "output_type": "generate_until", "generation_kwargs": {"temperature": 0}}},
        "versions": {"sums": 1.0},
        "n-shot": {"sums": 5},
        "higher_is_better": {"sums": {"acc": True}},
        "config": {"model": "vllm", "model_args": {"pretrained": "org/model"}, "limit": None, "gen_kwargs": None},
        "chat_template_sha": None,
        "system_instruction": None,
    }
    (folder / name).write_text(json.dumps({**said, **changed}, indent=2))
    return folder / name


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


def test_several_runs_of_a_task_are_refused_with_their_names(tmp_path: Path) -> None:
    """Nobody can tell which of two runs was meant; a results file chooses one, a samples file likewise."""
    for day, score in (("27", 0.0), ("28", 1.0)):
        write(tmp_path, [line(0, acc=score)], f"samples_sums_2026-11-{day}T01-02-03.4.jsonl")
        results(tmp_path, f"results_2026-11-{day}T01-02-03.4.json")
    with pytest.raises(BadInput, match=r"several runs of sums; name one of them: .*results_2026-11-27.*, .*results_2026-11-28"):
        lm_eval.read(tmp_path)
    (chosen,), _ = lm_eval.read(tmp_path / "results_2026-11-27T01-02-03.4.json")
    (other,), _ = lm_eval.read(tmp_path / "samples_sums_2026-11-28T01-02-03.4.jsonl")
    assert [one.items["0"].score for one in (chosen, other)] == [0.0, 1.0]


def test_rolling_pairs_become_nats_and_other_lists_are_left_out_with_the_reason(tmp_path: Path) -> None:
    """(log-likelihood, words) is a value an item of which less is better; f1 of [gold, predicted] is none, and is not divided."""
    lines = [line(n, metrics=["word_perplexity", "f1"], word_perplexity=[-12.0, 4], f1=[1, 2]) for n in range(2)]
    (task,), warnings = lm_eval.read(write(tmp_path, lines))
    assert (task.metric, task.items["1"].score, task.better) == ("word_perplexity", 3.0, "lower")
    assert warnings == ["sums, none, f1: 2 items left out: kept as pairs or lists, which score all items together and no item by itself"]


@pytest.mark.parametrize(
    ("said", "metric", "better"),
    [
        (None, "acc", "higher"),
        (None, "pct_stereotype", "lower"),
        (None, "made_up", None),
        ({"made_up": False}, "made_up", "lower"),
        ({"acc": False}, "acc", "lower"),
        ({"acc": None}, "acc", "higher"),
        ({"made_up": "yes"}, "made_up", None),
    ],
)
def test_lm_evals_own_direction_decides_and_else_a_known_name(
    said: dict[str, Any] | None, metric: str, better: Any, tmp_path: Path
) -> None:
    """Of a name that nobody knows nothing is claimed."""
    write(tmp_path, [line(0, metrics=[metric], **{metric: 1.0})])
    if said is not None:
        results(tmp_path, higher_is_better={"sums": said})
    (task,), _ = lm_eval.read(tmp_path)
    assert task.better == better


def test_a_results_file_alone_is_told_in_one_sentence(tmp_path: Path) -> None:
    """It has totals and no items; a JSON document of something else, and a text of many lines, are one fault each."""
    alone = results(tmp_path / "a")
    with pytest.raises(BadInput, match="has totals alone, and no samples_") as told:
        lm_eval.read(alone)
    assert len(told.value.faults) == 1
    (other := tmp_path / "other.json").write_text(json.dumps({"x": 1}, indent=1))
    with pytest.raises(BadInput, match=r"is no results_<date>\.json of lm_eval"):
        lm_eval.read(other)
    with pytest.raises(BadInput, match="no line of it is a sample of lm_eval") as many:
        lm_eval.read(write(tmp_path / "b", ["words"] * 400))
    assert len(many.value.faults) == 1


HOLLOW = [[[{"text": ""}]], {"0": [""]}, [["</s>"]], [["<|im_end|>\n"]], [["\u200b\u00a0"]], [["<pad><pad>"]]]


@pytest.mark.parametrize("resps", [[[""]], [["  \n"]], None, [], [[]], [[None]], ["None"], [["", "4"]], *HOLLOW])
def test_an_item_without_an_answer_is_marked(resps: Any, tmp_path: Path) -> None:
    """Empty, blank, null or nothing at all; a log-likelihood is an answer, and so is a word."""
    told = [
        line(0, resps=resps),
        line(1, resps=[[["-2.0", "True"]]]),
        line(2, resps=[["4", ""], ["5"]]),
        line(3, target="None", resps=[["None"]]),
    ]
    (task,), _ = lm_eval.read(write(tmp_path, told))
    assert [item.empty for item in task.items.values()] == [True, False, False, False]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"doc_hash": "other"}, "document or prompt differ in 30 items"),
        ({"prompt_hash": None}, "document or prompt differ in 30 items"),
        ({"target": "other"}, "document or target differ in 30 items"),
        ({"doc": {"question": "?"}}, "document or target differ in 30 items"),
        ({"arguments": {"gen_args_0": {"arg_0": "1", "arg_1": {"temperature": 1}}}}, "arguments of the request differ in 30 items"),
    ],
)
def test_what_was_asked_is_compared_part_by_part(changed: dict[str, Any], told: str, tmp_path: Path) -> None:
    """Equal ids do not pair: hashes, document, target and arguments all count, and the part that differs is named."""
    (one,), _ = lm_eval.read(write(tmp_path / "a", [line(n) for n in range(30)]))
    (two,), _ = lm_eval.read(write(tmp_path / "b", [line(n, **changed) for n in range(30)]))
    with pytest.raises(Unpairable, match=told):
        match(one, two)


def test_items_without_hashes_are_matched_by_content(tmp_path: Path) -> None:
    """Without lm_eval's hashes the document and the prompt themselves are compared; without both an item is refused."""
    bare = [{key: value for key, value in line(n).items() if not key.endswith("_hash")} for n in range(30)]
    (one,), _ = lm_eval.read(write(tmp_path / "a", bare))
    assert match(one, one).baseline.size == 30
    (two,), _ = lm_eval.read(write(tmp_path / "b", [{**each, "doc": {"question": "other"}} for each in bare]))
    with pytest.raises(Unpairable, match="document or prompt differ in 30 items"):
        match(one, two)
    with pytest.raises(BadInput, match="nobody can tell what item 0 asked"):
        lm_eval.read(write(tmp_path / "c", [{"doc_id": 0, "metrics": ["acc"], "acc": 1.0}]))


VALUES = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=3), st.lists(st.integers(0, 1), max_size=2))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.sampled_from(sorted(line(0))), value=st.one_of(st.just("dropped"), VALUES))
def test_a_key_dropped_or_retyped_never_pairs_another_question(key: str, value: Any, tmp_path: Path) -> None:
    """Whatever becomes of one key in all lines of one side: a clear fault, no pair, or the very items with finite scores."""
    first = [line(n) for n in range(25)]
    second = [{**each, key: value} if value != "dropped" else {name: one for name, one in each.items() if name != key} for each in first]
    (one,), _ = lm_eval.read(write(tmp_path / "a", first))
    try:
        found, _ = lm_eval.read(write(tmp_path / "b", second))
        pairs = [match(one, two) for two in found if two.name == one.name]
    except (BadInput, Unpairable):
        return
    assert all(pair.baseline.size in (25, 0) or pair.left_out for pair in pairs)
    if value != "dropped":
        assert key not in ("doc_hash", "prompt_hash", "doc_id") or value == first[0][key]


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(25)))
def test_the_order_of_lines_means_nothing_and_permuted_ids_do_not_pair(order: list[int], tmp_path: Path) -> None:
    """Lines may come in any order; ids that went to other documents are no pairs."""
    first = [line(n, acc=n % 2) for n in range(25)]
    (one,), _ = lm_eval.read(write(tmp_path / "a", first))
    (two,), _ = lm_eval.read(write(tmp_path / "b", [first[n] for n in order]))
    assert list(match(one, two).baseline) == list(match(one, two).candidate)
    (moved,), _ = lm_eval.read(write(tmp_path / "c", [{**each, "doc_id": n} for each, n in zip(first, order, strict=True)]))
    if order != list(range(25)):
        with pytest.raises(Unpairable):
            match(one, moved)


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (["{"], "not JSON"),
        (["[1]"], "doc_id: is missing"),
        (
            [json.dumps(line(1, doc=0)).replace('"doc": 0', '"doc": ' + "[" * 300 + "]" * 300)],
            "samples_sums.*:1: doc: is nested too deeply",
        ),
        ([{"doc": 1}], "doc_id: is missing"),
        ([line(1), line(1)], "item 1 comes twice"),
        (['{"doc_id": 1, "metrics": ["acc"], "acc": 1e999}'], "not JSON|no usable answer"),
        ([line(1, metrics=[])], "no item has a score"),
        ([line(1, resps=[[["nan", "False"]], [["-2.0", "True"]]])], "item 1 has a logprob that is no number"),
        ([line(1, acc=float("nan"))], "item 1 scored nan"),
        ([], "no item has a score"),
        ([json.dumps(line(1, acc=0.0))[:-1] + ', "acc": 1.0}'], ":1: the key 'acc' stands twice in one object: keep one"),
        ([json.dumps(line(1, acc=0.0))[:-1] + ', "\\u0061cc"\t: 1.0}'], ":1: the key 'acc' stands twice"),
        ([json.dumps(line(1, acc=float("nan")))[:-1] + ', "acc": 1.0}'], ":1: the key 'acc' stands twice"),
        ([json.dumps(line(1)).replace('"question"', '"question": "2 + 1 =", "question"')], ":1: the key 'question' stands twice"),
    ],
)
def test_an_unfit_file_is_told_by_line(lines: list[Any], fault: str, tmp_path: Path) -> None:
    """Cut-off lines, foreign files, items that come twice, and answers that are no numbers are refused."""
    with pytest.raises(BadInput, match=fault):
        lm_eval.read(write(tmp_path, lines))


def test_a_key_that_stands_twice_in_a_results_file_is_refused(tmp_path: Path) -> None:
    """Which of two values was asked nobody can tell: the file is named with the key."""
    write(tmp_path, [line(1)])
    path = results(tmp_path)
    path.write_text(path.read_text().replace('"limit": null', '"limit": 5, "limit": null'))
    with pytest.raises(BadInput, match=r"results_.*\.json: the key 'limit' stands twice in one object: keep one"):
        lm_eval.settings(tmp_path)


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


BLANKS = st.lists(st.sampled_from(["", " ", "\n", "\u200b", "\u00a0", "\ufeff", "</s>", "<|endoftext|>"]), max_size=4).map("".join)
WRAPPED = [lambda text: text, lambda text: [text], lambda text: [[text]], lambda text: {"0": [text]}, lambda text: [[{"text": text}]]]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(blank=BLANKS, wrap=st.sampled_from(WRAPPED), word=st.sampled_from(["", "4", "no answer", "-1.5"]))
def test_an_answer_is_empty_whatever_nothing_it_is_made_of(blank: str, wrap: Any, word: str, tmp_path: Path) -> None:
    """However it is wrapped; one word more, and it is an answer."""
    (task,), _ = lm_eval.read(write(tmp_path, [line(0, resps=wrap(blank + word + blank))]))
    assert task.items["0"].empty is not bool(word)


@pytest.mark.parametrize("form", ["mapping", "text"])
@pytest.mark.parametrize(("name", "value"), [("max_model_len", 256), ("dtype", "float32"), ("enable_prefix_caching", True)])
def test_an_argument_that_one_run_alone_names_is_told(form: str, name: str, value: Any, tmp_path: Path) -> None:
    """It alters the run, if not the question."""
    arguments = {"pretrained": "org/model", name: value}
    said = arguments if form == "mapping" else ",".join(f"{key}={each}" for key, each in arguments.items())
    for folder, told in (("a", {"pretrained": "org/model"}), ("b", said)):
        write(tmp_path / folder, [line(0)])
        results(tmp_path / folder, config={"model": "vllm", "model_args": told, "limit": None, "gen_kwargs": None})
    (first,), (second,) = (lm_eval.settings(tmp_path / folder).values() for folder in "ab")
    assert f"model arguments.{name} not said against" in " ".join(notes(first, second))
