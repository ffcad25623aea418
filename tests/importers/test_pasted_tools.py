"""What benchmark tools and chats print is read in any order and in any unit; models, settings and diffs are never held together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof.cli import main
from perfproof.importers import pasted_text
from perfproof.importers.pasted_text import refusals
from perfproof.importers.pasted_text.context.readings import Paste

SECONDS = st.integers(101, 99_999).map(lambda number: number / 100)
SIDES = st.sampled_from([("main", "patched"), ("before", "after"), ("stock", "this PR"), ("old", "new")])
ORDER = st.sampled_from([(0, 1), (1, 0)])


def hyperfine(name: str, mean: float, runs: int) -> str:
    """One command as hyperfine prints it: a mean below a second in milliseconds."""
    shown = f"{mean:.3f} s" if mean >= 1 else f"{1000 * mean:.1f} ms"
    return (
        f"Benchmark 1: {name}\n  Time (mean ± σ):     {shown} ±  0.010 s    [User: 1.000 s, System: 0.100 s]\n"
        f"  Range (min … max):   {shown} … {shown}    {runs} runs\n"
    )


def pairs_of(found: Paste) -> set[tuple[str, str]]:
    return {(pair.baseline, pair.candidate) for pair in found.pairs}


@settings(max_examples=60, deadline=None)
@given(SIDES, SECONDS, SECONDS, ORDER, st.integers(2, 90))
def test_hyperfine_is_read_in_either_order_with_its_runs(
    names: tuple[str, str], one: float, two: float, order: tuple[int, int], runs: int
) -> None:
    """The means in one unit, the baseline by its name, as many runs as were printed."""
    values = (one / 100, two / 100)
    found = pasted_text.parse("\n".join(hyperfine(f"{names[place]}: serve --help", values[place], runs) for place in order))
    mean = next(pair for pair in found.pairs if pair.label.startswith("Time, mean"))
    assert (mean.baseline, mean.candidate, mean.better, mean.runs) == (*names, "lower", (runs, runs))
    assert mean.after / mean.before == pytest.approx(values[1] / values[0], rel=0.01)


@settings(max_examples=60, deadline=None)
@given(SIDES, SECONDS, SECONDS, ORDER, st.data())
def test_hyperfine_cut_anywhere_turns_no_sign_round(
    names: tuple[str, str], one: float, two: float, order: tuple[int, int], data: st.DataObject
) -> None:
    """A pair of a text that begins or ends in the middle is right, or there is none."""
    text = "\n".join(hyperfine(names[place], (one, two)[place], 10) for place in order)
    start, end = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, len(text)))
    for cut in (text[start:], text[:end]):
        assert pairs_of(pasted_text.parse(cut)) <= {names}


@settings(max_examples=60, deadline=None)
@given(SIDES, st.lists(SECONDS, min_size=4, max_size=4, unique=True), ORDER, st.booleans())
def test_two_models_under_either_side_are_never_paired(
    names: tuple[str, str], values: list[float], order: tuple[int, int], swap: bool
) -> None:
    """Whatever their order below either side, each is paired with itself."""
    of = {(0, "alpha-7b"): values[0], (0, "beta-3b"): values[1], (1, "alpha-7b"): values[2], (1, "beta-3b"): values[3]}
    parts = []
    for place in order:
        models = ["beta-3b", "alpha-7b"] if swap and place else ["alpha-7b", "beta-3b"]
        parts.append(f"## {names[place]}\n")
        parts += [
            f"$ vllm bench serve --model org/{model}\n=== Serving Benchmark Result ===\nMean TTFT (ms):   {of[place, model]}\n======\n"
            for model in models
        ]
    found = pasted_text.parse("\n".join(parts))
    assert {(pair.section, pair.before, pair.after) for pair in found.pairs} == {
        (model, of[0, model], of[1, model]) for model in ("alpha-7b", "beta-3b")
    }


@settings(max_examples=60, deadline=None)
@given(SIDES, SECONDS, SECONDS, ORDER, st.sampled_from(["14:02 dana: ", "[2026-03-01 09:12:33] <bob> ", "9:05 PM lee_w: "]))
def test_what_is_said_in_a_chat_is_read(names: tuple[str, str], one: float, two: float, order: tuple[int, int], before: str) -> None:
    """The time and the name before each line belong to nobody's number."""
    lines = [f"{before}{names[place]}: TTFT {(one, two)[place]} ms" for place in order]
    found = pasted_text.parse("\n".join([f"{before}here we go", *lines]))
    assert {(pair.baseline, pair.candidate, pair.before, pair.after) for pair in found.pairs} == {(*names, one, two)}


@given(SIDES, st.integers(11, 999), st.integers(11, 999), st.sampled_from(["k", "M", "K"]), st.sampled_from([" tok/s", "tok/s", ""]))
def test_letters_of_thousands_multiply_both_sides_alike(names: tuple[str, str], one: int, two: int, letter: str, unit: str) -> None:
    """4.5k tok/s, 4.5ktok/s and 4.5k are thousands, beside a plain number too."""
    thousands = {"k": 1_000, "K": 1_000, "M": 1_000_000}[letter]
    text = (
        f"| metric | {names[0]} | {names[1]} |\n|---|---|---|\n| throughput | {one / 10}{letter}{unit} | {two * thousands // 10} {unit} |"
    )
    for pair in pasted_text.parse(text).pairs:
        assert pair.after / pair.before == pytest.approx((two * thousands // 10) / (one * thousands / 10), rel=1e-9)
        assert pair.better == "higher"


LEFT = """
| metric | main | PR |
|---|---|---|
| TTFT (ms) | 41.2 ± 0.3 | 40.1 ± 0.2 |
| ITL (ms) | 3.1 | N/A |
| peak | 4 GiB | 3 ms |

The frobnication went from 3.0 ms to 2.0 ms here.

| model | req/s |
|---|---|
| a | 3.1 |
"""


def test_what_was_left_out_is_the_same_in_words_and_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Spreads, rows that can't be compared, sentences and tables without sides: one list."""
    file = tmp_path / "paste.txt"
    file.write_text(LEFT)
    assert main(["pasted", str(file), "--json"]) == 0
    left = json.loads(capsys.readouterr().out)["left_out"]
    assert main(["pasted", str(file)]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert [part for part in left if " ".join(part.split()) not in words] == []
    for part in ("± of main", "ITL (ms) of PR: N/A", "the row 'peak'", "frobnication", "(model, req/s)"):
        assert any(part in each for each in left), part


def test_a_metric_that_is_in_no_time_takes_no_direction_from_a_head_of_times() -> None:
    """Operations per second rise for the better, and a score says nothing, below "Name (time in ms)"."""
    text = "Name (time in ms)   Mean   OPS   Score\ntest_a (main)   12.1   82.6   3.0\ntest_a (patched)   11.0   90.9   4.0"
    assert [pair.better for pair in pasted_text.parse(text).pairs] == ["lower", "higher", None]


def test_a_variable_with_one_value_is_no_heading() -> None:
    """Set alike on both sides it tells nothing apart; set otherwise below each side it is a section."""
    one = "### main\nVLLM_X=1\nTTFT (ms): 50\n### PR\nVLLM_X=1\nTTFT (ms): 40"
    assert {(pair.section, pair.baseline, pair.candidate) for pair in pasted_text.parse(one).pairs} == {("", "main", "PR")}
    two = "\n".join(
        f"### {side}\nVLLM_X=0\nTTFT (ms): {off}\nVLLM_X=1\nTTFT (ms): {on}" for side, off, on in (("main", 50, 45), ("PR", 40, 35))
    )
    assert {(pair.section, pair.before, pair.after) for pair in pasted_text.parse(two).pairs} == {
        ("VLLM_X=0", 50, 40),
        ("VLLM_X=1", 45, 35),
    }


def test_columns_that_differ_by_a_number_alone_are_no_sides() -> None:
    """Sizes behind a word of a side are keys."""
    assert pasted_text.parse("| points | 4 after | 6 after |\n|---|---|---|\n| 30 | 48 | 78 |\n| 60 | 75 | 88 |").pairs == []


@pytest.mark.parametrize("fence", ["```diff\n{}\n```", "{}"])
@given(st.integers(1, 9_999), st.integers(1, 9_999), st.sampled_from(["py", "yaml", "toml", "cu", "sh"]))
def test_a_diff_of_code_is_never_a_comparison(fence: str, one: int, two: int, kind: str) -> None:
    """Whatever its file and its numbers; the refusal says what it is."""
    text = (
        f"--- a/x.{kind}\n+++ b/x.{kind}\n@@ -1,2 +1,2 @@\n-max_latency_ms: {one}\n+max_latency_ms: {two}\n-depth = {one}\n+depth = {two}"
    )
    found = pasted_text.parse(fence.format(text))
    assert list(found.pairs) == []
    assert "diff" in refusals.why(found)[0]


@settings(deadline=None)
@given(st.text(max_size=400))
def test_any_text_behind_the_marks_of_a_tool_is_read_or_refused(text: str) -> None:
    """It never fails otherwise."""
    for head in (
        "Benchmark 1: a\n  Time (mean ± σ):  1 s",
        "│ a.txt │ b.txt │\n│ sec/op │ sec/op │\n",
        "14:02 a: x\n14:03 b: ",
        "```diff\n-",
    ):
        pasted_text.parse(head + text)


TAKEN_AWAY = [
    "With the patch unapplied, TPOT went from 14 ms to 9 ms.",
    "TPOT went from 14 ms to 9 ms with the patch unapplied.",
    "With this PR off, TPOT went from 14 ms to 9 ms.",
    "With the change backed out TPOT dropped from 14 ms to 9 ms.",
    "After undoing the patch, TPOT fell from 14 ms to 9 ms.",
    "Once the fix was removed, TPOT went from 14 ms to 9 ms.",
    "Taking out this change cut TPOT from 14 ms to 9 ms.",
    "TPOT went from 14 ms to 9 ms after reverting the patch.",
    "After reverting this PR TPOT went from 14 ms to 9 ms.",
    "TPOT went from 14 ms to 9 ms with this PR off.",
    "TPOT went from 14 ms to 9 ms with the patch disabled.",
    "TPOT went from 14 ms to 9 ms with the change removed.",
    "TPOT went from 14 ms to 9 ms by dropping the patch.",
    "TPOT went from 14 ms to 9 ms with this PR backed out.",
    "TPOT went from 14 ms to 9 ms with the patch reversed.",
    "TPOT went from 14 ms to 9 ms once the new kernel was gone.",
    "TPOT went from 14 ms to 9 ms with the new kernel skipped.",
    "TPOT went from 14 ms to 9 ms with the patch bypassed.",
    "TPOT went from 14 ms to 9 ms with no patch.",
    "TPOT went from 14 ms to 9 ms without the patch.",
    "TPOT went from 14 ms to 9 ms with the patch not applied.",
    "TPOT went from 14 ms to 9 ms with the new kernel turned off.",
    "TPOT went from 14 ms to 9 ms with the patch missing.",
    "TPOT went from 14 ms to 9 ms with the PR stripped out.",
    "TPOT went from 14 ms to 9 ms with the patch undone.",
    "TPOT went from 14 ms to 9 ms with the new path excluded.",
    "TPOT went from 14 ms to 9 ms after the rollback of this PR.",
]
"""Sentences in which a change was taken away: 14 ms are its, and 9 ms are of what was before it."""


@pytest.mark.parametrize("sentence", TAKEN_AWAY)
def test_a_change_that_was_taken_away_is_never_turned_round(sentence: str) -> None:
    """Its number is the later one, or nothing is read."""
    found = pasted_text.parse(sentence)
    assert [(pair.before, pair.after) for pair in found.pairs] in ([], [(9.0, 14.0)])


def test_a_change_that_was_put_in_is_read() -> None:
    """The same words without those that take it away."""
    found = pasted_text.parse("TPOT went from 14 ms to 9 ms with the new kernel.")
    assert [(pair.before, pair.after) for pair in found.pairs] == [(14.0, 9.0)]
