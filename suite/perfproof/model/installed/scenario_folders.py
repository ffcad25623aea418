"""Where scenarios lie: the folder `scenarios` here, else perfproof's own; a project's `.perfproof` adds to them.

The wheel carries the checkout's folder `scenarios`, with its diffs, tasks and `main.toml`, inside the package. A checkout uses its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import perfproof
from perfproof.model.base.errors import BadInput
from perfproof.model.installed.project_files import Project, project_here

_PACKAGE = Path(perfproof.__file__).resolve().parent
OWN = next((one for one in (_PACKAGE / "scenarios", _PACKAGE.parents[1] / "scenarios") if one.is_dir()), _PACKAGE / "scenarios")
"""perfproof's own scenarios: inside an installed package, else beside the checkout's `suite`."""
HERE = Path("scenarios")
FOLDERS = (HERE, OWN)
"""The folders that hold the scenarios, in the order of search; the first that has some counts."""
COMMANDS = "commands"
"""The folder, in one of these, of scenarios that are run by name alone: vLLM's own benchmarks, which want the user's files or minutes."""


def scenario_files() -> list[Path]:
    """All scenario files, in the order of their names. A project's own replace those of the same name."""
    try:
        found = {path.name: path for path in next(filter(None, map(_in, FOLDERS)), [])}
        found |= {path.name: path for path in of_project(project_here())}
    except OSError as error:
        raise BadInput(f"{error.filename or HERE}: can't be read: {error.strerror}") from error
    if not found:
        raise BadInput(f"there are no scenarios in {HERE}, and perfproof's own are missing ({OWN}): install perfproof again")
    return [found[name] for name in sorted(found)]


def of_project(project: Project | None) -> Sequence[Path]:
    """The scenario files that a project adds."""
    return _in(project.scenarios) if project else []


def located(path: Path) -> Path:
    """The scenario file that a user means: of `penalties`, a project's or perfproof's own; else as `existing`.

    Raises `BadInput` for a name that no scenario has.
    """
    return _named(path.name) if len(path.parts) == 1 and not path.suffix and not path.exists() else existing(path)


def existing(path: Path) -> Path:
    """The path; perfproof's own file of that name where nothing is at a path `scenarios/...` here."""
    own = OWN.joinpath(*path.parts[1:])
    return own if path.parts[:1] == HERE.parts and ".." not in path.parts and own.is_file() and not path.exists() else path


def _named(name: str) -> Path:
    """The scenario file of that name; raises `BadInput` with the nearest names."""
    commands = next(filter(None, (_in(folder / COMMANDS) for folder in FOLDERS)), [])
    files = {file.stem: file for file in (*commands, *scenario_files())}
    if name in files:
        return files[name]
    near = get_close_matches(name, files, n=3)
    raise BadInput(
        f"{name}: there is no such file, and no scenario of that name" + (f"; did you mean {' or '.join(near)}?" if near else "")
    )


def _in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.yaml"))
