"""An overlay: a copy of a build with some of vLLM's Python files changed, made in seconds from links.

`builds/overlay-<hash>/site/vllm` has the same folders as the base's vLLM. Every file in it is a link to the base's file, except those that
the change writes, which are real, and those that it deletes, which are missing. `site` goes first on `PYTHONPATH` of all processes of an
arm, so the base's interpreter, with everything else that is installed there, imports vLLM from here; vLLM's child processes inherit that,
and each one's `vllm.__file__` shows it. The distribution and its version stay the base's.

Links to a base in the same folder of builds are relative, so that both may be moved or copied together.

Because the folders are its own, nothing that Python writes beside a module reaches the base. The overlay is filled under a temporary name
and then renamed, so that nobody sees a half-made one.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from perfproof.builds.install import interpreter_probe
from perfproof.builds.install.install_steps import Installer
from perfproof.builds.install.ready_build import Fingerprint, ReadyBuild, Touched
from perfproof.builds.install.vllm_commit import commit_of
from perfproof.builds.overlays import git_changes
from perfproof.builds.overlays.patched_files import changed
from perfproof.builds.overlays.unified_diff import read_diff
from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.scenarios.scenario import OverlayBuild

_OURS = re.compile(rb"^\+.*(?:perfproof|suite\.patches)", re.IGNORECASE | re.MULTILINE)
LAYOUT = 2
"""Part of an overlay's name: it changes when overlays are made in another way."""


def identity(build: OverlayBuild, base: ReadyBuild) -> str:
    """The folder's name, from the change, the base, and the base's present files."""
    defining = f"{LAYOUT} {build.sha256} {base.id} {base.fingerprint.sources}"
    return f"overlay-{hashlib.sha256(defining.encode()).hexdigest()[:8]}"


def change_of(build: OverlayBuild) -> bytes:
    """The present diff of an overlay, from its file or git. Raises `BadInput` if it has changed since the scenario was read."""
    if build.git is not None:
        return git_changes.difference(build.name, build.git)
    assert build.diff is not None  # noqa: S101 (one of the two is there)
    try:
        data = Path(build.diff.path).read_bytes()
    except OSError as error:
        raise BadInput(f"build {build.name}: {build.diff.name}: {error.strerror}") from error
    if hashlib.sha256(data).hexdigest() != build.diff.sha256:
        raise BadInput(f"build {build.name}: {build.diff.name} was changed after the scenario was read: run again")
    return data


def words_of(build: OverlayBuild) -> str:
    """The name of the change in faults."""
    return f"build {build.name}: {build.diff.name}" if build.diff else f"build {build.name}: {build.git.ref if build.git else ''}"


def faults_of(build: OverlayBuild) -> list[str]:
    """The faults of the change that show without the base."""
    try:
        read_diff(change_of(build), words_of(build))
    except BadInput as error:
        return list(error.faults)
    return []


def make(build: OverlayBuild, base: ReadyBuild, name: str, installer: Installer, known: Fingerprint | None) -> tuple[ReadyBuild, bool]:
    """The overlay on a ready base, and whether it was made now. `known` is the stored fingerprint of an existing overlay, whose packages
    are those that its base has now.

    Raises `BadInput` for a change that does not apply or leaves invalid Python.
    """
    folder = installer.builds / name
    if known is not None and _whole(known):
        now = dataclasses.replace(base.fingerprint, package=known.package, sources=known.sources, files=known.files)
        return _ready(build, base, name, folder, now, installer), False
    if folder.exists():
        shutil.rmtree(folder)
    with installer.step("overlay"):
        _fill(build, base, folder, installer)
    sources, files = interpreter_probe.hash_sources(folder / "site" / "vllm")
    fingerprint = dataclasses.replace(base.fingerprint, package=folder / "site" / "vllm", sources=sources, files=files)
    return _ready(build, base, name, folder, fingerprint, installer), True


def _whole(known: Fingerprint) -> bool:
    """Whether an overlay still has all its files; a dangling link does not count."""
    try:
        return interpreter_probe.hash_sources(known.package) == (known.sources, known.files)
    except OSError:
        return False


def _fill(build: OverlayBuild, base: ReadyBuild, folder: Path, installer: Installer) -> None:
    """Makes the folder under a temporary name, then renames it."""
    data, words = change_of(build), words_of(build)
    root = base.fingerprint.package.parent
    made = changed(read_diff(data, words), root, words, base.label)
    if not made.files:
        raise BadInput(f"{words}: it changes no file of {base.label}")
    behind = git_changes.left_behind(build.git) if build.git is not None else ""
    for sentence in filter(None, [behind, *made.moved]):
        installer.say(f"{words}: {sentence}")
    draft = Path(tempfile.mkdtemp(prefix=".overlay-", dir=installer.builds))
    try:
        draft.chmod(0o755)
        site = draft / "site"
        link_tree(base.fingerprint.package, site / "vllm", made.files, installer.builds)
        _link_libraries(root, site, installer.builds)
        write(site, made.files)
        _refuse_broken(site, made.files, base, words, installer)
        (draft / "change.diff").write_bytes(data)
        (draft / "touched.txt").write_text("".join(f"{path}\n" for path in made.files))
        lock = base.folder / "lock.txt"
        if base.ours and lock.is_file():
            (draft / "lock.txt").symlink_to(_from(draft, lock.resolve(), installer.builds))
        os.rename(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def link_tree(package: Path, place: Path, files: Mapping[str, bytes | None], builds: Path) -> None:
    """Makes the folders of `package`, and in them a link to every file except `files` (paths from the folder that holds `vllm`).

    A link to a file below `builds` is relative. Python's compiled files are linked too: a link has the time and size of its target, so they
    stay valid.
    """
    for here, folders, names in os.walk(package):
        folders.sort()
        below = os.path.relpath(here, package)
        there = os.path.join(place, below)
        os.makedirs(there, exist_ok=True)
        beside = _from(there, here, builds)
        for name in [*names, *[folder for folder in folders if os.path.islink(os.path.join(here, folder))]]:
            if _path(below, name) not in files:
                source = os.path.join(here, name)
                linked = os.path.islink(source)
                target = _from(there, os.path.realpath(source), builds) if linked else os.path.join(beside, name)
                os.symlink(target, os.path.join(there, name))


def _from(folder: str | Path, target: str | Path, builds: Path) -> str:
    """How a link in `folder` names its target: relative to the folder where the target lies below `builds` too, else absolute."""
    return os.path.relpath(target, folder) if Path(target).is_relative_to(builds) else os.fspath(target)


def _path(below: str, name: str) -> str:
    """The Python file of a file in the package: itself, or the source of a compiled file."""
    parts = [part for part in ("vllm", *below.split(os.sep)) if part != "."]
    if parts[-1] == "__pycache__":
        return "/".join([*parts[:-1], f"{name.partition('.')[0]}.py"])
    return "/".join([*parts, name])


def _link_libraries(root: Path, site: Path, builds: Path) -> None:
    """Links the libraries that a wheel keeps beside its package: compiled operators look for them relative to their own folder."""
    for folder in root.glob("vllm*.libs"):
        (site / folder.name).symlink_to(_from(site, folder.resolve(), builds), target_is_directory=True)


def write(site: Path, files: Mapping[str, bytes | None]) -> None:
    """Writes the changed files; folders that have lost their last file are removed. Raises `BadInput` if a folder of the base is a link."""
    real = site.resolve()
    for path, data in files.items():
        folder = (site / path).parent
        if folder.resolve() != (real / path).parent:
            raise BadInput(f"{path}: one of its folders is a link in the base, which leads out of the overlay")
        if data is not None:
            folder.mkdir(parents=True, exist_ok=True)
            with open(site / path, "xb") as file:  # never through a link
                file.write(data)
    for path, data in files.items():
        folder = (site / path).parent
        while data is None and folder != site and folder.is_dir() and not any(one.name != "__pycache__" for one in folder.iterdir()):
            shutil.rmtree(folder)
            folder = folder.parent


def _refuse_broken(site: Path, files: Mapping[str, bytes | None], base: ReadyBuild, words: str, installer: Installer) -> None:
    """Raises `BadInput` for files that the base's Python can't compile."""
    written = [path for path, data in files.items() if data is not None]
    faults = interpreter_probe.syntax_faults(base.interpreter, site, written, installer.log)
    if faults:
        raise BadInput(*(f"{words}: after the change {fault}" for fault in faults))


def _ready(build: OverlayBuild, base: ReadyBuild, name: str, folder: Path, fingerprint: Fingerprint, installer: Installer) -> ReadyBuild:
    try:
        paths = tuple((folder / "touched.txt").read_text().splitlines())
    except OSError as error:
        raise CannotRun(f"{build.label}: {folder.name} is incomplete: delete it, and it is made again") from error
    return dataclasses.replace(
        base,
        name=build.name,
        label=build.label,
        id=name,
        folder=folder,
        fingerprint=fingerprint,
        front=folder / "site",
        touched=Touched(base=base.label, files=paths, sources=hash_files(folder / "site", paths)),
        commit=git_changes.commit(build.git) if build.git else commit_of(base.fingerprint.package),
        warnings=(*base.warnings, *_knowing(folder / "change.diff", build.label)),
        seconds={**base.seconds, **installer.seconds},
    )


def _knowing(diff: Path, label: str) -> tuple[str, ...]:
    """A warning about a change that mentions perfproof: it could behave differently in the processes that are measured."""
    if not diff.is_file() or not _OURS.search(diff.read_bytes()):
        return ()
    return (f"{label}: the change mentions perfproof: it may behave differently while it is measured; read it",)


def hash_files(root: Path, paths: tuple[str, ...]) -> str:
    """Sixteen hex digits of a SHA-256 over some files with their names; a missing file counts by its name."""
    total = hashlib.sha256()
    for path in paths:
        data = (root / path).read_bytes() if (root / path).is_file() else b""
        total.update(f"{path}\0{len(data)}\0".encode())
        total.update(data)
    return total.hexdigest()[:16]
