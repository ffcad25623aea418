"""Benchmarks of the user's own, by path: copied once with their folder, so that every arm and block gets the same files.

A hash of the files names the copy, as it names a side folder. It lies among the logs of the results folder.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from perfproof.model.workloads.file_folder import FileFolder

ENOUGH = 16
"""Digits of the hash in the folder's name."""


def laid_out(files: FileFolder, folder: Path) -> Path:
    """The copy of a benchmark's folder, below `folder`; made if it is not there. Raises `CannotRun` if its files were changed meanwhile."""
    place = folder / files.sha256[:ENOUGH]
    name = Path(files.path).name
    copy = place / (name if name not in ("", "vllm") else "benchmarks")
    if not copy.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder))
        try:
            files.copy_to(draft / copy.name)
            (draft / "pytest.ini").write_text("[pytest]\n")
            shutil.rmtree(place, ignore_errors=True)
            draft.rename(place)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return copy
