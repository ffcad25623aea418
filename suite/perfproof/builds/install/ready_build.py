"""A build that is ready to run, and how it is identified."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

COMPILED = (".so", ".pyd", ".dylib", ".dll")
"""The endings of compiled code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """The facts about an interpreter's vLLM, and a hash over all of vLLM's Python files.

    `package` is the folder of vLLM; `files` is how many were hashed into `sources`. `device` is vLLM's platform, "cpu", "cuda" or another
    ("" where it finds none). `packages` are the versions of the packages that a record names; `installed` is a hash over all
    distributions and their versions ("" as kept by a suite that did not look at them). `has_pytest` says whether pytest and
    pytest-benchmark are installed.
    """

    distribution: str
    vllm_version: str
    package: Path
    sources: str
    files: int
    python: str
    torch_version: str
    compiled_operators: bool
    compiled_reason: str
    device: str
    packages: Mapping[str, str]
    has_pytest: bool
    installed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """The files that an overlay changes in its base (a label), and a hash over their new contents."""

    base: str
    files: tuple[str, ...]
    sources: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InContainer:
    """How a build runs in containers of an image with that digest (64 hex digits).

    `package` is vLLM's folder inside, `variables` are those that the image sets. `mounts` are the folders that a run adds to those that
    every container has, each with whether it may be written.
    """

    runtime: str
    digest: str
    package: Path
    variables: Mapping[str, str]
    mounts: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyBuild:
    """An interpreter with vLLM, and the folders beside it.

    Paths in records are relative to `folder`; `ours` says whether the suite made the interpreter. `front` goes first on `PYTHONPATH`: it is
    the vLLM of an overlay, and `touched` are the changes; both are None for other builds. `commit` is the commit that its vLLM was made
    from, "" if unknown. `side` goes on `PYTHONPATH` (patches, benchmarks, entry points); `tools` (pytest if the interpreter has none) goes
    to the end of `sys.path`, None if not needed. `seconds` says how long each step of making it took, empty if it existed already.
    `container` is None for builds that run on the machine itself; else `interpreter` starts a container.
    """

    name: str
    label: str
    id: str
    interpreter: Path
    folder: Path
    ours: bool
    fingerprint: Fingerprint
    side: Path
    tools: Path | None
    front: Path | None
    touched: Touched | None
    commit: str
    seconds: Mapping[str, float]
    warnings: tuple[str, ...]
    container: InContainer | None = None

    @property
    def imported(self) -> Path:
        """The folder that its processes import vLLM from, as they see it."""
        return self.container.package if self.container and self.front is None else self.fingerprint.package

    @property
    def lock(self) -> str | None:
        """Sixteen hex digits of the SHA-256 of its lock; None without a lock."""
        file = self.folder / "lock.txt"
        return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if self.ours and file.is_file() else None

    @property
    def compiled(self) -> list[tuple[str, int, int]]:
        """A user's compiled files with their sizes and times, which change where they are built again in their place. None of a build of
        ours or of an image, whose files stay."""
        files = (
            () if self.ours or self.container else sorted(file for end in COMPILED for file in self.fingerprint.package.rglob(f"*{end}"))
        )
        return [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]

    @property
    def bench(self) -> Path:
        """The folder of the benchmarks for this build's processes."""
        return self.side / "perfproof" / "bench"

    @property
    def child(self) -> Path:
        return self.side / "perfproof" / "child"
