"""A build that is ready to run, and how it is known again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What an interpreter says of its vLLM, and a hash over all of vLLM's Python files.

    `package` is the folder of vLLM; `files` is how many were hashed into `sources`. `device` is
    "cpu", "cuda" or what else vLLM takes this machine for ("" where it can't tell). `packages` are the versions of what
    a measurement may depend on. `has_pytest` says whether pytest and pytest-benchmark are there already.
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
    """What an overlay changes of its base (a label): the files, and a hash over them as the overlay has them."""

    base: str
    files: tuple[str, ...]
    sources: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyBuild:
    """An interpreter with vLLM, and what goes beside it.

    `folder` is the root that paths are told relative to in records; `ours` says whether the suite made the interpreter.
    `front` goes first on `PYTHONPATH`: the vLLM of an overlay, `touched` what that changes; None for every other build. `commit` is the
    commit that its vLLM was made from, "" where that is not known.
    `side` goes on `PYTHONPATH` (patches,
    benchmarks, entry points); `tools` (pytest where the interpreter has none) goes to the end of `sys.path`, None if not needed.
    `seconds` says how long each step of making it took, empty where it was there.
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
        """Sixteen hex digits of the SHA-256 of its lock; None where it was not made from one."""
        file = self.folder / "lock.txt"
        return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if self.ours and file.is_file() else None

    @property
    def bench(self) -> Path:
        """The folder of the benchmarks, as this build's processes see it."""
        return self.side / "perfproof" / "bench"

    @property
    def child(self) -> Path:
        return self.side / "perfproof" / "child"
