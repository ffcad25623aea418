"""The files of a change for a gate: those that an overlay can apply, those that it can't, and those that need no measuring.

`perfproof pr` refuses a change that it can't measure. A gate gets every pull request, so this module separates Python, compiled code and
data, vLLM's own benchmarks, documents and tests. The gate applies what an overlay can, and reports the rest.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from perfproof.builds.overlays import git_changes
from perfproof.builds.overlays.unified_diff import PYTHON_FILE, Piece, pieces
from perfproof.model.base.errors import BadInput

MEASURES = ("vllm/benchmarks/", "vllm/entrypoints/cli/benchmark/")
"""Where vLLM keeps its own benchmarks: scenarios run `vllm bench`."""
BESIDE = frozenset({"tests", "examples", "docs", "benchmarks", "tools", "scripts", "docker"})
"""Folders at the top of vLLM's repository whose Python a server never runs; those that begin with a dot are others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The paths of a change: Python below `vllm/`, code that an overlay can't apply, benchmarks (the base's are used), Python whose mode
    alone changes, Python that lies in no folder of vLLM's repository, and all else (tests, documents, tools)."""

    python: tuple[str, ...]
    beyond: tuple[str, ...]
    measures: tuple[str, ...]
    modes: tuple[str, ...]
    astray: tuple[str, ...]
    other: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether an overlay of the Python contains all code of the change that runs."""
        return not (self.beyond or self.measures or self.astray)


def sorted_files(paths: Sequence[str]) -> Files:
    """The paths of a change by kind."""
    return _sorted([({_kind(path)}, (path,)) for path in paths])


def _sorted(together: Sequence[tuple[set[str], tuple[str, ...]]]) -> Files:
    """Groups of paths with their kinds, such as those before and after a rename; a group of mixed kinds is beyond an overlay."""
    kinds: dict[str, list[str]] = {"python": [], "beyond": [], "measures": [], "modes": [], "astray": [], "other": []}
    for found, paths in together:
        kinds[next(iter(found)) if len(found) == 1 else "beyond"] += paths
    return Files(**{kind: tuple(dict.fromkeys(paths)) for kind, paths in kinds.items()})


def _kind(path: str) -> str:
    if PYTHON_FILE.fullmatch(path):
        return "measures" if path.startswith(MEASURES) else "python"
    top, *below = _parts(path)
    if path.startswith("vllm/") or top in git_changes.COMPILED:
        return "beyond"
    known = top in BESIDE or (top.startswith(".") and top != "..")
    return "astray" if below and path.endswith(".py") and not known else "other"


def _parts(path: str) -> list[str]:
    """The names in a path, without a "." that it begins with."""
    first, *more = path.replace("\\", "/").split("/")
    return more if first == "." and more else [first, *more]


def _refuse_astray(files: Files, what: str, *, alone: bool) -> None:
    """Raises `BadInput` for Python of vLLM below another folder, and where `alone` says so for Python with no code of vLLM beside it."""
    inside = [path for path in files.astray if "vllm" in map(str.lower, _parts(path)[:-1])]
    beside = files.python or files.beyond or files.measures or files.modes
    if strange := inside or (files.astray if alone and not beside else ()):
        raise BadInput(
            f"{what}: {strange[0]} lies in no folder of vLLM's repository, whose package is vllm/ at the top: "
            "make the diff there: git diff main -- vllm > my.diff"
        )


def of_git(repo: Path, base: str, ref: str) -> Files:
    """The files between two commits of a local clone."""
    return sorted_files(git_changes.files(str(repo), base, ref))


def of_diff(file: Path, keep: Path) -> tuple[Files, Path]:
    """The files of a diff, and a diff of only those that an overlay can apply: the same file if it has no others, else one below `keep`.

    Raises `BadInput` for a file that can't be read or is not a diff.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise BadInput(f"--diff {file}: {error.strerror}; git diff main -- vllm > {file.name or 'my.diff'} makes one") from error
    named = pieces(data, file.name)
    files, only = _parted(named)
    _refuse_astray(files, f"--diff {file}", alone=True)
    return files, file if not only or _python(named) == list(named) else _kept(only, file.stem, keep)


def of_branch(repo: Path, base: str, ref: str, keep: Path) -> tuple[Files, Path | None]:
    """The files between two commits, and below `keep` a diff of only those that an overlay can apply; None if it can apply all or none."""
    files = of_git(repo, base, ref)
    _refuse_astray(files, f"--git {repo}", alone=False)
    if not files.python:
        return files, None
    named = pieces(git_changes.below_vllm(str(repo), base, ref), ref)
    if files.whole and _python(named) == list(named):
        return files, None
    parted, only = _parted(named)
    files = Files(
        python=parted.python,
        beyond=tuple(dict.fromkeys([*files.beyond, *parted.beyond])),
        measures=parted.measures,
        modes=parted.modes,
        astray=files.astray,
        other=files.other,
    )
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", ref)[:40].strip(".-")
    return files, _kept(only, plain or "change", keep) if only else None


def _parted(named: Sequence[Piece]) -> tuple[Files, bytes]:
    """The files, and the pieces of the diff that are Python alone."""
    found = _sorted([(_kinds(piece), piece.paths) for piece in named])
    return found, b"".join(piece.text for piece in _python(named))


def _python(named: Sequence[Piece]) -> list[Piece]:
    return [piece for piece in named if _kinds(piece) == {"python"}]


def _kinds(piece: Piece) -> set[str]:
    """The kinds of a piece: Python that an overlay can't apply (a link, a binary file) is "beyond", a change of mode alone "modes"."""
    kinds = {_kind(path) for path in piece.paths}
    if kinds <= {"python", "measures"} and not piece.changes:
        return {"modes"}
    return kinds if piece.follows or kinds != {"python"} else {"beyond"}


def _kept(data: bytes, stem: str, keep: Path) -> Path:
    made = keep / f"{stem}-vllm-{hashlib.sha256(data).hexdigest()[:8]}.diff"
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_bytes(data)
    return made
