"""Repeats of a scenario beside a results folder."""

from __future__ import annotations

import shutil
from pathlib import Path

from perfproof.commands.record_verdicts import page_of
from perfproof.commands.repeats import repeats
from perfproof.report.formats import terminal
from perfproof.report.lead.lead import lead
from tests.model.base.test_regular_files import MAKE

GPU = Path(__file__).parents[2] / "results" / "gpu"
POOLING = "pooling_token_ids_cuda"


def test_a_repeat_in_the_folder_beside_is_found_and_contradicts() -> None:
    """Another GPU's folder with the same definition is a repeat; its other estimate stands in the lead, and the verdict is not green."""
    page = page_of(GPU / "h200_64_cores", {POOLING})[0]
    (repeat,) = page.scenarios[0].repeats
    assert repeat.where == "h200_64_cores_another_gpu"
    first = lead(page)
    row = first.groups[0].rows[0]
    assert (row.word, row.look, row.note) == ("contradicted", "inconclusive", "a repeat (h200_64_cores_another_gpu) gave −2.1\u202f%")
    assert first.result.startswith("Round time, pooler=gritlm, requests=57 is contradicted in a microbenchmark")
    assert row.note not in str([line for line in first.lines if line.label == "Trust"])
    assert next(line for line in first.lines if line.label == "Next").clauses[0][0].startswith(f"1. measure {POOLING} a third time")
    told = f"contradicted: round time, pooler=gritlm, requests=57 (device_round_trip): {row.note}"
    assert told in terminal.text(page, 2000)


def test_only_the_same_definition_is_a_repeat(tmp_path: Path) -> None:
    """A folder with another definition of that name, one that can't be read or never ends, and the folder itself are no repeats."""
    for place, folder in enumerate(("h200_64_cores", "h200_64_cores_another_gpu")):
        (tmp_path / str(place)).mkdir()
        shutil.copy(GPU / folder / f"{POOLING}.jsonl", tmp_path / str(place))
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / f"{POOLING}.jsonl").write_bytes(b"\xff{")
    for place, make in MAKE.items():
        (tmp_path / place).mkdir()
        make(tmp_path / place / f"{POOLING}.jsonl")
    other = tmp_path / "other"
    other.mkdir()
    text = (tmp_path / "1" / f"{POOLING}.jsonl").read_text("utf-8")
    (other / f"{POOLING}.jsonl").write_text(text.replace("6ceb95a685e6", "000000000000"), "utf-8")
    assert [one.where for one in page_of(tmp_path / "0", None)[0].scenarios[0].repeats] == ["1"]


def test_a_folder_alone_has_none(tmp_path: Path) -> None:
    """Nothing beside it, nothing found; no records, nothing asked."""
    assert repeats(tmp_path / "results", (), ()) == {}
