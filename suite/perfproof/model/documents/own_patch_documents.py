"""The patches of an arm that a scenario names by path: their document, and their nouns.

A file names them among the others, `patches: [{path: ../mine/fast.py}]`. A definition keeps the names there, so that readers of records
find only names, and under `own_patches` the entry, file and hash of each.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Annotated, Any

from pydantic import StringConstraints, model_validator

from perfproof.model.scenarios.own_patches import OwnPatch
from perfproof.model.workloads.document_parts import Growing
from perfproof.model.workloads.file_folder import read_files

Entry = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")]
REGISTER = "register"


class OwnPatchDoc(Growing):
    LATER = frozenset({"sha256"})

    path: Annotated[str, StringConstraints(min_length=1, max_length=4096)]
    entry: Entry
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None

    @model_validator(mode="before")
    @classmethod
    def _a_file_registers(cls, data: Any) -> Any:
        if isinstance(data, dict) and "path" not in data:
            others = ", ".join(map(str, data.keys() - {"entry", "sha256"}))
            raise ValueError(f"a patch by path has a key path, {{path: ../mine/fast.py}}{f', not {others}' if others else ''}")
        if not isinstance(data, dict) or "entry" in data or not isinstance(data.get("path"), str):
            return data
        if not data["path"].endswith(".py"):
            raise ValueError("expected a .py file with a function register, or a folder and entry: my_package.plugin:register")
        return {**data, "entry": f"{PurePath(data['path']).stem}:{REGISTER}"}


def told_apart(arm: Any) -> Any:
    """An arm's document with patches by path under `own_patches`, and their names among the others; anything odd stays, and is refused."""
    if not isinstance(arm, dict) or not isinstance(arm.get("patches"), list):
        return arm
    own = {name_of(patch): patch for patch in arm["patches"] if isinstance(patch, dict)}
    names = [name_of(patch) if isinstance(patch, dict) else patch for patch in arm["patches"]]
    return {**arm, "patches": names, "own_patches": {**own, **arm.get("own_patches", {})}} if own else arm


def name_of(patch: Mapping[str, Any]) -> str:
    """The name of a patch by path: the file's, or the entry's module, with the function where that is not `register`."""
    module, _, function = str(patch.get("entry") or f"{PurePath(str(patch.get('path', ''))).stem}:{REGISTER}").partition(":")
    words = module if function in ("", REGISTER) else f"{module}_{function}"
    name = re.sub(r"[^a-z0-9_]+", "_", words.lower()).strip("_")
    return (name if name[:1].isalpha() else f"patch_{name}")[:64]


def own_patches(where: str, documents: Mapping[str, OwnPatchDoc], folder: Path | None, faults: list[str]) -> list[OwnPatch]:
    """The nouns; what is wrong with their files goes to `faults`."""
    found = []
    for name, doc in documents.items():
        is_file = doc.path.endswith(".py")
        if folder is not None and is_file and not os.path.isfile(os.path.abspath(folder / os.path.expanduser(doc.path))):
            faults.append(f"{where}: {doc.path}: there is no such file (paths are relative to the scenario file)")
            continue
        place = os.path.dirname(doc.path) if is_file else doc.path
        if files := read_files(where, place, doc.sha256, folder, faults, named=not is_file):
            found.append(OwnPatch(name=name, entry=doc.entry, files=files))
    return found


def kept(documents: Mapping[str, Any], patches: list[OwnPatch]) -> dict[str, Any]:
    """Their documents in the form that a definition keeps: files by name and hash."""
    hashes = {patch.name: patch.files.sha256 for patch in patches}
    return {
        name: {"path": PurePath(doc["path"]).name, "entry": doc["entry"], "sha256": hashes.get(name) or doc.get("sha256")}
        for name, doc in documents.items()
    }
