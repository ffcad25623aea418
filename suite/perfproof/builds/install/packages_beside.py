"""Packages that a command imports and a build may lack, in a folder beside the builds: nothing is installed into an interpreter.

The folder goes to the end of `sys.path`, so that a build's own packages come first. The requirements and the Python name it; it is made
once, for all builds of that Python.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Mapping, Sequence
from pathlib import Path

from perfproof.builds.install.install_steps import Installer, Say
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.install.side_folder import draft_folder, settle


def beside(build: ReadyBuild, requirements: Sequence[str], say: Say) -> Path:
    """The folder with the packages for a build's Python; made if it is not there. Raises `CannotRun` where they can't be installed."""
    builds, folder = build.side.parent, place_of(build, requirements)
    if not folder.is_dir():
        installer = Installer(what=folder.name, builds=builds, log=builds / ".logs" / f"{folder.name}.log", say=say)
        installer.log.parent.mkdir(parents=True, exist_ok=True)
        with draft_folder(".packages-", builds) as draft, installer.step(f"{', '.join(requirements)} beside the builds"):
            done = installer.uv_install(build.interpreter, "--target", draft, *requirements)
            installer.must(
                done, "packages beside the builds", "check their names (workload.packages), and that the package index can be reached"
            )
            draft.chmod(0o755)
            settle(draft, folder)
    return folder


def place_of(build: ReadyBuild, requirements: Sequence[str]) -> Path:
    """Where the packages lie once they are installed."""
    minor = ".".join(build.fingerprint.python.split(".")[:2])
    digest = hashlib.sha256("\n".join(sorted(requirements)).encode()).hexdigest()[:8]
    return build.side.parent / f"packages-{minor}-{digest}"


def versions(folder: Path) -> Mapping[str, str]:
    """The version of each package there."""
    return {one.name: one.version for one in sorted(importlib.metadata.distributions(path=[str(folder)]), key=lambda each: each.name)}
