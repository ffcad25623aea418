"""The builds of a scenario file: their documents become nouns, the files that define them are found and hashed.

Paths are told relative to the scenario's own file. A definition that is kept names such a file by its name and its hash alone: another
content is another build, another place is not, and no home gets into a record.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from perfproof.model.documents.scenario_documents import BuildDoc, OverlayDoc, PythonDoc, ReleaseDoc
from perfproof.model.scenarios.build import (
    SHOWN_PARTS,
    Build,
    DefiningFile,
    EditableBuild,
    GitSource,
    OverlayBuild,
    PythonBuild,
    ReleaseBuild,
    release_called,
)

LARGEST_DIFF = 64_000_000
"""Bytes that a diff or a file of constraints may have: twice what a diff has that touches every file of vLLM (32 MB, read in 6 s and into
0.7 GB)."""


def nouns(docs: Mapping[str, BuildDoc], folder: Path | None) -> tuple[dict[str, Build], list[str]]:
    """Every build by its name, and what is wrong with the files that they name. `folder` None reads no file."""
    faults: list[str] = []
    found: dict[str, Build] = {}
    for name in docs:
        _noun(name, docs, folder, found, faults)
    return {name: found[name] for name in docs}, faults


def _noun(name: str, docs: Mapping[str, BuildDoc], folder: Path | None, found: dict[str, Build], faults: list[str]) -> Build:
    """The build of that name, its bases first; the document has seen to it that there is no circle."""
    if name not in found:
        doc = docs[name]
        base = _noun(doc.base, docs, folder, found, faults) if isinstance(doc, OverlayDoc) else None
        found[name] = _build(name, doc, base, folder, faults)
    return found[name]


def _build(name: str, doc: BuildDoc, base: Build | None, folder: Path | None, faults: list[str]) -> Build:
    if isinstance(doc, ReleaseDoc):
        constraints = defining_file(f"builds.{name}.constraints", doc.constraints, doc.constraints_sha256, folder, faults)
        needs = tuple(doc.requirements)
        return ReleaseBuild(
            name=name,
            distribution=doc.distribution,
            version=release_called(doc.version),
            requirements=needs,
            constraints=constraints,
            as_of=doc.as_of,
        )
    if isinstance(doc, PythonDoc):
        return PythonBuild(name=name, path=doc.path)
    if isinstance(doc, OverlayDoc) and base is not None:
        diff = defining_file(f"builds.{name}.diff", doc.diff, doc.sha256, folder, faults)
        git = None
        if doc.git is not None:
            git = GitSource(repo=_place(doc.git.repo, folder), ref=doc.git.ref, base=doc.git.base, sha256=doc.sha256)
        return OverlayBuild(name=name, base=base, diff=diff, git=git)
    assert not isinstance(doc, OverlayDoc)  # noqa: S101 (an overlay's base is made before it)
    return EditableBuild(name=name, source=_place(doc.source, folder), command=tuple(doc.command) if doc.command else None)


def _place(named: str, folder: Path | None) -> str:
    """The absolute path of what a scenario file names; of what a record names nothing is known but that."""
    return named if folder is None else os.path.abspath(folder / os.path.expanduser(named))


def defining_file(where: str, named: str | None, sha256: str | None, folder: Path | None, faults: list[str]) -> DefiningFile | None:
    """The file that `where` names, hashed; what is wrong with it goes to `faults`. `sha256` is what its text must have, if it is said."""
    if named is None:
        return None
    if folder is None:
        return DefiningFile(path=named, sha256=sha256 or "")
    path = Path(_place(named, folder))
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise BadFile("not a file")
        if status.st_size > LARGEST_DIFF:
            raise BadFile(f"it has {status.st_size:,} bytes, at most {LARGEST_DIFF:,} are taken: take a diff of vllm/ alone")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if sha256 not in (None, digest):
            raise BadFile(f"its text has the SHA-256 {digest}, the scenario expects {sha256}")
    except (OSError, BadFile) as error:
        told = error.strerror if isinstance(error, OSError) else error
        faults.append(f"{where}: {named}: {told}" + (" (paths are relative to the scenario file)" if isinstance(error, OSError) else ""))
        return None
    return DefiningFile(path=str(path), sha256=digest)


class BadFile(ValueError):
    """A file that can define no build."""


def kept(definition: dict[str, Any], builds: Mapping[str, Build]) -> dict[str, Any]:
    """A definition as a record keeps it: files by name and hash, repositories without the way to them, and no place on this machine."""
    return {**definition, "builds": {name: {**_without_place(said), **_kept(builds[name])} for name, said in definition["builds"].items()}}


def _kept(build: Build) -> dict[str, Any]:
    if isinstance(build, ReleaseBuild):
        held = build.constraints
        named = {"constraints": held.name, "constraints_sha256": held.sha256} if held is not None else {}
        return {"version": build.version, **named}
    if isinstance(build, OverlayBuild) and build.diff is not None:
        return {"diff": build.diff.name, "sha256": build.diff.sha256}
    if isinstance(build, OverlayBuild) and build.git is not None:
        git = build.git
        return {"git": {"repo": PurePath(git.repo).name, "ref": git.ref, "base": git.base}, "sha256": git.sha256}
    return {}


def _without_place(said: Mapping[str, Any]) -> dict[str, Any]:
    """A build's document whose paths name neither a home nor a folder of this machine."""
    return {**said, **{key: _shortened(said[key]) for key in ("path", "source") if isinstance(said.get(key), str)}}


def _shortened(path: str) -> str:
    """A path below the user's home from `~` on; of another one from the root its end, and eight digits of a hash that tell it from others
    with that end."""
    home = os.path.join(os.path.expanduser("~"), "")
    if path.startswith(home) and home != os.sep:
        return f"~/{path.removeprefix(home)}"
    if not os.path.isabs(path):
        return path
    parts = PurePath(path).parts[1:][-SHOWN_PARTS:]
    return str(PurePath("…", hashlib.sha256(path.encode()).hexdigest()[:8], *parts))
