"""The folders of a run that a build from an image needs in its containers: results, and what a scenario names on this machine.

The builds, the working folder and what words and variables name are there anyhow (`perfproof.child.container`). What comes to a process by
a message or in a file is not: a trial's folder, a model, a data set.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.model.scenarios.scenario import Scenario


def with_folders(build: ReadyBuild, scenarios: Sequence[Scenario], results: Path) -> ReadyBuild:
    """The build, its containers having the results folder too, and what the scenarios name; a build without containers stays unchanged."""
    if build.container is None:
        return build
    results.mkdir(parents=True, exist_ok=True)
    written = [(str(place), True) for place in dict.fromkeys((results.absolute(), results.resolve()))]
    read = [(place, False) for place in dict.fromkeys(place for scenario in scenarios for place in named_by(scenario))]
    return dataclasses.replace(build, container=dataclasses.replace(build.container, mounts=(*written, *read)))


def named_by(scenario: Scenario) -> Iterator[str]:
    """The files and folders of this machine that a scenario's workload and arms name, and where links in them lead."""
    arms = [(arm.environment, arm.server_arguments, arm.client) for arm in scenario.arms]
    for text in _texts([dataclasses.asdict(scenario.workload), arms]):
        for part in (text, text.partition("=")[2]):
            if part.startswith(("/", "./", "../", "~")) and (path := Path(part).expanduser()).exists():
                yield from _with_targets(path.absolute())


def _with_targets(path: Path) -> Iterator[str]:
    yield str(path)
    inside = [one for one in path.iterdir() if one.is_symlink()] if path.is_dir() else []
    yield from sorted({str(path.resolve()), *(str(one.resolve().parent) for one in inside)} - {str(path)})


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts(list(value.values()))
    elif isinstance(value, os.PathLike):
        yield os.fspath(value)
    elif isinstance(value, Iterable):
        for one in value:
            yield from _texts(one)
