"""The parts of the pytest plugin: what git says, what a trial is started with, what is reported of its records."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest
import tomllib

from perfproof.analysis.judging.judge import judge_scenario, spending_of
from perfproof.builds.processes.supervised_process import Finished
from perfproof.child import benchmarks
from perfproof.model.base.errors import BadInput
from perfproof.model.records.record import Record
from perfproof.model.verdicts.judged import Judged
from perfproof.pytest_plugin import benchmark_outcomes, counted_work, node_ids, trial_arguments, worktrees
from perfproof.pytest_plugin.benchmark_blocks import Blocks, Design, questions, short_names, with_counts
from perfproof.pytest_plugin.benchmark_trials import Ran
from perfproof.pytest_plugin.worktrees import Change
from tests.analysis.judging.test_host_counts import table
from tests.factory import record as any_record
from tests.pytest_plugin.project import HERE, SLOWER, commit, git, make

DESIGN = Design(blocks=6, margin=0.02, seed=0, budget=None)
CHANGE = Change(root=Path("/project"), base="a" * 40, name="main", files=("adder/core.py",), digest="b" * 16, notes=())
TEST = "bench/test_core.py::test_total"


def test_the_entry_point_leads_to_the_plugin() -> None:
    """What pytest finds under `pytest11` is the module with the hooks."""
    said = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    assert importlib.import_module(said["perfproof"]).pytest_runtestloop


# --- git ------------------------------------------------------------------------------------------------------


def test_the_change_is_the_working_tree_with_files_that_git_does_not_know(tmp_path: Path) -> None:
    """Committed, uncommitted and new files differ; ignored ones and the results do not; another content is another digest."""
    project = make(tmp_path / "adder")
    git(project, "checkout", "--quiet", "-b", "mine")
    (project / "adder" / "core.py").write_text(SLOWER)
    commit(project)
    (project / "adder" / "new.py").write_text("a = 1\n")
    (project / "results").mkdir()
    (project / "results" / "x.jsonl").write_text("{}\n")

    found = worktrees.find(project / "bench", None, project / "results")
    (project / "adder" / "new.py").write_text("a = 2\n")
    later = worktrees.find(project, None, project / "results")

    assert found.root == project
    assert found.name.startswith("main (")
    assert found.files == ("adder/core.py", "adder/new.py")
    assert found.digest != later.digest
    assert found.notes == ("the working tree is measured with 1 uncommitted file",)


def test_a_base_that_went_on_is_reported_with_the_commit_to_name_instead(tmp_path: Path) -> None:
    """Commits that only the base has would be measured as if the change removed them."""
    project = make(tmp_path / "adder")
    git(project, "checkout", "--quiet", "-b", "mine")
    (project / "adder" / "core.py").write_text(SLOWER)
    commit(project)
    git(project, "checkout", "--quiet", "main")
    (project / "README").write_text("more\n")
    commit(project)
    git(project, "checkout", "--quiet", "mine")

    notes = worktrees.find(project, "main", None).notes

    assert len(notes) == 1
    assert notes[0].startswith("main has 1 commit that HEAD lacks, which are measured as if the change removed them; --perfproof-base ")


@pytest.mark.parametrize(
    ("asked", "told"),
    [("mian", "no commit 'mian' here, did you mean main?"), ("v9.9", "git fetch it first"), ("--output=x", "no commit '--output=x'")],
)
def test_an_unknown_base_is_reported_with_its_neighbours(tmp_path: Path, asked: str, told: str) -> None:
    """A name that no commit has, and one that git would take for an option, are refused in words."""
    with pytest.raises(BadInput, match=told.replace("?", r"\?")):
        worktrees.find(make(tmp_path / "adder"), asked, None)


def test_a_folder_without_a_repository_is_reported(tmp_path: Path) -> None:
    """Without git's knowledge there is no base."""
    with pytest.raises(BadInput, match="is in no git repository"):
        worktrees.find(tmp_path, None, None)


def test_the_worktree_has_the_bases_files_and_is_gone_afterwards(tmp_path: Path) -> None:
    """The base's text is laid out, no hook runs, ignored files of packages are linked, and nothing stays behind."""
    project = make(tmp_path / "adder")
    (project / ".gitignore").write_text("*.so\n_version.py\n.venv/\n")
    hook = project / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    commit(project)
    (project / "adder" / "core.py").write_text(SLOWER)
    for name in ("adder/_fast.so", "adder/_version.py", ".venv/lib.so"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text("")
    change = worktrees.find(project, "main", None)

    with worktrees.checked_out(change) as tree:
        linked = worktrees.link_ignored(change, tree)
        assert "range(3)" not in (tree / "adder" / "core.py").read_text()
        assert (tree / "adder" / "_fast.so").is_symlink()

    assert linked == ["adder/_fast.so", "adder/_version.py"]
    assert not tree.parent.exists()
    assert not (tmp_path / "ran").exists()
    assert len(git(project, "worktree", "list").splitlines()) == 1


def test_a_file_has_the_name_by_which_it_is_imported(tmp_path: Path) -> None:
    """The name follows the packages' `__init__.py`, wherever the sources lie."""
    for name in ("src/a/__init__.py", "src/a/b/__init__.py", "src/a/b/c.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    names = [worktrees.import_name(tmp_path, name) for name in ("src/a/b/c.py", "src/a/b/__init__.py", "setup.py", "csrc/x.cpp")]
    assert names == ["a.b.c", "a.b", "setup", ""]


# --- what a trial is started with -------------------------------------------------------------------------------


def test_a_trial_gets_the_sessions_words_with_the_paths_of_its_side(tmp_path: Path) -> None:
    """Paths move, node ids become files, what the side lacks and what would write elsewhere is left out."""
    root, tree = tmp_path / "root", tmp_path / "tree"
    for folder, names in ((root, ("old.py", "new.py")), (tree, ("old.py",))):
        folder.mkdir()
        for name in names:
            (folder / name).write_text("")
    given = [
        "--perfproof",
        "--perfproof-base",
        "main",
        "old.py::test_a[1]",
        "new.py",
        str(root / "old.py"),
        f"--rootdir={root}",
        "-k",
        "fast",
    ]
    given += ["--junitxml", "x.xml", "--junit-xml=y.xml", "--cov=adder", "--perfproof-blocks=6", "--perfproof-fail-on-inconclusive", "-x"]

    words = trial_arguments.of_trial(given, root, root, tree, tmp_path / "out", ["xdist", "pytest_cov"])

    assert words[:6] == ["old.py", str(tree / "old.py"), f"--rootdir={tree}", "-k", "fast", "-x"]
    assert words[6:8] == ["-n0", "--no-cov"]
    assert words[-1] == f"--benchmark-json={tmp_path / 'out' / 'benchmark.json'}"
    assert not any("perfproof" in word.replace(str(tmp_path), "") or "main" in word for word in words)


def test_a_trial_imports_from_its_own_side_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`PYTHONPATH` names the side's folders for those that the session imports from, of `sys.path` and of editable installs."""
    root, tree = (tmp_path / "root").resolve(), (tmp_path / "tree").resolve()
    for folder in (root, tree):
        (folder / "src").mkdir(parents=True)
        (folder / "lib").mkdir()
    (root / ".venv" / "site-packages").mkdir(parents=True)
    finder = ModuleType("__editable___adder_finder")
    finder.MAPPING = {"adder": str(root / "lib" / "adder")}  # type: ignore[attr-defined]
    hook = type("Finder", (), {"__module__": finder.__name__})
    monkeypatch.setitem(sys.modules, finder.__name__, finder)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, hook])
    monkeypatch.setattr(sys, "path", [*sys.path, str(root / "src"), str(root / ".venv" / "site-packages")])

    folders = trial_arguments.import_folders(root)
    variables = trial_arguments.environment({"PYTHONPATH": f"{root}/src:/elsewhere", "A": "1"}, folders, root, tree, 7)

    assert folders == ["src", "lib"]
    assert variables.pop("VLLM_PLUGINS") == ""  # none of the suite's patches, which are installed here
    assert trial_arguments.environment({"VLLM_PLUGINS": "mine"}, [], root, tree, 7)["VLLM_PLUGINS"] == "mine"
    assert variables == {"A": "1", "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join([f"{tree}/src", f"{tree}/lib", "/elsewhere"])}


def test_rounds_that_are_kept_are_few_and_their_median_is_of_all(tmp_path: Path) -> None:
    """Of very many rounds every so manieth is kept; the number of a trial is pytest-benchmark's own median."""
    rounds = [float(number) for number in range(2500)]
    (tmp_path / "benchmark.json").write_text(json.dumps({"benchmarks": [{"fullname": TEST, "stats": {"median": 1249.5, "data": rounds}}]}))
    found = benchmarks.results(str(tmp_path), node_ids.PASSING)[TEST]
    assert found["median"] == 1249.5
    assert len(found["rounds"]) == 834
    assert benchmarks.results(str(tmp_path / "none"), node_ids.PASSING) == {}


# --- questions and findings --------------------------------------------------------------------------------------


def test_short_names_are_names_of_scenarios_and_never_shared() -> None:
    """Names that would be one, or are too long, end with a hash; a name that begins with a digit gets a word before it."""
    tests = ["a.py::test_x[1]", "b.py::test_x[1]", "a.py::test_" + "y" * 80, "a.py::9"]
    names = short_names(tests)
    assert len(set(names.values())) == 4
    assert names["a.py::9"] == "test_9"
    assert all(len(name) <= 64 for name in names.values())


def test_benchmarks_chosen_together_share_the_error_of_the_looks() -> None:
    """Twenty benchmarks have a twentieth of the error each, so that a session of many cries wolf no oftener than one of few."""
    alone = spending_of(questions({TEST: TEST}, CHANGE, DESIGN)[TEST])
    many = spending_of(questions({TEST: TEST} | {f"a.py::test_{n}": "a" for n in range(19)}, CHANGE, DESIGN)[TEST])
    assert many.looks[0].change == pytest.approx(alone.looks[0].change / 20)


def _records(base: list[float], change: list[float], **of_change: object) -> list[Record]:
    scenario = questions({TEST: TEST}, CHANGE, DESIGN)[TEST]
    found = []
    for arm, values in (("base", base), ("change", change)):
        for block, value in enumerate(values, start=1):
            made = any_record(scenario.definition, block=block, arm=arm, measurements={"round_time": value}, work={}, attestation=None)
            made = dataclasses.replace(made, scenario=scenario.name, digest=scenario.digest, order=("base", "change"), raw={})
            found.append(dataclasses.replace(made, **of_change) if arm == "change" and of_change else made)  # type: ignore[arg-type]
    return found


def _finding(records: list[Record], **asked: bool) -> benchmark_outcomes.Finding:
    row: Judged = judge_scenario(records[0].scenario, records).judged[0]
    return benchmark_outcomes.finding(TEST, row, records, "main", inconclusive_fails=asked.get("inconclusive_fails", False))


BASE = [1.0, 1.01, 0.99, 1.02, 1.0, 0.98]


def test_a_regression_fails_and_names_its_size() -> None:
    """Twice the time is *regressed*, code 1, in the words of every other report."""
    found = _finding(_records(BASE, [2 * value for value in BASE]))
    assert (found.outcome, found.code) == ("failed", 1)
    assert found.sentence.startswith("regressed: round time +100")


def test_what_could_not_be_told_is_no_pass_and_fails_only_if_asked() -> None:
    """*inconclusive* is skipped with its reason; with the option it fails with code 4."""
    noisy = [1.3, 0.8, 1.2, 0.7, 1.4, 0.9]
    assert (_finding(_records(BASE, noisy)).outcome, _finding(_records(BASE, noisy)).code) == ("skipped", 0)
    strict = _finding(_records(BASE, noisy), inconclusive_fails=True)
    assert (strict.outcome, strict.code) == ("failed", 4)


def test_a_benchmark_that_only_the_change_breaks_fails_the_session() -> None:
    """It is untestable, which is never a pass: code 3, with the error."""
    found = _finding(_records(BASE[:1], BASE[:1], status="failed", reason="failed: KeyError: 'x'", measurements={}))
    assert (found.outcome, found.code) == ("failed", 3)
    assert found.sentence == "untestable: fails with the change and not at main: KeyError: 'x'"


def test_nothing_compared_is_no_pass() -> None:
    """A session in which every benchmark is broken at the base is untestable; one whose benchmarks are all new passes."""
    assert benchmark_outcomes.exit_code([benchmark_outcomes.new(TEST, "main")], compared=True) == 0
    assert benchmark_outcomes.exit_code([benchmark_outcomes.new(TEST, "main")], compared=False) == 3


# --- ids ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("t.py::f[<X object at 0x7f0a1b2c3d4e>]", "t.py::f[<X object at 0x55d0deadbeef>]", True),
        ("t.py::f[6ba7b810-9dad-11d1-80b4-00c04fd430c8-x]", "t.py::f[ffffffff-9dad-11d1-80b4-00c04fd430c8-x]", True),
        ("t.py::f[d41d8cd98f00b204e9800998ecf8427e]", "t.py::f[00000000000000000000000000000001]", True),
        ("t.py::f[0x10]", "t.py::f[0x20]", False),
        ("t.py::f[a-b]", "t.py::f[b-a]", False),
        ("t0x1234567.py::f[1]", "t0x7654321.py::f[1]", False),
    ],
)
def test_an_id_is_known_by_what_stays(one: str, other: str, same: bool) -> None:
    """An address, a uuid or a long random number in a case's id is the process's own; all else tells cases apart."""
    assert (node_ids.stable(one) == node_ids.stable(other)) is same
    assert benchmarks.stable(one, node_ids.PASSING) == node_ids.stable(one)
    assert node_ids.stable(node_ids.stable(one)) == node_ids.stable(one)


def test_a_process_that_counted_nothing_says_why() -> None:
    """A benchmark without a count has the reason among its warnings: the counter's, pytest's or the process's own."""
    plain = any_record()
    ended = Finished(command=(), code=3, seconds=1.0, log=Path("none"))

    def told(**said: object) -> str:
        ran = Ran(report=said, finished=ended, started="", seen={}, before={}, variables={})
        return with_counts(plain, "t", ran).warnings[-1]

    whole = {"tests": {}, "faults": [], "found": ["t"], "pytest": 0}
    assert told().startswith("its work was not counted: the process ")
    assert told(**whole, uncounted={"t": "its work was not counted: too long"}) == "its work was not counted: too long"
    assert told(**{**whole, "tests": {"t": {"why": "broken"}}}) == "its work was not counted: broken"
    assert with_counts(plain, "t", None) == plain


def test_only_what_a_process_was_to_count_is_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that confirms counts what differed alone: of the other benchmarks it owes nothing, and no warning says so."""
    blocks = Blocks(change=None, session=None, sides={}, scenarios={}, design=None, results=tmp_path, say=print)  # type: ignore[arg-type]
    asked: list[list[str]] = []
    ran = Ran(report={}, finished=Finished(command=(), code=0, seconds=1.0, log=Path("none")), started="", seen={}, before={}, variables={})
    monkeypatch.setattr(Blocks, "_trial", lambda self, number, arm, tests, *, count: asked.append(tests) or ran)
    monkeypatch.setattr(Blocks, "_differs", lambda self, test: test == "slower")
    assert blocks._counted(1, "base", ["slower", "same"]) == {"slower": ran, "same": ran}
    assert blocks._counted(2, "base", ["slower", "same"]) == {"slower": ran}
    assert blocks._counted(2, "base", ["same"]) == blocks._counted(3, "base", ["slower"]) == {}
    assert asked == [["slower", "same"], ["slower"]]


def test_what_of_a_change_benchmarks_call_is_said_either_way() -> None:
    """Of each changed function it is said how many benchmarks call it, or that none does; of a benchmark that calls none, that."""
    calls = {name: table(10, functions={f"m:{name}": [10, 1, 10, 0, 3]}) for name in ("ids", "other")}
    kept = {test: [dataclasses.replace(any_record(), counts={"": calls[name]})] for test, name in (("a", "ids"), ("b", "other"))}
    assert list(counted_work.on_change(frozenset({"m:ids", "m:never"}), kept)) == [
        "what the change touches was called: ids (by 1 of 2 benchmarks)",
        "no counted benchmark calls never, which the change touches too: nothing is said of it",
        "b: no call of what the change touches (ids, never) was counted, so that this says nothing of the change",
    ]
    assert not list(counted_work.on_change(frozenset(), kept))
    assert not list(counted_work.on_change(frozenset({"m:ids"}), {"a": [any_record()]}))
