"""Commands on a stand-in for vLLM: what counts, and what each thing that goes wrong is called."""

from __future__ import annotations

import dataclasses
import os
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest

from perfproof import store
from perfproof.analysis.trials.invalidation import ONLY_COUNTED
from perfproof.builds.install.packages_beside import place_of
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.overlays.commit_files import pinned
from perfproof.model.base.errors import BadInput
from perfproof.model.documents.decode import scenario_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block
from perfproof.run.kinds.command import command_runner
from perfproof.run.kinds.command.command_runner import NEVER_IMPORTED, CommandRunner
from tests import toy

LATENCY = {"latency": {"pattern": r"latency: ([0-9.]+) ms", "unit": "ms"}}


def run(build: ReadyBuild, folder: Path, script: str, *patches: str, helper: str = "", arm_files: Any = None, **workload: Any) -> Record:
    """One trial of a script that lies in a folder of its own."""
    runner, block = opened(build, folder, script, *patches, helper=helper, arm_files=arm_files, **workload)
    try:
        (record,) = runner.trials(block, ("plain",))
    finally:
        runner.close()
    return record


def opened(
    build: ReadyBuild,
    folder: Path,
    script: str,
    *patches: str,
    helper: str = "",
    arm_files: Any = None,
    results: str = "results",
    **workload: Any,
) -> tuple[CommandRunner, Block]:
    """A runner of such a script, and its first block."""
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
        "arms": {"plain": {"baseline": True, **({} if arm_files is None else {"files": arm_files})}, "other": {}},
        "metrics": {"wall_time": {"primary": True}},
    }
    scenario = pinned(scenario_of(definition, source="command.yaml", folder=folder))
    arm = dataclasses.replace(toy.arm("plain", *patches), files=scenario.baseline.files)
    scenario = dataclasses.replace(scenario, arms=(arm, *scenario.arms[1:]))
    runner = CommandRunner(scenario, {"default": build}, folder / results, seed=3, watch=(), say=lambda _: None)
    runner.check()
    return runner, Block(scenario=scenario, number=1, order=("plain",), seed=0)


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


def test_a_line_of_which_a_long_output_has_only_the_end_is_not_read(
    toy_build: ReadyBuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """77 ms, cut to 7 ms, is no number: what is read begins with a whole line."""
    monkeypatch.setattr(command_runner, "MOST_BYTES", len("7 ms\nlatency: 5 ms\n"))
    metrics = {"latency": {"pattern": "([0-9.]+) ms", "unit": "ms"}}
    record = run(toy_build, tmp_path, "import vllm\nprint('latency: 77 ms')\nprint('latency: 5 ms')", metrics=metrics)
    assert (record.status, record.measurements["printed_time@latency"]) == ("ok", pytest.approx(0.005))


def test_a_number_that_is_cut_short_fails_its_trial(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """1m02s is no second: the trial has a sentence for a reason, in counts as in metrics; brackets without end are no traceback."""
    read = {"real": {"pattern": r"real (\S+)", "unit": "s"}}
    record = run(toy_build, tmp_path, "import vllm\nprint('real 1m02s')", metrics=read)
    assert (record.status, "'m02s' stands behind 1" in record.reason) == ("failed", True)
    counts = {"items": {"pattern": r"items: (\S+)"}}
    record = run(toy_build, tmp_path, "import vllm\nprint('latency: 1 ms')\nprint('items: 12_900')", counts=counts)
    assert (record.status, "'_900' stands behind 12" in record.reason) == ("failed", True)
    record = run(toy_build, tmp_path, "import vllm\nprint('[' * 200_000)", metrics={"a": {"json_file": "-", "json_path": "a"}})
    assert (record.status, "the output is no JSON" in record.reason) == ("failed", True)


@pytest.mark.parametrize(
    ("script", "status", "why"),
    [
        ("print('latency: 1 ms')", "unattested", NEVER_IMPORTED),
        ("import vllm\nprint('nothing here')", "failed", "is not in what the command printed:\nnothing here"),
        ("import vllm", "failed", "is not in what the command printed:\n(nothing)"),
        ("import vllm\nprint('latency: 2 s')", "failed", "is not in what the command printed:\nlatency: 2 s"),
        (
            "import vllm, os\nprint('latency: 1 ms', flush=True)\nos.execv('/bin/sleep', ['sleep', '60'])",
            "failed",
            "had not ended after 2 s",
        ),
        ("import vllm\nprint('latency: 1 ms')\nraise SystemExit(3)", "failed", "exited with code 3"),
        (
            "import vllm, time\nprint('latency: 1 ms', flush=True)\ntime.sleep(60)",
            "failed",
            "after 2 s: if that is no fault of it, allow more seconds",
        ),
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


def test_a_process_that_forks_away_ends_with_its_command(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """A command that leaves a daemon behind is over when the command is, and so is the daemon."""
    script = (
        "import vllm, os, time\nprint('latency: 1 ms', flush=True)\n"
        "if not os.fork():\n    os.setsid()\n    if not os.fork():\n"
        "        open('../daemon', 'w').write(str(os.getpid()))\n        time.sleep(300)\n"
        "    os._exit(0)\n"
        "while not os.path.exists('../daemon') or not open('../daemon').read():\n    time.sleep(0.01)\n"
        "print('daemon:', open('../daemon').read())"
    )
    record = run(toy_build, tmp_path, script, counts={"daemon": {"pattern": r"daemon: (\d+)"}})
    assert (record.status, record.reason) == ("ok", "")
    assert not psutil.pid_exists(record.work["daemon"])


def test_a_count_that_is_no_whole_number_is_a_failed_trial(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """3.2 and 3.9 are no equal work: the file's field and the trial's output are told."""
    record = run(
        toy_build, tmp_path, "import vllm\nprint('items: 3.2')\nprint('latency: 1 ms')", counts={"items": {"pattern": r"items: (\S+)"}}
    )
    assert record.status == "failed"
    assert "counts.items: the pattern 'items: (\\\\S+)' is 3.2, and a count is a whole number" in record.reason
    assert "latency: 1 ms" in record.reason


# --- files ----------------------------------------------------------------------------------------------------


def test_results_that_lie_among_the_files_are_copied_by_no_trial(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """`--files .` has the results folder below it: no trial's copy holds another's, and what is recorded meanwhile changes nothing."""
    script = "import vllm, os\nprint('latency: 1 ms')\nprint('files:', sum(len(names) for *_, names in os.walk('.')))"
    counts = {"files": {"pattern": r"files: (\d+)"}}
    runner, block = opened(toy_build, tmp_path, script, results="files/out", counts=counts)
    try:
        for _ in range(2):
            (record,) = runner.trials(block, ("plain",))
            assert (record.status, record.reason, record.work) == ("ok", "", {"files": 2})
            store.append(tmp_path / "files" / "out", record)
    finally:
        runner.close()


def committed(folder: Path, **files: str) -> Path:
    """A repository whose last commit, tagged v1, has these files."""
    repo = folder / "clone"
    for name, text in files.items():
        file = repo / name.replace("__", "/").replace("_dot_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    me = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "-A"], [*me, "commit", "-q", "-m", "x"], ["tag", "v1"]):
        subprocess.run(["git", "-C", repo, *words], check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull})
    return repo


SCRIPT = "import vllm, helper\nprint(f'latency: {helper.N} ms')"


def test_files_of_a_commit_are_laid_out_whatever_lies_in_the_working_tree(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """The paths that the scenario names, without a vllm/ beside them, each where the repository has it; never what was edited since."""
    repo = committed(
        tmp_path, benchmarks__bench_dot_py=SCRIPT, benchmarks__helper_dot_py="N = 4", vllm____init___dot_py="raise SystemExit('no')"
    )
    (repo / "benchmarks" / "helper.py").write_text("N = 5")
    files = {"repository": "clone", "commit": "v1", "paths": ["benchmarks", "vllm"]}
    record = run(toy_build, tmp_path, "", run=["{python}", "benchmarks/bench.py"], files=files)
    assert (record.status, record.reason) == ("ok", "")
    assert record.measurements["printed_time@latency"] == pytest.approx(0.004)
    kept = record.definition["workload"]
    assert kept["files"] == files
    assert len(kept["files_sha256"]) == 64


def test_an_arm_may_have_files_of_its_own(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """They replace the workload's, and their hash is part of the definition."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "script.py").write_text("import vllm\nprint('latency: 9 ms')")
    record = run(toy_build, tmp_path, SCRIPT, helper="N = 1", arm_files="mine")
    assert record.measurements["printed_time@latency"] == pytest.approx(0.009)
    assert record.definition["arms"]["plain"]["files"] == "mine"
    assert len(record.definition["arms"]["plain"]["files_sha256"]) == 64
    assert "files" not in record.definition["arms"]["other"]


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"repository": "nowhere", "commit": "v1", "paths": ["a"]}, r"workload.files: repository: there is no folder 'nowhere'"),
        ({"repository": "clone", "commit": "v2", "paths": ["a"]}, r"workload.files: git: clone has no commit 'v2', did you mean v1\?"),
        ({"repository": "clone", "commit": "v1", "paths": ["gone"]}, r"workload.files: v1 has nothing at gone"),
        ({"repository": "clone", "commit": "v1", "paths": ["vllm"]}, r"no file that a trial may see: a folder vllm/ is left out"),
        ({"repository": "clone", "commit": "v1", "paths": ["../x"]}, r"expected paths inside the repository"),
        ("$NOT_SET_ANYWHERE/x", r"workload.files: \$NOT_SET_ANYWHERE/x: the variable NOT_SET_ANYWHERE is not set: export"),
        ("nowhere", r"workload.files: nowhere: there is no such folder"),
    ],
)
def test_files_that_are_not_there_are_refused_before_anything_runs(toy_build: ReadyBuild, tmp_path: Path, files: Any, why: str) -> None:
    """A repository, a commit, a path or a folder that does not exist: field and remedy."""
    committed(tmp_path, a__x_dot_py="", vllm__x_dot_py="")
    with pytest.raises(BadInput, match=why):
        run(toy_build, tmp_path, SCRIPT, files=files)


def test_a_branch_that_moved_since_the_scenario_was_read_is_refused(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """The hash in the scenario is that of the files; another commit of that name is another question."""
    committed(tmp_path, a__script_dot_py=SCRIPT)
    with pytest.raises(BadInput, match=r"the files of v1 have the SHA-256 [0-9a-f]{64}, 0{64} was expected: it has moved"):
        run(toy_build, tmp_path, "", files={"repository": "clone", "commit": "v1", "paths": ["a"]}, files_sha256="0" * 64)


# --- Python, counted ------------------------------------------------------------------------------------------

COUNTED = """
import vllm

def work(turns):
    total = 0
    for turn in range(turns):
        total += len("x")
    return total

work({turns})
print('latency: 1 ms')
"""


def test_the_python_of_a_command_is_counted_apart_from_its_timed_run(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """Two runs agree to the last instruction; functions have their own numbers, imports none; the timed run has no counter."""
    found = [run(toy_build, tmp_path, COUNTED.replace("{turns}", str(turns)), count_python=True) for turns in (10, 20, 30)]
    tables = [record.counts[""] for record in found]
    of_work = [table["functions"]["__main__:work"] for table in tables]
    own = [numbers[0] for numbers in of_work]
    assert own[2] - own[1] == own[1] - own[0] > 30
    assert [numbers[3] for numbers in of_work] == [10, 20, 30]
    assert [(table["waves"], table["odd"], table["at"]) for table in tables] == [(2, [], {})] * 3
    assert not any("vllm" in name for table in tables for name in table["functions"])
    assert found[0].warnings == found[1].warnings


@pytest.mark.parametrize("known", [False, True])
def test_counts_that_came_first_are_those_of_the_timed_trial(toy_build: ReadyBuild, tmp_path: Path, known: bool) -> None:
    """An arm is counted without a timed run, and proves what it ran; the timed trial counts nothing again, nor does a later run that is
    told of the record. A block behind it is counted by itself."""
    runner, block = opened(toy_build, tmp_path, COUNTED.replace("{turns}", "10"), count_python=True)
    (first,) = runner.count_first(block, ("plain",), ())
    assert (first.status, first.reason, first.measurements) == ("invalid", ONLY_COUNTED, {})
    assert first.attestation is not None
    assert first.attestation.vllm_version == toy_build.fingerprint.vllm_version
    if known:
        runner, block = opened(toy_build, tmp_path, COUNTED.replace("{turns}", "10"), count_python=True)
        assert list(runner.count_first(block, ("plain",), (first,))) == []
    (timed,) = runner.trials(block, ("plain",))
    assert (timed.status, timed.counts, "counting" in timed.seconds) == ("ok", first.counts, False)
    assert "wall_time" in timed.measurements
    (second,) = runner.trials(dataclasses.replace(block, number=2), ("plain",))
    assert "counting" in second.seconds
    assert second.counts[""]["functions"] == first.counts[""]["functions"]


@pytest.mark.parametrize(
    ("script", "status"),
    [("print('latency: 1 ms')", "unattested"), ("import vllm, os\nprint('latency: 1 ms', flush=True)\nos._exit(0)", "ok")],
)
def test_what_proves_nothing_or_can_not_be_counted_is_left_to_the_timed_trial(
    toy_build: ReadyBuild, tmp_path: Path, script: str, status: str
) -> None:
    """No record is left of it; the timed trial says what is wrong."""
    runner, block = opened(toy_build, tmp_path, script, count_python=True)
    assert list(runner.count_first(block, ("plain",), ())) == []
    (timed,) = runner.trials(block, ("plain",))
    assert timed.status == status
    assert any("its Python was not counted" in each for each in timed.warnings) is (status == "ok")


def test_a_smaller_command_may_be_counted_than_is_timed(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """What was counted stands beside the count, for the verdict to name."""
    script = COUNTED.replace("work({turns})", "import sys\nwork(int(sys.argv[1]))")
    record = run(
        toy_build,
        tmp_path,
        script,
        run=["{python}", "script.py", "1000"],
        count_python=True,
        count_run=["{python}", "script.py", "3"],
    )
    assert record.counts[""]["functions"]["__main__:work"][3] == 3
    assert record.counts[""]["at"] == {"command": "script.py 3"}


def test_what_is_not_the_same_each_time_is_named_and_processes_beside_are_told(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """A function whose work differs from run to run is odd; a process that the command starts is not counted."""
    script = (
        "import vllm, os, sys, subprocess\ndef same():\n    return len('x')\n"
        "def never(turns):\n    for turn in range(turns):\n        pass\n"
        "same()\nnever(os.getpid())\nsubprocess.run([sys.executable, '-c', 'pass'], check=True)\nprint('latency: 1 ms')"
    )
    record = run(toy_build, tmp_path, script, count_python=True)
    assert record.status == "ok"
    assert "__main__:never" in record.counts[""]["odd"]
    assert "__main__:same" not in record.counts[""]["odd"]
    assert record.counts[""]["waves"] == 3
    assert any("counted in its first process alone; beside it: started -c" in warning for warning in record.warnings)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("import vllm, os\nprint('latency: 1 ms', flush=True)\nos._exit(0)", "ended without leaving its count"),
        ("import vllm, sys\nsys.settrace(lambda *_: None)\nprint('latency: 1 ms')", "sets a trace or profile function of its own"),
        ("import vllm, sys, os\nprint('latency: 1 ms')\nsys.exit(4 if 'PERFPROOF_COUNT' in os.environ else 0)", "code 4"),
    ],
)
def test_a_command_that_can_not_be_counted_says_why_and_its_times_stand(
    toy_build: ReadyBuild, tmp_path: Path, script: str, why: str
) -> None:
    """It leaves no count, takes the counter away, or fails with it: a warning, and a trial that counts."""
    record = run(toy_build, tmp_path, script, count_python=True)
    assert (record.status, record.counts) == ("ok", {})
    assert any("its Python was not counted: " in warning and why in warning for warning in record.warnings)


def test_a_package_that_the_build_lacks_comes_behind_its_own(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """It lies in a folder beside the builds, at the end of sys.path; the record has its version."""
    folder = toy_build.side.parent / "packages-stand-in"
    (folder / "beside_pkg-1.5.dist-info").mkdir(parents=True)
    (folder / "beside_pkg-1.5.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: beside-pkg\nVersion: 1.5\n")
    (folder / "beside_pkg.py").write_text("N = 7")
    (folder / "vllm.py").write_text("raise SystemExit('the wrong vLLM')")
    place_of(toy_build, ["beside-pkg"]).symlink_to(folder)
    record = run(toy_build, tmp_path, "import vllm, beside_pkg\nprint(f'latency: {beside_pkg.N} ms')", packages=["beside-pkg"])
    assert record.measurements["printed_time@latency"] == pytest.approx(0.007)
    assert record.environment["packages_beside"] == {"beside-pkg": "1.5"}


def test_the_model_of_a_command_is_written_and_named(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """{model} is a folder with the generated model's configuration, in the folder where the command runs."""
    script = "import vllm, json, sys\nprint('latency:', json.load(open(sys.argv[1] + '/config.json'))['hidden_size'], 'ms')"
    model = {"layers": 1, "hidden": 64, "heads": 2, "vocabulary": 512, "context": 128}
    record = run(toy_build, tmp_path, script, run=["{python}", "script.py", "{model}"], model=model)
    assert record.measurements["printed_time@latency"] == pytest.approx(0.064)


def test_what_a_trial_writes_no_other_trial_finds(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """A script that writes into its own files leaves those of the scenario as they were."""
    script = (
        "import vllm, pathlib\nfile = pathlib.Path('helper.py')\nprint(f'latency: {len(file.read_text())} ms')\nfile.write_text('x' * 99)"
    )
    for _ in range(2):
        assert run(toy_build, tmp_path, script, helper="ab").measurements["printed_time@latency"] == pytest.approx(0.002)
    assert (tmp_path / "files" / "helper.py").read_text() == "ab"
