"""What people paste: lm_eval's tables, with cells that a paste lost, and blocks of the client, under headings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suite.importers import pasted
from suite.model.errors import BadInput

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
    found = pasted.parse(
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
        ("one", "two", ("one", "two")),
    ],
)
def test_the_baseline_is_the_side_whose_heading_says_so(first: str, second: str, sides: tuple[str, str]) -> None:
    """Whichever stands first; where neither says so, the first is."""
    found = pasted.parse(BLOCK.format(heading=first, rate="2965.89") + BLOCK.format(heading=second, rate="2,911.32"))
    assert found.sides == sides
    assert {block.values["Output token throughput (tok/s)"] for block in found.blocks} == {2965.89, 2911.32}
    assert found.blocks[0].values["Mean TTFT (ms)"] == 1190.68


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=400))
def test_any_text_is_read_or_passed_over(text: str) -> None:
    """Nothing that a person pastes makes the reader fail."""
    pasted.parse(text)


@pytest.mark.parametrize("odd", ["2026-11-28", "1.2.3", "12e", "1e999", "٣"])
def test_what_looks_like_a_number_in_a_block_and_is_none_is_passed_over(odd: str) -> None:
    """A date, a version or a number without end is no value, and the values around it are read."""
    (block,) = pasted.parse(BLOCK.format(heading="# main", rate=odd)).blocks
    assert block.values == {"Successful requests": 128.0, "Benchmark duration (s)": 22.1, "Mean TTFT (ms)": 1190.68}


@pytest.mark.parametrize(
    ("text", "fault"),
    [("hello", "neither an lm_eval table"), (BLOCK.format(heading="# main", rate="1.0"), "two sides are needed")],
)
def test_a_paste_without_two_sides_says_what_is_missing(text: str, fault: str, tmp_path: Path) -> None:
    """A text without results, and one side alone."""
    file = tmp_path / "paste.txt"
    file.write_text(text)
    with pytest.raises(BadInput, match=fault):
        pasted.read(file)


@pytest.mark.skipif(not DATA, reason="the authors' pastes are not here (PERFPROOF_DATA)")
@pytest.mark.parametrize(
    ("name", "totals", "blocks"), [("swap_states_accuracy", 4, 0), ("sampler_copy", 4, 2), ("pooling_token_ids", 0, 2)]
)
def test_the_authors_pastes_are_read(name: str, totals: int, blocks: int) -> None:
    """Three pull requests, as they were pasted."""
    found = pasted.read(Path(DATA) / "pasted" / f"{name}.txt")
    assert (len(found.totals), len(found.blocks), len(found.sides)) == (totals, blocks, 2)
