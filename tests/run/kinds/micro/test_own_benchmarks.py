"""Benchmarks of the user's own, by path, on a stand-in for vLLM: what is measured, proved and refused."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.changes.change_builds import rearmed
from perfproof.commands.calibrate import against_itself
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.documents.decode import scenario_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block
from perfproof.model.scenarios.scenario import Scenario
from perfproof.model.workloads import file_folder
from perfproof.run.kinds.micro.bench_checks import bench_faults
from perfproof.run.kinds.micro.micro_runner import RUNNER, MicroRunner
from perfproof.run.trials.runner import Opening
from perfproof.tracking.released_scenario import NamedBuild, alone

TWO = """
import pytest
from helper import rows
from vllm.v1.worker.batch import Batch

@pytest.mark.parametrize("rows_of", [rows, reversed], ids=["mine", "theirs"])
def test_swap(benchmark, rows_of):
    benchmark.extra_info.update(metric="latency", work="much", witnesses=None)
    benchmark.pedantic(Batch().swap, args=(1, 2), rounds=5)

class TestSorting:
    def test_sorted(self, benchmark):
        benchmark.pedantic(sorted, args=([2, 1],), rounds=1500)
"""
ONE = """
from vllm.v1.worker.batch import Batch

def test_swap(benchmark):
    benchmark.pedantic(Batch().swap, args=(1, 2), rounds=5)
"""
ROUND = {"round_time": {"primary": True}}
Run = Callable[..., Record]


@pytest.fixture
def benches(tmp_path: Path) -> Path:
    """A folder with a benchmark, a helper module and what must not be taken along."""
    folder = tmp_path / "fork" / "benchmarks"
    (folder / "vllm").mkdir(parents=True)
    (folder / "vllm" / "__init__.py").write_text("raise SystemExit('the wrong vLLM')")
    (folder / "bench_mine.py").write_text(ONE)
    (folder / "helper.py").write_text("rows = list")
    return folder


def definition(build: ReadyBuild | None, metrics: dict[str, Any], bench: str, **workload: Any) -> dict[str, Any]:
    return {
        "schema": 1,
        "name": "mine",
        "profile": "quick",
        "question": "Is it quicker?",
        "workload": {"kind": "micro", "bench": bench, **workload},
        "builds": {"default": {"kind": "python", "path": str(build.interpreter) if build else "python"}},
        "arms": {"plain": {"baseline": True}, "patched": {"patches": ["toy_patch"]}},
        "metrics": metrics,
    }


def scenario(folder: Path, build: ReadyBuild | None = None, metrics: dict[str, Any] = ROUND, bench: str = "", **more: Any) -> Scenario:
    """A scenario in a folder beside the fork."""
    wanted = bench or "../fork/benchmarks/bench_mine.py"
    return scenario_of(definition(build, metrics, wanted, **more), source="mine.yaml", folder=folder / "scenarios")


@pytest.fixture
def run(toy_build: ReadyBuild, benches: Path, tmp_path: Path) -> Iterator[Run]:
    """Runs one trial of the benchmark, as a run of perfproof opens it."""
    runners: list[Any] = []

    def one(source: str = ONE, arm: str = "plain", metrics: dict[str, Any] = ROUND, **more: Any) -> Record:
        (benches / "bench_mine.py").write_text(source)
        made = scenario(tmp_path, toy_build, metrics, **more)
        ready = {made.builds["default"].key: toy_build}
        runners.append(RUNNER.open([made], Opening(ready=ready, results=tmp_path / "results", seed=3, say=lambda _: None)))
        runners[-1].check()
        (record,) = runners[-1].trials(Block(scenario=made, number=1, order=(arm,), seed=0), (arm,))
        return record

    yield one
    for runner in runners:
        runner.close()


def test_the_ids_of_tests_are_the_cases(run: Run) -> None:
    """Each test of a file without constants has a time and counts under its id; what it leaves in extra_info is its own affair."""
    metrics = {"round_time@test_swap[mine]": {"primary": True}, "round_time@TestSorting::test_sorted": {}}
    record = run(TWO, metrics=metrics)
    assert (record.status, record.reason) == ("ok", "")
    ids = {"test_swap[mine]", "test_swap[theirs]", "TestSorting::test_sorted"}
    assert set(record.measurements) == {f"round_time@{one}" for one in ids}
    assert set(record.counts) == ids
    assert len(record.raw["round_time@TestSorting::test_sorted"]) <= 1000
    assert "vllm.v1.worker.batch:Batch.swap" in record.counts["test_swap[mine]"]["functions"]
    assert "TestSorting::test_sorted: its round calls no function of vLLM" in record.warnings
    assert record.work == {}


def test_a_single_test_needs_no_case(run: Run) -> None:
    """A file with one test has one `round_time`, and what it counts has no case either."""
    record = run()
    assert record.status == "ok", record.reason
    assert set(record.measurements) == {"round_time"}
    assert set(record.counts) == {""}


def test_constants_mean_what_they_mean_in_our_own(run: Run) -> None:
    """A file with PARAMETERS gets those of the scenario, and its cases are those that the scenario lists."""
    source = (
        'PARAMETERS = {"rows": 4}\nEXERCISES = ("vllm.v1.worker.batch:Batch.swap",)\nfrom vllm.v1.worker.batch import Batch\n'
        "def test_it(benchmark, parameters):\n    benchmark.pedantic(Batch().swap, args=(1, parameters['rows']), rounds=5)\n"
    )
    metrics = {"round_time@rows=8": {"primary": True}}
    record = run(source, metrics=metrics, cases=[{"rows": 8}, {"rows": 9}])
    assert record.status == "ok", record.reason
    assert set(record.measurements) == {"round_time@rows=8", "round_time@rows=9"}
    assert set(record.counts) == {"rows=8", "rows=9"}
    assert record.attestation is not None
    assert record.attestation.counts["calls vllm.v1.worker.batch:Batch.swap"] == 10


def test_arms_get_the_same_copy(run: Run, benches: Path) -> None:
    """What is changed in the folder after a run began reaches no later trial; a folder changed before it was copied is refused."""
    first = run()
    assert first.status == "ok", first.reason
    made = scenario(benches.parents[1])
    (benches / "helper.py").write_text("rows = tuple")
    workload: Any = made.workload
    with pytest.raises(CannotRun, match="its files were changed since the run began"):
        workload.files.copy_to(benches.parents[1] / "copy")


@pytest.mark.parametrize(
    ("source", "status", "words"),
    [
        ("def test_it(benchmark):\n    benchmark(sorted, [1])\n", "unattested", "no round of the benchmark calls a function of vLLM"),
        ("def test_it():\n    pass\n", "failed", "no test that takes the fixture benchmark; write one"),
        ("test = 1\n", "failed", "no test that takes the fixture benchmark; write one"),
        ("import nowhere_to_be_found\ndef test_it(benchmark):\n    pass\n", "failed", "No module named 'nowhere_to_be_found'"),
        ("def test_it(benchmark):\n    raise ValueError('no rows')\n", "failed", "no rows"),
        (ONE + "def test_other(benchmark):\n    benchmark(len, [])\n", "failed", "no such test; write one of: round_time@test_swap; round"),
        ("import pytest\ndef test_it(benchmark):\n    pytest.skip('not here')\n", "failed", "not here"),
    ],
)
def test_a_benchmark_that_measures_nothing_of_vllm_does_not_count(run: Run, source: str, status: str, words: str) -> None:
    """A trial without a test, without a call into vLLM, or without the scenario's test has a reason with the remedy."""
    record = run(source)
    assert record.status == status
    assert words in record.reason


def test_a_patch_is_switched_on_in_its_arm(run: Run) -> None:
    """An arm's patch is loaded and called in a benchmark by path, too."""
    record = run(arm="patched")
    assert record.attestation is not None
    assert list(record.attestation.patches) == ["toy_patch"], record.reason


def test_the_files_of_its_folder_are_part_of_the_question(benches: Path, tmp_path: Path) -> None:
    """A changed helper is another question; a scenario, a page, results and a vllm/ beside it are none of it. The place is no part."""
    before = scenario(tmp_path)
    for name in ("results/mine.jsonl", "vllm/more.py", "page.html", ".benchmarks/saved.json"):
        (benches / name).parent.mkdir(exist_ok=True)
        (benches / name).write_text("new")
    (benches / "mine.yaml").write_text("schema: 1\nworkload: {kind: micro}\n")
    assert scenario(tmp_path).digest == before.digest
    assert before.definition["workload"]["bench"] == "bench_mine.py"
    shutil.copytree(benches, tmp_path / "elsewhere")
    assert scenario(tmp_path, bench=str(tmp_path / "elsewhere" / "bench_mine.py")).digest == before.digest
    (benches / "helper.py").write_text("rows = tuple")
    assert scenario(tmp_path).digest != before.digest
    again = scenario_of(before.definition, source="a record")
    assert again.digest == before.digest


def test_names_keep_their_digest() -> None:
    """A benchmark that is named as ever leaves nothing new in a definition."""
    made = scenario_of(definition(None, ROUND, "swap_states"), source="mine.yaml", folder=Path())
    assert made.definition["workload"] == {"kind": "micro", "bench": "swap_states", "parameters": {}, "cases": [{}]}


@pytest.mark.parametrize(
    ("bench", "words"),
    [
        ("../fork/nowhere.py", "workload.bench: ../fork/nowhere.py: there is no such file (paths are relative to the scenario file)"),
        ("../fork/benchmarks", "workload.bench: expected the name of a benchmark of perfproof's"),
        ("Swap", "or the path of a file, such as ../benchmarks/bench_mine.py, got 'Swap'"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(benches: Path, tmp_path: Path, bench: str, words: str) -> None:
    """A file that is not there, and a word that is neither a name nor a path, are reported with what is expected."""
    with pytest.raises(BadInput) as caught:
        scenario(tmp_path, bench=bench)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("source", "more", "words"),
    [
        ("def helper():\n    pass\n", {}, "it has no test; write one: def test_mine(benchmark)"),
        ("def test_it(benchmark:\n", {}, "line 1: '(' was never closed"),
        (ONE, {"parameters": {"rows": 1}}, "workload.parameters: bench_mine.py declares no PARAMETERS"),
        (ONE, {"metrics": {"feed_time": {"primary": True}}}, "metrics.feed_time: the benchmark bench_mine.py does not measure it"),
    ],
)
def test_what_a_file_itself_shows_is_refused_before_anything_runs(
    benches: Path, tmp_path: Path, source: str, more: dict[str, Any], words: str
) -> None:
    """A file without tests, or that is no Python, and parameters that it does not have are reported before anything is made."""
    (benches / "bench_mine.py").write_text(source)
    (fault,) = bench_faults(scenario(tmp_path, **more))
    assert fault.startswith("mine.yaml: ")
    assert words in fault


def test_other_commands_find_its_files(benches: Path, tmp_path: Path) -> None:
    """`pr`, `calibrate` and `track` make another scenario of one whose files lie in another folder, and run the same files."""
    made = scenario(tmp_path)
    python = {"kind": "python", "path": "python"}
    changed = rearmed(made, {"base": python, "diff": python}, "a change")
    tracked = alone(made, NamedBuild(word="python", name="tracked", docs={"tracked": python}))
    for other in (changed, tracked, against_itself(made, 6)):
        assert other.workload == made.workload
        assert other.definition["workload"] == made.definition["workload"]


def test_a_test_that_runs_only_once_is_reported(run: Run) -> None:
    """Its time counts, and a warning says that nobody saw what its round calls."""
    record = run("done = []\ndef test_it(benchmark):\n    done.append(1)\n    assert len(done) < 2\n    benchmark(sorted, [1])\n")
    assert record.status == "ok", record.reason
    assert "test_it: what its round calls is not known: the test did not run a second time" in record.warnings


def test_a_link_out_of_its_folder_is_refused(benches: Path, tmp_path: Path) -> None:
    """Only the files of the folder are copied, so the file itself is to be named."""
    (tmp_path / "real.py").write_text(ONE)
    (benches / "bench_mine.py").unlink()
    (benches / "bench_mine.py").symlink_to(tmp_path / "real.py")
    with pytest.raises(BadInput, match="it is a link that leads out of its folder"):
        scenario(tmp_path)


def test_a_folder_with_too_much_in_it_is_refused(benches: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A benchmark in a large folder is to move into one of its own: every run hashes and copies all of it."""
    monkeypatch.setattr(file_folder, "MOST_FILES", 1)
    with pytest.raises(BadInput, match="put the file, and what it needs, into a folder of its own") as caught:
        scenario(tmp_path)
    assert "workload.bench: ../fork/benchmarks: it holds more than" in str(caught.value)


def test_a_plan_without_benchmarks_of_the_users_own_copies_nothing(toy_build: ReadyBuild, tmp_path: Path) -> None:
    """A run of named benchmarks leaves no folder of copies."""
    named = dataclasses.replace(scenario_of(definition(toy_build, ROUND, "swap_states"), source="mine.yaml", folder=tmp_path))
    runner = RUNNER.open([named], Opening(ready={}, results=tmp_path / "results", seed=3, say=lambda _: None))
    assert isinstance(runner, MicroRunner)
    runner.check()
    assert not (tmp_path / "results").exists()
