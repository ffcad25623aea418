"""Two printing scripts of ours on a real vLLM and on an overlay of it: the numbers, the proof, and the counts of a known change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.overlays.commit_files import pinned
from perfproof.builds.prepare import prepare
from perfproof.model.documents.decode import scenario_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block
from perfproof.run.kinds.command.command_runner import RUNNER
from perfproof.run.trials.runner import Opening

pytestmark = pytest.mark.vllm

SCRIPTS = Path(__file__).parent / "scripts"
SLOWER = """--- a/vllm/utils/hashing.py
+++ b/vllm/utils/hashing.py
@@ -37,5 +37,7 @@
         Bytes representing the SHA-256 hash of the serialized input.
 
     \"\"\"
+    for _ in range(5):
+        hashlib.sha256(b"")
     input_bytes = pickle.dumps(input, protocol=pickle.HIGHEST_PROTOCOL)
     return hashlib.sha256(input_bytes).digest()
"""
HASH = "vllm.utils.hashing:sha256"


def trials(real_build: ReadyBuild, package: Path, folder: Path, workload: Mapping[str, Any], **files: Any) -> list[Record]:
    """A trial of each of both arms; `files` are those of the second."""
    (folder / "slower.diff").write_text(SLOWER)
    definition = {
        "schema": 1,
        "name": "command",
        "profile": "quick",
        "question": "What does the change cost?",
        "workload": {"kind": "command", "files": str(SCRIPTS), **workload},
        "builds": {
            "default": {"kind": "python", "path": str(real_build.interpreter)},
            "slower": {"kind": "overlay", "diff": "slower.diff"},
        },
        "arms": {"plain": {"baseline": True}, "slower": {"build": "slower", **files}},
        "metrics": {"wall_time": {"primary": True}},
    }
    scenario = pinned(scenario_of(definition, source="command.yaml", folder=folder))
    changed = prepare(scenario.builds["slower"], real_build.side.parent, print, package)
    ready = {scenario.builds["default"].key: real_build, scenario.builds["slower"].key: changed}
    runner = RUNNER.open([scenario], Opening(ready=ready, results=folder / "results", seed=0, say=print))
    try:
        runner.check()
        names = ("plain", "slower")
        return list(runner.trials(Block(scenario=scenario, number=1, order=names, seed=0), names))
    finally:
        runner.close()


def test_a_printed_table_of_two_builds_and_the_python_behind_it(real_build: ReadyBuild, real_package: Path, tmp_path: Path) -> None:
    """Each arm proves the vLLM that it ran, does the same work, prints its row, and its counted Python shows the change exactly."""
    workload = {
        "run": ["{python}", "prints_table.py"],
        "metrics": {"eight": {"column": "Hash Avg (us)", "row": "Blocks=8", "unit": "us"}},
        "counts": {"hashed": {"pattern": r"hashed: (\d+)"}},
        "count_python": True,
        "count_run": ["{python}", "prints_table.py", "--rounds", "5"],
    }
    plain, slower = trials(real_build, real_package, tmp_path, workload)
    assert (plain.status, slower.status) == ("ok", "ok"), (plain.reason, slower.reason)
    assert plain.work == slower.work == {"hashed": 400}
    for record in (plain, slower):
        assert {"printed_time@eight", "wall_time", "cpu_time", "peak_memory"} <= set(record.measurements)
        assert record.counts[""]["waves"] == 2
    assert plain.attestation is not None
    assert slower.attestation is not None
    assert plain.attestation.sources != slower.attestation.sources
    before, after = (record.counts[""]["functions"][HASH] for record in (plain, slower))
    assert before[1] == after[1] == 10
    assert after[3] - before[3] == 10 * 5
    assert after[0] - before[0] >= 10 * 5 * 4


def test_a_result_file_and_an_arm_with_files_of_its_own(real_build: ReadyBuild, real_package: Path, tmp_path: Path) -> None:
    """A rate from JSON; the second arm's script says that it did other work, which is never compared."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "prints_json.py").write_text(
        (SCRIPTS / "prints_json.py").read_text().replace("rounds, began = 200", "rounds, began = 100")
    )
    place = {"json_file": "out.json"}
    workload = {
        "run": ["{python}", "prints_json.py", "out.json"],
        "metrics": {"rate": {**place, "json_path": "results.0.blocks_per_second", "unit": "1/s"}},
        "counts": {"blocks": {**place, "json_path": "results.0.blocks"}},
    }
    plain, slower = trials(real_build, real_package, tmp_path, workload, files="mine")
    assert (plain.status, slower.status) == ("ok", "ok"), (plain.reason, slower.reason)
    assert (plain.work, slower.work) == ({"blocks": 200}, {"blocks": 100})
    assert any(name.endswith("@rate") for name in plain.measurements)
