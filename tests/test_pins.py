"""Every microbenchmark scenario that needs no GPU has its exact witnesses pinned, and the committed records are what is pinned."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from perfproof import store
from perfproof.model.documents.decode import load_scenario, scenario_of
from perfproof.model.kinds.micro import MicroWorkload
from perfproof.model.scenarios.build import OverlayBuild, foundation
from perfproof.model.scenarios.scenario import PROFILES, ReleaseBuild, Scenario
from perfproof.run.checks.catalog import bench, case_name
from tests.inside.pins import PINS, Pin

ROOT = Path(__file__).resolve().parents[1]
COUNT_LIKE: dict[str, tuple[str, tuple[int, ...] | None]] = {
    "swap_states_full_rows.diff": ("swap_states_full_rows", None),
    "thinking_scan_lost.diff": ("", (0, 26, 0)),
}
"""The plugin, or the release, that an overlay of a diff must count like to the last digit."""
NEEDS_A_GPU = "sampler_copy"
REPETITION = ("rounds", "warmup_rounds")
"""How often a round is repeated changes no count."""
RECORDED = [folder for name in ("reference", "patches") if (folder := ROOT / "results" / name).is_dir()]


def scenarios() -> Iterable[Scenario]:
    """Every microbenchmark scenario of the project in every profile whose benchmark has witnesses, but for those that run on a GPU."""
    for file in sorted((ROOT / "scenarios").glob("*.yaml")):
        for profile in PROFILES:
            scenario = load_scenario(file, profile)
            workload = scenario.workload
            if not isinstance(workload, MicroWorkload) or workload.bench == NEEDS_A_GPU or workload.parameters.get("device") == "cuda":
                continue
            if bench(workload.bench).witnesses:
                yield scenario


def pinned(scenario: Scenario, arm_name: str, case: Mapping[str, Any]) -> Pin | None:
    """The pin of that arm and case; None if there is none."""
    assert isinstance(scenario.workload, MicroWorkload)
    arm = next(arm for arm in scenario.arms if arm.name == arm_name)
    build = scenario.builds[arm.build]
    below = foundation(build)
    assert isinstance(below, ReleaseBuild)
    release = tuple(int(part) for part in below.version.split("."))
    parameters = {name: value for name, value in {**scenario.workload.parameters, **case}.items() if name not in REPETITION}
    patch = " ".join(arm.patches)
    if isinstance(build, OverlayBuild) and build.diff is not None:
        patch, release = COUNT_LIKE[build.diff.name][0], COUNT_LIKE[build.diff.name][1] or release
    return next((pin for pin in PINS if pin.fits(scenario.workload.bench, parameters, patch, release)), None)


def test_every_arm_and_case_has_a_pin() -> None:
    """A new scenario, case or arm fails this until its counts are pinned: so a gate may rely on them."""
    for scenario in scenarios():
        assert isinstance(scenario.workload, MicroWorkload)
        for arm in scenario.arms:
            for case in scenario.workload.cases or ({},):
                found = pinned(scenario, arm.name, case)
                assert found, f"{scenario.name} ({scenario.profile}), {arm.name}, {case}: nothing pinned"
                assert set(found.witnesses) == set(bench(scenario.workload.bench).witnesses)


@pytest.mark.parametrize("folder", RECORDED, ids=lambda folder: folder.name)
def test_the_committed_records_are_what_is_pinned(folder: Path) -> None:
    """Counted on another day and another machine, the witnesses were these to the last digit."""
    compared = 0
    for record in store.read(folder).records:
        scenario = scenario_of(record.definition, source=record.scenario)
        if record.status != "ok" or not isinstance(scenario.workload, MicroWorkload) or scenario.workload.bench == NEEDS_A_GPU:
            continue
        cases = scenario.workload.cases or ({},)
        for case in cases:
            found = pinned(scenario, record.arm, case)
            assert found, json.dumps(record.definition)
            suffix = f"@{case_name(case)}" if len(cases) > 1 else ""
            for name, value in found.witnesses.items():
                assert record.witnesses[f"{name}{suffix}"] == pytest.approx(value, abs=1e-9, rel=0), f"{record.trial}: {name}{suffix}"
                compared += 1
    assert compared
