"""Patches of the user's own, laid out beside the builds: a copy of their files, and the entry point by which vLLM finds them.

A hash of what they say names each folder, as it names a side folder. All arms have it on `PYTHONPATH`; `VLLM_PLUGINS` switches it on.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from perfproof.builds.install.side_folder import draft_folder
from perfproof.builds.install.unused_folders import clean, taken
from perfproof.model.base.errors import CannotRun
from perfproof.model.scenarios.own_patches import OwnPatch

SHIM = "perfproof.patches.own_plugins"
GROUP = "perfproof.own_patches"
"""The group of entry points in which `SHIM` finds what a patch itself names."""


def place(patch: OwnPatch, builds: Path) -> Path:
    """Where a patch lies once `lay_out` has copied it."""
    return builds / patch.folder_name


def lay_out(patch: OwnPatch, builds: Path) -> None:
    """Copies a patch's files, unless they are there. Raises `CannotRun` if they were changed since the scenario was read."""
    folder = place(patch, builds)
    if taken(folder):
        return
    clean(builds, "plugin-")
    with draft_folder(".plugin-", builds) as draft:
        patch.files.copy_to(draft)
        info = draft / f"{patch.name}-0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {patch.name}\nVersion: 0\n")
        points = f"[vllm.general_plugins]\n{patch.name} = {SHIM}:{patch.name}\n\n[{GROUP}]\n{patch.name} = {patch.entry}\n"
        (info / "entry_points.txt").write_text(points)
        draft.chmod(0o755)
        with contextlib.suppress(OSError):  # another process was faster
            draft.rename(folder)
    if not folder.is_dir():
        raise CannotRun(f"{folder}: can't be made: is there room on the disk?")
