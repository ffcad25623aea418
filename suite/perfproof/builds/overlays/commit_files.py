"""Files of a git commit that trials need: pinned by their hash when a scenario is read, laid out when it is run.

Only the commit is read, never the working tree. A branch may move: what is laid out has the hash that the scenario was read with.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from perfproof.builds.images import image_digests
from perfproof.builds.overlays import git_changes
from perfproof.builds.processes import temp_files
from perfproof.model.base.errors import BadInput
from perfproof.model.scenarios.scenario import Arm, Scenario
from perfproof.model.workloads.file_folder import MOST_BYTES, MOST_FILES, OWN_FOLDER, CommitFiles, FileFolder, digest_of, listed
from perfproof.model.workloads.files_document import kept_files


def pinned(scenario: Scenario) -> Scenario:
    """The scenario with a hash for all that it takes from git (overlays, its files, its arms' files) and for every image; the same scenario
    if that is nothing.

    Raises `BadInput` for an image, a repository, a commit or a path that does not exist.
    """
    scenario = git_changes.pinned(image_digests.pinned(scenario))
    workload = scenario.workload.with_files_pinned(lambda files: _pinned(f"{scenario.source}: workload.files", files))
    arms = tuple(_pinned_arm(scenario.source, arm) for arm in scenario.arms)
    if workload == scenario.workload and arms == scenario.arms:
        return scenario
    definition = dict(scenario.definition)
    kept = definition["arms"]
    definition["workload"] = workload.kept(definition["workload"])
    definition["arms"] = {**kept, **{arm.name: {**kept[arm.name], **kept_files(arm.files)} for arm in arms if arm.files}}
    return dataclasses.replace(scenario, workload=workload, arms=arms, definition=definition)


def _pinned_arm(source: str, arm: Arm) -> Arm:
    files = arm.files
    if not isinstance(files, CommitFiles) or files.sha256:
        return arm
    return dataclasses.replace(arm, files=_pinned(f"{source}: arms.{arm.name}.files", files))


def _pinned(where: str, files: CommitFiles) -> CommitFiles:
    with temp_files.directory() as folder:
        return dataclasses.replace(files, sha256=laid_out(where, files, Path(folder)).sha256)


def laid_out(where: str, files: CommitFiles, into: Path) -> FileFolder:
    """The files below the empty folder `into`, each at its path in the repository, as a folder of files that trials copy.

    A package `vllm` at the top is not among them. Raises `BadInput` where there is nothing at a path, where they are too many, and where
    they are others than when the scenario was read.
    """
    for path in files.paths:
        try:
            there_is = git_changes.take_out(files.repository, files.commit, path, into, most_bytes=MOST_BYTES)
        except BadInput as error:
            raise BadInput(*(f"{where}: {fault.replace('git.repo', 'repository')}" for fault in error.faults)) from None
        if not there_is:
            raise BadInput(f"{where}: {files.commit} has nothing at {path}: paths are those of git ls-tree, from the top of the repository")
    there = list(listed(into))
    if not there or len(there) > MOST_FILES:
        much = f"more than {MOST_FILES:,} files: {OWN_FOLDER}" if there else "no file that a trial may see: a folder vllm/ is left out"
        raise BadInput(f"{where}: {', '.join(files.paths)} of {files.commit}: {much}")
    digest = digest_of(into, there)
    if files.sha256 not in ("", digest):
        raise BadInput(
            f"{where}: the files of {files.commit} have the SHA-256 {digest}, {files.sha256} was expected: it has moved; run again, into "
            "another results folder, or name the commit by its hash"
        )
    return FileFolder(path=str(into), sha256=digest)
