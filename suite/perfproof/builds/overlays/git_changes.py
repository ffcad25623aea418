"""What git says of a change: the difference of two commits below `vllm/`, and which commits those are.

Git is asked about commits alone, never about the working tree, and none of the user's settings for showing a diff has a say. A branch
may move, so a scenario is pinned once it is read: the hash of the difference is what identifies the build.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import shutil
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from perfproof.builds.overlays.safe_git import asked, asked_bytes
from perfproof.builds.processes import temp_files
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.base.name_lists import few
from perfproof.model.base.yaml_io import shown
from perfproof.model.documents.decode_builds import LARGEST_DIFF, kept
from perfproof.model.scenarios.scenario import Build, GitSource, OverlayBuild, Scenario

COMPILED = ("csrc", "cmake", "CMakeLists.txt", "setup.py", "pyproject.toml", "requirements", "rust", "Cargo.toml")
"""What a vLLM is compiled or packaged from."""
FILES = ("100644", "100755")
"""The modes of plain files in a tree."""
HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
"""A commit's hash."""
_DIFF = (
    *("--no-color", "--no-ext-diff", "--no-textconv", "--full-index", "--find-renames", "--unified=3", "--submodule=short"),
    *("--src-prefix=a/", "--dst-prefix=b/", "--no-relative", "--diff-algorithm=myers", "--ignore-submodules=none", "-O/dev/null"),
)


def pinned(scenario: Scenario) -> Scenario:
    """The scenario with the difference of every overlay of git hashed; the same one where there is none.

    Raises `BadInput` for a repository or a commit that is not there.
    """
    if not any(_open(build) for build in scenario.builds.values()):
        return scenario
    builds = {name: _pinned(build) for name, build in scenario.builds.items()}
    return dataclasses.replace(scenario, builds=builds, definition=kept(dict(scenario.definition), builds))


def _open(build: Build) -> bool:
    return isinstance(build, OverlayBuild) and (build.sha256 is None or _open(build.base))


def _pinned(build: Build) -> Build:
    if not isinstance(build, OverlayBuild):
        return build
    source = build.git
    if source is not None and source.sha256 is None:
        source = dataclasses.replace(source, sha256=hashlib.sha256(difference(build.name, source)).hexdigest())
    return dataclasses.replace(build, base=_pinned(build.base), git=source)


def difference(name: str, source: GitSource) -> bytes:
    """The diff below `vllm/` between the two commits; `name` is the build's. Raises `BadInput`, also where compiled code differs too."""
    where = f"build {name}: git"
    base, ref = (_commit(where, source.repo, revision) for revision in (source.base, source.ref))
    data = _difference(source.repo, base, ref)
    if source.sha256 not in (None, hashlib.sha256(data).hexdigest()):
        raise BadInput(f"{where}: {source.ref} or {source.base} has moved since the scenario was read: run again")
    if compiled := _compiled(source.repo, base, ref):
        raise BadInput(
            f"{where}: between {source.base} and {source.ref} {few(compiled, 8)} differ too, which an overlay can't follow: "
            "it keeps what its base was compiled from; use a build of kind 'editable', or a 'base' next to 'ref'"
        )
    if not data:
        raise BadInput(f"{where}: below vllm/ {source.ref} does not differ from {source.base}")
    return data


def commit(source: GitSource) -> str:
    """The commit that `ref` is."""
    return _commit("git", source.repo, source.ref)


def _commit(where: str, repo: str, revision: str) -> str:
    """The hash of a commit; raises `BadInput` with the near names."""
    if shutil.which("git") is None:
        raise CannotRun(f"{where}: there is no program 'git' here; give the change as a file (diff:)")
    if ":/" in repo or not Path(repo).is_dir():
        raise BadInput(f"{where}.repo: {_no_repository(repo)}")
    found = _run(repo, "-c", "core.warnAmbiguousRefs=true", "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    if found is None:
        if _run(repo, "rev-parse", "--git-dir") is None:
            raise BadInput(
                f"{where}.repo: {Path(repo).name} is no git repository, or one that git does not trust (git -C {repo} status says why)"
            )
        names = sorted(set(_ask(repo, "for-each-ref", "--format=%(refname:short)").split()))
        near = get_close_matches(revision, names, n=3, cutoff=0.5) or [one for one in names if revision.lower() in one.lower()][:3]
        hint = f", did you mean {', '.join(near)}?" if near else "; a branch of another remote has to be fetched first"
        raise BadInput(f"{where}: {Path(repo).name} has no commit {shown(revision)}{hint}")
    return the_one(found, f"{where}: {shown(revision)}")


def the_one(said: str, what: str) -> str:
    """The hash in what `git rev-parse` said. Raises `BadInput` where that is not exactly one commit: git takes `^main` for all but main,
    and of a branch and a tag of one name silently the tag."""
    if "is ambiguous" in said:
        raise BadInput(f"{what} names more than one thing here: write refs/heads/NAME or refs/tags/NAME, or the commit's hash")
    named = [line for line in said.split("\n") if HASH.fullmatch(line.removeprefix("^"))]
    if len(named) != 1 or not HASH.fullmatch(named[0]):
        raise BadInput(f"{what} is not exactly one commit: name a branch, a tag or the commit's hash")
    return named[0]


def _no_repository(repo: str) -> str:
    if ":/" in repo:
        return f"expected a local clone, got an address: git clone {repo.rpartition('/')[2]} first, and name its folder"
    folder = Path(repo)
    try:
        near = get_close_matches(folder.name, [one.name for one in folder.parent.iterdir() if one.is_dir()], n=3)
    except OSError:
        near = []
    return f"there is no folder {folder.name!r}" + (
        f", did you mean {', '.join(near)}?" if near else " (paths are relative to the scenario)"
    )


def below_vllm(repo: str, base: str, ref: str) -> bytes:
    """The diff below `vllm/` between two commits, whatever else differs, and whatever is no Python in it; a file that was renamed is one
    that is gone and one that came, so that each can be followed or not by itself."""
    first, last = (_commit("git", repo, revision) for revision in (base, ref))
    return _difference(repo, first, last, "--no-renames")


@cache
def _difference(repo: str, base: str, ref: str, *more: str) -> bytes:
    """The diff of two commits, which never changes; `more` are options for git."""
    with temp_files.directory() as folder:
        out = Path(folder) / "change.diff"
        _ask(repo, "diff", *_DIFF, *more, f"--output={out}", base, ref, "--", "vllm")
        size = out.stat().st_size if out.exists() else 0
        if size > LARGEST_DIFF:
            raise BadInput(f"git: the difference below vllm/ has {size:,} bytes, at most {LARGEST_DIFF:,} are taken")
        return out.read_bytes() if size else b""


@cache
def _compiled(repo: str, base: str, ref: str) -> tuple[str, ...]:
    """The files that differ of those that a vLLM is compiled from, which never changes either."""
    return tuple(_ask(repo, "diff", "--name-only", *_DIFF[:3], base, ref, "--", *COMPILED).split("\n")[:-1])


def _ask(repo: str, *words: str) -> str:
    said = _run(repo, *words)
    if said is None:
        raise CannotRun(f"git {words[0]} in {Path(repo).name} failed: see that the repository is whole (git fsck)")
    return said


def _run(repo: str, *words: str) -> str | None:
    """What git prints; None where it fails."""
    said = asked(repo, *words)
    return None if said is None else said.encode(errors="surrogateescape").decode(errors="replace")


def commits(repo: str, good: str, bad: str) -> list[str]:
    """The commits after `good` up to `bad` that touch `vllm/` or what it is compiled from, oldest first, along first parents.

    Raises `BadInput` for commits that are not there, and where `good` is no ancestor of `bad`.
    """
    first, last = (_commit("git", repo, revision) for revision in (good, bad))
    if _run(repo, "merge-base", "--is-ancestor", first, last) is None:
        raise BadInput(f"git: {good} is no ancestor of {bad} in {Path(repo).name}: a bisection runs along one line of commits")
    found = _ask(repo, "rev-list", "--reverse", "--first-parent", f"{first}..{last}", "--", "vllm", *COMPILED).split()
    if not found:
        raise BadInput(f"git: no commit from {good} to {bad} touches vllm/")
    return found


def resolved(repo: str, revision: str) -> str:
    """The hash of a commit; raises `BadInput` with the near names."""
    return _commit("git", repo, revision)


def top(folder: Path) -> Path | None:
    """The top of the working tree in which a folder lies; None where it lies in none, or in one that git does not trust."""
    if shutil.which("git") is None or not folder.is_dir():
        return None
    up = _run(str(folder), "rev-parse", "--show-cdup")
    return None if up is None else Path(os.path.normpath(folder / up.strip())).resolve()


def take_out(repo: str, revision: str, path: str, into: Path) -> bool:
    """Writes the files at or below `path` as a commit has them below `into`, each at its place in the repository; whether there are any.

    `path` is relative to the top. Nothing of the repository's settings is run for it; links are left out.
    """
    commit = _commit("git", repo, revision)
    listed = _ask(repo, "ls-tree", "-r", "-l", "--full-tree", "-z", commit, "--", path).split("\0")
    heads = [(head.split(), name) for head, _, name in (line.partition("\t") for line in listed) if name]
    found = {name: (head[2], int(head[3])) for head, name in heads if head[0] in FILES and ".." not in name.split("/")}
    texts = _blobs(repo, dict(found.values()))
    for name, (blob, _) in found.items():
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        (into / name).write_bytes(texts[blob])
    return bool(found)


def _blobs(repo: str, sizes: Mapping[str, int]) -> dict[str, bytes]:
    """The contents of blobs, of which the sizes in bytes are known."""
    found, start = {}, 0
    data = asked_bytes(repo, "show", "--no-textconv", *sizes) if sizes else b""
    if data is None or len(data) != sum(sizes.values()):
        raise CannotRun(f"git show in {Path(repo).name} failed: see that the repository is whole (git fsck)")
    for blob, size in sizes.items():
        found[blob] = data[start : start + size]
        start += size
    return found


def subject(repo: str, commit: str) -> str:
    """The first line of a commit's message."""
    return _ask(repo, "show", "--no-patch", "--no-show-signature", "--format=%s", commit).strip()


def merge_base(repo: str, base: str, ref: str) -> str:
    """The hash of the commit at which a branch left its base. Raises `BadInput` where there is none, as in a clone that was cut short."""
    first, last = (_commit("git", repo, revision) for revision in (base, ref))
    found = _run(repo, "merge-base", "--all", first, last)
    if found is None:
        raise BadInput(
            f"git: {ref} and {base} have no commit in common in {Path(repo).name}: fetch their whole history (git fetch --unshallow; in "
            "actions/checkout, fetch-depth: 0)"
        )
    if len(several := found.split()) > 1:
        named = ", ".join(one[:12] for one in several[:4])
        raise BadInput(
            f"git: {ref} and {base} were merged into each other, and left at {len(several)} commits ({named}): against any of them, what "
            f"{base} did would be taken for {ref}'s; merge {base} into {ref} once more, and try again"
        )
    return several[0]


def left_behind(source: GitSource) -> str:
    """What the plain difference of two commits also holds where the base is no ancestor of the other, in a sentence; else ""."""
    first, last = (_commit("git", source.repo, revision) for revision in (source.base, source.ref))
    if _run(source.repo, "merge-base", "--is-ancestor", first, last) is not None:
        return ""
    return (
        f"{source.base} has commits that {source.ref} lacks: the difference takes them back, as if {source.ref} did so; to compare it "
        "alone, name the commit where it left as the base (git merge-base)"
    )


def files(repo: str, base: str, ref: str) -> tuple[str, ...]:
    """The paths of all files that differ between two commits, in their order."""
    first, last = (_commit("git", repo, revision) for revision in (base, ref))
    return tuple(
        filter(None, _ask(repo, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", first, last).split("\0"))
    )
