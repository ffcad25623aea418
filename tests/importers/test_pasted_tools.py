"""What benchmark tools and chats print is read in any order and in any unit; models, settings and diffs are never held together."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof.importers import pasted_text
from perfproof.importers.pasted_text import refusals
from perfproof.importers.pasted_text.readings import Paste

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
