"""`perfproof blame` on a real vLLM: of the functions that a diff changes it names the one that does more work, and takes that back."""

from __future__ import annotations

import difflib
import json
from pathlib import Path

import pytest

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.cli import main
from perfproof.model.base.errors import EXIT_PASS
from tests.run.conftest import known_to
from tests.run.conftest import served_build as served_build

BATCH = "vllm/v1/worker/gpu_input_batch.py"
GUILTY = ("        if self.is_pooling_model:\n            batch_changed", "        for _ in range(12):\n            pass\n")
INNOCENT = (
    (
        "        num_reqs = self.num_reqs\n        if not self.all_greedy:\n",
        "        num_reqs = self.num_reqs + 0\n        if not self.all_greedy:\n",
    ),
    (
        "    def swap_states(self, i1: int, i2: int) -> None:\n",
        "    def swap_states(self, i1: int, i2: int) -> None:\n        assert i1 >= 0\n",
    ),
)


def planted(build: ReadyBuild, file: Path) -> Path:
    """A diff with a loop in a function that every step runs, and two changes that a step hardly or never does."""
    before = (build.fingerprint.package.parent / BATCH).read_text()
    assert before.count(GUILTY[0]) == 1
    after = before.replace(GUILTY[0], GUILTY[1] + GUILTY[0])
    for old, new in INNOCENT:
        assert old in after
        after = after.replace(old, new)
    file.write_text(
        "".join(difflib.unified_diff(*(text.splitlines(keepends=True) for text in (before, after)), f"a/{BATCH}", f"b/{BATCH}"))
    )
    return file


@pytest.mark.vllm
@pytest.mark.slow
def test_the_function_that_a_diff_made_dearer_is_named_and_taken_back(
    served_build: ReadyBuild, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The loop's function has all of the change with its lines; the diff back is that loop; the same command again runs no trial."""
    diff, build = planted(served_build, tmp_path / "my.diff"), str(served_build.interpreter)
    builds = known_to(tmp_path / "builds", served_build)
    words = ["blame", "output_ids_needed", "--good", build, "--bad", f"{build}+{diff}", "--builds", str(builds), "--json"]
    words += ["--results", str(tmp_path / "results"), "--report", str(tmp_path / "blame.html"), "--least", "0.1"]
    assert main(words) == EXIT_PASS
    found = json.loads(capsys.readouterr().out)
    (one,) = found["guilty"]
    assert (one["file"], one["function"], one["share"]) == (BATCH, "InputBatch.refresh_metadata", pytest.approx(1, abs=0.1))
    assert found["metric"].startswith("python_instructions")
    assert found["answer"].startswith("equivalent")
    back = Path(found["diff_back"]).read_text()
    assert [line for line in back.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")] == [
        f"-{line}" for line in GUILTY[1].splitlines()
    ]
    assert "InputBatch.refresh_metadata" in (tmp_path / "blame.html").read_text()
    records = {path: path.read_bytes() for path in (tmp_path / "results").rglob("*.jsonl")}
    assert main(words) == EXIT_PASS
    assert json.loads(capsys.readouterr().out)["guilty"] == found["guilty"]
    assert {path: path.read_bytes() for path in (tmp_path / "results").rglob("*.jsonl")} == records
