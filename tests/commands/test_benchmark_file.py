"""A benchmark file without a scenario: the scenario that is written for it, and what is refused before anything is measured."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from perfproof.cli import main
from perfproof.commands.benchmark_file import own_results, written_scenario
from perfproof.model.base.errors import BadInput
from perfproof.model.base.yaml_io import read_mapping
from perfproof.model.documents.decode import load_scenario
from perfproof.model.scenarios.scenario import Profile
from perfproof.store import read
from tests import toy
from tests.builds.overlays.test_overlay import CHANGE

EIGHT = """
import pytest
from helper import ROWS
from vllm.v1.worker.batch import Batch

@pytest.mark.parametrize("rows", range(ROWS))
def test_swap(benchmark, rows):
    benchmark.pedantic(Batch().swap, args=(1, rows), rounds=5)

def test_nothing():
    pass
"""
ONE = "from vllm.v1.worker.batch import Batch\ndef test_swap(benchmark):\n    benchmark.pedantic(Batch().swap, args=(1, 2), rounds=5)\n"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a stand-in for vLLM."""
    return toy.interpreter(tmp_path_factory.mktemp("python") / "env")


@pytest.fixture(autouse=True)
def _seen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    toy.seen_once(monkeypatch)


def written(folder: Path, python: Path, source: str) -> tuple[Path, list[str]]:
    (folder / "mine").mkdir()
    bench = folder / "mine" / "Bench-8.py"
    bench.write_text(source)
    (folder / "mine" / "helper.py").write_text("ROWS = 8")
    said: list[str] = []
    results, builds = folder / "results", folder / "builds"
    return written_scenario(bench, profile="quick", results=results, builds=builds, baseline=str(python), say=said.append), said


def test_each_test_has_a_time_and_the_first_decide(python: Path, tmp_path: Path) -> None:
    """The tests are collected in the build, without a run; of more than six the first decide, and that is reported."""
    file, said = written(tmp_path, python, EIGHT)
    assert file == tmp_path / "results" / "bench_8.yaml"
    metrics = read_mapping(file)["metrics"]
    assert list(metrics) == [f"round_time@test_swap[{row}]" for row in range(8)]
    assert [row["primary"] for row in metrics.values()] == [True] * 6 + [False] * 2
    assert f"8 tests: the first 6 decide, the others are shown; to choose others, edit a copy of {file} and run it" in said
    assert load_scenario(file, "standard").workload.benchmark_file == str(tmp_path / "mine" / "Bench-8.py")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import nowhere\ndef test_it(benchmark):\n    pass\n", "No module named 'nowhere'; put it into "),
        ("def test_it():\n    pass\n", "no test that takes the fixture benchmark; write one"),
        ("rows = 1\n", "it has no test; write one"),
        ("def (\n", "line 1: "),
    ],
)
def test_a_file_that_measures_nothing_is_refused_and_leaves_no_scenario(python: Path, tmp_path: Path, source: str, words: str) -> None:
    """What its imports, its tests or its syntax lack is said with the file's name, before anything is measured."""
    with pytest.raises(BadInput) as caught:
        written(tmp_path, python, source)
    (fault,) = caught.value.faults
    assert fault.startswith(f"--bench {tmp_path / 'mine' / 'Bench-8.py'}: ")
    assert words in fault
    assert not list((tmp_path / "results").glob("*.yaml"))


def test_each_question_has_a_folder_of_its_own(python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same files find their records again, under another name too; an edited helper, diff or profile begins again."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    bench, diff = tmp_path / "mine" / "bench_swap.py", tmp_path / "my.diff"
    bench.write_text(ONE)
    diff.write_text(CHANGE)

    def folder(bench: Path = bench, profile: Profile = "quick") -> Path:
        return own_results(bench, "base+my.diff", profile=profile, seed=0, blocks=None, baseline=str(python))

    first = folder()
    assert (first.parent, first.name[:11]) == (Path("results"), "bench_swap-")
    assert folder() == folder(Path(shutil.copytree("mine", "elsewhere"), "bench_swap.py")) == first
    diff.write_text(diff.read_text().replace("7", "8"))
    edited = folder()
    (tmp_path / "mine" / "helper.py").write_text("ROWS = 8")
    assert len({first, edited, folder(), folder(profile="standard")}) == 4


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--bench", "nowhere.py", "--candidate", "base+my.diff"], "--bench nowhere.py: there is no such file"),
        (["--bench", ".", "--candidate", "base+my.diff"], "--bench .: is a folder; name a file in it"),
        (["--bench", "nowhere.py"], "--bench: which builds? name the candidate: --candidate base+my.diff"),
        (["--bench", "nowhere.py", "mine.yaml", "--candidate", "base"], "give only one of them"),
    ],
)
def test_what_the_command_lacks_is_said(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is not there, no candidate, or scenarios beside it are usage errors."""
    assert main(["run", *words]) == 2
    assert says in " ".join(capsys.readouterr().err.split())


def test_a_run_needs_no_scenario(python: Path, tmp_path: Path) -> None:
    """`perfproof run --bench FILE` measures the base and a diff, and the changed function is attested in both."""
    (tmp_path / "bench_swap.py").write_text(ONE)
    change = ["     def swap(self, first, second):", "-        return (second, first)", "+        return (second, first)[:]", " "]
    head = ["--- a/vllm/v1/worker/batch.py", "+++ b/vllm/v1/worker/batch.py", "@@ -1,4 +1,4 @@", " class Batch:"]
    (tmp_path / "my.diff").write_text("\n".join([*head, *change]) + "\n")
    folders = ["--results", str(tmp_path / "results"), "--builds", str(tmp_path / "builds")]
    arms = ["--baseline", str(python), "--candidate", f"base+{tmp_path / 'my.diff'}"]
    main(["run", "--bench", str(tmp_path / "bench_swap.py"), *arms, *folders, "--profile", "quick", "--blocks", "6", "--anyway"])
    records = read(tmp_path / "results").records
    assert {record.arm for record in records} == {"base", "candidate"}
    assert {record.status for record in records} <= {"ok", "invalid"}, [record.reason for record in records]
    assert all(record.counts[""]["functions"]["vllm.v1.worker.batch:Batch.swap"] for record in records)
