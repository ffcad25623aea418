"""What people paste: lm_eval's tables, with cells that a paste lost, and blocks of the client, under headings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.importers import pasted_text
from perfproof.importers.pasted_text.clients import client_blocks
from perfproof.model.base.errors import BadInput

DATA = os.environ.get("PERFPROOF_DATA", "")
"""A folder with the authors' pastes, which are not the project's to keep."""
TABLE = """
{heading}

|Tasks|Version|     Filter     |n-shot|  Metric   |   |Value|   |Stderr|
|-----|------:|----------------|-----:|-----------|---|----:|---|-----:|
|gsm8k|      3|flexible-extract|     5|exact_match|{arrow}  | {first}|±  |0.0705|
|     |       |strict-match    |     5|exact_match|{arrow}  | 0.58|±  |0.0705|
"""
BLOCK = """
{heading}
============ Serving Benchmark Result ============
Successful requests:                     128
Benchmark duration (s):                  22.10
Output token throughput (tok/s):         {rate}
---------------Time to First Token----------------
Mean TTFT (ms):                          1,190.68
==================================================
"""


@pytest.mark.parametrize("arrow", ["↑", "", " "])
def test_a_table_is_read_whether_or_not_its_arrow_survived(arrow: str) -> None:
    """The value is the first number after the metric, its error the second; continued rows keep the task."""
    found = pasted_text.parse(
        TABLE.format(heading="# main", arrow=arrow, first="0.58") + TABLE.format(heading="This PR", arrow=arrow, first="0.56")
    )
    assert found.sides == ("main", "This PR")
    assert [(t.side, t.name, t.value, t.error) for t in found.totals][::2] == [
        ("main", "gsm8k, flexible-extract, exact_match", 0.58, 0.0705),
        ("This PR", "gsm8k, flexible-extract, exact_match", 0.56, 0.0705),
    ]


@pytest.mark.parametrize(
    ("first", "second", "sides"),
    [
        ("# Now", "# Main", ("Main", "Now")),
        ("Before:", "After:", ("Before", "After")),
        ("**this PR**", "**baseline**", ("baseline", "this PR")),
    ],
)
def test_the_baseline_is_the_side_whose_heading_says_so(first: str, second: str, sides: tuple[str, str]) -> None:
    """Whichever stands first; where neither says so, the first is."""
    found = pasted_text.parse(BLOCK.format(heading=first, rate="2965.89") + BLOCK.format(heading=second, rate="2,911.32"))
    assert found.sides == sides
    by_name = {pair.label: (pair.before, pair.after) for pair in found.pairs}
    assert set(by_name["Output token throughput (tok/s)"]) == {2965.89, 2911.32}
    assert by_name["Mean TTFT (ms)"] == (1190.68, 1190.68)


SENTENCES = (
    "I ran the serving benchmark on one H100, and this is what it printed the first time.",
    "Then I applied the changes to the sampler, and the numbers went up by a little.",
)


@pytest.mark.parametrize(
    ("first", "second", "sides"),
    [
        (*SENTENCES, ("first", "second")),
        ("", "", ("first", "second")),
        ("These are the numbers before I changed the sampler.", "After the change to the sampler I see this:", ("before", "after")),
        ("# main", SENTENCES[1], ("main", "first")),
    ],
)
def test_a_sentence_is_no_name_of_a_side(first: str, second: str, sides: tuple[str, str]) -> None:
    """A side is called by a heading, by the word of a sentence that names one, or by its place."""
    block, table = (BLOCK.format(heading="HEAD", rate="1.0"), TABLE.format(heading="HEAD", arrow="", first="0.5"))
    for text in (block, table):
        assert pasted_text.parse(text.replace("HEAD", first) + "\n" + text.replace("HEAD", second)).sides == sides


def side_values(text: str) -> dict[str, dict[str, float]]:
    """What both sides of a paste say, the baseline first, each label with its unit."""
    found: dict[str, dict[str, float]] = {}
    for pair in pasted_text.parse(text).pairs:
        found.setdefault(pair.baseline, {})[pair.label] = pair.before
        found.setdefault(pair.candidate, {})[pair.label] = pair.after
    return found


COMPARED = """
| metric | before | after | change |
|---|---:|---:|---|
| tok/s | 2,447 | **2553** | +4.3% |
| latency | 12.3 us | 9.8 us | 1.3x |
"""


@pytest.mark.parametrize(
    ("text", "sides", "values"),
    [
        ("| throughput | 2447 | 2553 |", ("first", "second"), {"throughput": (2447.0, 2553.0)}),
        ("| throughput | 2447 | 2553 | -4.3% | 1.04x |", ("first", "second"), {"throughput": (2447.0, 2553.0)}),
        (COMPARED, ("before", "after"), {"tok/s": (2447.0, 2553.0), "latency (us)": (12.3, 9.8)}),
        ("| TTFT (ms) | this PR | main |\n|---|---|---|\n| mean | 11 | 12 |", ("main", "this PR"), {"TTFT (ms), mean": (12.0, 11.0)}),
        (
            "| build | TTFT | tok/s |\n|---|---|---|\n| main | 12 | 9 |\n| PR | 11 | 8 |",
            ("main", "PR"),
            {"TTFT": (12, 11), "tok/s": (9, 8)},
        ),
    ],
)
def test_a_table_of_before_and_after_is_read(text: str, sides: tuple[str, str], values: dict[str, tuple[float, float]]) -> None:
    """With or without a head, a side a column or a row; columns of changes are passed over, units become part of the names."""
    of_side = side_values(text)
    assert tuple(of_side) == sides
    assert {name: tuple(of_side[side][name] for side in sides) for name in of_side[sides[0]]} == values


@pytest.mark.parametrize(
    ("row", "label", "values"),
    [
        ("| latency | 12.3 us | 0.0098 ms |", "latency (us)", (12.3, 9.8)),
        ("| latency | 12.3 µs | 9.8 us |", "latency (µs)", (12.3, 9.8)),
        ("| latency (ms) | 12.3 us | 0.0098 |", "latency (ms)", (0.0123, 0.0098)),
        ("| latency (us) | 12.3 us | 9.8 us |", "latency (us)", (12.3, 9.8)),
        ("| throughput | 2447 tok/s | 2.553 tokens/ms |", "throughput (tok/s)", (2447.0, 2553.0)),
        ("| memory | 1.5 GiB | 1024 MiB |", "memory (GiB)", (1.5, 1.0)),
        ("| memory | 1 GB | 500 MiB | -47.6% |", "memory (GB)", (1.0, 0.524288)),
        ("| odd | 3 widgets | 4 widgets |", "odd (widgets)", (3.0, 4.0)),
        ("| throughput | 2447 tok/s | 2553 tok/s | 4.3% |", "throughput (tok/s)", (2447.0, 2553.0)),
    ],
)
def test_cells_of_a_row_are_compared_in_one_unit(row: str, label: str, values: tuple[float, float]) -> None:
    """That of the row's name, else that of the first cell; per cent beside two values are their change."""
    assert side_values(row) == {"first": {label: values[0]}, "second": {label: values[1]}}
    assert pasted_text.parse(row).faults == ()


def test_units_in_the_heads_of_columns_and_of_rows_that_are_sides_count_too() -> None:
    """What a head says of its cells is not forgotten, and the letter of a side is no unit."""
    heads = side_values("| metric | before (us) | after (ms) |\n|--|--|--|\n| latency | 12.3 | 0.0098 |")
    assert list(heads.values()) == [{"latency (us)": 12.3}, {"latency (us)": 9.8}]
    turned = side_values("| build | TTFT |\n|--|--|\n| main | 12 ms |\n| PR | 0.011 s |")
    assert turned == {"main": {"TTFT (ms)": 12.0}, "PR": {"TTFT (ms)": 11.0}}
    letters = side_values("| metric | main (A) | PR (B) |\n|--|--|--|\n| latency | 12 | 9 |")
    assert letters == {"main (A)": {"latency": 12.0}, "PR (B)": {"latency": 9.0}}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("| latency | 12.3 us | 9.8 MiB |", "the row 'latency' compares 12.3 us with 9.8 MiB: write both in one unit"),
        ("| latency | 12.3 us | 9.8 |", "the row 'latency' compares 12.3 us with 9.8 without a unit: write both in one unit"),
        ("| latency | 12.3 | 9.8 us |", "the row 'latency' compares 9.8 us with 12.3 without a unit: write both in one unit"),
        ("| latency (ms) | 5 tok/s | 3 us |", "the row 'latency (ms)' compares 3 us with 5 tok/s: write both in one unit"),
        ("| requests | 2.4k | 2M |", "the row 'requests' compares 2.4 k with 2 M: write both in one unit"),
        (
            "| build | TTFT |\n|--|--|\n| main | 12 ms |\n| PR | 3 tok/s |",
            "the column 'TTFT' compares 12 ms with 3 tok/s: write both in one unit",
        ),
    ],
)
def test_cells_without_a_unit_in_common_are_refused_with_their_row(text: str, fault: str, tmp_path: Path) -> None:
    """A number is never held against one of another unit, and never passed over in silence."""
    file = tmp_path / "paste.txt"
    file.write_text(text)
    with pytest.raises(BadInput) as refused:
        pasted_text.read(file)
    assert list(refused.value.faults) == [f"{file}: {fault}"]


def test_sentences_are_read_where_no_table_says_the_same(tmp_path: Path) -> None:
    """As two sides; what a table says as well is told from the table, which is surer."""
    said = "With this change mean TTFT dropped from 190 ms to 0.188 s, and throughput went from 2,447 to 2,553 tok/s."
    file = tmp_path / "paste.txt"
    file.write_text(said)
    assert pasted_text.read(file).sides == ("before", "after")
    assert side_values(said) == {
        "before": {"mean TTFT (ms)": 190.0, "throughput (tok/s)": 2447.0},
        "after": {"mean TTFT (ms)": 188.0, "throughput (tok/s)": 2553.0},
    }
    beside = pasted_text.parse(f"{said}\n\n| ITL | 3 ms | 2 ms |")
    assert [pair.label for pair in beside.pairs] == ["ITL (ms)", "mean TTFT (ms)", "throughput (tok/s)"]
    again = pasted_text.parse(f"{said}\n\n| TTFT | 190.2 ms | 187.9 ms |\n| throughput | 2400 tok/s | 2500 tok/s |")
    assert [(pair.label, pair.before) for pair in again.pairs] == [("TTFT (ms)", 190.2), ("throughput (tok/s)", 2400.0)]
    assert again.left_out == ("a sentence: mean TTFT 190 to 188 ms", "a sentence: throughput 2447 to 2553 tok/s")


@pytest.mark.parametrize(
    "text",
    [
        "| batch | TTFT | TPOT |\n|---|---|---|\n| 8 | 12 | 13 |",
        "| GPU | H200 |",
        "| n | ms |\n|--|--|\n| 1 | 2 |",
        "| n | mean (ms) | p99 (s) |\n|--|--|--|\n| 1 | 2 | 3 |",
    ],
)
def test_a_table_of_something_else_is_passed_over(text: str) -> None:
    """Two metrics are no two sides."""
    assert pasted_text.parse(text).pairs == []


TABLE_OF = "| metric | {} | {} |{}\n|---|---|---|{}\n| latency (ms) | {} | {} |{}"


@pytest.mark.parametrize(
    ("first", "second", "values"),
    [
        ("7,5", "7,25", (7.5, 7.25)),
        ("1.007,5", "998,25", (1007.5, 998.25)),
        ("0,125", "0,250", (0.125, 0.25)),
        ("1,007.5", "998", (1007.5, 998.0)),
        ("2,447", "2553", (2447.0, 2553.0)),
    ],
)
def test_a_comma_means_what_the_numbers_beside_it_say(first: str, second: str, values: tuple[float, float]) -> None:
    """7,5 ms to 7,25 ms is a fall of 3 %, not a rise of 867."""
    found = side_values(TABLE_OF.format("before", "after", "", "", first, second, ""))
    assert found == {"before": {"latency (ms)": values[0]}, "after": {"latency (ms)": values[1]}}
    said = side_values(f"Mean latency went from {first} ms to {second} ms.")
    assert said in ({"before": {"Mean latency (ms)": values[0]}, "after": {"Mean latency (ms)": values[1]}}, {})


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("7,5", "7.25", "has the decimal comma of 7,5, and other numbers have decimal points"),
        ("7,125", "9", "has 7,125, whose comma may be of thousands or of decimals: write 7125 or 7.125"),
    ],
)
def test_a_comma_that_may_be_either_is_refused(first: str, second: str, told: str) -> None:
    """Rather than read as a change of a thousandfold."""
    assert told in pasted_text.parse(TABLE_OF.format("before", "after", "", "", first, second, "")).faults[0]


@given(
    st.sampled_from(["ratio", "p-value", "runs", "change (%)", "PR / main", "std", "n", "Δ vs main"]),
    st.sampled_from([0, 1, 2]),
    st.sampled_from(["main", "before this PR", "w/o the patch"]),
)
def test_a_column_about_the_sides_changes_nothing_but_is_told(column: str, place: int, base: str) -> None:
    """Wherever it stands: it is no side."""
    names, values = [base, "this PR"], ["12", "10"]
    names.insert(place, column)
    values.insert(place, "0.83")
    text = f"| metric | {' | '.join(names)} |\n|---|---|---|---|\n| latency (ms) | {' | '.join(values)} |"
    found = pasted_text.parse(text)
    assert (found.sides, found.guessed, found.left_out) == ((base, "this PR"), "", (column,))
    assert side_values(text) == {base: {"latency (ms)": 12.0}, "this PR": {"latency (ms)": 10.0}}


CELLS = {"12 447": 12447.0, "1\u202f447,5": 1447.5, "12.3 ± 0.1": 12.3, "12.3 +/- 0.1": 12.3, "7'250": 7250.0, "1.5 ± 0.02": 1.5}


@given(st.sampled_from(sorted(CELLS)), st.sampled_from(sorted(CELLS)), st.sampled_from(["ms", ""]))
def test_cells_with_thousands_or_a_scatter_are_read(first: str, second: str, unit: str) -> None:
    """As hyperfine and spreadsheets print them; none is dropped without a word."""
    if "," in first + second:
        first, second = (cell.replace(".", ",") for cell in (first, second))
    text = f"| metric | main | PR |\n|--|--|--|\n| latency{'' if unit else ' (ms)'} | {first} {unit} | {second} {unit} |"
    found = pasted_text.parse(text)
    values = {cell.replace(".", ",") if "," in first + second else cell: value for cell, value in CELLS.items()}
    assert found.faults == ()
    assert [(pair.label, pair.before, pair.after) for pair in found.pairs] == [("latency (ms)", values[first], values[second])]


@given(st.sampled_from(["3 / 4", "1.2.3", "<5", "12..5"]), st.booleans())
def test_a_cell_that_begins_as_a_number_and_is_none_is_told(odd: str, first: bool) -> None:
    """Its row is left out, by name, beside those that are read."""
    cells = f"{odd} | 12" if first else f"12 | {odd}"
    found = pasted_text.parse(f"| metric | main | PR |\n|--|--|--|\n| TTFT (ms) | 5 | 4 |\n| latency (ms) | {cells} |")
    assert f"latency (ms): {odd}" in found.left_out
    assert [(pair.before, pair.after) for pair in found.pairs if pair.label == "TTFT (ms)"] == [(5.0, 4.0)]


@given(st.sampled_from(["runs", "p-value", "speedup", "n", "std", "sample count"]), st.integers(0, 2))
def test_a_row_about_the_sides_is_no_metric(label: str, place: int) -> None:
    """No more than a column is; what is a statistic of a metric stays."""
    rows = ["| mean | 12 | 10 |", "| p99 | 20 | 19 |"]
    rows.insert(place, f"| {label} | 10 | 12 |")
    found = pasted_text.parse("\n".join(["| metric | main | PR |", "|--|--|--|", *rows]))
    assert found.left_out == (label,)
    assert [(pair.label, pair.before, pair.after) for pair in found.pairs] == [("mean", 12.0, 10.0), ("p99", 20.0, 19.0)]


@given(st.permutations(["v0.9.0", "v0.10.0", "vLLM 0.11.2"]))
def test_of_versions_the_oldest_is_the_baseline(names: list[str]) -> None:
    """Whichever stands first; that nobody named it is told all the same."""
    found = pasted_text.parse(f"| metric | {' | '.join(names)} |\n|--|--|--|--|\n| latency (ms) | 1 | 2 | 3 |")
    assert found.sides[0] == "v0.9.0"
    assert "the oldest version: v0.9.0" in found.guessed
    assert pasted_text.parse("| metric | v0.9.0 | mine |\n|--|--|--|\n| latency (ms) | 1 | 2 |").guessed == ""


def test_colours_of_a_terminal_are_no_words() -> None:
    """A heading in bold is the heading."""
    text = "".join(BLOCK.format(heading=f"\x1b[1m# {side}\x1b[0m", rate="1.0") for side in ("main", "PR"))
    assert pasted_text.parse(text).sides == ("main", "PR")


def test_a_total_without_an_error_is_a_number_and_its_commas_are_read() -> None:
    """A perplexity has none; decimal commas are those of a spreadsheet."""
    text = "".join(TABLE.format(heading=f"# {side}", arrow="", first="0.58").replace("0.", "0,") for side in ("main", "PR"))
    found = pasted_text.parse(text)
    assert [(total.value, total.asked) for total in found.totals] == [
        (0.58, {"task version": "3", "shots": "5"}),
        (0.58, {"shots": "5"}),
    ] * 2
    found = pasted_text.parse(text.replace("0,0705", "N/A"))
    assert (found.totals, [(one.label, one.before, one.better) for one in found.pairs]) == (
        [],
        [(f"gsm8k, {which}, exact_match", 0.58, "higher") for which in ("flexible-extract", "strict-match")],
    )


@given(
    st.permutations(["main", "PR on top of main"])
    | st.permutations(["before", "after merging main"])
    | st.permutations(["old", "PR, old one removed"])
)
def test_a_side_that_mentions_the_baseline_is_not_it(names: list[str]) -> None:
    """Whichever stands first, as a column or as a heading above a block; it is a guess, and told."""
    base = next(name for name in names if name in ("main", "before", "old"))
    for text in (
        TABLE_OF.format(*names, "", "", 1, 2, ""),
        "".join(BLOCK.format(heading=f"# {name}", rate="1.0") for name in names),
        "".join(BLOCK.format(heading=name, rate="1.0") for name in names),
    ):
        found = pasted_text.parse(text)
        assert found.sides[0] == base
        assert "names both sides" in found.guessed


def test_a_sentence_about_merging_main_is_not_main() -> None:
    """Such a block has no name, and that is told."""
    text = BLOCK.format(heading="These are the numbers with my change merged with main:", rate="1.0") + BLOCK.format(heading="", rate="2.0")
    found = pasted_text.parse(text)
    assert found.sides == ("first", "second")
    assert "what stands first: first" in found.guessed


@pytest.mark.parametrize("between", ["H100, TP=2", "Results:", "## Serving", "**Output**"])
def test_a_short_line_between_a_heading_and_its_block_is_no_side(between: str) -> None:
    """The heading that names a side holds until something was read below it."""
    text = "".join(BLOCK.format(heading=f"# {side}\n\n{between}", rate="1.0") for side in ("this PR", "main"))
    assert pasted_text.parse(text).sides == ("main", "this PR")


def test_a_second_table_of_the_same_metrics_does_not_hide_the_first() -> None:
    """Both are told, by the heading above."""
    text = TABLE_OF.format("main", "PR", "", "", 12, 10, "")
    found = pasted_text.parse(f"{text}\n\nAnother model\n\n{text.replace('12', '20')}")
    assert [(pair.section, pair.label) for pair in found.pairs] == [("", "latency (ms)"), ("Another model", "latency (ms)")]


@pytest.mark.parametrize(
    "text",
    [
        "| batch | 8 | 16 |\n|---|---|---|\n| latency | 12 | 13 |",
        "| batch | mean | p99 |\n|---|---|---|\n| 8 | 12 | 13 |",
    ],
)
def test_sizes_and_statistics_are_no_sides(text: str) -> None:
    """A sweep is no before and after."""
    assert pasted_text.parse(text).pairs == []


def test_three_numbers_without_a_head_are_refused() -> None:
    """The third may be a p-value or a third side."""
    assert "no head says whose they are" in pasted_text.parse("| throughput | 2447 | 2553 | 0.03 |").faults[0]


@pytest.mark.parametrize(
    ("metric", "arrow", "better"),
    [
        ("word_perplexity", "", "lower"),
        ("bleu", "", "higher"),
        ("wer", "", "lower"),
        ("exact_match", "↓", "lower"),
        ("exact_match", "↑", "higher"),
    ],
)
def test_a_total_has_the_direction_of_its_arrow_or_else_of_its_metric(metric: str, arrow: str, better: str) -> None:
    """Nobody is told that more perplexity is an improvement."""
    text = "".join(TABLE.format(heading=f"# {side}", arrow=arrow, first="0.58") for side in ("main", "PR"))
    found = pasted_text.parse(text.replace("exact_match", metric))
    assert [total.better for total in found.totals] == [better] * 4


@pytest.mark.parametrize(
    ("label", "direction"),
    [
        ("latency at 4 rps (ms)", "lower"),
        ("answered in time (%)", None),
        ("Output token throughput (tok/s)", "higher"),
        ("Request goodput (req/s)", "higher"),
        ("P99 TTFT (ms)", "lower"),
        ("Benchmark duration (s)", "lower"),
        ("Failed requests", "lower"),
        ("Successful requests", None),
        ("Total input tokens", None),
        ("Peak concurrent requests", None),
    ],
)
def test_a_label_says_which_direction_is_better(label: str, direction: str | None) -> None:
    """As far as it does; what was asked of a run is no result."""
    assert client_blocks.better(label) == direction


@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=400)
    | st.text(alphabet="|-: 09.,e%x\nmainMetricValue#=", max_size=200)
)
def test_any_text_is_read_or_passed_over(text: str) -> None:
    """Nothing that a person pastes makes the reader fail."""
    pasted_text.parse(text)


@pytest.mark.parametrize("odd", ["2026-11-28", "1.2.3", "12e", "1e999", "9" * 400, "٣"])
def test_what_looks_like_a_number_in_a_block_and_is_none_is_passed_over(odd: str) -> None:
    """A date, a version or a number without end is no value; the values around it are read, and its row is named."""
    found = pasted_text.parse(BLOCK.format(heading="# main", rate=odd) + BLOCK.format(heading="# PR", rate=odd))
    assert [(pair.label, pair.before) for pair in found.pairs] == [("Benchmark duration (s)", 22.1), ("Mean TTFT (ms)", 1190.68)]
    assert found.left_out == (f"Output token throughput (tok/s): {odd[:40]}",)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("It went from 12.3 us to 9.8 us.", "no number stands beside the name of a side"),
        (BLOCK.format(heading="# main", rate="1.0"), "two sides are needed"),
    ],
)
def test_a_paste_without_two_sides_says_what_is_missing(text: str, fault: str, tmp_path: Path) -> None:
    """A text without results, and one side alone."""
    file = tmp_path / "paste.txt"
    file.write_text(text)
    with pytest.raises(BadInput, match=fault):
        pasted_text.read(file)


@pytest.mark.skipif(not DATA, reason="the authors' pastes are not here (PERFPROOF_DATA)")
@pytest.mark.parametrize(
    ("name", "scores", "pairs"),
    [("swap_states_accuracy", 2, 0), ("sampler_copy", 2, 15), ("pooling_token_ids", 0, 6), ("swap_states_micro", 0, 3)],
)
def test_the_authors_pastes_are_read(name: str, scores: int, pairs: int) -> None:
    """Three pull requests, as they were pasted."""
    found = pasted_text.read(Path(DATA) / "pasted" / f"{name}.txt")
    assert (len(found.scores), len(found.pairs), len(found.sides)) == (scores, pairs, 2)


@given(st.permutations(["| TTFT (ms) | 190 | 180 |", "| TTFT (ms) | 90 | 280 |", "| TPOT (ms) | 9 | 8 |"]))
def test_a_row_that_is_there_twice_is_refused(rows: list[str]) -> None:
    """The last does not count alone."""
    found = pasted_text.parse("\n".join(["| metric | main | PR |", "|--|--|--|", *rows]))
    assert found.faults == ("the row 'TTFT (ms)' is there twice: name its numbers apart",)


@given(st.permutations(["| 1 | TTFT (ms) | 190 | 180 |", "| 1 | TPOT (ms) | 9 | 8 |", "| 8 | TTFT (ms) | 290 | 280 |"]))
def test_rows_of_one_size_are_told_apart_by_their_words(rows: list[str]) -> None:
    """A batch size with several metrics is several rows, each with its direction."""
    found = pasted_text.parse("\n".join(["| batch | metric | main | PR |", "|--|--|--|--|", *rows]))
    assert found.faults == ()
    assert {pair.label: (pair.before, pair.better) for pair in found.pairs} == {
        "TTFT (ms), batch 1": (190.0, "lower"),
        "TPOT (ms), batch 1": (9.0, "lower"),
        "TTFT (ms), batch 8": (290.0, "lower"),
    }


def test_groups_of_tasks_are_totals_like_tasks() -> None:
    """lm_eval prints them in a table of their own, with parts behind a dash."""
    table = TABLE.replace("|Tasks|", "|Groups|").replace("|gsm8k|", "| - gsm8k|")
    found = pasted_text.parse("".join(table.format(heading=f"# {side}", arrow="↑", first="0.5") for side in ("main", "PR")))
    assert [(total.side, total.task) for total in found.totals] == [("main", "gsm8k")] * 2 + [("PR", "gsm8k")] * 2


@given(st.sampled_from(["# {}\n", "## {}\n\n"]), st.booleans())
def test_a_block_that_was_cut_short_ends_where_the_next_begins(heading: str, closed: bool) -> None:
    """Its numbers stay those of its own side."""
    block = "============ Serving Benchmark Result ============\nMean TTFT (ms):   {}\n"
    end = "==================================================\n"
    text = "".join(
        heading.format(side) + block.format(value) + (end if closed else "") for side, value in (("main", 190), ("PR", 180), ("PR 2", 170))
    )
    found = pasted_text.parse(text + end)
    assert [(one.candidate, one.before, one.after) for one in found.pairs] == [("PR", 190.0, 180.0), ("PR 2", 190.0, 170.0)]
