"""A table of observed calls: functions of one vLLM (`module:Qual.name`), each with those that were seen to call it.

Who calls is a subject: `feature plain` of the counted engine, `benchmark swap_states`, which is whatever its parameters are, and
`benchmark swap_states 1f0c2a9b`, which is with these. A file has every function once, by module, with the
numbers of its subjects, so that a table of a release stays small enough to ship and to compare line by line.
"""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfproof.model.base.errors import BadInput

SCHEMA = 1
READABLE = 0o644
"""Who shares a folder of builds shares its tables."""
REMEDY = "delete the file; it is made again"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTable:
    """What was observed in one vLLM on one platform: `version`, `sources`, the hash of its files, and `device`, "cpu" or "cuda". `calls`
    has the functions of each subject."""

    version: str
    sources: str
    device: str
    calls: Mapping[str, frozenset[str]]

    def adding(self, calls: Mapping[str, Iterable[str]]) -> CallTable:
        """The table with what these subjects call; a subject that was observed before calls both, since parameters and sizes differ."""
        more = {subject: self.calls.get(subject, frozenset()) | frozenset(names) for subject, names in calls.items()}
        return dataclasses.replace(self, calls={**self.calls, **more})

    def subjects_of(self, function: str) -> tuple[str, ...]:
        """The subjects that were seen to call a function, in their order."""
        return tuple(subject for subject, names in self.calls.items() if function in names)


def text_of(table: CallTable) -> str:
    """The file of a table: a line for each module."""
    subjects = list(table.calls)
    modules: dict[str, dict[str, list[int]]] = {}
    for function in sorted({name for names in table.calls.values() for name in names}):
        module, _, name = function.partition(":")
        modules.setdefault(module, {})[name] = [place for place, one in enumerate(subjects) if function in table.calls[one]]
    lines = [f"  {json.dumps(module)}: {json.dumps(names, separators=(',', ':'))}" for module, names in modules.items()]
    head = {"schema": SCHEMA, "version": table.version, "sources": table.sources, "device": table.device, "subjects": subjects}
    first = json.dumps(head, indent=1)[:-2]
    return f'{first},\n "functions": {{\n' + ",\n".join(lines) + "\n }\n}\n"


def read_table(file: Path) -> CallTable | None:
    """The table of a file; None where there is none. Raises `BadInput` for one that is no table."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise BadInput(f"{file}: can't be read as a table of calls ({error}); {REMEDY}") from error
    try:
        return _table(data)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise BadInput(f"{file}: is no table of calls (schema {SCHEMA}): {type(error).__name__}: {error}; {REMEDY}") from error


def _table(data: Any) -> CallTable:
    if data["schema"] != SCHEMA:
        raise TypeError(f"schema {data['schema']}")
    subjects = [str(subject) for subject in data["subjects"]]
    calls: dict[str, set[str]] = {subject: set() for subject in subjects}
    for module, names in data["functions"].items():
        for name, places in names.items():
            for place in places:
                if not 0 <= place < len(subjects):
                    raise IndexError(f"functions.{module}.{name}: there is no subject {place}")
                calls[subjects[place]].add(f"{module}:{name}")
    found = {subject: frozenset(names) for subject, names in calls.items()}
    return CallTable(version=str(data["version"]), sources=str(data["sources"]), device=str(data["device"]), calls=found)


def write_table(table: CallTable, file: Path) -> None:
    """Writes the file whole: another command that reads it meanwhile sees the old or the new one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
    try:
        with open(handle, "w", encoding="utf-8") as out:
            out.write(text_of(table))
        os.chmod(draft, READABLE)
        os.replace(draft, file)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
