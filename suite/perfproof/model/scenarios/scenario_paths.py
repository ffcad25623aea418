"""How a command names the file of a scenario of which only the name is known: records hold no path."""

from __future__ import annotations

from perfproof.model.base.errors import BadInput
from perfproof.model.installed.project_files import project_here
from perfproof.model.installed.scenario_folders import COMMANDS, FOLDERS, HERE, of_project
from perfproof.model.scenarios.group_names import own_name


def typed(name: str) -> str:
    """`scenarios/NAME.yaml`, or `scenarios/commands/NAME.yaml` where only that folder has it; of a group of records, the scenario's file.

    A project's own is found by its name alone. A scenario that lies nowhere here is named as if it lay in `scenarios`.
    """
    own = own_name(name)
    if own in _of_project():
        return own
    at_top, below = ({file.stem for folder in FOLDERS for file in (folder / room).glob("*.yaml")} for room in ("", COMMANDS))
    return f"{HERE}/{COMMANDS}/{own}.yaml" if own in below - at_top else f"{HERE}/{own}.yaml"


def _of_project() -> set[str]:
    try:
        return {file.stem for file in of_project(project_here())}
    except BadInput:  # faulty settings of a project: the command that reads them says so
        return set()
