"""What of a change lies beside vLLM's Python: compiled code, other files and packages, which can only be taken whole.

Packages are tried as a factor, where that installs: the good release's vLLM beside the packages of the bad build, or the bad release's
beside those of the good one. All that differ are tried at once; where they bring a part of the change, the search goes on among them.
Compiled code can't be exchanged: what no package brings is left to it.
"""

from __future__ import annotations

import filecmp
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from perfproof.builds.install import interpreter_probe
from perfproof.builds.install.ready_build import COMPILED, ReadyBuild
from perfproof.builds.install.release_install import COMPANIONS
from perfproof.builds.install.side_folder import TOOLS
from perfproof.builds.processes.supervised_process import Finished
from perfproof.changes.blame.mixture_trials import Mixtures, Say, Tried
from perfproof.changes.blame.search import Found, OutOfBudget, Side, Units, search
from perfproof.model.base.errors import CannotRun
from perfproof.model.base.name_lists import few
from perfproof.tracking.released_scenario import NamedBuild

Part = Literal["packages", "compiled code", "other files", "Python"]
INSTALLERS = frozenset(["pip", "setuptools", "uv", "wheel", "perfproof", *(need.partition(">")[0] for need in TOOLS)])
"""What installs, or measures, and is no part of an engine."""
MOST = 8
"""Environments that are made, at most, to find which of several packages it is."""
SHOWN = 4
"""Files that are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageShare:
    """Packages (`name==version`, as the build that is tried has them) that bring a share of the change; several where they could not be
    told apart."""

    packages: tuple[str, ...]
    share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagesFactor:
    """What one build's vLLM did beside the other's `packages`: on the good build ("forth") the `share` of the change that is there then,
    on the bad one ("back") the one that is gone (None: not known, for the reason `why`). `guilty` are those of them that bring it."""

    side: Side
    packages: tuple[str, ...]
    share: float | None
    interval: tuple[float, float] | None
    why: str
    guilty: tuple[PackageShare, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What differs beside vLLM's Python files: the Python itself, the packages (with both versions, None where one lacks it), and vLLM's
    own compiled and other files. `installed` are all packages of the good and of the bad build, and `state` is a hash of these and of
    users' compiled files."""

    python: tuple[str, str] | None
    packages: Mapping[str, tuple[str | None, str | None]]
    compiled: tuple[str, ...]
    files: tuple[str, ...]
    installed: tuple[Mapping[str, str], Mapping[str, str]]
    state: str

    def words(self) -> list[str]:
        """A part each, in words."""
        found = [f"Python {' and '.join(self.python)}"] if self.python else []
        found += [f"vLLM's compiled code ({few(self.compiled, SHOWN)})"] if self.compiled else []
        found += [f"other files of vLLM ({few(self.files, SHOWN)})"] if self.files else []
        return found + [f"{name} {good or '–'} and {bad or '–'}" for name, (good, bad) in self.packages.items()]

    def requirements(self, which: Literal["good", "bad"]) -> list[str]:
        """The packages of which both builds have a version and not the same, as requirements of one build's; a local version can't be
        asked for."""
        both = ((name, versions[which == "bad"]) for name, versions in self.packages.items() if None not in versions)
        return [f"{name}=={str(version).partition('+')[0]}" for name, version in both]

    def others(self, which: Literal["good", "bad"], requirements: Sequence[str]) -> str:
        """Constraints that keep all packages of a build but these at its own versions; PyTorch's are the release's."""
        gone = {one.partition("==")[0] for one in requirements} | {"torch", *COMPANIONS}
        kept = sorted(self.installed[which == "bad"].items())
        return "".join(f"{name}=={version}\n" for name, version in kept if name not in gone and not name.startswith("vllm"))

    @property
    def parts(self) -> tuple[Part, ...]:
        """The kinds of what differs."""
        there: dict[Part, object] = {
            "packages": self.packages,
            "compiled code": self.compiled,
            "other files": self.files,
            "Python": self.python,
        }
        return tuple(part for part, found in there.items() if found)


def beside(good: ReadyBuild, bad: ReadyBuild, log: Path) -> Beside:
    """What differs beside vLLM's Python files. Raises `CannotRun` where an interpreter does not list its packages."""
    own, other = (_installed(build, log) for build in (good, bad))
    names = [name for name in sorted({*own, *other} - INSTALLERS) if not name.startswith("vllm") and own.get(name) != other.get(name)]
    files = list(_differing_files(good.fingerprint.package, bad.fingerprint.package))
    pythons = good.fingerprint.python, bad.fingerprint.python
    return Beside(
        python=None if pythons[0] == pythons[1] else pythons,
        packages={name: (own.get(name), other.get(name)) for name in names},
        compiled=tuple(name for name in files if name.endswith(COMPILED)),
        files=tuple(name for name in files if not name.endswith(COMPILED)),
        installed=(own, other),
        state=hashlib.sha256(json.dumps([own, other, good.compiled, bad.compiled], sort_keys=True).encode()).hexdigest(),
    )


def _installed(build: ReadyBuild, log: Path) -> Mapping[str, str]:
    """Every package of a build's interpreter."""
    found = interpreter_probe.installed(build.interpreter, log)
    if isinstance(found, Finished):
        raise CannotRun(f"{build.label}: its packages could not be listed: the interpreter {found.how()}:\n{found.tail(6)}")
    return found


def _differing_files(good: Path, bad: Path) -> Iterator[str]:
    """The files of two vLLM packages that are no Python and not the same, by their paths from the package."""
    names = {str(path.relative_to(root)) for root in (good, bad) for path in root.rglob("*") if path.is_file()}
    for name in sorted(name for name in names if not name.endswith((".py", ".pyc"))):
        one, other = good / name, bad / name
        if not (one.is_file() and other.is_file()) or not (one.samefile(other) or filecmp.cmp(one, other, shallow=False)):
            yield name


# --- packages as a factor -----------------------------------------------------------------------------------


def factor(
    blamed: Found, least: float, ends: tuple[NamedBuild, NamedBuild], differs: Beside, mixtures: Mixtures, say: Say, folder: Path
) -> PackagesFactor | None:
    """What one build's packages do beside the other's vLLM; None where vLLM's Python brings the whole change, or no package differs.

    Packages that are not tried stay as the build has them, by constraints in `folder`."""
    if not differs.requirements("bad") or abs(1 - explained(blamed)) < least:
        return None
    side: Side = "back" if with_packages(ends[0], ()) is None and with_packages(ends[1], ()) is not None else "forth"
    base, requirements = (ends[0], differs.requirements("bad")) if side == "forth" else (ends[1], differs.requirements("good"))
    lost = partial(PackagesFactor, side=side, packages=tuple(requirements), share=None, interval=None)
    if with_packages(base, requirements) is None:
        where = " and ".join(dict.fromkeys(build.word for build in ends))
        return lost(why=f"nothing is installed into {where}; an environment of the good one with them can be --bad")

    def tried(some: Sequence[str]) -> tuple[Tried, float | None]:
        others = differs.others("good" if side == "forth" else "bad", some)
        file = folder / "constraints" / f"{hashlib.sha256(others.encode()).hexdigest()[:12]}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(others)
        build = with_packages(base, some, file)
        assert build is not None  # noqa: S101 (it was one with all of them)
        say(f"trying {build.word}")
        return mixtures.beside_packages(side, build, some)

    try:
        one, _ = tried(requirements)
    except OutOfBudget:
        return lost(why="the budget is spent")
    guilty = _guilty(requirements, one.share, least, tried) if one.share is not None and abs(one.share) >= least else ()
    return PackagesFactor(side=side, packages=tuple(requirements), share=one.share, interval=one.interval, why=one.why, guilty=guilty)


def _guilty(
    requirements: Sequence[str], share: float, least: float, tried: Callable[[Sequence[str]], tuple[Tried, float | None]]
) -> tuple[PackageShare, ...]:
    """Which of these packages bring their share; those that could not be told apart together."""
    if len(requirements) == 1:
        return (PackageShare(packages=tuple(requirements), share=share),)
    made = 0

    def ask(side: Side, units: Units) -> float | None:
        nonlocal made
        if units == frozenset(requirements):
            return share
        if made == MOST:
            raise OutOfBudget
        made += 1
        return tried([one for one in requirements if one in units])[1]

    found = search([requirements], {}, ask, least=least, check=False)
    return tuple(PackageShare(packages=one.units, share=one.share) for one in found.guilty)


def with_packages(build: NamedBuild, requirements: Sequence[str], constraints: Path | None = None) -> NamedBuild | None:
    """A release, or diffs on one, with these packages instead of its own; None for anything else, into which nothing is installed. The
    `constraints` hold for all others, unless the build has some of its own."""
    releases = [name for name, doc in build.docs.items() if doc.get("kind") == "release"]
    if len(releases) != 1:
        return None
    (name,) = releases
    doc = build.docs[name]
    held = {"constraints": str(constraints.resolve())} if constraints is not None and "constraints" not in doc else {}
    docs = {**build.docs, name: {**doc, **held, "requirements": [*doc.get("requirements", []), *requirements]}}
    return NamedBuild(word=f"{build.word} with {', '.join(requirements)}", name=build.name, docs=docs)


# --- what is left -------------------------------------------------------------------------------------------


def explained(blamed: Found) -> float:
    """The share of the change that vLLM's Python is known to bring."""
    return blamed.share if blamed.reach is None else blamed.reach


def lies_in(blamed: Found, least: float, packages: PackagesFactor | None, differs: Beside) -> tuple[Part, ...]:
    """Where the part of the change lies that vLLM's Python does not bring: the one kind of part that is left, or those that it may be;
    nothing where less than `least` is left."""
    left, there = 1 - explained(blamed), list(differs.parts)
    if abs(left) < least:
        return ()
    if packages is not None and packages.share is not None and "packages" in there:
        if abs(packages.share) < least:
            there.remove("packages")
        elif abs(left - packages.share) < least:
            return ("packages",)
    return tuple(there)
