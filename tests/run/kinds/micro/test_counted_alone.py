"""What a trial that only counted leaves, and why it counted nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from perfproof.run.kinds.micro.micro_result import judge, read_counted

LEFT_OUT = "its work was not counted: "


@pytest.mark.parametrize(
    ("told", "status", "reason"),
    [
        ({"counted": {"counts": {"a": {}}, "left_out": {"b": "OSError: x"}, "warnings": [f"b: {LEFT_OUT}OSError: x"]}}, "ok", ""),
        ({"counted": {"counts": {}, "left_out": {"": "Skipped: not in this version: no x"}}}, "failed", "not in this version: no x"),
        ({"counted": {"counts": {}, "left_out": {"a": "a round takes 2 s"}}}, "failed", "a round takes 2 s"),
        ({"fault": "PatchRefused: no"}, "failed", "no"),
        ({}, "failed", "the trial counted nothing"),
    ],
)
def test_a_trial_without_counts_says_why(tmp_path: Path, told: dict[str, Any], status: str, reason: str) -> None:
    """One case is enough; of the others there are warnings. What a release lacks reads as ever."""
    (tmp_path / "trial.json").write_text(json.dumps({"fault": "", **told}))
    reading = read_counted(tmp_path)
    assert judge(reading, "", "", tmp_path, tmp_path / "trial.log") == (status, reason)
    assert len(reading.warnings) == (status == "ok")
    assert (reading.measurements, reading.raw, reading.witnesses) == ({}, {}, {})
