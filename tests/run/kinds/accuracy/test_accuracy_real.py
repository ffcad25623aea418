"""A real model answers real tasks: lm_eval and vLLM as released, offline and through a server, with the penalties patch called."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from perfproof.analysis.judging.judge import judge_records
from perfproof.builds import smollm
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.install.side_folder import PACKAGE
from perfproof.model.base.yaml_io import merged, read_mapping
from perfproof.model.documents.decode import load_scenario
from perfproof.model.kinds.accuracy.accuracy_workload import AccuracyWorkload
from perfproof.model.records.eval_items import AGAIN, FIRST, items_of
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import Scenario, SmolModel
from perfproof.model.verdicts.judged import Outcome
from perfproof.run.checks import catalog
from perfproof.run.kinds import runner_of
from perfproof.run.kinds.accuracy import accuracy_runner
from perfproof.run.kinds.accuracy.accuracy_runner import AccuracyRunner

FILE = PACKAGE.parents[1] / "scenarios" / "accuracy_penalties_cpu.yaml"
ITEMS = int(os.environ.get("PERFPROOF_ITEMS", "24"))
"""Items of each task; more see more and take longer."""
pytestmark = [pytest.mark.vllm, pytest.mark.slow]


def scenario(folder: Path, **workload: Any) -> Scenario:
    """The scenario of `make bench`, with fewer items."""
    import yaml

    own = {"workload": {"task_folder": str(FILE.parent / "tasks"), **workload}, "profiles": {"quick": {"workload": {"limit": ITEMS}}}}
    said = merged(read_mapping(FILE), own)
    path = folder / FILE.name
    path.write_text(yaml.safe_dump(said))
    asked = load_scenario(path, "quick")
    assert isinstance(asked.workload, AccuracyWorkload)
    assert asked.workload.limit == ITEMS
    return asked


CHAT = pytest.mark.skipif(
    "PERFPROOF_ITEMS" not in os.environ, reason="a minute more: PERFPROOF_ITEMS=24 asks through the chat template too"
)


@pytest.mark.parametrize(
    ("through", "endpoint"), [("offline", "completions"), ("server", "completions"), pytest.param("server", "chat", marks=CHAT)]
)
def test_the_exact_patch_answers_as_well(served_build: ReadyBuild, tmp_path: Path, through: str, endpoint: str) -> None:
    """Not one item changes, neither between the baseline's two runs nor under the patch, and the patched function was called."""
    if (
        not smollm.folder_of(SmolModel(smollm2="135m-instruct"), served_build.side.parent).is_dir()
        and "PERFPROOF_TEST_DOWNLOADS" not in os.environ
    ):
        pytest.skip("SmolLM2 has not been made: 'make bench' makes it, or set PERFPROOF_TEST_DOWNLOADS=1")
    smollm.make(SmolModel(smollm2="135m-instruct"), served_build.side.parent, served_build.interpreter, print)
    asked = scenario(tmp_path, through=through, endpoint=endpoint)
    assert runner_of(asked) is accuracy_runner.RUNNER
    builds = dict.fromkeys(asked.builds, served_build)
    runner = AccuracyRunner(asked, builds, tmp_path / "results", seed=0, watch=catalog.watched(asked), say=print)
    block = Block(scenario=asked, number=1, order=("as_released", "incremental"), seed=1)
    try:
        runner.check()
        records = list(runner.trials(block, block.order))
    finally:
        runner.close()
    assert [record.status for record in records] == ["ok", "ok"], [record.reason for record in records]
    first, again, other = (
        {task.name: [item.score for item in task.items.values()] for task in items_of(records[arm].raw, run)}
        for arm, run in ((0, FIRST), (0, AGAIN), (1, FIRST))
    )
    assert first == again == other
    assert {len(scores) for scores in first.values()} == {ITEMS}
    verdicts = {row.verdict for found in judge_records(records) for row in found.judged if row.primary}
    # through its chat template this model talks, and has nothing right that could be lost
    assert verdicts <= ({Outcome.UNTESTABLE} if endpoint == "chat" else {Outcome.EQUIVALENT, Outcome.INCONCLUSIVE})
    assert sum(count for name, count in records[1].attestation.counts.items() if name.startswith("fast penalties")) > 0  # type: ignore[union-attr]
