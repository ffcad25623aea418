"""The builds of a scenario file: converts their documents to nouns, and finds and hashes the files that define them.

Paths are relative to the scenario's own file. A kept definition has only the name and the hash of such a file: another content is another
build, another folder is not, and no home folder gets into a record.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from perfproof.model.documents.scenario_documents import BuildDoc, ImageDoc, OverlayDoc, PythonDoc, ReleaseDoc, WheelDoc
from perfproof.model.scenarios.build import (
    SHOWN_PARTS,
    Build,
    DefiningFile,
    EditableBuild,
    GitSource,
    ImageBuild,
    OverlayBuild,
    PythonBuild,
    ReleaseBuild,
    is_url,
    of_wheel,
    release_called,
    wheel_name,
)

LARGEST_DIFF = 64_000_000
"""The most bytes of a diff or a file of constraints: twice the size of a diff that touches every file of vLLM (32 MB, read in 6 s and into
0.7 GB)."""


def nouns(docs: Mapping[str, BuildDoc], folder: Path | None) -> tuple[dict[str, Build], list[str]]:
    """Every build by its name, and the faults of the files that they name. `folder` None reads no file."""
    faults: list[str] = []
    builds: dict[str, Build] = {}
    for name in docs:
        _noun(name, docs, folder, builds, faults)
    return {name: builds[name] for name in docs}, faults


def _noun(name: str, docs: Mapping[str, BuildDoc], folder: Path | None, builds: dict[str, Build], faults: list[str]) -> Build:
    """The build of that name, after its bases; the document ensures that there is no circle."""
    if name not in builds:
        doc = docs[name]
        base = _noun(doc.base, docs, folder, builds, faults) if isinstance(doc, OverlayDoc) else None
        builds[name] = _build(name, doc, base, folder, faults)
    return builds[name]


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
    if isinstance(doc, WheelDoc):
        constraints = defining_file(f"builds.{name}.constraints", doc.constraints, doc.constraints_sha256, folder, faults)
        distribution, version = of_wheel(wheel_name(doc.wheel))
        wheel = wheel_of(f"builds.{name}.wheel", doc.wheel, doc.sha256, folder, faults)
        needs = tuple(doc.requirements)
        return ReleaseBuild(name=name, distribution=distribution, version=version, requirements=needs, constraints=constraints, wheel=wheel)
    if isinstance(doc, PythonDoc):
        return PythonBuild(name=name, path=doc.path)
    if isinstance(doc, ImageDoc):
        return ImageBuild(name=name, image=doc.image, runtime=doc.runtime, python=doc.python, digest=doc.digest)
    if isinstance(doc, OverlayDoc) and base is not None:
        diff = defining_file(f"builds.{name}.diff", doc.diff, doc.sha256, folder, faults)
        git = None
        if doc.git is not None:
            git = GitSource(repo=_place(doc.git.repo, folder), ref=doc.git.ref, base=doc.git.base, sha256=doc.sha256)
        return OverlayBuild(name=name, base=base, diff=diff, git=git)
    assert not isinstance(doc, OverlayDoc)  # noqa: S101 (an overlay's base is made before it)
    return EditableBuild(name=name, source=_place(doc.source, folder), command=tuple(doc.command) if doc.command else None)


def wheel_of(where: str, named: str, sha256: str | None, folder: Path | None, faults: list[str]) -> DefiningFile:
    """The wheel at the field `where`, hashed if it is a file here; its faults go to `faults`."""
    if folder is None or is_url(named):
        return DefiningFile(path=named, sha256=sha256 or "")
    path, digest = Path(_place(named, folder)), ""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if sha256 not in (None, digest):
            faults.append(f"{where}: {named}: it has the SHA-256 {digest}, the scenario expects {sha256}")
    except OSError as error:
        faults.append(f"{where}: {named}: {error.strerror} (paths are relative to the scenario file)")
    return DefiningFile(path=str(path), sha256=digest)


def _place(named: str, folder: Path | None) -> str:
    """The absolute path of a name in a scenario file; a name in a record stays unchanged."""
    return named if folder is None else os.path.abspath(folder / os.path.expanduser(named))


def defining_file(where: str, named: str | None, sha256: str | None, folder: Path | None, faults: list[str]) -> DefiningFile | None:
    """The file at the field `where`, hashed; its faults go to `faults`. `sha256`, if given, is the required hash."""
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
            raise BadFile(f"it has {status.st_size:,} bytes, at most {LARGEST_DIFF:,} are allowed: use a diff of vllm/ only")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if sha256 not in (None, digest):
            raise BadFile(f"its text has the SHA-256 {digest}, the scenario expects {sha256}")
    except (OSError, BadFile) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        faults.append(f"{where}: {named}: {reason}" + (" (paths are relative to the scenario file)" if isinstance(error, OSError) else ""))
        return None
    return DefiningFile(path=str(path), sha256=digest)


class BadFile(ValueError):
    """A file can't define a build."""


def kept(definition: dict[str, Any], builds: Mapping[str, Build]) -> dict[str, Any]:
    """A definition in the form that a record keeps: files by name and hash, repositories by name, and no folder of this machine."""
    return {
        **definition,
        "builds": {name: {**_without_place(document), **_kept(builds[name])} for name, document in definition["builds"].items()},
    }


def _kept(build: Build) -> dict[str, Any]:
    if isinstance(build, ReleaseBuild):
        held = build.constraints
        named = {"constraints": held.name, "constraints_sha256": held.sha256} if held is not None else {}
        if build.wheel is not None:
            known = {"sha256": build.wheel.sha256} if build.wheel.sha256 else {}
            return {"wheel": wheel_name(build.wheel.path) if known else _public(build.wheel.path), **known, **named}
        return {"version": build.version, **named}
    if isinstance(build, ImageBuild) and build.digest:
        return {"digest": build.digest}
    if isinstance(build, OverlayBuild) and build.diff is not None:
        return {"diff": build.diff.name, "sha256": build.diff.sha256}
    if isinstance(build, OverlayBuild) and build.git is not None:
        git = build.git
        return {"git": {"repo": PurePath(git.repo).name, "ref": git.ref, "base": git.base}, "sha256": git.sha256}
    return {}


def _public(url: str) -> str:
    """A URL without what may be secret in it: a user's name and word, a query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _without_place(document: Mapping[str, Any]) -> dict[str, Any]:
    """A build's document without paths of home folders and of this machine."""
    return {**document, **{key: _shortened(document[key]) for key in ("path", "source") if isinstance(document.get(key), str)}}


def _shortened(path: str) -> str:
    """A path below the user's home starts with `~`; of another absolute path only the end is kept, with eight digits of a hash that
    distinguish paths with the same end."""
    home = os.path.join(os.path.expanduser("~"), "")
    if path.startswith(home) and home != os.sep:
        return f"~/{path.removeprefix(home)}"
    if not os.path.isabs(path):
        return path
    parts = PurePath(path).parts[1:][-SHOWN_PARTS:]
    return str(PurePath("…", hashlib.sha256(path.encode()).hexdigest()[:8], *parts))
