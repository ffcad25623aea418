"""A patch of the user's own: a general plugin of vLLM in a file or a folder that the scenario names."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from perfproof.model.workloads.file_folder import FileFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPatch:
    """`entry` is the function that registers it, `module:function`; `files` are those of its folder, from which it is imported."""

    name: str
    entry: str
    files: FileFolder

    @property
    def folder_name(self) -> str:
        """The name of the copy that all arms get, by what it says."""
        return f"plugin-{hashlib.sha256(f'{self.name} {self.entry} {self.files.sha256}'.encode()).hexdigest()[:12]}"


def unlike(patches: Sequence[OwnPatch]) -> list[str]:
    """Names under which two arms mean two patches."""
    seen: dict[str, OwnPatch] = {}
    return [patch.name for patch in patches if seen.setdefault(patch.name, patch) != patch]
