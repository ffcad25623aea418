"""One vLLM install: a release, an interpreter that is there, Python files laid over another build, a source tree.

`key` tells a build from every other one, whatever a scenario calls it, and follows the content of the files that define it,
not their place; `label` is what people read and what gets into records, so it never names a home.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from packaging.version import InvalidVersion, Version

SHOWN_PARTS = 3
"""Parts of a path that a label shows: `.venv/bin/python`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DefiningFile:
    """A file whose text defines a build: where it lies (its name alone in a scenario made of a record), and the SHA-256 of its text."""

    path: str
    sha256: str

    @property
    def name(self) -> str:
        return PurePath(self.path).name


@dataclass(frozen=True, slots=True, kw_only=True)
class GitSource:
    """What differs below `vllm/` between two commits of a local repository: between `base` and `ref`.

    `sha256` is that of the difference; None until git was asked (`perfproof.builds.overlays.git_changes.pinned`), for a branch may move.
    """

    repo: str
    ref: str
    base: str
    sha256: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseBuild:
    """A released vLLM, installed by the suite into a virtual environment of its own.

    `constraints` is a file of pip constraints. `as_of` resolves the dependencies as of a day: "release" (the day of the release itself)
    or an ISO date; None takes today's.
    """

    name: str
    distribution: str
    version: str
    requirements: tuple[str, ...]
    constraints: DefiningFile | None = None
    as_of: str | None = None

    @property
    def label(self) -> str:
        return f"{self.distribution} {self.version}"

    @property
    def key(self) -> str:
        held = f"constraints {self.constraints.sha256}" if self.constraints else ""
        return " ".join(filter(None, [self.label, *self.requirements, held, f"as of {self.as_of}" if self.as_of else ""]))


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonBuild:
    """An interpreter that has vLLM already; nothing is ever installed into it."""

    name: str
    path: str

    @property
    def label(self) -> str:
        return f"python {shown_path(self.path)}"

    @property
    def key(self) -> str:
        return f"python {self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlayBuild:
    """Another build with some of vLLM's Python files changed: by a unified diff, or by what git says. One of the two is not None."""

    name: str
    base: Build
    diff: DefiningFile | None
    git: GitSource | None

    @property
    def label(self) -> str:
        if self.diff is not None:
            return f"{self.base.label} + {self.diff.name or 'a diff'}"
        return f"{self.base.label} + {self.git.ref if self.git else ''} of {PurePath(self.git.repo).name if self.git else ''}"

    @property
    def sha256(self) -> str | None:
        """The hash of the change; None for one of git that was not asked yet."""
        source = self.diff or self.git
        return source.sha256 if source else None

    @property
    def key(self) -> str:
        asked = f"{self.git.repo} {self.git.base}..{self.git.ref}" if self.git else ""
        return f"overlay {self.sha256 or asked} on {self.base.key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EditableBuild:
    """A source tree, installed editable into a virtual environment of the suite's by the user's own command.

    `command` is run in the tree with `VLLM_USE_PRECOMPILED=1`; the word `{python}` in it stands for the environment's interpreter. None
    is pip's editable install.
    """

    name: str
    source: str
    command: tuple[str, ...] | None

    @property
    def label(self) -> str:
        return f"editable {shown_path(self.source)}"

    @property
    def key(self) -> str:
        return " ".join([f"editable {self.source}", *(self.command or ())])


def release_called(version: str) -> str:
    """What the release of a version is called: 0.32.0 for 0.32 or 0.32.0.0, which are the same version (PEP 440), and vLLM writes three
    numbers. What is no version stays, to be refused by the package index."""
    try:
        found = Version(version)
    except InvalidVersion:
        return version
    numbers = [*found.release, 0, 0][: max(3, len(found.release))]
    while len(numbers) > 3 and not numbers[-1]:
        numbers.pop()
    return str(found).replace(".".join(map(str, found.release)), ".".join(map(str, numbers)), 1)


Build = ReleaseBuild | PythonBuild | OverlayBuild | EditableBuild


def shown_path(path: str) -> str:
    """The end of a path: its beginning may name a home."""
    parts = PurePath(path).parts
    return path if len(parts) <= SHOWN_PARTS else str(PurePath("…", *parts[-SHOWN_PARTS:]))


def foundation(build: Build) -> ReleaseBuild | PythonBuild | EditableBuild:
    """What lies below all overlays of a build."""
    while isinstance(build, OverlayBuild):
        build = build.base
    return build
