"""A build that is ready to run, and how it is identified."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """The facts about an interpreter's vLLM, and a hash over all of vLLM's Python files.

    `package` is the folder of vLLM; `files` is how many were hashed into `sources`. `device` is vLLM's platform, "cpu", "cuda" or another
    ("" where it finds none). `packages` are the versions of the packages that a measurement may depend on. `has_pytest` says whether pytest
    and pytest-benchmark are installed.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """The files that an overlay changes in its base (a label), and a hash over their new contents."""

    base: str
    files: tuple[str, ...]
    sources: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyBuild:
    """An interpreter with vLLM, and the folders beside it.

    Paths in records are relative to `folder`; `ours` says whether the suite made the interpreter. `front` goes first on `PYTHONPATH`: it is
    the vLLM of an overlay, and `touched` are the changes; both are None for other builds. `commit` is the commit that its vLLM was made
    from, "" if unknown. `side` goes on `PYTHONPATH` (patches, benchmarks, entry points); `tools` (pytest if the interpreter has none) goes
    to the end of `sys.path`, None if not needed. `seconds` says how long each step of making it took, empty if it existed already.
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

    @property
    def lock(self) -> str | None:
        """Sixteen hex digits of the SHA-256 of its lock; None without a lock."""
        file = self.folder / "lock.txt"
        return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if self.ours and file.is_file() else None

    @property
    def bench(self) -> Path:
        """The folder of the benchmarks for this build's processes."""
        return self.side / "perfproof" / "bench"

    @property
    def child(self) -> Path:
        return self.side / "perfproof" / "child"
