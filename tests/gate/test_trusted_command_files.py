"""What a gated change can't alter: a scenario's own files are those of the base, too."""

from __future__ import annotations

from pathlib import Path

from perfproof.gate.trusted_files import of_branch
from perfproof.model.documents.decode import load_scenario
from perfproof.model.kinds.command.command_workload import CommandWorkload
from perfproof.model.workloads.file_folder import FileFolder
from tests.builds.overlays.test_git_changes import commit, run

SCENARIO = """
schema: 1
question: Is it as quick?
workload: {kind: command, run: ["{python}", bench.py], files: ../benchmarks}
arms: {one: {baseline: true}, other: {files: ../others}}
metrics: {wall_time: {primary: true}}
"""


def test_the_files_of_a_command_are_read_from_the_base(tmp_path: Path) -> None:
    """A change that rewrites the script that measures it is measured by the script of its base; so are an arm's own files."""
    repo = tmp_path / "clone"
    repo.mkdir()
    run(repo, "init", "-q", "-b", "main")
    commit(repo, "first", ours__mine_dot_yaml=SCENARIO, benchmarks__bench_dot_py="print('base')", others__bench_dot_py="print('other')")
    run(repo, "checkout", "-q", "-b", "change")
    commit(repo, "cheats", benchmarks__bench_dot_py="print('faster')", others__bench_dot_py="print('faster')")
    (tmp_path / "kept").mkdir()
    judges = of_branch(repo, "main", None, [repo / "ours" / "mine.yaml"], tmp_path / "kept")
    (file,) = judges.wanted or ()
    scenario = load_scenario(file, "quick")
    files = [CommandWorkload.of(scenario.workload).files, scenario.candidates[0].files]
    assert [(Path(one.path) / "bench.py").read_text() for one in files if isinstance(one, FileFolder)] == [
        "print('base')",
        "print('other')",
    ]
    assert set(judges.places) >= {"ours", "benchmarks", "others"}
