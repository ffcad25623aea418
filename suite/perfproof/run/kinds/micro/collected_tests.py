"""What a benchmark of the user's own measures, before a scenario says what to look at: its tests are collected in a build, and not run."""

from __future__ import annotations

import shutil
from pathlib import Path

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.kinds.micro import MicroWorkload
from perfproof.model.scenarios.scenario import Arm, Scenario
from perfproof.run.checks.catalog import bench_at
from perfproof.run.host.environment import usable_cores
from perfproof.run.kinds.micro.forking_parent import Parent
from perfproof.run.kinds.micro.micro_result import read_collected
from perfproof.run.kinds.micro.own_benchmarks import laid_out
from perfproof.run.processes.trial_process import arm_variables, build_environment


def times_of(scenario: Scenario, build: ReadyBuild, results: Path) -> list[str]:
    """The metrics of all times that the scenario's benchmark takes in that build: by its own constants, else one for each test.

    `results` takes what is left of the collection. Raises `BadInput` for a file without tests, or whose imports fail.
    """
    workload = MicroWorkload.of(scenario.workload)
    bench = bench_at(Path(workload.benchmark_file))
    if not bench.by_ids:
        return list(bench.times)
    tests, fault = _collected(workload, scenario.baseline, build, results.resolve() / "logs")
    if fault:
        raise BadInput(f"{bench.file}: {fault}")
    return [bench.times[0]] if len(tests) == 1 else [f"{bench.times[0]}@{test}" for test in tests]


def _collected(workload: MicroWorkload, arm: Arm, build: ReadyBuild, logs: Path) -> tuple[list[str], str]:
    """The ids of the tests, and why there are none."""
    if workload.files is None:
        raise TypeError(f"{workload.bench} is no benchmark by path")
    file, folder = laid_out(workload.files, logs / "benchmarks") / workload.bench, logs / "collected"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    environment = build_environment(build, arm, threads=usable_cores())
    parent = Parent(build, [file], environment, folder / "imports.log")
    try:
        parent.ready()
        if parent.fault:
            raise CannotRun(parent.fault)
        variables = arm_variables(arm, attest=folder / "attest", watch=())
        parent.trial(file, variables, 0, folder, folder / "trial.log", None, own=True, collect=True)
    finally:
        parent.close()
    return read_collected(folder)
