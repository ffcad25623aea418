"""The verbs on other people's evaluations, from files to exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from perfproof.cli import main
from tests.importers.test_lm_eval_samples import line, results, write
from tests.importers.test_pasted_text import BLOCK, TABLE


def samples(folder: Path, wrong: set[int]) -> str:
    """A run over 300 items with these ones wrong; its folder."""
    write(folder, [line(n, acc=0.0 if n in wrong else 1.0) for n in range(300)])
    return str(folder)


@pytest.mark.parametrize(("lost", "word", "code"), [(0, "equivalent", 0), (30, "regressed", 1), (3, "inconclusive", 0)])
def test_two_runs_are_judged_item_by_item(lost: int, word: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Thirty answers lost of 300 fail, none lost pass, three lost are not enough to say."""
    assert main(["accuracy", samples(tmp_path / "a", set()), samples(tmp_path / "b", set(range(lost)))]) == code
    assert word in capsys.readouterr().out


def test_two_runs_without_a_right_answer_prove_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not *equivalent* but *untestable*, exit 3: nothing could be lost."""
    both = [samples(tmp_path / side, set(range(300))) for side in "ab"]
    assert main(["accuracy", *both]) == 3
    assert "untestable" in capsys.readouterr().out


def judged(folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict[str, Any]]:
    """What `accuracy --json` says of the runs in `a` and `b`, and its exit code."""
    code = main(["accuracy", str(folder / "a"), str(folder / "b"), "--json", *more])
    return code, json.loads(capsys.readouterr().out)


def test_runs_that_do_not_pair_are_untestable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Other prompts on one side: exit 3, with how many and which."""
    samples(tmp_path / "a", set())
    write(tmp_path / "b", [line(n, prompt_hash="other") for n in range(300)])
    code, said = judged(tmp_path, capsys)
    assert (code, said["comparisons"][0]["verdict"]) == (3, "untestable")
    assert "document or prompt differ in 300 items" in said["comparisons"][0]["reason"]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"n-shot": {"sums": 0}}, "shots 5.0 against 0.0"),
        ({"versions": {"sums": 2}}, "task version 1.0 against 2.0"),
        ({"chat_template_sha": "abc"}, "chat template none against abc"),
        ({"system_instruction": "Be brief"}, "system instruction none against Be brief"),
        ({"config": {"model_args": "pretrained=org/model", "limit": 100, "gen_kwargs": None}}, "limit none against 100.0"),
        ({"config": {"model_args": {}, "limit": None, "gen_kwargs": "temperature=0.7"}}, "generation arguments none against"),
        (
            {"config": {"model_args": {"max_gen_toks": 9}, "limit": None, "gen_kwargs": None}},
            "model arguments.max_gen_toks not said against 9",
        ),
        (
            {"configs": {"sums": {"num_fewshot": 5, "output_type": "generate_until", "generation_kwargs": {"temperature": 1}}}},
            "generation.temperature 0.0 against 1.0",
        ),
    ],
)
def test_another_question_has_no_verdict(changed: dict[str, Any], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """However many answers were lost, what differs is told first, and nothing is judged: exit 3."""
    samples(tmp_path / "a", set())
    samples(tmp_path / "b", set(range(60)))
    results(tmp_path / "a")
    results(tmp_path / "b", **changed)
    code, said = judged(tmp_path, capsys)
    (row,) = said["comparisons"]
    assert (code, row["verdict"]) == (3, "untestable")
    assert row["reason"].startswith("not the same question: ")
    assert told in row["reason"]


@pytest.mark.parametrize(
    ("model", "named", "noted"),
    [
        ("org/model-AWQ", "org/model against org/model-AWQ", ""),
        ("org/model,quantization=fp8", "org/model against org/model, quantization fp8", ""),
        ("/data/models/model/", "", "the same model from two paths"),
        ("/cache/models--org--model/snapshots/0a1b", "", "the same model from two paths"),
        ("org/model,dtype=float16", "", "other differences of the runs: model arguments.dtype auto against float16"),
    ],
)
def test_another_model_is_named_and_judged(model: str, named: str, noted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A quantised model is what people compare; another path of the same model is a note."""
    samples(tmp_path / "a", set())
    samples(tmp_path / "b", set(range(60)))
    results(tmp_path / "a")
    dtype = {"dtype": "auto"} if "dtype" in model else {}
    results(tmp_path / "a", config={"model": "vllm", "model_args": {"pretrained": "org/model", **dtype}, "limit": None, "gen_kwargs": None})
    results(tmp_path / "b", config={"model": "vllm", "model_args": f"pretrained={model}", "limit": None, "gen_kwargs": None})
    code, said = judged(tmp_path, capsys)
    assert (code, said["comparisons"][0]["verdict"]) == (1, "regressed")
    assert said["models"] == ([named] if named else [])
    assert noted in "; ".join(said["notes"])
    if named:
        main(["accuracy", str(tmp_path / "a"), str(tmp_path / "b")])
        assert capsys.readouterr().out.startswith(f"Not the same model: {named}")


@pytest.mark.parametrize(
    ("metric", "said", "lost", "word"),
    [
        ("pct_stereotype", None, 60, "improved"),
        ("acc", {"acc": False}, 60, "improved"),
        ("made_up", {"made_up": False}, 0, "regressed"),
        ("made_up", {"made_up": True}, 60, "regressed"),
        ("made_up", None, 60, "untestable"),
    ],
)
def test_the_metrics_own_direction_decides(
    metric: str, said: dict[str, bool] | None, lost: int, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sixty values fell from 1 to 0, or rose: what that is, lm_eval says, or the metric's name, or nobody."""
    sides = {"a": set(range(60)) if not lost else set(), "b": set(range(lost))}
    for side, wrong in sides.items():
        write(tmp_path / side, [line(n, metrics=[metric], **{metric: 0.0 if n in wrong else float(n < 200)}) for n in range(300)])
        if said is not None:
            results(tmp_path / side, higher_is_better={"sums": said})
    code, found = judged(tmp_path, capsys)
    (row,) = found["comparisons"]
    assert row["verdict"] == word, row["reason"]
    assert code == {"improved": 0, "regressed": 1, "untestable": 3}[word]
    if word != "untestable":
        assert row["effect"] == pytest.approx(0.2 if not lost else -0.2)
        assert row["interval"][0] < row["effect"] < row["interval"][1]


@pytest.mark.parametrize(("metric", "values"), [("acc", (1.0, 100.0)), ("bits_per_byte", (0.4, 0.7)), ("perplexity", (-3.0, -9.0))])
def test_what_is_no_share_is_not_told_in_points(
    metric: str, values: tuple[float, float], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By itself untestable, with the means; beside a metric that is a share, shown, and the share is judged."""
    for side, value in zip("ab", values, strict=True):
        write(tmp_path / side, [line(n, metrics=[metric], **{metric: value}) for n in range(300)])
    code, said = judged(tmp_path, capsys)
    assert (code, said["comparisons"][0]["verdict"]) == (3, "untestable")
    assert "mean an item" in said["comparisons"][0]["reason"]
    for side, value in zip("ab", values, strict=True):
        write(tmp_path / side, [line(n, metrics=[metric, "exact_match"], exact_match=1.0, **{metric: value}) for n in range(300)])
    code, said = judged(tmp_path, capsys)
    assert code == 0
    assert {row["metric"]: row["verdict"] for row in said["comparisons"]} == {
        f"sums, {metric}": "exploratory",
        "sums, exact_match": "equivalent",
    }


def empty(folder: Path, count: int, wrong: int = 0) -> None:
    """A run whose first items have no answer, which lm_eval counts as wrong, and whose next are wrong."""
    write(
        folder,
        [line(n, resps=[[""]] if n < count else [["2"]], acc=float(n >= count + wrong)) for n in range(300)],
    )


@pytest.mark.parametrize(
    ("first", "second", "wrong", "word", "told"),
    [
        (0, 21, 0, "untestable", "the candidate left 21 of 300 items without an answer"),
        (300, 0, 0, "untestable", "the baseline left 300 of 300 items without an answer"),
        (0, 1, 60, "regressed", "the candidate left 1 of 300 items without an answer, but the verdict is the same"),
        (40, 40, 0, "equivalent", "left out: 40 items that neither arm answered"),
        (290, 290, 0, "untestable", "left out: 290 items that neither arm answered"),
    ],
)
def test_empty_answers_are_no_wrong_answers(
    first: int, second: int, wrong: int, word: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A verdict that hangs on them is none, with how many, of which side; what neither side answered says nothing."""
    empty(tmp_path / "a", first)
    empty(tmp_path / "b", second, wrong)
    _, said = judged(tmp_path, capsys, "--margin", "0.02")
    (row,) = said["comparisons"]
    assert row["verdict"] == word, row["reason"]
    assert told in row["reason"]


def test_no_answer_at_all_is_told_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where neither run answered any item there is no share and no change to print: words, and no number."""
    for side in "ab":
        empty(tmp_path / side, 300)
    assert main(["accuracy", str(tmp_path / "a"), str(tmp_path / "b")]) == 3
    told = capsys.readouterr().out
    assert "no item was answered: neither arm answered any of 300 items" in " ".join(told.split())
    assert "nan" not in told


def test_a_task_that_one_run_lacks_is_no_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The task that both have is judged; the other is untestable, and so is the exit code."""
    for side in "ab":
        samples(tmp_path / side, set())
    write(tmp_path / "a", [line(n) for n in range(300)], "samples_words_2026-11-28T01-02-03.456.jsonl")
    code, said = judged(tmp_path, capsys)
    assert code == 3
    assert {row["metric"]: row["verdict"] for row in said["comparisons"]} == {"sums, acc": "equivalent", "words": "untestable"}


def test_a_run_is_not_compared_with_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One folder given twice is a slip, not an equivalence: exit 2."""
    both = samples(tmp_path / "a", set())
    assert main(["accuracy", both, both]) == 2
    assert "is the baseline itself" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("metric", "arrow", "before", "after", "verdict"),
    [
        ("perplexity", "↓", 12.1, 13.4, "exploratory"),
        ("bleu", "↑", 28.1, 14.5, "exploratory"),
        ("wer", "", 0.10, 0.50, "regressed"),
        ("made_up", "↓", 0.10, 0.50, "regressed"),
        ("made_up", "↑", 0.10, 0.50, "improved"),
        ("made_up", "", 0.10, 0.50, "exploratory"),
    ],
)
def test_a_pasted_tables_arrow_decides(
    metric: str, arrow: str, before: float, after: float, verdict: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without one a known name does; what is no share, or of no known direction, has no verdict and is not in points."""
    rows = [f"# {side}\n|Tasks|Version|Filter|n-shot|Metric| |Value| |Stderr|\n|t|1|none|0|{metric}|{arrow}|{value}|±|0.01|\n\n"
            for side, value in (("main", before), ("this PR", after))]  # fmt: skip
    (file := tmp_path / "paste.txt").write_text("".join(rows))
    assert main(["pasted", str(file), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert row["verdict"] == verdict, row["reason"]
    assert verdict != "exploratory" or (row["effect"] is None and "points" not in row["reason"].replace("in points", ""))


def test_a_paste_decides_nothing_and_says_what_it_could_have_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fifty questions and one serving run a side: inconclusive, with the drop that would have shown, exit 0."""
    file = tmp_path / "paste.txt"
    sides = (("# main", "0.58", "2911.32"), ("This PR", "0.56", "2965.89"))
    file.write_text("".join(TABLE.format(heading=h, arrow="", first=v) + BLOCK.format(heading=h, rate=r) for h, v, r in sides))
    assert main(["pasted", str(file), "--items", "50"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "could have been missed" in out
    assert "Output token throughput (tok/s): 2911.32 to 2965.89 (+1.87 %, better) [0.57 %]" in out
    assert "no error bars" in out
    assert "could not have seen: a change below 4.56 % if runs of one build scatter by 1 %" in out
    assert "Successful requests" not in out
    assert "No heading names the baseline" not in out


def test_a_table_without_heads_says_which_side_was_taken_for_the_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What stands first, with a line that says so; other work is no result but a warning, and what one side lacks is named."""
    file = tmp_path / "paste.txt"
    file.write_text(
        "| TTFT | 10 ms | 12 ms |\n| Failed requests | 0 | 3 |\n| Total input tokens | 5 | 6 |\n| ITL | 5 ms | 1 s |\n| TPOT | 3 ms | - |\n"
    )
    assert main(["pasted", str(file)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "A guess: no name says which side is the baseline (main, before or the like); it is taken to be what stands first: first." in out
    assert "TTFT (ms): 10 to 12 (+20.0 %) [5.70 %]" in out
    assert "Failed requests: 0 to 3, worse" in out
    assert "Total input tokens: 5 to 6: not the same work on both sides" in out
    assert "ITL (ms): 5 to 1000 (" in out
    assert "Left out: TPOT (ms): first alone has it" in out


def test_a_paste_of_single_runs_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One document, with the numbers of both sides, the direction, and the scatter from which on the change is noise."""
    file = tmp_path / "paste.txt"
    file.write_text("| metric | before | after |\n|--|--|--|\n| tok/s | 100 | 90 |\n")
    assert main(["pasted", str(file), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["comparisons"] == []
    (one,) = said["single_runs"]
    assert (one["baseline"], one["candidate"], one["before"], one["after"], one["better"]) == ("before", "after", 100.0, 90.0, "higher")
    assert (one["change"], one["most_scatter"]) == (pytest.approx(-0.1), pytest.approx(0.0325, abs=1e-4))
    assert (one["section"], one["runs"], one["guessed"]) == (None, {"baseline": None, "candidate": None}, None)
    assert (said["baseline"], said["baseline_guessed"], said["guessed"], said["left_out"]) == ("before", False, None, [])
    file.write_text("## L4\n| metric | v0.9.0 | v0.10.0 | runs |\n|--|--|--|--|\n| tok/s | 100 | 90 | 5 |\n| TTFT | 3 ms | | 5 |\n")
    assert main(["pasted", str(file), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["baseline"], said["baseline_guessed"]) == ("v0.9.0", True)
    assert said["left_out"] == ["TTFT of v0.10.0: nothing", "runs", "TTFT (ms), under L4: v0.9.0 alone has it"]
    assert said["single_runs"][0]["section"] == "L4"
    assert "the oldest version" in said["single_runs"][0]["guessed"]


def test_what_was_not_measured_is_neither_better_nor_worse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A latency of nothing is a failed run; what a label does not say is not said either."""
    file = tmp_path / "paste.txt"
    rows = "| TTFT (ms) | 10 | 0 |\n| ITL (ms) | 5 | -1 |\n| answered in time (%) | 99 | 71 |\n"
    rows += "| latency at 4 rps (ms) | 80 | 120 |\n| Failed requests | 3 | 0 |\n"
    file.write_text("| metric | main | PR | p-value |\n|--|--|--|--|\n" + rows)
    assert main(["pasted", str(file)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "TTFT (ms): 10 to 0: 0 or less is no measurement of it" in out
    assert "ITL (ms): 5 to -1: 0 or less is no measurement of it" in out
    assert "answered in time (%): 99 to 71 (-28.3 %)" in out
    assert "latency at 4 rps (ms): 80 to 120 (+50.0 %, worse)" in out
    assert "Failed requests: 3 to 0, better" in out
    assert "No heading names" not in out


@pytest.mark.parametrize(
    ("column", "first", "second", "told"), [("n-shot", "5", "0", "shots 5 against 0"), ("Version", "2", "3", "task version 2 against 3")]
)
def test_pasted_totals_of_other_questions_have_no_verdict(
    column: str, first: str, second: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten points lost with other shots, or in another version of the task, are no regression."""
    head = "|Tasks|Version|Filter|n-shot|Metric| |Value| |Stderr|\n|---|--:|---|--:|---|---|--:|---|--:|\n"
    table = head + "|gsm8k|{Version}|none|{n-shot}|acc|↑|{value}|±|0.0136|\n"
    asked = {"Version": "3", "n-shot": "5"}
    sides = [("main", {**asked, column: first, "value": "0.57"}), ("PR", {**asked, column: second, "value": "0.47"})]
    file = tmp_path / "paste.txt"
    file.write_text("\n".join(f"# {side}\n{table.format(**cells)}" for side, cells in sides))
    assert main(["pasted", str(file), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert (row["verdict"], row["reason"]) == ("untestable", f"not the same question: {told}")


def test_of_other_work_nothing_is_better_but_failures_are_worse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Seven requests of a hundred are done sooner; a few tokens more or less are the same work."""
    block = BLOCK.replace("Benchmark duration", "Failed requests: {failed}\nBenchmark duration")
    sides = [block.format(heading=f"# {side}", rate=rate, failed=bad) for side, rate, bad in (("main", "10", 0), ("PR", "20", 93))]
    file = tmp_path / "paste.txt"
    file.write_text(sides[0] + sides[1].replace("128", "35"))
    assert main(["pasted", str(file)]) == 0
    out = capsys.readouterr().out
    assert "Output token throughput (tok/s): 10 to 20 (+100 %) [" in out
    assert "better" not in out
    assert "Failed requests: 0 to 93, worse" in out
    file.write_text(sides[0] + sides[1].replace("128", "127"))
    assert main(["pasted", str(file)]) == 0
    assert "10 to 20 (+100 %, better)" in capsys.readouterr().out


def test_a_pasted_total_that_is_no_share_says_why_it_has_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """57.01 beside 0.5701 is told with both numbers, not passed over."""
    file = tmp_path / "paste.txt"
    file.write_text(
        "".join(TABLE.format(heading=f"# {side}", arrow="↑", first=value) for side, value in (("main", "57.01"), ("PR", "0.5701")))
    )
    assert main(["pasted", str(file)]) == 0
    assert "its values lie between 0.5701 and 57.01" in " ".join(capsys.readouterr().out.split())


def test_a_copy_of_a_run_is_no_other_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two folders with one results file, its moment included, prove nothing; of another moment they do."""
    for side in "ab":
        samples(tmp_path / side, set())
        results(tmp_path / side, date=1795846449.85)
    assert main(["accuracy", str(tmp_path / "a"), str(tmp_path / "b")]) == 2
    assert "is a copy of the baseline" in capsys.readouterr().err
    results(tmp_path / "b", date=1795846999.5)
    assert main(["accuracy", str(tmp_path / "a"), str(tmp_path / "b")]) == 0


@pytest.mark.parametrize(
    ("metric", "higher", "before", "after"), [("ter", False, 0.2, 0.6), ("brier_score", False, 0.1, 0.5), ("toxic_share", False, 0.0, 0.4)]
)
def test_more_of_what_lm_eval_calls_better_lower_is_no_improvement(
    metric: str, higher: bool, before: float, after: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether the suite knows the name or not, the results file decides; what is no share has no verdict."""
    for side, value in (("a", before), ("b", after)):
        write(tmp_path / side, [line(n, metrics=[metric], **{metric: value if n % 2 else before}) for n in range(300)])
        results(tmp_path / side, higher_is_better={"sums": {metric: higher}})
    code, said = judged(tmp_path, capsys)
    (row,) = said["comparisons"]
    assert (code, row["verdict"]) in ((1, "regressed"), (3, "untestable"))


@pytest.mark.parametrize(("metric", "kept"), [("mcc", [0, 1]), ("bleu", ["a reference", "an answer"]), ("f1", [1.0, 0.0])])
def test_what_is_kept_as_pairs_is_left_out_and_accuracy_judged(
    metric: str, kept: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Told with the reason; nothing is divided."""
    for side, lost in (("a", 0), ("b", 30)):
        write(tmp_path / side, [line(n, metrics=["acc", metric], acc=float(n >= lost), **{metric: kept}) for n in range(300)])
    code, said = judged(tmp_path, capsys)
    assert (code, [row["metric"] for row in said["comparisons"]]) == (1, ["sums, acc"])
    assert all("kept as pairs or lists" in told for told in said["left_out"])
    assert len(said["left_out"]) == 2


@pytest.mark.parametrize(("before", "after"), [(1.0, 100.0), (100.0, 90.0), (0.5, -0.5), (1.0, 5.0)])
def test_values_that_are_no_shares_have_no_verdict(before: float, after: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither a hundred for one, nor ratings, nor what is below nought."""
    write(tmp_path / "a", [line(n, acc=before) for n in range(300)])
    write(tmp_path / "b", [line(n, acc=after) for n in range(300)])
    code, said = judged(tmp_path, capsys)
    assert (code, said["comparisons"][0]["verdict"]) == (3, "untestable")
    assert "no verdict: its values lie between" in said["comparisons"][0]["reason"]


@pytest.mark.parametrize("dropped", [{"n-shot": {}}, {"versions": {}}, {"configs": {}}])
def test_what_one_results_file_alone_says_is_told(dropped: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A key that is missing on one side does not pass for an equal one."""
    for side, changed in (("a", {}), ("b", dropped)):
        samples(tmp_path / side, set())
        results(tmp_path / side, **changed)
    _, said = judged(tmp_path, capsys)
    assert any("only one results file has these settings, so they can't be compared" in note for note in said["notes"])


def test_runs_of_one_task_by_other_filters_are_untestable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The task is named, with the reason."""
    for side, which in (("a", "strict"), ("b", "flexible")):
        write(tmp_path / side, [line(n, filter=which) for n in range(300)])
    code, said = judged(tmp_path, capsys)
    (row,) = said["comparisons"]
    assert (code, row["metric"], row["verdict"]) == (3, "sums", "untestable")
    assert "no filter and metric of it in common" in row["reason"]
