"""Tables of counts beside the records that name them: kept whole, read back, and refused where they are not what the record saw."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from perfproof.model.base.errors import BadInput
from perfproof.model.records.count_tables import keep_table, read_table, told_of
from perfproof.model.records.record import Record
from tests import factory

TEXT = '{"started":true,"vllm":"0.32.0","python":"3.11.7"}\n{"feature":"async scheduling","skipped":"this release has none"}\n'


def record(table: Any) -> Record:
    return factory.record(environment={"engine": {"table": table}})


def test_a_table_is_read_back_by_the_record_that_names_it(tmp_path: Path) -> None:
    """Whatever the arm is called, its file has a plain name; a record that counted nothing has no table."""
    said = keep_table(TEXT, tmp_path, "host cost/as released-1")
    assert said["file"] == "counts/host-cost-as-released-1.jsonl.gz"
    found = read_table(tmp_path, record(said))
    assert found is not None
    assert (found.vllm, found.left_out[0].feature) == ("0.32.0", "async scheduling")
    assert read_table(tmp_path, factory.record()) is None
    assert told_of(factory.record()) == {}


@pytest.mark.parametrize(
    "name", ["../secret.jsonl.gz", "counts/../../x.jsonl.gz", "/etc/passwd", "counts/.hidden.jsonl.gz", "counts/x.txt", ""]
)
def test_a_table_lies_in_the_folder_of_its_records(tmp_path: Path, name: str) -> None:
    """A record leads to no other file."""
    with pytest.raises(BadInput, match=r"engine\.table\.file: expected counts/NAME\.jsonl\.gz"):
        read_table(tmp_path, record({"file": name, "sha256": ""}))


def test_another_table_than_the_record_saw_is_refused(tmp_path: Path) -> None:
    """One that is gone, altered, cut off or no gzip file is told with what to do."""
    said = keep_table(TEXT, tmp_path, "x")
    path = tmp_path / said["file"]
    whole = path.read_bytes()
    for content, why in ((gzip.compress(b"other"), "another table"), (whole[:-9], "cut off"), (b"plain", "no gzip file")):
        path.write_bytes(content)
        with pytest.raises(BadInput, match=why):
            read_table(tmp_path, record(said))
    path.unlink()
    with pytest.raises(BadInput, match="copy the folder counts along"):
        read_table(tmp_path, record(said))
