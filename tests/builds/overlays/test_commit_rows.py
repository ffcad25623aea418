"""Which commits of a row have the files of another commit: asked once for all, and the same as asked one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfproof.builds.overlays import git_changes
from perfproof.builds.overlays.commit_rows import with_the_files_of
from tests.builds.overlays.test_git_changes import commit, run


def test_every_commit_of_a_row_is_told_as_it_is_alone(tmp_path: Path) -> None:
    """Through edits, a revert, new, deleted, moved and made executable files, C++, a merge, and commits that touch none of these; from a
    commit of the row, before it, and beside it."""
    repo = tmp_path / "clone"
    repo.mkdir()
    run(repo, "init", "-q", "-b", "main")
    commit(repo, "first", vllm__x_dot_py="A = 1\n", csrc__x_dot_cu="int a;\n")
    commit(repo, "two", vllm__x_dot_py="A = 2\n")
    commit(repo, "docs", docs__a_dot_md="words")
    run(repo, "checkout", "-q", "-b", "aside")
    commit(repo, "aside", vllm__ä__new_dot_py="B = 1\n")
    run(repo, "checkout", "-q", "main")
    commit(repo, "back", vllm__x_dot_py="A = 1\n")
    run(repo, "merge", "-q", "--no-ff", "-m", "merged", "aside")
    run(repo, "rm", "-q", "vllm/ä/new.py")
    run(repo, "commit", "-q", "-m", "gone again")
    run(repo, "mv", "vllm/x.py", "vllm/y.py")
    run(repo, "commit", "-q", "-m", "moved")
    run(repo, "mv", "vllm/y.py", "vllm/x.py")
    (repo / "vllm" / "x.py").chmod(0o755)
    commit(repo, "executable")
    (repo / "vllm" / "x.py").chmod(0o644)
    commit(repo, "plain again", csrc__x_dot_cu="int b;\n")
    commit(repo, "as it was", csrc__x_dot_cu="int a;\n")
    every = run(repo, "rev-list", "--all", "--reverse", "--topo-order").split()
    first, last = every[0], run(repo, "rev-parse", "main")
    row = [first, *git_changes.commits(str(repo), first, last)]
    assert len(row) == 9
    paths = ("--", "vllm", *git_changes.COMPILED)
    for origin, most in ((first, 4), (every[1], 1), (run(repo, "rev-parse", "aside"), 0), (last, 4)):
        found = with_the_files_of(str(repo), origin, row)
        assert found == {one for one in row if not run(repo, "diff", "--name-only", origin, one, *paths)}
        assert len(found) == most
    assert with_the_files_of(str(repo), first, row[:1]) == {first}


@pytest.mark.parametrize("place", [1, 2])
def test_a_row_may_begin_later_than_its_origin(tmp_path: Path, place: int) -> None:
    """A base that was built from an older commit than the good end: the difference before the row counts."""
    repo = tmp_path / "clone"
    repo.mkdir()
    run(repo, "init", "-q", "-b", "main")
    for number in (1, 2, 1, 3):
        commit(repo, str(number), vllm__x_dot_py=f"A = {number}\n")
    every = run(repo, "rev-list", "--reverse", "--topo-order", "main").split()
    assert with_the_files_of(str(repo), every[0], every[place:]) == {every[2]}
