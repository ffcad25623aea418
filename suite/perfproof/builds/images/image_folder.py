"""An image's folder among the builds: a starter in the place of an interpreter, and a copy of vLLM's Python files.

`builds/image-<digest>/bin/python` starts the image's Python in a container (`perfproof.child.container`), with the same words, variables,
folders and exit code, so that everything that runs a build's interpreter runs an image's too. `site/vllm` has the image's Python files, for
what is read here (hashes, diffs, what a change touches), and a link to the place inside for every other file: an overlay links to these.
What runs is always the image, by its digest.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from perfproof.builds.install import interpreter_probe
from perfproof.builds.install.install_steps import Installer
from perfproof.builds.install.interpreter_probe import Look
from perfproof.builds.install.ready_build import Fingerprint, InContainer
from perfproof.builds.install.side_folder import PACKAGE, draft_folder
from perfproof.builds.processes.containers import STARTER, Image
from perfproof.builds.processes.supervised_process import Finished
from perfproof.model.base.errors import BadInput
from perfproof.model.scenarios.scenario import ImageBuild

CACHE = "cache"
"""The folder below the builds that processes write compiled code into."""
USUAL = "python3"
"""The Python of an image whose build names none."""
PLACE = "vllm.txt"
"""The file that says where vLLM lies inside."""


def folder_name(build: ImageBuild) -> str:
    """The folder's name, by digest, runtime and Python, where these are named."""
    python = "" if build.python == USUAL else hashlib.sha256(build.python.encode()).hexdigest()[:8]
    return "-".join(filter(None, ["image", (build.digest or "")[:16], build.runtime, python]))


def write_starter(build: ImageBuild, image: Image, folder: Path, builds: Path) -> Path:
    """The starter, written again: the suite, its Python or the folder may have moved."""
    (builds / CACHE).mkdir(parents=True, exist_ok=True)
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    content = {
        "runtime": image.runtime,
        "image": image.digest,
        "python": build.python,
        "python_path": image.variables.get("PYTHONPATH", ""),
        "mounts": [[str(builds), False], [str(builds / CACHE), True]],
    }
    words = [sys.executable, "-I", "-S", str(PACKAGE / "child" / "container.py"), str(folder / STARTER)]
    _replace(folder / STARTER, json.dumps(content, indent=1))
    _replace(folder / "bin" / "python", f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', mode=0o755)
    return folder / "bin" / "python"


def _replace(file: Path, text: str, mode: int = 0o644) -> None:
    """Writes a file if its text differs, by a rename: another run may be starting it."""
    if file.is_file() and file.read_text() == text:
        return
    draft = file.with_name(f".{file.name}.new-{os.getpid()}")
    draft.write_text(text)
    draft.chmod(mode)
    draft.replace(file)


def look(build: ImageBuild, interpreter: Path, installer: Installer) -> Look:
    """What the image's Python has. Raises `BadInput` where it has no vLLM, or does not answer."""
    where = f"build {build.name}: {build.label}"
    seen = interpreter_probe.look(interpreter, installer.log)
    if isinstance(seen, Finished):
        raise BadInput(
            f"{where}: its '{build.python}' is not a Python 3.10 or newer that answers: it {seen.how()}:\n{seen.tail(6)}\n  what to do: "
            "name another ('python' of the build), and see whether this user can run containers here"
        )
    if seen.package is None:
        raise BadInput(f"{where}: its '{build.python}', Python {seen.python}, has no vllm: name another ('python' of the build), or image")
    return seen


def fingerprint(build: ImageBuild, seen: Look, interpreter: Path, folder: Path, installer: Installer, beside: Path) -> Fingerprint:
    """Imports vLLM in the image and copies its Python files. Raises `BadInput` where one of the two does not work."""
    with installer.step("first import"):
        with draft_folder(".image-", installer.builds) as draft:
            place = interpreter_probe.mirror(interpreter, draft / "site", installer.log)
            if isinstance(place, Finished):
                raise BadInput(f"build {build.name}: {build.label}: vLLM's files can't be copied out: it {place.how()}:\n{place.tail()}")
            os.replace(draft / "site", folder / "site")
        (folder / PLACE).write_text(place)
        loaded = interpreter_probe.load(interpreter, seen, installer.log, side=beside, ours=False, package=folder / "site" / "vllm")
    if isinstance(loaded, Finished):
        raise BadInput(
            f"build {build.name}: {build.label}: vllm does not import there: it {loaded.how()}:\n{loaded.tail()}\n  what to do: repair the "
            "image, or give its container what it lacks (docs/builds.md, container images)"
        )
    return replace(loaded, package=folder / "site" / "vllm")


def in_container(image: Image, folder: Path, mounts: Sequence[tuple[str, bool]] = ()) -> InContainer:
    """How a ready build runs in containers of an image."""
    place = Path((folder / PLACE).read_text())
    return InContainer(runtime=image.runtime, digest=image.digest, package=place, variables=dict(image.variables), mounts=tuple(mounts))
