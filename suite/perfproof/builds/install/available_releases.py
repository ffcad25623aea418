"""The releases on the package index: in their order, in a range, and since a day.

pip lists the versions, and uv resolves what existed at the end of a day, so their index, login and proxy settings apply here too. Only
final releases count, post-releases among them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path

from packaging.version import Version

from perfproof.builds.install.install_steps import Installer, Say
from perfproof.builds.install.lock_file import CHECK, Resolver, midnight
from perfproof.builds.install.release_install import available
from perfproof.builds.processes import temp_files
from perfproof.model.base.errors import BadInput, CannotRun

SETTLED = 4
"""The search for later releases ends after so many older ones in a row: old release lines get fixes late."""


class Releases:
    """The releases of a distribution; the index is asked once. The log of a question that failed stays below `builds`, and the fault names
    it; one that was answered leaves nothing."""

    def __init__(self, distribution: str, builds: Path, say: Say) -> None:
        self.distribution = distribution
        self._builds = builds
        self._say = say
        self._known: list[str] | None = None

    @property
    def known(self) -> Sequence[str]:
        """Every final release, oldest version first. Raises `CannotRun` where the index lists none."""
        if self._known is None:
            with self._asking() as installer:
                known = ordered(available(self.distribution, Path(sys.executable), installer))
                if not known:
                    raise CannotRun(
                        f"the package index lists no release of {self.distribution}: check network, proxy and pip settings, or list the "
                        f"versions\n  whole output: {installer.log}"
                    )
            self._known = known
        return self._known

    def between(self, first: str, last: str) -> list[str]:
        """The releases from one version to another, both included. Raises `BadInput` if there is none."""
        low, high = _version(first), _version(last)
        versions = [one for one in self.known if low <= Version(one) <= high]
        if not versions:
            raise BadInput(f"{first}..{last}: there is no release of {self.distribution} in this range")
        return versions

    def newest(self) -> str:
        """The newest release now."""
        return self.known[-1]

    def since(self, day: date) -> list[str]:
        """The releases that were uploaded on a day or later. Raises `CannotRun` where the index gives no upload times."""
        return later(self.known, lambda version: self._there(version, day), self.distribution)

    def _there(self, version: str, day: date) -> bool:
        """Whether a release existed when the day began (UTC)."""
        with self._asking() as installer, temp_files.directory() as scratch:
            resolver = Resolver(installer=installer, interpreter=Path(sys.executable), cutoff=midnight(day))
            found = resolver.resolve([f"{self.distribution}=={version}"], Path(scratch) / "since.txt", "--no-deps")
            if not found and not resolver.missing:
                raise CannotRun(installer.words("day of the release", CHECK))
        return found

    @contextmanager
    def _asking(self) -> Iterator[Installer]:
        """An installer for one question. Once it is answered its log is removed, with the folders that were made for it."""
        log = self._builds / ".logs" / "releases.log"
        made = [folder for folder in (log.parent, *log.parent.parents) if not folder.exists()]
        yield Installer(what=self.distribution, builds=self._builds, log=log, say=self._say)
        log.unlink(missing_ok=True)
        with suppress(OSError):  # somebody else keeps something there by now
            for folder in made:
                folder.rmdir()


def ordered(versions: Sequence[str]) -> list[str]:
    """The final releases among versions, oldest first; texts that are no versions are skipped."""
    by_version = {}
    for text in versions:
        try:
            version = Version(text)
        except ValueError:
            continue
        if not (version.is_prerelease or version.local):
            by_version[version] = text
    return [by_version[version] for version in sorted(by_version)]


def later(known: Sequence[str], there: Callable[[str], bool], distribution: str) -> list[str]:
    """Those of the releases (oldest version first) that did not exist yet when a day began, as `there` says.

    It asks from the newest down, until `SETTLED` in a row existed. Raises `CannotRun` if none of them ever did.
    """
    newer: list[str] = []
    before = 0
    for version in reversed(known):
        if there(version):
            before += 1
            if before == SETTLED:
                break
        else:
            newer.append(version)
            before = 0
    if not before and len(known) > 1:
        raise CannotRun(
            f"{distribution}: no release is older than that day, or the package index does not say when its files were uploaded: list "
            "the versions with --builds instead"
        )
    return newer[::-1]


def _version(text: str) -> Version:
    try:
        return Version(text)
    except ValueError:
        raise BadInput(f"{text!r} is not a version: write a range like 0.19.0..0.26.0") from None
