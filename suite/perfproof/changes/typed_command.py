"""The command that measures a change again, for the person who typed it and for anybody who stands where they stood."""

from __future__ import annotations

import shlex
from pathlib import Path

from perfproof.changes.change_answer import Wanted
from perfproof.changes.change_builds import Change, typed_path
from perfproof.model.base.errors import BadInput
from perfproof.model.installed.scenario_folders import located
from perfproof.report.extract.facts import AGAIN


def command_of(change: Change, wanted: Wanted, *, again: bool = True) -> str:
    """The command without a budget: into another results folder (`again`), or into its own, where it goes on."""
    words = ["perfproof", "pr"]
    if change.diff is not None:
        words += ["--diff", shell_path(change.diff)]
    else:
        words += ["--git", shell_path(change.repo) if change.repo else "''"]
        words += ["--ref", shlex.quote(str(change.ref)), "--base", shlex.quote(str(change.base))]
    words += ["--build", shlex.quote(change.build) if "/" not in change.build else shell_path(Path(change.build))]
    words += ["--profile", wanted.profile]
    words += ["--seed", str(wanted.seed)] if wanted.seed else []
    words += ["--blocks", str(wanted.blocks)] if wanted.blocks else []
    words += ["--no-count"] if wanted.no_count else []
    words += ["--count-features", ",".join(wanted.count_features)] if wanted.count_features else []
    words += ["--tests", *map(_test_path, wanted.tests)] if wanted.tests else []
    if wanted.bench is not None:
        words += ["--bench", shell_path(wanted.bench)]
    elif wanted.scenarios is not None:
        words += ["--scenarios", *map(_scenario, wanted.scenarios)]
    results = [AGAIN] if again else [shell_path(wanted.results)] if wanted.results else []
    return " ".join([*words, *(["--results", *results] if results else [])])


def shell_path(path: Path) -> str:
    """A path as one types it where the command was typed, quoted for a shell, which expands a ~ before it."""
    typed = typed_path(path)
    return f"~/{shlex.quote(typed[2:])}" if typed.startswith("~/") else shlex.quote(typed)


def _test_path(path: Path) -> str:
    """A test's file, with the test in it that `::` names."""
    file, sign, test = str(path).partition("::")
    return f"{shell_path(Path(file))}{shlex.quote(f'{sign}{test}') if sign else ''}"


def _scenario(path: Path) -> str:
    """The name of a scenario that is found by it, else its file."""
    try:
        found = located(Path(path.stem)).resolve() == path.resolve()
    except BadInput:
        found = False
    return shlex.quote(path.stem) if found else shell_path(path)
