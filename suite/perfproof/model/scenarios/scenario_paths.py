"""How a command names the file of a scenario of which only the name is known: records hold no path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from perfproof.model.base.errors import BadInput
from perfproof.model.installed.project_files import project_here
from perfproof.model.installed.scenario_folders import COMMANDS, FOLDERS, HERE, existing, of_project
from perfproof.model.scenarios.group_names import own_name

WRITTEN = Path("results/bench")
"""Where the scenario of a benchmark file is written, if its results lie elsewhere."""


def typed(name: str, results: str = "") -> str:
    """`scenarios/NAME.yaml`, or `scenarios/commands/NAME.yaml` where only that folder has it; of a group of records, the scenario's file.

    A file beside its records in `results` comes first, as `ab` and `run --bench` write it. A project's own is found by its name alone. A
    scenario that lies nowhere here is named as if it lay in `scenarios`.
    """
    own = own_name(name)
    if results and own in _in(Path(results)):
        return str(Path(results, f"{own}.yaml"))
    if own in _of_project():
        return own
    return next(_elsewhere(own), f"{HERE}/{own}.yaml")


def is_there(file: str) -> bool:
    """Whether a command finds what is `typed`."""
    return file in _of_project() or existing(Path(file)).is_file()


def _elsewhere(own: str) -> Iterator[str]:
    """The places of a scenario that no project adds."""
    for room in (HERE, HERE / COMMANDS):
        if any(own in _in(folder / room.relative_to(HERE)) for folder in FOLDERS):
            yield f"{room}/{own}.yaml"
    yield from (str(folder / f"{own}.yaml") for folder in (WRITTEN, Path()) if own in _in(folder))


def _in(folder: Path) -> set[str]:
    return {file.stem for file in folder.glob("*.yaml")}


def _of_project() -> set[str]:
    try:
        return {file.stem for file in of_project(project_here())}
    except BadInput:  # faulty settings of a project: the command that reads them says so
        return set()
