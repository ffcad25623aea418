"""The choice of scenarios, fed with files that are there."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from perfproof.changes.scenario_selection import differences
from perfproof.model.documents.decode import scenario_of
from tests.factory import DEFINITION


def build(folder: Path, **files: str) -> Any:
    """A build whose vLLM has these files."""
    package = folder / "vllm"
    package.mkdir(parents=True)
    for name, text in files.items():
        (package / f"{name}.py").write_text(text)
    return SimpleNamespace(fingerprint=SimpleNamespace(package=package))


def test_only_files_that_a_scenario_exercises_are_compared(tmp_path: Path) -> None:
    """A change of thousands of files costs what the few cost that somebody asks about; what the others say is not even read."""
    scenario = dataclasses.replace(scenario_of(copy.deepcopy(DEFINITION), source="example"), exercises=("vllm.asked",))
    base = build(tmp_path / "base", asked="def f():\n    return 1\n", other="x = 1\n")
    changed = build(tmp_path / "changed", asked="def f():\n    return 2\n", other="no python at all\n")
    (found,) = differences(["vllm/asked.py", "vllm/other.py"], base, changed, [scenario])
    assert (found.module, found.names) == ("vllm.asked", ("f",))
