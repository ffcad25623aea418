"""The scenarios of vLLM's own benchmarks: whole files that read, whose scripts are the user's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from perfproof.model.base.errors import BadInput
from perfproof.model.documents.decode import load_scenario
from perfproof.model.installed.scenario_folders import COMMANDS, OWN, located, scenario_files
from perfproof.model.kinds.command.command_workload import CommandWorkload

FILES = sorted((OWN / COMMANDS).glob("*.yaml"))
OF_SCRIPTS = [file for file in FILES if "$BENCHMARKS_OF_VLLM" in file.read_text()]
SCRIPTS = os.environ.get("BENCHMARKS_OF_VLLM", "")


def test_there_is_one_for_each_of_the_six() -> None:
    """Four scripts and two verbs; they are found by name, and nothing chooses them by itself."""
    assert [file.stem for file in FILES] == [
        "vllm_bench_mm_processor",
        "vllm_bench_startup",
        "vllm_block_pool",
        "vllm_hash",
        "vllm_ngram_proposer",
        "vllm_prefix_block_hash",
    ]
    assert [located(Path(file.stem)) for file in FILES] == [Path("scenarios") / COMMANDS / file.name for file in FILES]
    assert {file.name for file in FILES}.isdisjoint(file.name for file in scenario_files())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_reads_once_its_files_are_there(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every profile; what it judges is what it reads of the output."""
    monkeypatch.setenv("BENCHMARKS_OF_VLLM", str(tmp_path))
    (tmp_path / "benchmark.py").write_text("")
    scenario = load_scenario(file, "quick")
    workload = CommandWorkload.of(scenario.workload)
    assert scenario.blocks == 6
    assert {choice.name for choice in scenario.primaries} == set(workload.metrics)


@pytest.mark.parametrize("file", OF_SCRIPTS, ids=lambda file: file.stem)
def test_a_scenario_without_its_scripts_says_what_to_set(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Upstream's scripts do not ship: the fault names the variable."""
    monkeypatch.delenv("BENCHMARKS_OF_VLLM", raising=False)
    with pytest.raises(
        BadInput, match=r"workload.files: \$BENCHMARKS_OF_VLLM: the variable BENCHMARKS_OF_VLLM is not set: export BENCHMARKS_OF_VLLM"
    ):
        load_scenario(file, "quick")


@pytest.mark.parametrize("file", OF_SCRIPTS, ids=lambda file: file.stem)
def test_the_script_that_is_at_hand_has_what_the_scenario_reads(file: Path) -> None:
    """Where a checkout of vLLM is named: the script is there, and its own words are those of the patterns."""
    if not SCRIPTS:
        pytest.skip("vLLM's own scripts are not at hand: export BENCHMARKS_OF_VLLM=~/vllm/benchmarks")
    workload = CommandWorkload.of(load_scenario(file, "quick").workload)
    text = (Path(SCRIPTS) / workload.run[1]).read_text()
    for flag in (word for word in workload.run if word.startswith("--")):
        assert f'"{flag}"' in text
    for printed in workload.metrics.values():
        for word in printed.column.removesuffix(" Avg (us)").split(" Avg "):
            assert word in text
