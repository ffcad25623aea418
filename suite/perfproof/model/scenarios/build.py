"""One vLLM install: a release, an existing interpreter, a container image, another build with changed Python files, a source tree.

`key` identifies a build, whatever its name in a scenario; it depends on the content of the files that define it, not on their folder.
`label` is for people and records, so it never has a home folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from urllib.parse import unquote, urlsplit

from packaging.utils import parse_wheel_filename
from packaging.version import Version

SHOWN_PARTS = 3
"""The number of parts of a path that a label shows: `.venv/bin/python`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DefiningFile:
    """A file whose text defines a build: its path (only its name in a scenario from a record), and the SHA-256 of its text."""

    path: str
    sha256: str

    @property
    def name(self) -> str:
        return PurePath(self.path).name


@dataclass(frozen=True, slots=True, kw_only=True)
class GitSource:
    """The difference below `vllm/` between the commits `base` and `ref` of a local repository.

    `sha256` is the difference's hash; None until git has read it (`perfproof.builds.overlays.git_changes.pinned`), because a branch may
    move.
    """

    repo: str
    ref: str
    base: str
    sha256: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseBuild:
    """A released vLLM, which the suite installs into its own virtual environment.

    `constraints` is a file of pip constraints. `as_of` resolves the dependencies as of a day: "release" (the day of the release itself)
    or an ISO date; None takes today's. `wheel` is its wheel, a file or a URL, in place of the index's: a nightly, say. The hash of a URL
    may be unknown ("").
    """

    name: str
    distribution: str
    version: str
    requirements: tuple[str, ...]
    constraints: DefiningFile | None = None
    as_of: str | None = None
    wheel: DefiningFile | None = None

    @property
    def label(self) -> str:
        if self.wheel is None:
            return f"{self.distribution} {self.version}"
        return f"{self.distribution} {self.version} (wheel {self.wheel.sha256[:8] or 'of a URL'})"

    @property
    def key(self) -> str:
        held = f"constraints {self.constraints.sha256}" if self.constraints else ""
        wheel = f"wheel {self.wheel.sha256 or self.wheel.path}" if self.wheel else ""
        return " ".join(filter(None, [self.label, *self.requirements, held, f"as of {self.as_of}" if self.as_of else "", wheel]))

    @property
    def need(self) -> str:
        """What an installer is asked for: the version, or the wheel itself."""
        if self.wheel is None:
            return f"{self.distribution}=={self.version}"
        where = self.wheel.path if is_url(self.wheel.path) else PurePath(self.wheel.path).as_uri()
        return f"{self.distribution} @ {where}" + (f"#sha256={self.wheel.sha256}" if self.wheel.sha256 else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonBuild:
    """An interpreter with vLLM; nothing is ever installed into it."""

    name: str
    path: str

    @property
    def label(self) -> str:
        return f"python {shown_path(self.path)}"

    @property
    def key(self) -> str:
        return f"python {self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageBuild:
    """A container image with vLLM, whose `python` every process of an arm runs in a container of its own.

    `digest` identifies it: 64 hex digits of the SHA-256 of the image's configuration, which has the hashes of all its layers. It is None
    until a runtime has told it (`perfproof.builds.images.image_digests.pinned`), because a tag may move. `runtime` is "docker" or
    "podman"; None means the one that has the image.
    """

    name: str
    image: str
    runtime: str | None
    python: str
    digest: str | None

    @property
    def label(self) -> str:
        if self.image == self.digest:
            return f"image {self.digest[:12]}"
        return f"image {self.image}" + (f" ({self.digest[:8]})" if self.digest else "")

    @property
    def key(self) -> str:
        return " ".join(filter(None, [f"image {self.digest or self.image}", self.runtime, self.python]))


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlayBuild:
    """Another build with some of vLLM's Python files changed: by a unified diff, or by a difference from git. One of the two is not
    None."""

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
        """The hash of the change; None for a change from git that was not read yet."""
        source = self.diff or self.git
        return source.sha256 if source else None

    @property
    def key(self) -> str:
        asked = f"{self.git.repo} {self.git.base}..{self.git.ref}" if self.git else ""
        return f"overlay {self.sha256 or asked} on {self.base.key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EditableBuild:
    """A source tree, which the user's own command installs in editable mode into one of the suite's virtual environments.

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


def is_url(place: str) -> bool:
    """Whether a wheel's place is a URL and no file."""
    return place.startswith(("https://", "http://"))


def wheel_name(place: str) -> str:
    """The file name of a wheel's place: of a URL the last part of its path, as it is on a disk."""
    return PurePath(unquote(urlsplit(place).path) if is_url(place) else place).name


def of_wheel(name: str) -> tuple[str, str]:
    """The distribution and the version that a wheel's file name says. Raises `ValueError` for another name."""
    distribution, version, *_ = parse_wheel_filename(name)
    return str(distribution), str(version)


def release_called(version: str) -> str:
    """The release name of a version: 0.32.0 for 0.32 or 0.32.0.0, which are the same version (PEP 440), because vLLM uses three numbers.
    Other texts stay unchanged; the package index will refuse them."""
    try:
        parsed = Version(version)
    except ValueError:
        return version
    numbers = [*parsed.release, 0, 0][: max(3, len(parsed.release))]
    while len(numbers) > 3 and not numbers[-1]:
        numbers.pop()
    return str(parsed).replace(".".join(map(str, parsed.release)), ".".join(map(str, numbers)), 1)


Build = ReleaseBuild | PythonBuild | ImageBuild | OverlayBuild | EditableBuild


def shown_path(path: str) -> str:
    """The end of a path: its beginning may be a home folder."""
    parts = PurePath(path).parts
    return path if len(parts) <= SHOWN_PARTS else str(PurePath("…", *parts[-SHOWN_PARTS:]))


def foundation(build: Build) -> ReleaseBuild | PythonBuild | ImageBuild | EditableBuild:
    """The build below all overlays of a build."""
    while isinstance(build, OverlayBuild):
        build = build.base
    return build
