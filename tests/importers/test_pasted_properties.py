"""However a comparison is written, no sign is ever turned round: sides renamed, columns permuted, prose around it, cut short, hostile."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof.importers import pasted_text
from perfproof.importers.pasted_text.context.readings import Paste

BASELINES = [
    "main",
    "before",
    "Baseline",
    "old",
    "stock",
    "previous",
    "base",
    "without this patch",
    "HEAD~1",
    "upstream main",
    "main (a1b2c3d)",
]
CANDIDATES = ["this PR", "patched", "new", "now", "after", "HEAD", "candidate", "PR", "with this patch", "my branch", "PR (f00dfee)"]
METRICS = {
    "Mean TTFT (ms)": "lower",
    "P99 ITL (ms)": "lower",
    "Output token throughput (tok/s)": "higher",
    "Request throughput (req/s)": "higher",
    "Peak memory (GiB)": "lower",
    "P99 TTFT at 16 req/s (ms)": "lower",
    "perplexity": "lower",
    "accuracy": "higher",
}
PROSE = [
    "",
    "I ran this on one H100 with the default settings, three times over the weekend.",
    "Compared against main, this looks good to me; the numbers are stable.",
    "Starting initial single prompt test run...",
    "Initial test run completed. Starting main benchmark run...",
    "Maximum request concurrency: 32",
    "Traffic request rate: inf",
    "100%|██████████| 256/256 [00:40<00:00,  6.40it/s]",
    "INFO 11-28 10:00:00 [api_server.py:100] Started server process",
    "vllm bench serve --model m --dataset-name random --num-prompts 100",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What was measured: the sides, and each metric's values, the baseline's first."""

    base: str
    other: str
    rows: dict[str, tuple[float, float]]

    def side(self, place: int) -> str:
        return (self.base, self.other)[place]


@st.composite
def truths(draw: st.DrawFn) -> Truth:
    """Two sides, and some metrics that differ."""
    names = draw(st.lists(st.sampled_from(sorted(METRICS)), min_size=1, max_size=4, unique=True))
    cents = st.builds(lambda tens, ones: 10 * tens + ones, st.integers(11, 9_999), st.integers(1, 9))  # no number is another one cut short
    values = draw(st.lists(cents, min_size=2 * len(names), max_size=2 * len(names), unique=True))
    pairs = list(zip(values[::2], values[1::2], strict=True))
    return Truth(
        base=draw(st.sampled_from(BASELINES)),
        other=draw(st.sampled_from(CANDIDATES)),
        rows={name: (one / 100, two / 100) for name, (one, two) in zip(names, pairs, strict=True)},
    )


def columns(truth: Truth, order: Sequence[int]) -> str:
    """A column a side."""
    lines = [f"| metric | {' | '.join(truth.side(place) for place in order)} |", "|---|---|---|"]
    return "\n".join(
        [*lines, *(f"| {name} | {' | '.join(f'{values[place]:.2f}' for place in order)} |" for name, values in truth.rows.items())]
    )


def rows(truth: Truth, order: Sequence[int]) -> str:
    """A row a side."""
    lines = [f"| version | {' | '.join(truth.rows)} |", "|---" * (len(truth.rows) + 1) + "|"]
    return "\n".join(
        [*lines, *(f"| {truth.side(place)} | {' | '.join(f'{values[place]:.2f}' for values in truth.rows.values())} |" for place in order)]
    )


def drawn(truth: Truth, order: Sequence[int]) -> str:
    """A frame around columns."""
    body = columns(truth, order).replace("|---|---|---|", "├───┼───┼───┤").replace("|", "│")
    return f"┌───┬───┬───┐\n{body}\n└───┴───┴───┘"


def blocks(truth: Truth, order: Sequence[int]) -> str:
    """A block of the client below a heading a side."""
    return "\n".join(
        f"## {truth.side(place)}\n{'=' * 12} Serving Benchmark Result {'=' * 12}\n"
        + "\n".join(f"{name + ':':<40} {values[place]:<10.2f}" for name, values in truth.rows.items())
        + f"\n{'=' * 50}\n"
        for place in order
    )


def lines(truth: Truth, order: Sequence[int]) -> str:
    """Lines with a name and a number below a heading a side."""
    return "\n\n".join(
        f"{truth.side(place)}:\n" + "\n".join(f"- {name}: {values[place]:.2f}" for name, values in truth.rows.items()) for place in order
    )


def separated(truth: Truth, order: Sequence[int]) -> str:
    """A column a side, with commas."""
    head = ",".join(["metric", *(truth.side(place) for place in order)])
    return "\n".join([head, *(",".join([name, *(f"{values[place]:.2f}" for place in order)]) for name, values in truth.rows.items())])


def prefixed(truth: Truth, order: Sequence[int]) -> str:
    """Each metric beside its side in the head, one row."""
    cells = [(f"{truth.side(place)} {name}", values[place]) for place in order for name, values in truth.rows.items()]
    names, numbers = " | ".join(name for name, _ in cells), " | ".join(f"{value:.2f}" for _, value in cells)
    return f"| load | {names} |\n{'|---' * (len(cells) + 1)}|\n| light | {numbers} |"


SHAPES = [columns, rows, drawn, blocks, lines, separated]


def turned_round(found: Paste, truth: Truth) -> list[str]:
    """The pairs whose sign, or direction, is not that of the truth; where a cut took the names away, the order is a guess, and told."""
    known = {(one, two): name for name, (one, two) in truth.rows.items()}
    wrong = []
    for pair in found.pairs:
        if pair.guessed:
            continue
        name = known.get((pair.before, pair.after), "")
        swapped = known.get((pair.after, pair.before), "")
        if (swapped and not name) or (name and pair.better not in (None, METRICS[name])):
            wrong.append(f"{pair}")
    return wrong


@settings(max_examples=150, deadline=None)
@given(truths(), st.sampled_from(SHAPES), st.sampled_from([(0, 1), (1, 0)]), st.sampled_from(PROSE), st.sampled_from(PROSE))
def test_every_pair_is_read_whatever_the_sides_are_called_and_wherever_they_stand(
    truth: Truth, shape: object, order: tuple[int, int], above: str, below: str
) -> None:
    """With the right baseline, values and direction, in every shape."""
    text = f"{above}\n\n{shape(truth, order)}\n\n{below}\n"  # type: ignore[operator]
    found = pasted_text.parse(text)
    assert {(pair.before, pair.after, pair.better) for pair in found.pairs} == {
        (one, two, METRICS[name]) for name, (one, two) in truth.rows.items()
    }, text
    assert {(pair.baseline, pair.candidate) for pair in found.pairs} == {(truth.base, truth.other)}
    assert found.guessed == ""


@settings(max_examples=100, deadline=None)
@given(truths(), st.sampled_from([(0, 1), (1, 0)]))
def test_sides_before_their_metrics_are_read(truth: Truth, order: tuple[int, int]) -> None:
    """Paired columns by prefix: as many pairs as metrics, none turned round."""
    found = pasted_text.parse(prefixed(truth, order))
    assert turned_round(found, truth) == []
    assert {(pair.before, pair.after) for pair in found.pairs} == set(truth.rows.values())


@settings(max_examples=150, deadline=None)
@given(truths(), st.sampled_from([*SHAPES, prefixed]), st.sampled_from([(0, 1), (1, 0)]), st.data())
def test_a_text_that_was_cut_turns_no_sign_round(truth: Truth, shape: object, order: tuple[int, int], data: st.DataObject) -> None:
    """Wherever it begins and ends: a pair is right, or it is none."""
    text = shape(truth, order)  # type: ignore[operator]
    start = data.draw(st.integers(0, len(text)))
    assert turned_round(pasted_text.parse(text[start:]), truth) == []
    assert turned_round(pasted_text.parse(text[: data.draw(st.integers(0, len(text)))]), truth) == []


@settings(max_examples=80, deadline=None)
@given(truths(), st.sampled_from(SHAPES), st.data())
def test_lines_in_another_order_turn_no_sign_round(truth: Truth, shape: object, data: st.DataObject) -> None:
    """Shuffled, doubled or left out."""
    found = shape(truth, (0, 1)).splitlines()  # type: ignore[operator]
    kept = data.draw(st.lists(st.sampled_from(found), max_size=2 * len(found)))
    for pair in pasted_text.parse("\n".join(kept)).pairs:
        assert (pair.baseline, pair.candidate) != (truth.other, truth.base)


@settings(max_examples=80, deadline=None)
@given(truths(), truths(), st.sampled_from([blocks, lines]))
def test_pairs_stay_in_their_section(first: Truth, second: Truth, shape: object) -> None:
    """Two configurations under their headings: no number of one stands beside one of the other."""
    text = f"# Config 1\n\n{shape(first, (0, 1))}\n\n# Config 2\n\n{shape(second, (0, 1))}".replace("## ", "### ")  # type: ignore[operator]
    for pair in pasted_text.parse(text).pairs:
        assert (pair.before, pair.after) in (first if pair.section == "Config 1" else second).rows.values(), text


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.sampled_from(["8B", "70B", "sharegpt", "random", "1024", "H100", "TP=2", "short", "long", "prefill"]),
        min_size=2,
        max_size=2,
        unique=True,
    )
)
def test_two_workloads_are_no_comparison(names: list[str]) -> None:
    """Models, sizes, machines and data sets in columns have no baseline."""
    assert pasted_text.parse(f"| metric | {names[0]} | {names[1]} |\n|--|--|--|\n| TTFT (ms) | 12.5 | 11.5 |").pairs == []


WORDS = [
    *(
        "main",
        "PR",
        "|",
        "---",
        "TTFT",
        "ms",
        "tok/s",
        "12.5",
        "1,234",
        "->",
        "vs",
        ":",
        "\n",
        "\n\n",
        "# ",
        "**",
        "before",
        "after",
        "±",
        "%",
        "=",
    ),
    *(
        "=====",
        "Serving Benchmark Result",
        "run 1",
        "{",
        "}",
        '"',
        "│",
        "┌──┐",
        "\t",
        "  ",
        "x",
        "(",
        ")",
        "<tr>",
        "<td>",
        "inf",
        "-3",
        ",",
        "- ",
    ),
]


@settings(max_examples=150, deadline=None)
@given(st.text("|│+-=:┌ a1.,\t\n", max_size=40))
def test_bars_and_rules_of_any_shape_are_read_or_refused(text: str) -> None:
    """A frame without rows, a rule without a head, a first line that is all bars: no shape makes the reader fail."""
    pasted_text.parse(text)
    pasted_text.parse(f"|||\n---\n{text}")


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=120))
def test_any_words_are_read_or_refused(words: list[str]) -> None:
    """Nothing that a person pastes makes the reader fail; no pair has one side twice."""
    for sep in ("", " "):
        for pair in pasted_text.parse(sep.join(words)).pairs:
            assert pair.baseline != pair.candidate


def test_a_hostile_text_takes_no_longer_than_its_length_asks_for() -> None:
    """Long runs of one mark, deep nesting, a thousand tables: each within seconds."""
    texts = ["|" * 200_000, "<tr>" * 50_000, "[" * 100_000, "{" * 100_000, "1," * 100_000, "a: " * 60_000, "main: 1 ms\n" * 5_000]
    texts += ["- " * 100_000, "a, b\n" * 5_000, "(" * 50_000 + ")" * 50_000, "=" * 200_000, "a=1 " * 50_000, "x" * 1_000_000, "{\n" * 3_000]
    texts += ["# main\n| a | b |\n|--|--|\n| x | 1 |\n" * 500, "main: 1 ms\nPR: 2 ms\n" * 2_000, "word other  12\n" * 5_000]
    for text in texts:
        start = time.process_time()
        pasted_text.parse(text)
        assert time.process_time() - start < 20, text[:20]
