"""What counted runs of a command leave of its Python, as a record has it: the last of them, and what no two of them agree on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from perfproof.model.base.errors import BadInput, CannotRun
from perfproof.model.records.count_lines import round_of

MOST = 3
"""Runs that are counted, at most, until two agree."""
BLOCKS = 2
"""Blocks in which a command is counted: one decides, a second confirms."""
_OWN = (0, 1, 3)
"""The places of a function's numbers that are its own: instructions, calls, C calls."""


def read_counted(file: Path) -> tuple[dict[str, Any], list[str]]:
    """The count of a run that has ended, and a line for each process that was not counted in it. Raises `CannotRun` with why there is
    none."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CannotRun("its first process is no Python that reads its site: run it with {python}, without -I, -E and -S") from None
    except ValueError:
        raise CannotRun("its first process ended without leaving its count: it called os._exit or exec, or was ended") from None
    if fault := document.get("fault"):
        raise CannotRun(str(fault))
    try:
        round_of({**document, "odd": [], "steps": 1, "waves": 1}, "count")
    except BadInput as error:
        raise CannotRun("; ".join(error.faults)) from None
    others = file.with_name(f"{file.name}.others")
    return document, others.read_text(encoding="utf-8", errors="replace").splitlines() if others.exists() else []


def agree(runs: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the last run is the same as an earlier one, to the last instruction and call."""
    return any(not unlike(runs[-1], earlier) for earlier in runs[:-1])


def unlike(one: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    """The functions and C calls in which two runs differ. What a function's callees did is theirs."""
    functions = [{name: [numbers[place] for place in _OWN] for name, numbers in each["functions"].items()} for each in (one, other)]
    c_calls = [one["c_calls"], other["c_calls"]]
    return {name for first, second in (functions, c_calls) for name in {**first, **second} if first.get(name) != second.get(name)}


def counted_round(runs: Sequence[Mapping[str, Any]], at: Mapping[str, Any]) -> dict[str, Any]:
    """The counts as a record has them; `at` says what was counted where that is not what was timed."""
    last = runs[-1]
    odd = set() if agree(runs) else {name for earlier in runs[:-1] for name in unlike(last, earlier)}
    return {**last, "odd": sorted(odd), "steps": 1, "waves": len(runs), "at": dict(at)}
