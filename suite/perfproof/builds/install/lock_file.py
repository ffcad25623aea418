"""All packages of a release with their hashes: resolved, written to `lock.txt`, and installed from that file only.

uv resolves, with the index's hashes (for a wheel from a folder it computes them); the installed files are checked against them. "As of" a
day leaves out packages that were uploaded later, so that an old vLLM gets the dependencies of its day. To find the day of a release, uv
resolves as of several days, so its index, login and proxy settings apply here too. An index without upload times does not allow that, and
the error says so.
"""

from __future__ import annotations

import importlib.metadata
import platform
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import NoReturn

from packaging.requirements import InvalidRequirement, Requirement

from perfproof.builds.install.install_steps import Installer
from perfproof.model.base import clock
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.scenarios.scenario import ReleaseBuild

LOCK = "lock.txt"
FIRST_DAY = date(2023, 1, 1)
"""No vLLM was released before this day."""
MISSING = (
    "no version of",
    "was not found in the package registry",
    "no wheels with a matching",
    "no wheel with a matching",
    "there are no versions",
    "no usable",
    "has no available",
    "published after the exclude newer time",
)
"""uv's messages for a version that the index does not have, or not for this machine."""
CHECK = "read the output; if a package has no wheel for this Python, try another one, or name an interpreter (python:)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where PyTorch comes from: the exact version (`need`), and uv's arguments to find it (`words`)."""

    need: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """Resolves with uv for one interpreter. `cutoff` is the moment (RFC 3339) from which uploads do not count, None for now."""

    installer: Installer
    interpreter: Path
    cutoff: str | None = None

    def resolve(self, needs: Sequence[str], out: Path, *words: str | Path, **more: str) -> bool:
        """Writes the resolved needs with their hashes to `out`; returns whether that succeeded. `installer.output` has uv's words."""
        requirements = out.with_name(f".{out.name}.in")
        requirements.write_text("".join(f"{need}\n" for need in needs))
        before = ("--exclude-newer", self.cutoff) if self.cutoff else ()
        form = ("--quiet", "--no-header", "--no-annotate", "--generate-hashes")
        try:
            return self.installer.uv(
                "pip", "compile", requirements, "--python", self.interpreter, "--output-file", out, *form, *before, *words, **more
            ).ok
        finally:
            requirements.unlink()

    def install(self, lock: Path, *words: str | Path) -> bool:
        """Installs exactly what a lock names; a file with another hash is refused."""
        return self.installer.uv_install(self.interpreter, "--no-deps", "--require-hashes", "-r", lock, *words).ok

    @property
    def missing(self) -> bool:
        """Whether the last resolve failed because there is no such version for this machine."""
        return any(phrase in self.installer.output for phrase in MISSING)


def faults_of(build: ReleaseBuild) -> list[str]:
    """The faults of a release's requirements and day that show before anything is made."""
    faults = []
    for text in build.requirements:
        try:
            need = Requirement(text)
        except InvalidRequirement as error:
            faults.append(f"build {build.name}: requirements: {text!r} is not a requirement: {str(error).splitlines()[0]}")
            continue
        if need.url and not need.url.endswith((".whl", ".tar.gz", ".zip")) and "#sha256" not in need.url:
            faults.append(f"build {build.name}: requirements: {text!r} can't be locked to a hash: name a released version or a wheel")
    if build.as_of not in (None, "release"):
        try:
            date.fromisoformat(str(build.as_of))
        except ValueError:
            faults.append(f"build {build.name}: as_of: expected 'release' or a day such as 2026-04-18, got {build.as_of!r}")
    return faults


# --- as of a day ---------------------------------------------------------------------------------------------


def cutoff_of(build: ReleaseBuild, interpreter: Path, installer: Installer, scratch: Path) -> str | None:
    """The moment from which uploads do not count: the end of the day that `as_of` names; None without `as_of`."""
    if build.as_of is None:
        return None
    if build.as_of != "release":
        return midnight(date.fromisoformat(build.as_of) + timedelta(days=1))
    with installer.step("day of the release"):
        return midnight(_first_midnight(build, interpreter, installer, scratch))


def midnight(day: date) -> str:
    """The moment at which a day begins (UTC), in uv's format."""
    return f"{day.isoformat()}T00:00:00Z"


def _first_midnight(build: ReleaseBuild, interpreter: Path, installer: Installer, scratch: Path) -> date:
    """The first midnight (UTC) at which the index had the release for this machine, found by binary search."""

    def there(cutoff: date | None) -> bool:
        resolver = Resolver(installer=installer, interpreter=interpreter, cutoff=midnight(cutoff) if cutoff else None)
        if resolver.resolve([f"{build.distribution}=={build.version}"], scratch, "--no-deps"):
            return True
        if not resolver.missing:
            raise CannotRun(installer.words("day of the release", CHECK))
        return False

    low, high = FIRST_DAY, clock.today() + timedelta(days=2)
    if not there(high):
        if not there(None):
            return high  # an unknown version: the next step reports it, with similar versions
        raise CannotRun(
            f"{build.label}: as_of: release: the package index gives no upload times, so nothing can be resolved as of "
            "a day\n  what to do: name an index that does (PyPI does; uv's setting UV_DEFAULT_INDEX), or give a file of constraints"
        )
    while high - low > timedelta(days=1):
        middle = low + (high - low) // 2
        low, high = (low, middle) if there(middle) else (middle, high)
    return high


# --- the lock ------------------------------------------------------------------------------------------------


def write_lock(build: ReleaseBuild, resolver: Resolver, lock: Path, torch: Source | None, dropped: Sequence[str]) -> None:
    """Resolves a release with its dependencies into `lock`, PyTorch from `torch` and without `dropped` packages. Raises `CannotRun`."""
    needs = [build.need, *build.requirements]
    words: list[str | Path] = ["-c", build.constraints.path] if build.constraints else []
    overrides = lock.with_name(f".{lock.name}.overrides")
    if torch is not None:
        lines = [torch.need, *(f"{name}; python_version < '0'" for name in dropped)]
        overrides.write_text("".join(f"{line}\n" for line in lines))
        words += ["--override", overrides, *torch.words]
        needs.append(torch.need)
    done = resolver.resolve(needs, lock, *words)
    overrides.unlink(missing_ok=True)
    if not done:
        raise CannotRun(resolver.installer.words("lock", _lock_remedy(build, resolver)))
    lock.write_text(_head(build, resolver, torch) + lock.read_text())


def _lock_remedy(build: ReleaseBuild, resolver: Resolver) -> str:
    if resolver.cutoff and re.search("exclude.newer", resolver.installer.output):
        return f"some package did not exist before {resolver.cutoff}, or its index gives no upload time: try a later as_of"
    if build.constraints and "constrain" in resolver.installer.output.lower():
        return f"the constraints of {build.constraints.name} do not fit this release: change them"
    return CHECK


def _head(build: ReleaseBuild, resolver: Resolver, torch: Source | None) -> str:
    """The comment at the top of a lock: what it is for, and the command that installs it elsewhere."""
    day = f", as of {resolver.cutoff}" if resolver.cutoff else ""
    here = f"{platform.python_implementation()} {sys.version_info.major}.{sys.version_info.minor} on {sys.platform} {platform.machine()}"
    lines = [f"# {build.label} for {here}{day}, resolved by uv {_uv_version()}"]
    words = "" if torch is None else f" {shown(torch)}"
    lines.append(f"# elsewhere: uv pip install --no-deps --require-hashes{words} -r lock.txt")
    return "".join(f"{line}\n" for line in lines)


def shown(torch: Source) -> str:
    """The arguments that find PyTorch, without a path of this machine."""
    if torch.words[:1] == ("--find-links",):
        return f"--find-links FOLDER_WITH_THE_WHEEL_OF_{torch.need.replace('torch==', 'TORCH_')}"
    return " ".join(torch.words)


def _uv_version() -> str:
    with suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version("uv")
    return "unknown"


def refuse_unknown(build: ReleaseBuild, output: str, cutoff: str | None, near: Sequence[str]) -> NoReturn:
    """Raises `BadInput` for a version that the index does not have, or not as a wheel for this machine; `output` is uv's.

    `near` are the existing versions next to it.
    """
    here = f"Python {platform.python_version()} on {sys.platform} {platform.machine()}"
    beside = f"; there are {', '.join(near)}" if near else ""
    if cutoff and build.as_of != "release" and re.search("exclude.newer", output):
        raise BadInput(f"build {build.name}: as_of: {build.distribution} {build.version} did not exist at the end of {build.as_of}")
    if "matching" in output or "no usable" in output:
        raise BadInput(f"build {build.name}: {build.distribution} {build.version} has no wheel for {here}{beside}")
    raise BadInput(f"build {build.name}: {build.distribution} {build.version} does not exist or has no wheel for {here}{beside}")
