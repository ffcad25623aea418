"""Counted rounds that are too large for a record: kept once, found again, and told where they are gone or were changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfproof import store
from perfproof.analysis.trials.counted_rounds import totals
from perfproof.model.records.kept_counts import LARGEST, content_of, elsewhere, parted
from tests.analysis.judging.test_host_counts import table
from tests.factory import record

LARGE = table(1, functions={f"m:function_{number}": [number, 1, number, 0, 1] for number in range(2_000)})


def test_a_large_round_is_kept_once_for_all_trials(tmp_path: Path) -> None:
    """Records grow by a name, and read back whole."""
    written = [record(block=block, counts={"": LARGE, "size=2": table(3)}) for block in (1, 2)]
    for one in written:
        store.append(tmp_path, one)
    assert list(store.read(tmp_path).records) == written
    assert len(list((tmp_path / store.COUNTS).iterdir())) == 1
    lines = store.records_file(tmp_path, "swap_states").read_text().splitlines()
    assert max(len(json.dumps(json.loads(line)["counts"])) for line in lines) < 1_000
    assert totals(written[0])["python_instructions"] == sum(range(2_000))


@pytest.mark.parametrize(
    ("spoil", "told"), [(lambda path: path.unlink(), "can't be read"), (lambda path: path.write_text("{}"), "changed")]
)
def test_counts_that_are_gone_or_changed_are_left_out_and_told(tmp_path: Path, spoil: object, told: str) -> None:
    """The record stays with all else that it holds, and no count is guessed."""
    store.append(tmp_path, record(counts={"": LARGE}))
    spoil(next((tmp_path / store.COUNTS).iterdir()))  # type: ignore[operator]
    read = store.read(tmp_path)
    assert read.records == (record(),)
    assert told in read.warnings[0]
    assert read.warnings[0].endswith(": before has no such counts")


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.text(max_size=8), st.integers(0, 800), max_size=6))
def test_what_a_record_keeps_fits_and_nothing_is_lost(sizes: dict[str, int]) -> None:
    """The largest go until the rest fits, each under the name of its content."""
    counts = {case: table(1, c_calls={f"call_{n}_of_a_long_name": n for n in range(size)}) for case, size in sizes.items()}
    kept, files = parted(counts)
    assert len(content_of(kept)) <= LARGEST
    whole = {case: json.loads(files[name]) if (name := elsewhere(one)) else one for case, one in kept.items()}
    assert whole == counts
    assert files == {} or len(content_of(counts)) > LARGEST
