"""A results folder for each question that a command writes itself: another text of a file or of a diff is another question."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perfproof.commands.run_scenarios import load
from perfproof.model.base.errors import BadInput
from perfproof.model.base.yaml_io import write_mapping
from perfproof.model.scenarios.scenario import Profile, digest_of, without_names

RESULTS = Path("results")


def own_folder(
    name: str,
    document: Mapping[str, Any],
    *,
    profile: Profile,
    seed: int,
    blocks: int | None,
    baseline: str | None = None,
    candidate: str | None = None,
) -> Path:
    """The folder below `results` of a scenario that is not written yet, by its content: the same question finds its records again. Raises
    `BadInput` for what the document names and is not there."""
    with tempfile.TemporaryDirectory(prefix="perfproof-") as scratch:
        file = Path(scratch, f"{name}.yaml")
        write_mapping(file, document)
        try:
            (scenario,) = load([file], profile, blocks, baseline, candidate)
        except BadInput as error:
            raise BadInput(*(fault.removeprefix(f"{file}: ") for fault in error.faults)) from error
    identity = f"{digest_of(without_names(scenario.definition))} {seed}"
    return RESULTS / f"{name}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"
