"""`perfproof exposure`: what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from perfproof.cli import main
from perfproof.commands.exposure import with_delays
from perfproof.model.base.errors import BadInput
from perfproof.model.documents.decode import load_scenario
from perfproof.model.scenarios.scenario import Scenario

SCENARIO = """
schema: 1
question: Does a server go through all delays?
workload:
  kind: serve
  model: {layers: 1, hidden: 64, heads: 2, vocabulary: 256, context: 256}
  server_arguments: [--enforce-eager, --max-num-seqs=4]
  client: {backend: vllm, random-input-len: 8, random-output-len: 24}
  requests: 4
  warmups: 4
  launches: fresh
arms:
  as_released: {baseline: true, environment: {OMP_WAIT_POLICY: PASSIVE}}
  other: {server_arguments: [--max-num-seqs=2]}
metrics: {output_throughput: {primary: true}}
blocks: 6
"""
DELAYS = (0, 3000, 9000)


def scenario(folder: Path, text: str = SCENARIO) -> Scenario:
    (folder / "tiny.yaml").write_text(text)
    return load_scenario(folder / "tiny.yaml", "quick")


def test_a_scenario_without_a_server_is_refused(tmp_path: Path) -> None:
    """A microbenchmark has no step of an engine to delay."""
    micro = "schema: 1\nquestion: Q?\nworkload: {kind: micro, bench: swap_states}\nmetrics: {round_time: {primary: true}}\n"
    text = micro + "arms: {before: {baseline: true}, after: {patches: [swap_states_full_rows]}}\n"
    with pytest.raises(BadInput, match=r"workload\.kind: exposure needs a server under load, and 'micro' has none"):
        with_delays(scenario(tmp_path, text), DELAYS, 6)


@pytest.mark.parametrize("delays", [(50, 100, 200), (0, 100), (0, 100, 100), (0, 200, 100), ()])
def test_delays_that_give_no_slope_are_refused(tmp_path: Path, delays: tuple[int, ...]) -> None:
    """No delay comes first, and two or more others follow in order."""
    with pytest.raises(BadInput, match="expected 0 first and two or more others"):
        with_delays(scenario(tmp_path), delays, 6)


def test_the_command_refuses_them_with_the_code_of_bad_use(tmp_path: Path, capsys: Any) -> None:
    """Before anything is made."""
    scenario(tmp_path)
    code = main(["exposure", str(tmp_path / "tiny.yaml"), "--delays", "5", "6", "7", "--results", str(tmp_path / "results")])
    assert code == 2
    assert "--delays 5 6 7: expected 0 first" in capsys.readouterr().err
    assert not (tmp_path / "results").exists()
