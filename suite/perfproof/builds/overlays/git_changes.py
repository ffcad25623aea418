"""A change from git: the difference of two commits below `vllm/`, and their hashes.

Only commits are read, never the working tree, and the user's diff settings have no effect. A branch may move, so a scenario is pinned once
it is read: the hash of the difference identifies the build.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from perfproof.builds.overlays.safe_git import git_bytes, git_text
from perfproof.builds.processes import temp_files
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.base.name_lists import few
from perfproof.model.base.yaml_io import shown
from perfproof.model.documents.decode_builds import LARGEST_DIFF, kept
from perfproof.model.scenarios.scenario import Build, GitSource, OverlayBuild, Scenario

COMPILED = ("csrc", "cmake", "CMakeLists.txt", "setup.py", "pyproject.toml", "requirements", "rust", "Cargo.toml")
"""The files that a vLLM is compiled or packaged from."""
FILES = ("100644", "100755")
"""The modes of plain files in a tree."""
HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
"""A commit's hash."""
_DIFF = (
    *("--no-color", "--no-ext-diff", "--no-textconv", "--full-index", "--find-renames", "--unified=3", "--submodule=short"),
    *("--src-prefix=a/", "--dst-prefix=b/", "--no-relative", "--diff-algorithm=myers", "--ignore-submodules=none", "-O/dev/null"),
)


def pinned(scenario: Scenario) -> Scenario:
    """The scenario with a hash of the difference for every overlay from git; the same scenario if it has none.

    Raises `BadInput` for a repository or a commit that does not exist.
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
    """The diff below `vllm/` between the two commits; `name` is the build's. Raises `BadInput`, also if compiled code differs."""
    where = f"build {name}: git"
    base, ref = (_commit(where, source.repo, revision) for revision in (source.base, source.ref))
    data = _difference(source.repo, base, ref)
    if source.sha256 not in (None, hashlib.sha256(data).hexdigest()):
        raise BadInput(f"{where}: {source.ref} or {source.base} has moved since the scenario was read: run again")
    if compiled := _compiled(source.repo, base, ref):
        raise BadInput(
            f"{where}: between {source.base} and {source.ref} {few(compiled, 8)} differ too, which an overlay can't apply: "
            "it keeps its base's compiled code; use a build of kind 'editable', the interpreter of an environment that was built from "
            "it, or a 'base' next to 'ref'"
        )
    if not data:
        raise BadInput(f"{where}: below vllm/ {source.ref} does not differ from {source.base}")
    return data


def commit(source: GitSource) -> str:
    """The commit that `ref` names."""
    return _commit("git", source.repo, source.ref)


def _commit(where: str, repo: str, revision: str) -> str:
    """The hash of a commit; raises `BadInput` with similar names. What a hash names never changes: git is asked once."""
    return (_of_hash if HASH.fullmatch(revision) else _resolve)(where, repo, revision)


def _resolve(where: str, repo: str, revision: str) -> str:
    if shutil.which("git") is None:
        raise CannotRun(f"{where}: there is no program 'git' here; give the change as a file (diff:)")
    if ":/" in repo or not Path(repo).is_dir():
        raise BadInput(f"{where}.repo: {_no_repository(repo)}")
    output = _run(repo, "-c", "core.warnAmbiguousRefs=true", "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    if output is None:
        if _run(repo, "rev-parse", "--git-dir") is None:
            raise BadInput(
                f"{where}.repo: {Path(repo).name} is not a git repository, or git does not trust it (git -C {repo} status says why)"
            )
        names = sorted(set(_ask(repo, "for-each-ref", "--format=%(refname:short)").split()))
        near = get_close_matches(revision, names, n=3, cutoff=0.5) or [one for one in names if revision.lower() in one.lower()][:3]
        hint = f", did you mean {', '.join(near)}?" if near else "; fetch a branch of another remote first"
        raise BadInput(f"{where}: {Path(repo).name} has no commit {shown(revision)}{hint}")
    return the_one(output, f"{where}: {shown(revision)}")


_of_hash = cache(_resolve)


def the_one(output: str, what: str) -> str:
    """The hash in the output of `git rev-parse`. Raises `BadInput` if that is not exactly one commit: git reads `^main` as all but main,
    and silently prefers a tag to a branch of the same name."""
    if "is ambiguous" in output:
        raise BadInput(f"{what} names more than one thing here: write refs/heads/NAME or refs/tags/NAME, or the commit's hash")
    named = [line for line in output.split("\n") if HASH.fullmatch(line.removeprefix("^"))]
    if len(named) != 1 or not HASH.fullmatch(named[0]):
        raise BadInput(f"{what} is not exactly one commit: name a branch, a tag or the commit's hash")
    return named[0]


def _no_repository(repo: str) -> str:
    if ":/" in repo:
        return f"expected a local clone, got an address: run git clone {repo.rpartition('/')[2]} first, and name its folder"
    folder = Path(repo)
    try:
        near = get_close_matches(folder.name, [one.name for one in folder.parent.iterdir() if one.is_dir()], n=3)
    except OSError:
        near = []
    return f"there is no folder {folder.name!r}" + (
        f", did you mean {', '.join(near)}?" if near else " (paths are relative to the scenario)"
    )


def below_vllm(repo: str, base: str, ref: str) -> bytes:
    """The diff below `vllm/` between two commits, whatever else differs, with files that are not Python too. A renamed file is one deleted
    and one new file, so that each can be applied or not."""
    first, last = (_commit("git", repo, revision) for revision in (base, ref))
    return _difference(repo, first, last, "--no-renames")


def same_files(repo: str, base: str, ref: str) -> bool:
    """Whether two commits have the same files below `vllm/`, and the same of those that a vLLM is compiled from."""
    first, last = (_commit("git", repo, revision) for revision in (base, ref))
    return not _difference(repo, first, last) and not _compiled(repo, first, last)


@cache
def _difference(repo: str, base: str, ref: str, *more: str) -> bytes:
    """The diff of two commits, which never changes; `more` are options of git."""
    with temp_files.directory() as folder:
        out = Path(folder) / "change.diff"
        _ask(repo, "diff", *_DIFF, *more, f"--output={out}", base, ref, "--", "vllm")
        size = out.stat().st_size if out.exists() else 0
        if size > LARGEST_DIFF:
            raise BadInput(f"git: the difference below vllm/ has {size:,} bytes; the most allowed is {LARGEST_DIFF:,}")
        return out.read_bytes() if size else b""


@cache
def _compiled(repo: str, base: str, ref: str) -> tuple[str, ...]:
    """The files that differ among those that a vLLM is compiled from; this never changes either."""
    return tuple(_ask(repo, "diff", "--name-only", *_DIFF[:3], base, ref, "--", *COMPILED).split("\n")[:-1])


def _ask(repo: str, *words: str) -> str:
    output = _run(repo, *words)
    if output is None:
        raise CannotRun(f"git {words[0]} in {Path(repo).name} failed: check that the repository is intact (git fsck)")
    return output


def _run(repo: str, *words: str) -> str | None:
    """git's output; None where it fails."""
    output = git_text(repo, *words)
    return None if output is None else output.encode(errors="surrogateescape").decode(errors="replace")


def commits(repo: str, good: str, bad: str) -> list[str]:
    """The commits after `good` up to `bad` that touch `vllm/` or its compiled sources, oldest first, along first parents.

    Raises `BadInput` for commits that do not exist, and if `good` is no ancestor of `bad`.
    """
    first, last = (_commit("git", repo, revision) for revision in (good, bad))
    if _run(repo, "merge-base", "--is-ancestor", first, last) is None:
        raise BadInput(f"git: {good} is no ancestor of {bad} in {Path(repo).name}: a bisection needs one line of commits")
    hashes = _ask(repo, "rev-list", "--reverse", "--first-parent", f"{first}..{last}", "--", "vllm", *COMPILED).split()
    if not hashes:
        raise BadInput(f"git: no commit from {good} to {bad} touches vllm/")
    return hashes


def resolved(repo: str, revision: str) -> str:
    """The hash of a commit; raises `BadInput` with similar names."""
    return _commit("git", repo, revision)


def top(folder: Path) -> Path | None:
    """The top of the working tree that holds a folder; None if there is none, or if git does not trust it."""
    if shutil.which("git") is None or not folder.is_dir():
        return None
    up = _run(str(folder), "rev-parse", "--show-cdup")
    return None if up is None else Path(os.path.normpath(folder / up.strip())).resolve()


def take_out(repo: str, revision: str, path: str, into: Path, most_bytes: int | None = None) -> bool:
    """Writes a commit's files at or below `path` into `into`, each at its path in the repository; returns whether there are any.

    `path` is relative to the top. No program from the repository's settings runs for it; links are left out. Raises `BadInput` for more
    than `most_bytes`.
    """
    commit = _commit("git", repo, revision)
    heads = [(head.split(), name) for head, _, name in (line.partition("\t") for line in _listed(repo, commit, path)) if name]
    entries = {name: (head[2], int(head[3])) for head, name in heads if head[0] in FILES and ".." not in name.split("/")}
    size = sum(size for _, size in entries.values())
    if most_bytes is not None and size > most_bytes:
        raise BadInput(f"git: {path} of {revision} has {size:,} bytes; the most allowed is {most_bytes:,}")
    texts = _blobs(repo, dict(entries.values()))
    for name, (blob, _) in entries.items():
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        (into / name).write_bytes(texts[blob])
    return bool(entries)


@cache
def _listed(repo: str, commit: str, path: str) -> tuple[str, ...]:
    """The files of a commit at or below a path, which never change."""
    return tuple(_ask(repo, "ls-tree", "-r", "-l", "--full-tree", "-z", commit, "--", path).split("\0"))


def _blobs(repo: str, sizes: Mapping[str, int]) -> dict[str, bytes]:
    """The contents of blobs whose sizes in bytes are given."""
    contents, start = {}, 0
    data = git_bytes(repo, "show", "--no-textconv", *sizes) if sizes else b""
    if data is None or len(data) != sum(sizes.values()):
        raise CannotRun(f"git show in {Path(repo).name} failed: check that the repository is intact (git fsck)")
    for blob, size in sizes.items():
        contents[blob] = data[start : start + size]
        start += size
    return contents


def subject(repo: str, commit: str) -> str:
    """The first line of a commit's message."""
    return _ask(repo, "show", "--no-patch", "--no-show-signature", "--format=%s", commit).strip()


def commits_of_lines(repo: str, good: str, bad: str, path: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """The commits after `good`, up to `bad`, that changed these lines of the file in `bad`, the newest first: short hash and subject.

    Nothing where `bad` has no such file, or fewer lines.
    """
    first, last = (_commit("git", repo, revision) for revision in (good, bad))
    found: list[str] = []
    for start, stop in spans:
        told = _run(repo, "log", "--no-patch", "--format=%ct %h %s", "-L", f"{start},{stop}:{path}", f"{first}..{last}")
        found += (told or "").splitlines()
    newest = sorted(dict.fromkeys(found), key=lambda line: -int(line.partition(" ")[0]))
    return [line.partition(" ")[2] for line in newest]


def merge_base(repo: str, base: str, ref: str) -> str:
    """The hash of the commit at which a branch left its base. Raises `BadInput` if there is none, as in a shallow clone."""
    first, last = (_commit("git", repo, revision) for revision in (base, ref))
    output = _run(repo, "merge-base", "--all", first, last)
    if output is None:
        raise BadInput(
            f"git: {ref} and {base} have no commit in common in {Path(repo).name}: fetch their whole history (git fetch --unshallow; in "
            "actions/checkout, fetch-depth: 0)"
        )
    if len(several := output.split()) > 1:
        named = ", ".join(one[:12] for one in several[:4])
        raise BadInput(
            f"git: {ref} and {base} were merged into each other, and left at {len(several)} commits ({named}): with any of them, "
            f"changes of {base} would count as changes of {ref}; merge {base} into {ref} once more, and try again"
        )
    return several[0]


def left_behind(source: GitSource) -> str:
    """A sentence about a base that is no ancestor: the plain difference then also undoes commits; else ""."""
    first, last = (_commit("git", source.repo, revision) for revision in (source.base, source.ref))
    if _run(source.repo, "merge-base", "--is-ancestor", first, last) is not None:
        return ""
    return (
        f"{source.base} has commits that {source.ref} lacks: the difference undoes them, as if {source.ref} did so; to compare it "
        "alone, use the commit where it branched off as the base (git merge-base)"
    )


def files(repo: str, base: str, ref: str) -> tuple[str, ...]:
    """The paths of all files that differ between two commits, in their order."""
    first, last = (_commit("git", repo, revision) for revision in (base, ref))
    return tuple(
        filter(None, _ask(repo, "diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", first, last).split("\0"))
    )
