"""A benchmark of the user's own without a scenario: its scenario is written, with a time for each test, and left to be changed and run."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from perfproof.commands.question_folders import own_folder
from perfproof.commands.run_scenarios import load
from perfproof.model.base.errors import BadInput
from perfproof.model.base.yaml_io import write_mapping
from perfproof.model.kinds.micro import MICRO
from perfproof.model.scenarios.scenario import LEAST_BLOCKS, MOST_PRIMARY, Profile
from perfproof.run.kinds.micro.bench_checks import bench_faults
from perfproof.run.kinds.micro.collected_tests import times_of
from perfproof.runners import build_faults, prepare_all

Say = Callable[[str], None]
RESULTS = Path("results/bench")
"""Where the scenario goes if its results lie elsewhere."""
BASE, CHANGED = "base", "candidate"
"""The arms."""
QUICK = {"quick": {"blocks": LEAST_BLOCKS}}
"""The profiles of a scenario that is written: quick has one look, as that of perfproof's own scenarios."""
UNKNOWN = "round_time"
"""The metric of a scenario whose tests are not known yet."""


def own_results(bench: Path, candidate: str, *, profile: Profile, seed: int, blocks: int | None, baseline: str | None) -> Path:
    """The results folder of a question about a benchmark file. Raises `BadInput` as `written_scenario` does."""
    _see_that_there_is(bench)
    document = _document(bench, [UNKNOWN])
    return own_folder(_name(bench), document, profile=profile, seed=seed, blocks=blocks, baseline=baseline, candidate=candidate)


def _see_that_there_is(bench: Path) -> None:
    if bench.is_dir():
        raise BadInput(f"--bench {bench}: is a folder; name a file in it, with tests of pytest-benchmark")
    if not bench.is_file():
        raise BadInput(f"--bench {bench}: there is no such file; name a file with tests of pytest-benchmark")


def written_scenario(bench: Path, *, profile: Profile, results: Path, builds: Path, baseline: str | None, say: Say) -> Path:
    """Writes the scenario of a benchmark file into the results folder, and names it. `baseline` is the build in which its tests are
    collected (None: the default one). Raises `BadInput` for a file that is not there, that no test is in, or that does not import."""
    _see_that_there_is(bench)
    results.mkdir(parents=True, exist_ok=True)
    file = results / f"{_name(bench)}.yaml"
    write_mapping(file, _document(bench, [UNKNOWN]))
    try:
        (scenario,) = load([file], profile, None, baseline)
        build = scenario.builds[scenario.baseline.build]
        faults = [fault for fault in bench_faults(scenario) if "metrics." not in fault] + build_faults(build)
        if faults:
            raise BadInput(*faults)
        times = times_of(scenario, prepare_all([build], builds, say)[0], results)
    except BadInput as error:
        file.unlink()
        raise BadInput(*(f"--bench {bench}: {_alone(fault, file, bench)}" for fault in error.faults)) from error
    write_mapping(file, _document(bench, times))
    if len(times) > MOST_PRIMARY:
        say(
            f"{len(times)} tests: the first {MOST_PRIMARY} decide, the others are shown; to choose others, edit a copy of {file} and run it"
        )
    return file


def _alone(fault: str, file: Path, bench: Path) -> str:
    """A fault without the scenario's file, which nobody named, and without the benchmark's, which is named already; of a module that is
    missing with the remedy."""
    said = fault.removeprefix(f"{file}: ").removeprefix(f"{os.path.abspath(bench)}: ").removeprefix(f"{bench.name}: ")
    remedy = f"; put it into {bench.parent}, beside the benchmark, or into the build" if "ModuleNotFoundError" in said else ""
    return f"{said}{remedy}"


def _name(bench: Path) -> str:
    """The file's name as that of a scenario."""
    name = re.sub(r"[^a-z0-9_]+", "_", bench.stem.lower())
    return (name if name[:1].isalpha() else f"bench_{name}")[:64]


def _document(bench: Path, times: Sequence[str]) -> Mapping[str, Any]:
    return {
        "schema": 1,
        "question": f"What does the change make of {bench.name}?",
        "workload": {"kind": MICRO.name, "bench": os.path.abspath(bench)},
        "arms": {BASE: {"baseline": True}, CHANGED: {}},
        "metrics": {name: {"primary": place < MOST_PRIMARY} for place, name in enumerate(times)},
        "profiles": QUICK,
    }
