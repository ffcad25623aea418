"""A slowdown planted in a part of a step is found by the counts of a benchmark of that part, to the instruction; its harmless twin is not.

One overlay has all the slowdowns, another all the twins: a row for each part says which benchmark finds its own.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from perfproof.builds.install.side_folder import PACKAGE
from perfproof.builds.prepare import prepare
from perfproof.model.kinds.micro import MicroWorkload
from perfproof.model.records.record import Record
from perfproof.model.scenarios.build import Build, DefiningFile, OverlayBuild
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import Arm, Scenario
from perfproof.run.kinds.micro.micro_runner import MicroRunner
from perfproof.runners import default_build
from tests import toy
from tests.planted_groups import COUNTED_ALONE, PARTS, Part, merged, work


def overlay(kind: str, folder: Path) -> OverlayBuild:
    """The default build with all diffs of that kind laid over it."""
    diff = folder / f"{kind}.diff"
    diff.write_text(merged(kind))
    defining = DefiningFile(path=str(diff), sha256=hashlib.sha256(diff.read_bytes()).hexdigest())
    return OverlayBuild(name=kind, base=default_build(), diff=defining, git=None)


def scenario(part: Part, builds: dict[str, Build], *, timed: bool = False) -> Scenario:
    """The scenario of a part, which only counts unless it is `timed`."""
    arms = tuple(
        Arm(
            name=name,
            baseline=name == "released",
            build=name,
            patches=(),
            environment=dict(toy.NOT_ALONE),
            server_arguments=(),
            client={},
            allow_unverified=False,
        )
        for name in builds
    )
    given = {**part.parameters, **COUNTED_ALONE}
    workload = MicroWorkload(bench=part.bench, parameters=given, cases=({},), counted_alone=not timed)
    name = part.scenario
    document = {"kind": "micro", "bench": part.bench, "parameters": given}
    return Scenario(
        name=name,
        question="Is it found?",
        profile="quick",
        workload=workload,
        builds=builds,
        arms=arms,
        metrics=(),
        blocks=6,
        seed=0,
        source=f"{name}.yaml",
        definition={"name": name, "profile": "quick", "workload": document, "arms": {arm.name: {} for arm in arms}, "metrics": {}},
    )


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Record]:
    """A trial of every part in every build, by benchmark and arm, and a timed one of the first; a build is imported once."""
    folder = tmp_path_factory.mktemp("planted")
    builds: dict[str, Build] = {"released": default_build(), "slower": overlay("slower", folder), "same": overlay("same", folder)}
    ready = {build.key: prepare(build, PACKAGE.parents[1] / "builds", print) for build in builds.values()}
    runner = MicroRunner(ready, folder / "results" / "logs", seed=3, benches=[part.bench for part in PARTS])
    found = {}
    try:
        for part in PARTS:
            block = Block(scenario=scenario(part, builds), number=1, order=tuple(builds), seed=0)
            found.update({(part.bench, record.arm): record for record in runner.trials(block, block.order)})
        block = Block(scenario=scenario(PARTS[0], builds, timed=True), number=1, order=("released",), seed=0)
        (found[PARTS[0].bench, "timed"],) = runner.trials(block, block.order)
    finally:
        runner.close()
    return found


@pytest.mark.vllm
@pytest.mark.parametrize("part", PARTS, ids=[part.name for part in PARTS])
def test_the_slowdown_is_found_and_its_twin_is_not(records: dict[tuple[str, str], Record], part: Part) -> None:
    """The changed function does more, and every other the same; of the twin's all do the same."""
    released, slower, same = (work(records[part.bench, arm]) for arm in ("released", "slower", "same"))
    assert slower[part.function] > released[part.function]
    assert {**slower, part.function: released[part.function]} == released
    assert same == released


@pytest.mark.vllm
def test_a_trial_that_only_counts_counts_what_a_timed_one_does(records: dict[tuple[str, str], Record]) -> None:
    """To the last instruction, call and byte; it took no time, and its calls are attested all the same."""
    alone, timed = (records[PARTS[0].bench, arm] for arm in ("released", "timed"))
    assert alone.counts == timed.counts
    assert (alone.measurements, alone.raw, list(timed.raw)) == ({}, {}, ["round_time"])
    assert alone.status == "ok"
