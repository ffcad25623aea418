"""The counter in Python 3.12 and later, where `PERFPROOF_NEWER_PYTHON` names one: its own tests and a real engine run there.

It needs pytest and hypothesis for the one, vLLM for the other.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from perfproof.analysis.counts.count_comparison import disagreeing
from perfproof.builds.install.side_folder import PACKAGE
from perfproof.builds.prepare import prepare
from perfproof.model.scenarios.scenario import PythonBuild
from perfproof.run.trials.engine_counting import Wanted, count

ROOT = Path(__file__).parents[2]
NAMED = "PERFPROOF_NEWER_PYTHON"
PARSES = "import pathlib, sys\nfor file in pathlib.Path(sys.argv[1]).rglob('*.py'):\n    compile(file.read_text(), str(file), 'exec')\n"


@pytest.fixture(scope="module")
def newer() -> str:
    """An interpreter that has `sys.monitoring`."""
    named = os.environ.get(NAMED, "")
    if not named:
        pytest.skip(f"{NAMED} names no interpreter of Python 3.12 or later")
    done = subprocess.run([named, "-c", "import sys; sys.monitoring"], capture_output=True, text=True)
    assert not done.returncode, f"{NAMED}={named}: {done.stderr}"
    return named


def needs(interpreter: str, *modules: str) -> None:
    """Skips where an interpreter lacks a module."""
    if subprocess.run([interpreter, "-c", f"import {', '.join(modules)}"], capture_output=True).returncode:
        pytest.skip(f"{interpreter} has no {' or no '.join(modules)}")


def test_what_runs_inside_interpreters_parses_there(newer: str) -> None:
    """All that lies beside a build: the counter, the engine's waves, benchmarks and patches."""
    for room in ("child", "bench", "patches"):
        done = subprocess.run([newer, "-W", "error", "-c", PARSES, str(PACKAGE / room)], capture_output=True, text=True)
        assert not done.returncode, done.stderr


def test_the_counters_own_tests_hold_there(newer: str) -> None:
    """Every one of them, over `sys.monitoring`."""
    needs(newer, "pytest", "hypothesis")
    words = ["-m", "pytest", "-q", "--noconftest", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(ROOT)]
    paths = os.pathsep.join((str(PACKAGE.parent), str(ROOT)))
    done = subprocess.run(
        [newer, *words, str(ROOT / "tests/child/test_counting.py")],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths, "PYTEST_ADDOPTS": ""},
    )
    assert not done.returncode, done.stdout[-3000:]
    assert " passed" in done.stdout


@pytest.mark.vllm
def test_two_processes_count_the_same_engine_alike_there(newer: str, tmp_path: Path) -> None:
    """To the last instruction, call, operator and token; no thread is missed."""
    needs(newer, "vllm")
    build = prepare(PythonBuild(name="base", path=newer), tmp_path, print)
    first, second = (count([Wanted(build=build, cells={"plain": [8]}, process=number)], tmp_path, print)[0] for number in (1, 2))
    assert [cell.key for cell in second.cells] == [("plain", 8)], second.left_out
    assert disagreeing(first, second) == {}
    phases = first.cells[0].phases.values()
    assert all(work.odd == () and work.missed == () and work.functions for work in phases)
