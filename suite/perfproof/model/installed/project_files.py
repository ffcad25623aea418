"""What a project adds for itself: scenarios, benchmarks and a policy in its folder `.perfproof`.

`[tool.perfproof]` in the project's pyproject.toml names other places:

    [tool.perfproof]
    scenarios = "perf/scenarios"      # default .perfproof/scenarios
    policy = "perf/policy.yaml"       # default .perfproof/policy.yaml

A path is relative to the project and stays inside it. The project is the nearest folder from here up, to the top of its repository,
that has one of the two.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomllib

from perfproof.model.base.errors import BadInput
from perfproof.model.base.yaml_io import shown

FOLDER = ".perfproof"
SETTINGS = "pyproject.toml"
DEFAULTS = {"scenarios": f"{FOLDER}/scenarios", "policy": f"{FOLDER}/policy.yaml"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project's folder, its folder of scenarios and its policy, which need not exist.

    `named` is true where pyproject.toml has a table `[tool.perfproof]`.
    """

    root: Path
    scenarios: Path
    policy: Path
    named: bool

    @property
    def places(self) -> tuple[str, ...]:
        """The project's files that judge, relative to its folder: what a scenario refers to lies beside it."""
        own = (str(self.scenarios.relative_to(self.root)), str(self.policy.relative_to(self.root)))
        return (FOLDER, *((SETTINGS, *own) if self.named else ()))


def project_here() -> Project | None:
    """The project that the current folder belongs to; None where it adds nothing."""
    return next((found for folder in _upwards(Path.cwd()) if (found := project_in(folder))), None)


def project_in(root: Path) -> Project | None:
    """The project of this very folder, if it adds something. Raises `BadInput` for faulty settings."""
    settings = _settings(root / SETTINGS)
    if settings is None and not (root / FOLDER).is_dir():
        return None
    places = DEFAULTS | dict(settings or {})
    return Project(root=root, scenarios=root / places["scenarios"], policy=root / places["policy"], named=settings is not None)


def _upwards(folder: Path) -> Iterator[Path]:
    """This folder, and those above it up to the top of the repository that holds it."""
    above = [folder, *folder.parents]
    tops = [place for place, one in enumerate(above) if (one / ".git").exists()]
    yield from (Path(os.path.relpath(one)) for one in above[: tops[0] + 1 if tops else 1])


def _settings(file: Path) -> Mapping[str, str] | None:
    """The table `[tool.perfproof]` of a pyproject.toml; None where there is none. Raises `BadInput` with all faults."""
    if not file.is_file():
        return None
    try:
        table: Any = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("perfproof")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, AttributeError) as error:
        raise BadInput(f"{file}: can't be read as TOML: {error}") from error
    if table is None:
        return None
    if not isinstance(table, dict):
        raise BadInput(f"{file}: tool.perfproof: expected a table, got {shown(table)}")
    if faults := list(_faults(table)):
        raise BadInput(*(f"{file}: tool.perfproof.{fault}" for fault in faults))
    return table


def _faults(table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        if key not in DEFAULTS:
            yield f"{key}: there is no such key; expected {' or '.join(DEFAULTS)}"
        elif not isinstance(value, str) or not _inside(value):
            yield f'{key}: expected a path inside the project, such as "{DEFAULTS[key]}", got {shown(value)}'


def _inside(text: str) -> bool:
    path = Path(text)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\0" not in text
