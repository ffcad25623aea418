"""What a release is made of, to the last hash: resolved, written down in `lock.txt`, installed from that alone.

uv resolves, with the hashes that the index tells (for a wheel from a folder it takes them itself); what is installed is checked
against them. Asked "as of" a day, packages uploaded after it are left out, so that an old vLLM meets the dependencies of its day.
The day of a release is found by asking uv what there was by the end of which day, so whatever index, login and
proxy uv is set up with holds here too. An index that does not say when a file was uploaded can't be asked so, and that is told.
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
"""No vLLM was released before."""
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
"""What uv says of a version that the index has not, or not for this machine."""
CHECK = "look at the output; if a package has no wheel for this Python, try another one, or name an interpreter (python:)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where PyTorch comes from: exactly which (`need`), and what uv is told so that it finds it (`words`)."""

    need: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """Asks uv for one interpreter. `cutoff` is the moment (RFC 3339) from which on uploads do not count, None for now."""

    installer: Installer
    interpreter: Path
    cutoff: str | None = None

    def resolve(self, needs: Sequence[str], out: Path, *words: str | Path, **more: str) -> bool:
        """Writes the resolved needs with their hashes to `out`; whether that could be done. `installer.said` has uv's words."""
        asked = out.with_name(f".{out.name}.in")
        asked.write_text("".join(f"{need}\n" for need in needs))
        before = ("--exclude-newer", self.cutoff) if self.cutoff else ()
        form = ("--quiet", "--no-header", "--no-annotate", "--generate-hashes")
        try:
            return self.installer.uv(
                "pip", "compile", asked, "--python", self.interpreter, "--output-file", out, *form, *before, *words, **more
            ).ok
        finally:
            asked.unlink()

    def install(self, lock: Path, *words: str | Path) -> bool:
        """Installs exactly what a lock names; a file whose hash is another is refused."""
        return self.installer.uv_install(self.interpreter, "--no-deps", "--require-hashes", "-r", lock, *words).ok

    @property
    def missing(self) -> bool:
        """Whether the last failure was that there is no such version for this machine."""
        return any(phrase in self.installer.said for phrase in MISSING)


def faults_of(build: ReleaseBuild) -> list[str]:
    """What is wrong with a release's requirements and day, as far as can be seen before anything is made."""
    found = []
    for text in build.requirements:
        try:
            need = Requirement(text)
        except InvalidRequirement as error:
            found.append(f"build {build.name}: requirements: {text!r} is no requirement: {str(error).splitlines()[0]}")
            continue
        if need.url and not need.url.endswith((".whl", ".tar.gz", ".zip")) and "#sha256" not in need.url:
            found.append(f"build {build.name}: requirements: {text!r} can't be locked to a hash: name a released version or a wheel")
    if build.as_of not in (None, "release"):
        try:
            date.fromisoformat(str(build.as_of))
        except ValueError:
            found.append(f"build {build.name}: as_of: expected 'release' or a day such as 2026-04-18, got {build.as_of!r}")
    return found


# --- as of a day ---------------------------------------------------------------------------------------------


def cutoff_of(build: ReleaseBuild, interpreter: Path, installer: Installer, scratch: Path) -> str | None:
    """The moment from which on uploads do not count: the end of the day that `as_of` names; None where it names none."""
    if build.as_of is None:
        return None
    if build.as_of != "release":
        return midnight(date.fromisoformat(build.as_of) + timedelta(days=1))
    with installer.step("day of the release"):
        return midnight(_first_midnight(build, interpreter, installer, scratch))


def midnight(day: date) -> str:
    """The moment at which a day begins (UTC), as uv takes it."""
    return f"{day.isoformat()}T00:00:00Z"


def _first_midnight(build: ReleaseBuild, interpreter: Path, installer: Installer, scratch: Path) -> date:
    """The first midnight (UTC) at which the index had the release for this machine, found by halving."""

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
            return high  # an unknown version: the next step says so, with the near ones
        raise CannotRun(
            f"{build.label}: as_of: release: the package index does not say when its files were uploaded, so nothing can be resolved as of "
            "a day\n  what to do: name an index that does (PyPI does; uv's setting UV_DEFAULT_INDEX), or give a file of constraints"
        )
    while high - low > timedelta(days=1):
        middle = low + (high - low) // 2
        low, high = (low, middle) if there(middle) else (middle, high)
    return high


# --- the lock ------------------------------------------------------------------------------------------------


def write_lock(build: ReleaseBuild, resolver: Resolver, lock: Path, torch: Source | None, dropped: Sequence[str]) -> None:
    """Resolves a release with all that it needs into `lock`, PyTorch from `torch` and without what is `dropped`. Raises `CannotRun`."""
    needs = [f"{build.distribution}=={build.version}", *build.requirements]
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
    if resolver.cutoff and re.search("exclude.newer", resolver.installer.said):
        return f"some package was not there before {resolver.cutoff}, or its index does not say when it was uploaded: try a later as_of"
    if build.constraints and "constrain" in resolver.installer.said.lower():
        return f"the constraints of {build.constraints.name} do not go with this release: change them"
    return CHECK


def _head(build: ReleaseBuild, resolver: Resolver, torch: Source | None) -> str:
    """What a person needs to know of a lock, and the command that installs it elsewhere."""
    day = f", as of {resolver.cutoff}" if resolver.cutoff else ""
    here = f"{platform.python_implementation()} {sys.version_info.major}.{sys.version_info.minor} on {sys.platform} {platform.machine()}"
    lines = [f"# {build.label} for {here}{day}, resolved by uv {_uv_version()}"]
    words = "" if torch is None else f" {shown(torch)}"
    lines.append(f"# elsewhere: uv pip install --no-deps --require-hashes{words} -r lock.txt")
    return "".join(f"{line}\n" for line in lines)


def shown(torch: Source) -> str:
    """How PyTorch is found, without a path of this machine."""
    if torch.words[:1] == ("--find-links",):
        return f"--find-links FOLDER_WITH_THE_WHEEL_OF_{torch.need.replace('torch==', 'TORCH_')}"
    return " ".join(torch.words)


def _uv_version() -> str:
    with suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version("uv")
    return "unknown"


def refuse_unknown(build: ReleaseBuild, said: str, cutoff: str | None, near: Sequence[str]) -> NoReturn:
    """Raises `BadInput` for a version that the index has not, or has no wheel of for this machine; `said` are uv's words.

    `near` are the versions next to it that there are.
    """
    here = f"Python {platform.python_version()} on {sys.platform} {platform.machine()}"
    beside = f"; there are {', '.join(near)}" if near else ""
    if cutoff and build.as_of != "release" and re.search("exclude.newer", said):
        raise BadInput(f"build {build.name}: as_of: {build.distribution} {build.version} was not there at the end of {build.as_of}")
    if "matching" in said or "no usable" in said:
        raise BadInput(f"build {build.name}: {build.distribution} {build.version} has no wheel for {here}{beside}")
    raise BadInput(f"build {build.name}: {build.distribution} {build.version} does not exist or has no wheel for {here}{beside}")
