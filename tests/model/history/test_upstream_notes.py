"""What vLLM is known to have changed: read from one small file, every fault of it told, matched to the builds around a step."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfproof.model.base.errors import BadInput
from perfproof.model.history.upstream_notes import FILE, between, load_upstream

HERE = Path(__file__).parents[3] / "results" / "history"


def written(folder: Path, text: str) -> Path:
    (folder / FILE).write_text(text)
    return folder


def test_the_committed_file_names_the_changes_that_are_known() -> None:
    """The repository's own history: the scan fixed in 0.25.0 and lost in 0.26.0, with their pull requests."""
    changes = load_upstream(HERE)
    found = between(changes, "thinking_scan", "tokens_compared_per_step", "0.25.1", "0.26.0+cpu")
    assert [(one.version, one.pull) for one in found] == [("0.26.0", 45984)]
    assert [one.pull for one in between(changes, "thinking_scan", "round_time@output_length=16000", "0.24.0", "0.25.1")] == [46425]
    assert between(changes, "thinking_scan", "round_time", "0.26.0", "0.32.0") == []
    assert between(changes, "swap_states", "round_time", "", "0.32.0") == []


def test_a_history_without_the_file_knows_nothing(tmp_path: Path) -> None:
    """It is nobody's duty to keep it."""
    assert load_upstream(tmp_path) == ()


def test_a_change_may_be_of_some_metrics_only(tmp_path: Path) -> None:
    """Then the others say nothing of it."""
    folder = written(tmp_path, "schema: 1\nchanges:\n  - {scenario: a, version: 0.2.0, words: faster, metrics: [round_time]}\n")
    changes = load_upstream(folder)
    assert between(changes, "a", "round_time@n=1", "0.1.0", "0.2.0") == list(changes)
    assert between(changes, "a", "bytes_per_swap", "0.1.0", "0.2.0") == []


def test_every_fault_of_the_file_is_reported(tmp_path: Path) -> None:
    """With its place, all at once."""
    with pytest.raises(BadInput, match="expected 'schema: 1' and a list"):
        load_upstream(written(tmp_path, "changes: []\n"))
    text = "schema: 1\nchanges:\n  - {scenario: 1, version: new, words: x, pull: '5', more: 1}\n  - 7\n"
    with pytest.raises(BadInput) as caught:
        load_upstream(written(tmp_path, text))
    told = "\n".join(caught.value.faults)
    for words in ("changes.0: unknown key 'more'", "scenario: expected a name", "version: expected one such as", "pull: expected a number"):
        assert words in told
    assert "changes.1: expected a mapping" in told
