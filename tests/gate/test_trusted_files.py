"""What a scenario refers to judges a change too: the base's benchmarks, patches and diffs are read, wherever in the repository they lie."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfproof.gate.trusted_files import Judges, as_of, of_branch, paths_named
from perfproof.model.base.errors import BadInput
from tests.gate.test_gate_change import SCENARIO

GIT = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main"]


class Repository:
    """A repository with a scenario in `perf/scenarios` that names files elsewhere in it; its working tree is that of a change."""

    def __init__(self, folder: Path) -> None:
        self.top, self.taken = folder / "repo", folder / "taken"
        self.scenario = self.top / "perf" / "scenarios" / "mine.yaml"
        self.write("benchmarks/bench_mine.py", "import helper\n")
        self.write("benchmarks/helper.py", "the base's\n")
        self.write("plugins/fast/fast.py", "the base's\n")
        self.write("mine.diff", "the base's\n")
        self.write("perf/beside.txt", "the base's\n")

    def write(self, name: str, text: str) -> None:
        (self.top / name).parent.mkdir(parents=True, exist_ok=True)
        (self.top / name).write_text(text)

    def names(self, **workload: str) -> None:
        self.write("perf/scenarios/mine.yaml", json.dumps({**SCENARIO, "workload": {"kind": "micro", **workload}}))

    def git(self, *words: str) -> None:
        subprocess.run([*GIT, "-C", str(self.top), *words], check=True, capture_output=True)

    def change(self) -> None:
        """The base is committed; the change alters every file but the scenario."""
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "base")
        for file in self.top.rglob("*"):
            if file.is_file() and ".git" not in file.parts and file != self.scenario:
                file.write_text("the change's\n")

    def judges(self, scenario: Path | None = None) -> Judges:
        return of_branch(self.top, "main", None, [scenario or self.scenario], self.taken)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


@pytest.mark.parametrize(
    ("named", "read"),
    [
        ("../../benchmarks/bench_mine.py", "benchmarks/helper.py"),
        ("../../plugins/fast", "plugins/fast/fast.py"),
        ("../../mine.diff", "mine.diff"),
        ("../beside.txt", "perf/beside.txt"),
    ],
)
def test_what_a_scenario_names_is_the_base_s(repository: Repository, named: str, read: str) -> None:
    """A file with the folder that it lies in, a folder, a file at the top: the change's version is not there."""
    repository.names(bench=named)
    repository.change()
    judges = repository.judges()
    assert judges.wanted is not None
    (copy,) = judges.wanted
    assert (copy.parent / named).exists()
    assert "the base's" in (repository.taken / read).read_text()
    assert any(read.startswith(place) or Path(place).parent == Path(read).parent for place in judges.places)


def test_of_a_file_at_the_top_not_the_whole_repository_is_read(repository: Repository) -> None:
    """What lies beside it may be all of vLLM."""
    repository.names(bench="../../mine.diff")
    repository.change()
    repository.judges()
    assert not (repository.taken / "benchmarks").exists()


def test_what_only_the_change_has_is_not_there(repository: Repository) -> None:
    """Reading the scenario then tells it as the base's fault."""
    repository.names(bench="../../benchmarks/new.py")
    repository.change()
    repository.write("benchmarks/new.py", "the change's\n")
    judges = repository.judges()
    assert judges.wanted is not None
    assert not (judges.wanted[0].parent / "../../benchmarks/new.py").exists()


def test_a_path_that_the_base_can_not_vouch_for_is_refused(repository: Repository, tmp_path: Path) -> None:
    """An absolute one into the repository, and one that leads out of it; the sentence says where to put the file."""
    (tmp_path / "outside.py").write_text("")
    absolute = str(repository.top / "benchmarks" / "bench_mine.py")
    for named, said in ((absolute, "name the file relative to it"), ("../../../outside.py", "leads out of the gated repository")):
        repository.names(bench=named)
        if not (repository.top / ".git").exists():
            repository.change()
        repository.git("commit", "-q", "-a", "-m", "another")
        with pytest.raises(BadInput, match=r"main:perf/scenarios/mine\.yaml: ") as caught, as_of("main", repository.taken):
            repository.judges()
        assert said in str(caught.value)


def test_a_scenario_elsewhere_may_not_name_files_of_the_change(repository: Repository, tmp_path: Path) -> None:
    """It would read what the change made of them."""
    repository.names()
    repository.change()
    outside = tmp_path / "mine.yaml"
    outside.write_text(json.dumps({**SCENARIO, "workload": {"kind": "micro", "bench": "repo/benchmarks/bench_mine.py"}}))
    with pytest.raises(BadInput, match="as the change has it, which would judge itself"):
        repository.judges(outside)
    outside.write_text(json.dumps({**SCENARIO, "workload": {"kind": "micro", "bench": "swap_states"}}))
    assert repository.judges(outside).wanted == (outside,)


WORD = st.from_regex("[a-z]{1,4}", fullmatch=True)
PLAIN = st.recursive(
    st.one_of(st.none(), st.integers(), WORD, st.sampled_from(["a/b.py", "x.diff"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORD, inner, max_size=3)),
    max_leaves=12,
)


@given(st.dictionaries(WORD, PLAIN, min_size=1, max_size=4))
def test_paths_are_found_wherever_they_stand(document: dict[str, Any]) -> None:
    """At any depth, in mappings and in lists; plain words and numbers are none."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "one.yaml"
        file.write_text(json.dumps(document))
        assert set(paths_named(file)) == {each for each in _values(document) if each in ("a/b.py", "x.diff")}


def test_a_file_that_is_no_scenario_names_nothing(tmp_path: Path) -> None:
    """Reading it as one will tell what is wrong with it."""
    (tmp_path / "one.yaml").write_text("[")
    assert paths_named(tmp_path / "one.yaml") == []


def _values(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in _values(each)]
    return [leaf for each in value for leaf in _values(each)] if isinstance(value, list) else [value]
