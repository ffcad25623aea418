"""Files that a scenario names, a folder or paths of a git commit: their document, their nouns, and what a definition keeps of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Annotated, Any

from pydantic import Discriminator, Field, StringConstraints, Tag, field_validator

from perfproof.model.workloads.document_parts import Doc
from perfproof.model.workloads.file_folder import CommitFiles, FileFolder, Files, read_files

Folder = Annotated[str, StringConstraints(min_length=1, max_length=4096)]
Revision = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_./@~^{}][A-Za-z0-9_./@~^{}+#-]{0,254}$")]
"""A branch, tag or commit for git; it can't be mistaken for an option."""
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class CommitDoc(Doc):
    repository: Folder
    commit: Revision
    paths: Annotated[list[Folder], Field(min_length=1, max_length=100)]

    @field_validator("paths")
    @classmethod
    def _inside(cls, paths: list[str]) -> list[str]:
        for path in paths:
            if path.startswith(("/", "-", ":", "~")) or ".." in PurePath(path).parts:
                raise ValueError(f"expected paths inside the repository, such as benchmarks, got {path!r}")
        return paths


def _which(entry: Any) -> str:
    return "str" if isinstance(entry, str) else "CommitDoc"


FilesDoc = Annotated[Annotated[Folder, Tag("str")] | Annotated[CommitDoc, Tag("CommitDoc")], Discriminator(_which)]
"""A folder, or paths of a commit of a local clone."""


def files_of(where: str, doc: str | CommitDoc | None, sha256: str | None, folder: Path | None, faults: list[str]) -> Files | None:
    """The files that a document names; what is wrong with a folder goes to `faults`. git is asked for a commit later.

    `folder` None reads nothing: a record keeps only names and hash.
    """
    if doc is None or isinstance(doc, str):
        return None if doc is None else read_files(where, doc, sha256, folder, faults)
    place = doc.repository
    if folder is not None:
        place = os.path.abspath(folder / os.path.expandvars(os.path.expanduser(place)))
    return CommitFiles(repository=place, commit=doc.commit, paths=tuple(doc.paths), sha256=sha256 or "")


def kept_files(files: Files | None) -> dict[str, Any]:
    """What a definition keeps of files: names and a hash, and no folder of this machine."""
    if files is None:
        return {}
    named: str | Mapping[str, Any]
    if isinstance(files, FileFolder):
        named = PurePath(files.path).name
    else:
        named = {"repository": PurePath(files.repository).name, "commit": files.commit, "paths": list(files.paths)}
    return {"files": named, "files_sha256": files.sha256 or None}
