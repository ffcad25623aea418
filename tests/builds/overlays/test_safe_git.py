"""A repository's own configuration names programs: none of them is run, whatever git is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfproof.builds.overlays import git_changes, safe_git
from perfproof.model.base.errors import PerfproofError
from perfproof.pytest_plugin import worktrees
from tests.builds.overlays.test_git_changes import commit, run, source

PROGRAMS = (
    *("gpg.program", "gpg.ssh.program", "core.sshCommand", "core.fsmonitor", "core.editor", "core.pager", "core.askPass"),
    *("diff.external", "diff.evil.command", "diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge", "filter.odd=name.clean"),
    *("pager.diff", "pager.show", "credential.helper", "core.alternateRefsCommand", "core.gitProxy", "hook.evil.command"),
)
HOOKS = ("post-checkout", "reference-transaction", "post-index-change", "fsmonitor-watchman", "pre-auto-gc")


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A program that leaves a file called `ran` beside it, under whatever name it is called."""
    program = tmp_path / "trap.sh"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {tmp_path / "ran"}\nexit 0\n')
    program.chmod(0o755)
    return program


@pytest.fixture
def hostile(tmp_path: Path, trap: Path) -> Path:
    """A repository whose every setting that names a program names the trap, and whose hooks are the trap."""
    repo = tmp_path / "clone"
    repo.mkdir()
    run(repo, "init", "-q", "-b", "main")
    commit(repo, "first", vllm__x_dot_py="A = 1\n", _dot_gitattributes="*.py diff=evil filter=evil\n")
    run(repo, "checkout", "-q", "-b", "faster")
    commit(repo, "faster", vllm__x_dot_py="A = 2\n")
    for name in PROGRAMS:
        if "odd=name" not in name:
            run(repo, "config", name, str(trap))
    for name, value in {"log.showSignature": "true", "filter.evil.required": "true", "hook.evil.event": "post-checkout"}.items():
        run(repo, "config", name, value)
    for name in HOOKS:
        (repo / ".git" / "hooks").mkdir(exist_ok=True)
        (repo / ".git" / "hooks" / name).symlink_to(trap)
    return repo


def test_asking_of_commits_runs_nothing_of_the_repository(hostile: Path, trap: Path) -> None:
    """Differences, names, subjects, bisections: no pager, signature checker, watcher, driver, filter or hook of the repository runs."""
    assert b"+A = 2" in git_changes.difference("mine", source(hostile))
    assert git_changes.subject(str(hostile), "faster") == "faster"
    assert len(git_changes.commits(str(hostile), "main", "faster")) == 1
    assert git_changes.files(str(hostile), "main", "faster") == ("vllm/x.py",)
    assert git_changes.merge_base(str(hostile), "main", "faster") == git_changes.resolved(str(hostile), "main")
    assert not trap.with_name("ran").exists()


def test_a_worktree_of_the_base_runs_nothing_of_the_repository(hostile: Path, trap: Path) -> None:
    """The working tree is compared with a base, and the base checked out, without the repository's filters and hooks."""
    (hostile / "vllm" / "x.py").write_text("A = 3\n")
    change = worktrees.find(hostile, "main", None)
    with worktrees.checked_out(change) as tree:
        assert (tree / "vllm" / "x.py").read_text() == "A = 1\n"
    assert change.files == ("vllm/x.py",)
    assert not trap.with_name("ran").exists()


def test_a_setting_that_cannot_be_turned_off_is_refused(hostile: Path, trap: Path) -> None:
    """A filter whose name no command line can spell is not run either: git is not asked at all."""
    with open(hostile / ".git" / "config", "a") as file:
        file.write(f'[filter "odd=name"]\n\tclean = {trap}\n')
    assert safe_git.git_text(hostile, "status", tree=True) is None
    with pytest.raises(PerfproofError):
        worktrees.find(hostile, "main", None)
    assert not trap.with_name("ran").exists()


@pytest.mark.parametrize("address", ["ssh://somewhere/x.git", "ext::{trap}", "file://{origin}"])
def test_what_a_partial_clone_lacks_is_not_fetched(hostile: Path, trap: Path, tmp_path: Path, address: str) -> None:
    """A clone that lacks a commit's files does not run its way of fetching them; it is reported as not whole."""
    clone = tmp_path / "partial"
    run(hostile, "config", "uploadpack.allowFilter", "true")
    for name in PROGRAMS:
        if "odd=name" not in name:
            run(hostile, "config", "--unset", name)
    for hook in (hostile / ".git" / "hooks").iterdir():
        hook.unlink()
    run(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{hostile}", str(clone))
    for name, value in {
        "core.sshCommand": str(trap),
        "remote.origin.uploadpack": str(trap),
        "remote.origin.url": address.format(trap=trap, origin=hostile),
        "protocol.ext.allow": "always",
    }.items():
        run(clone, "config", name, value)
    with pytest.raises(PerfproofError, match=r"git fsck|failed"):
        git_changes.difference("mine", source(clone, base="origin/faster~1"))
    assert not trap.with_name("ran").exists()


def test_what_the_user_has_said_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter of the user's own configuration, as git-lfs has one, is applied to what is checked out."""
    config = tmp_path / "gitconfig"
    config.write_text('[filter "up"]\n\tsmudge = tr a-z A-Z\n\tclean = tr A-Z a-z\n')
    monkeypatch.setenv("HOME", str(tmp_path))
    config.rename(tmp_path / ".gitconfig")
    repo = tmp_path / "clone"
    repo.mkdir()
    run(repo, "init", "-q", "-b", "main")
    commit(repo, "first", x_dot_txt="abc\n", _dot_gitattributes="*.txt filter=up\n")
    (repo / "y.txt").write_text("new\n")
    change = worktrees.find(repo, "main", None)
    with worktrees.checked_out(change) as tree:
        assert (tree / "x.txt").read_text() == "ABC\n"
