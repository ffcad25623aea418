"""Commands on a stand-in for vLLM: what counts, and what each thing that goes wrong is called."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.documents.decode import scenario_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block
from perfproof.run.kinds.command.command_runner import NEVER_IMPORTED, CommandRunner
from tests import toy

LATENCY = {"latency": {"pattern": r"latency: ([0-9.]+) ms", "unit": "ms"}}


def run(build: ReadyBuild, folder: Path, script: str, *patches: str, helper: str = "", **workload: Any) -> Record:
    """One trial of a script that lies in a folder of its own."""
    files = folder / "files"
    files.mkdir(exist_ok=True)
    (files / "script.py").write_text(script)
    (files / "helper.py").write_text(helper)
    said = {"kind": "command", "run": ["{python}", "script.py"], "files": "files", "metrics": LATENCY, **workload}
    definition = {
        "schema": 1,
        "name": "command",
        "profile": "quick",
        "question": "Is it quicker?",
        "workload": said,
        "builds": {"default": {"kind": "python", "path": str(build.interpreter)}},
        "arms": {"plain": {"baseline": True}, "other": {}},
        "metrics": {"wall_time": {"primary": True}},
    }
    scenario = scenario_of(definition, source="command.yaml", folder=folder)
    arm = toy.arm("plain", *patches)
    scenario = dataclasses.replace(scenario, arms=(arm, *scenario.arms[1:]))
    runner = CommandRunner(scenario, {"default": build}, folder / "results", seed=3, watch=(), say=lambda _: None)
    runner.check()
    try:
        (record,) = runner.trials(Block(scenario=scenario, number=1, order=("plain",), seed=0), ("plain",))
    finally:
        runner.close()
    return record


def test_a_script_with_a_helper_is_measured_and_attested(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """Its printed latency is in seconds, its wall and CPU time and memory are there, and it proved which vLLM it imported."""
    (tmp_path / "files" / "vllm").mkdir(parents=True)
    (tmp_path / "files" / "vllm" / "__init__.py").write_text("raise SystemExit('the wrong vLLM')")
    script = "import vllm, helper\nprint('items: 3')\nprint(f'latency: {helper.N} ms')"
    record = run(toy_build, tmp_path, script, helper="N = 12.5", counts={"items": {"pattern": r"items: (\d+)"}})
    assert (record.status, record.reason) == ("ok", "")
    assert record.measurements["printed_time@latency"] == pytest.approx(0.0125)
    assert record.measurements["wall_time"] > 0
    assert record.measurements["cpu_time"] > 0
    assert record.work == {"items": 3}
    assert record.attestation is not None
    assert record.attestation.vllm_version == toy_build.fingerprint.vllm_version


@pytest.mark.parametrize(
    ("script", "status", "why"),
    [
        ("print('latency: 1 ms')", "unattested", NEVER_IMPORTED),
        ("import vllm\nprint('nothing here')", "failed", "is not in what the command printed:"),
        ("import vllm\nprint('latency: 1 ms')\nraise SystemExit(3)", "failed", "exited with code 3"),
        ("import vllm, time\nprint('latency: 1 ms', flush=True)\ntime.sleep(60)", "failed", "had not ended after 2 s"),
        ("import vllm\nprint('latency: 1 ms')\nprint('latency: 2 ms')", "failed", "2 different numbers"),
    ],
)
def test_what_goes_wrong_is_a_sentence_and_no_number(toy_build: ReadyBuild, tmp_path: Path, script: str, status: str, why: str) -> None:
    """No vLLM imported, nothing printed, a failure, no end, two numbers: the trial does not count, and says why."""
    record = run(toy_build, tmp_path, script, timeout=2.0)
    assert record.status == status
    assert why in record.reason


def test_a_script_that_imports_another_vllm_is_found_out(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """A checkout that a script puts first on `sys.path` is not the arm's build."""
    other = tmp_path / "checkout"
    toy.interpreter(other)
    site = next(other.glob("lib/python*/site-packages"))
    record = run(toy_build, tmp_path, f"import sys\nsys.path.insert(0, {str(site)!r})\nimport vllm\nprint('latency: 1 ms')")
    assert record.status == "unattested"
    assert "vLLM was loaded from elsewhere/" in record.reason


def test_what_a_trial_writes_no_other_trial_finds(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """A script that writes into its own files leaves those of the scenario as they were."""
    script = (
        "import vllm, pathlib\nfile = pathlib.Path('helper.py')\nprint(f'latency: {len(file.read_text())} ms')\nfile.write_text('x' * 99)"
    )
    for _ in range(2):
        assert run(toy_build, tmp_path, script, helper="ab").measurements["printed_time@latency"] == pytest.approx(0.002)
    assert (tmp_path / "files" / "helper.py").read_text() == "ab"
