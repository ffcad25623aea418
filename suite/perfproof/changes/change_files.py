"""A change as a gate meets it: which of its files an overlay can follow, which it can't, and which need no measuring.

`perfproof pr` refuses what it can't measure; a gate meets every pull request, so Python, compiled code and data, vLLM's own benchmarks,
documents and tests are told apart here. What can be followed is laid over by itself, and the rest is told.
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
"""Where vLLM keeps what measures it: `vllm bench` is run by scenarios."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The paths of a change: Python below `vllm/`, what an overlay can't follow, what measures (the base's is taken), Python of which the
    mode alone changes, and all else (tests, documents, tools)."""

    python: tuple[str, ...]
    beyond: tuple[str, ...]
    measures: tuple[str, ...]
    modes: tuple[str, ...]
    other: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether an overlay of the Python has all of the change that runs."""
        return not self.beyond and not self.measures


def sorted_files(paths: Sequence[str]) -> Files:
    """The paths by what a gate can do with them."""
    return _sorted([({_kind(path)}, (path,)) for path in paths])


def _sorted(together: Sequence[tuple[set[str], tuple[str, ...]]]) -> Files:
    """The same of paths that go together, with their kinds, as those before and after a file was renamed: what one of them can't do, all
    can't."""
    kinds: dict[str, list[str]] = {"python": [], "beyond": [], "measures": [], "modes": [], "other": []}
    for found, paths in together:
        kinds[next(iter(found)) if len(found) == 1 else "beyond"] += paths
    return Files(**{kind: tuple(dict.fromkeys(paths)) for kind, paths in kinds.items()})


def _kind(path: str) -> str:
    if PYTHON_FILE.fullmatch(path):
        return "measures" if path.startswith(MEASURES) else "python"
    return "beyond" if path.startswith("vllm/") or path.split("/")[0] in git_changes.COMPILED else "other"


def of_git(repo: Path, base: str, ref: str) -> Files:
    """The files between two commits of a local clone."""
    return sorted_files(git_changes.files(str(repo), base, ref))


def of_diff(file: Path, keep: Path) -> tuple[Files, Path]:
    """The files of a diff, and a diff of those alone that an overlay can follow: itself where it has no others, else one below `keep`.

    Raises `BadInput` for a file that can't be read, or is no diff.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise BadInput(f"--diff {file}: {error.strerror}; git diff main -- vllm > {file.name or 'my.diff'} makes one") from error
    named = pieces(data, file.name)
    found, only = _parted(named)
    return found, file if not only or _python(named) == list(named) else _kept(only, file.stem, keep)


def of_branch(repo: Path, base: str, ref: str, keep: Path) -> tuple[Files, Path | None]:
    """The files between two commits, and below `keep` a diff of those alone that an overlay can follow; None where it can follow the whole,
    or nothing."""
    found = of_git(repo, base, ref)
    if not found.python:
        return found, None
    named = pieces(git_changes.below_vllm(str(repo), base, ref), ref)
    if found.whole and _python(named) == list(named):
        return found, None
    parted, only = _parted(named)
    found = Files(
        python=parted.python,
        beyond=tuple(dict.fromkeys([*found.beyond, *parted.beyond])),
        measures=parted.measures,
        modes=parted.modes,
        other=found.other,
    )
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", ref)[:40].strip(".-")
    return found, _kept(only, plain or "change", keep) if only else None


def _parted(named: Sequence[Piece]) -> tuple[Files, bytes]:
    """The files, and of the pieces those that are Python alone."""
    found = _sorted([(_kinds(piece), piece.paths) for piece in named])
    return found, b"".join(piece.text for piece in _python(named))


def _python(named: Sequence[Piece]) -> list[Piece]:
    return [piece for piece in named if _kinds(piece) == {"python"}]


def _kinds(piece: Piece) -> set[str]:
    """What a piece is: Python that an overlay can't follow (a link, a binary file) is beyond it, and runs as before where its mode alone
    changes."""
    found = {_kind(path) for path in piece.paths}
    if found <= {"python", "measures"} and not piece.changes:
        return {"modes"}
    return found if piece.follows or found != {"python"} else {"beyond"}


def _kept(data: bytes, stem: str, keep: Path) -> Path:
    made = keep / f"{stem}-vllm-{hashlib.sha256(data).hexdigest()[:8]}.diff"
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_bytes(data)
    return made
