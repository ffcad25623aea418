"""One real server serves every delay of an exposure."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfproof.analysis.judging import exposure
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.commands.exposure import with_delays
from perfproof.planning import make_plan
from perfproof.run.checks import catalog
from perfproof.run.kinds.serve.serve_runner import ServeRunner
from tests.commands.test_exposure import DELAYS, scenario


@pytest.mark.vllm
@pytest.mark.slow
def test_one_real_server_serves_every_delay(served_build: ReadyBuild, tmp_path: Path) -> None:
    """A real vLLM: one launch, three trials that count, and each proves that its steps waited as long as its arm says."""
    made = with_delays(scenario(tmp_path), DELAYS, 6)
    block = make_plan([made], 5).blocks[0]
    runner = ServeRunner(
        made, {"default": served_build}, tmp_path / "results", seed=5, watch=catalog.watched(made), say=lambda message: print(message)
    )
    try:
        records = {record.arm: record for record in runner.trials(block, block.order)}
    finally:
        runner.close()
    assert {arm: (one.status, one.reason) for arm, one in records.items()} == {f"delay_{delay}us": ("ok", "") for delay in DELAYS}
    assert len(list((tmp_path / "results" / "logs" / made.name).glob("server-*.log"))) == 1
    waited = [exposure.waited(records[f"delay_{delay}us"]) for delay in DELAYS]
    assert all(real is not None and real >= delay for real, delay in zip(waited, DELAYS, strict=True))
