"""The two sides: the unchanged working tree, and the base's files in a temporary worktree.

git finds the difference between the base's commit and the working tree, untracked files included. The worktree is made in a temporary
folder, without running any hook, and removed however the session ends. Files that git ignores but a package needs (compiled modules, a
generated version) are not in any commit: those of the working tree are linked into the worktree, and a note says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from perfproof.builds.overlays import safe_git
from perfproof.builds.overlays.git_changes import the_one
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.base.yaml_io import shown

MAIN = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
"""The branches to try as base when none is named."""
COMPILED = (".so", ".pyd", ".dylib", ".dll")
NEEDED = (*COMPILED, ".py")
TOUCHING = ("diff", "ls-files", "worktree")
"""git's commands that read or write files of a working tree."""
LARGEST = 4_000_000
"""Up to so many bytes the content of an untracked file counts; beyond, its size and time."""
_DIFF = ("--no-color", "--no-ext-diff", "--no-textconv", "--full-index", "--no-relative", "--ignore-submodules=dirty")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The working tree at `root` against the commit `base`, which the user named `name`.

    `files` differ, relative to `root`; `digest` is a hash of the difference; `notes` are sentences about what is compared.
    """

    root: Path
    base: str
    name: str
    files: tuple[str, ...]
    digest: str
    notes: tuple[str, ...]


def find(folder: Path, wanted: str | None, besides: Path | None) -> Change:
    """The change in the working tree around `folder`; files below `besides` (results) don't count.

    Raises `BadInput` if there is no repository, no such commit, or no difference.
    """
    root = _root(folder)
    name, base = _base(root, wanted)
    known = _names(root, "diff", "--name-only", "-z", *_DIFF, base, "--")
    unknown = _names(root, "ls-files", "-z", "--others", "--exclude-standard")
    new = [name for name in unknown if not name.endswith(".pyc") and not _below(root / name, besides)]
    files = tuple(sorted({*known, *new}))
    if not files:
        hint = "; name an older commit, such as --perfproof-base HEAD~1" if base == _commit(root, "HEAD") else ""
        raise BadInput(f"--perfproof-base: the working tree does not differ from {name}: there is nothing to measure{hint}")
    return Change(root=root, base=base, name=name, files=files, digest=_digest(root, base, new), notes=tuple(_notes(root, name, base, new)))


@contextlib.contextmanager
def checked_out(change: Change) -> Iterator[Path]:
    """The base's files in a worktree, which is removed at the end. Raises `CannotRun` if git can't make one."""
    folder = Path(tempfile.mkdtemp(prefix="perfproof-base-")).resolve()
    tree = folder / change.root.name
    try:
        if _git(change.root, "worktree", "add", "--quiet", "--detach", str(tree), change.base) is None:
            raise CannotRun(
                f"git could not check {change.name} out into a worktree: git worktree add {folder.name} {change.base[:12]} says why"
            )
        yield tree
    finally:
        _git(change.root, "worktree", "remove", "--force", str(tree))
        shutil.rmtree(folder, ignore_errors=True)
        _git(change.root, "worktree", "prune")


def link_ignored(change: Change, tree: Path) -> list[str]:
    """Links files that packages need and git ignores into the base's worktree; returns the linked files and folders, relative to the
    top."""
    linked = []
    for name in _names(change.root, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"):
        source, target = change.root / name, tree / name
        if _needed(source, target) and not os.path.lexists(target):
            target.symlink_to(source)
            linked.append(name.rstrip("/"))
    return linked


def import_name(root: Path, file: str) -> str:
    """The module name of a Python file, from the `__init__.py` of its folders; "" for any other file."""
    path = root / file
    if path.suffix != ".py":
        return ""
    parts = [] if path.stem == "__init__" else [path.stem]
    folder = path.parent
    while folder != root and (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts)


# --- git ----------------------------------------------------------------------------------------------------


def _root(folder: Path) -> Path:
    if shutil.which("git") is None:
        raise CannotRun("--perfproof: there is no program 'git' here")
    up = _git(folder, "rev-parse", "--show-cdup")
    if up is None:
        raise BadInput(
            f"--perfproof: {folder.name} is in no git repository, or git does not trust it (git status says why): "
            "a base is a commit of the repository"
        )
    return Path(os.path.normpath(folder / up.strip())).resolve()


def _base(root: Path, wanted: str | None) -> tuple[str, str]:
    """The base's name and commit; by default the commit at which HEAD left the main branch."""
    if wanted is not None:
        hash_found = None if wanted.startswith("-") else _commit(root, wanted)
        if hash_found is None:
            raise BadInput(f"--perfproof-base: there is no commit {wanted!r} here{_hint(root, wanted)}")
        return wanted, hash_found
    for name in MAIN:
        if _commit(root, name) is not None and (fork := _git(root, "merge-base", name, "HEAD")) is not None:
            return f"{name} ({fork[:8]})", fork.strip()
    raise BadInput(f"--perfproof: no base was found ({', '.join(MAIN)}): name one with --perfproof-base REF")


def _hint(root: Path, wanted: str) -> str:
    names = sorted(set((_git(root, "for-each-ref", "--format=%(refname:short)") or "").split()))
    near = get_close_matches(wanted, names, n=3, cutoff=0.5)
    if near:
        return f", did you mean {', '.join(near)}?"
    shallow = (_git(root, "rev-parse", "--is-shallow-repository") or "").strip() == "true"
    return ": this clone is shallow (git fetch --unshallow; in GitHub Actions 'fetch-depth: 0')" if shallow else "; git fetch it first"


def _commit(root: Path, name: str) -> str | None:
    output = _git(root, "-c", "core.warnAmbiguousRefs=true", "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
    return the_one(output, f"--perfproof-base {shown(name)}") if output is not None else None


def _notes(root: Path, name: str, base: str, new: Sequence[str]) -> Iterator[str]:
    dirty = len(_names(root, "diff", "--name-only", "-z", *_DIFF, "HEAD", "--")) + len(new)
    if dirty:
        yield f"the working tree is measured with {dirty} uncommitted file{'' if dirty == 1 else 's'}"
    ahead = int((_git(root, "rev-list", "--count", f"HEAD..{base}") or "0").strip())
    if ahead:
        fork = (_git(root, "merge-base", base, "HEAD") or "").strip()
        yield (
            f"{name} has {ahead} commit{'' if ahead == 1 else 's'} that HEAD lacks, which are measured as if the change removed them"
            + (f"; --perfproof-base {fork[:12]} leaves them out" if fork else "")
        )
    if (root / ".gitmodules").is_file():
        yield "submodules are empty in the base's worktree"


def _digest(root: Path, base: str, new: Sequence[str]) -> str:
    """Sixteen hex digits for the working tree's difference: another change is another question."""
    digest = hashlib.sha256(base.encode())
    with tempfile.TemporaryDirectory(prefix="perfproof-") as folder:
        out = Path(folder) / "diff"
        _git(root, "diff", "--binary", *_DIFF, f"--output={out}", base, "--")
        digest.update(out.read_bytes() if out.exists() else b"")
    for name in sorted(new):
        path = root / name
        with contextlib.suppress(OSError):
            status = path.lstat()
            whole = path.is_file() and not path.is_symlink() and status.st_size <= LARGEST
            digest.update(name.encode() + (path.read_bytes() if whole else f"{status.st_size} {status.st_mtime_ns}".encode()))
    return digest.hexdigest()[:16]


def _needed(source: Path, target: Path) -> bool:
    """Whether an ignored file belongs to a package that the base has too, or is a compiled module beside its code."""
    if source.name.startswith((".", "__pycache__")) or not target.parent.is_dir():
        return False
    packaged = (source.parent / "__init__.py").is_file()
    return (packaged and (source.is_dir() or source.suffix in NEEDED)) or (source.is_file() and source.suffix in COMPILED)


def _below(path: Path, folder: Path | None) -> bool:
    return folder is not None and path.resolve().is_relative_to(folder.resolve())


def _names(root: Path, *words: str) -> list[str]:
    """The names in git's output, which are separated by zeros. Raises `CannotRun` where git fails."""
    output = _git(root, *words)
    if output is None:
        raise CannotRun(f"git {words[0]} failed in {root.name}: check that the repository is intact (git fsck)")
    return [name for name in output.split("\0") if name]


def _git(folder: Path, *words: str) -> str | None:
    """git's output; None where it fails."""
    return safe_git.git_text(folder, *words, quote=False, tree=words[0] in TOUCHING)
