"""A file, or a room, for each kind of workload: its noun, its document (the schema in a scenario file) and its traits.

Kinds do not import each other. Every other room uses the traits, and knows no kind by name. A new kind is a file and a line here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfproof.model.kinds.accuracy.accuracy_document import ACCURACY
from perfproof.model.kinds.command.command_document import COMMAND
from perfproof.model.kinds.engine import ENGINE
from perfproof.model.kinds.equality.equality_document import EQUALITY
from perfproof.model.kinds.micro import MICRO
from perfproof.model.kinds.offline import OFFLINE
from perfproof.model.kinds.pytest import PYTEST
from perfproof.model.kinds.serve import SERVE
from perfproof.model.workloads.kind import Kind
from perfproof.model.workloads.workload import Workload

KINDS: tuple[Kind, ...] = (
    MICRO,
    SERVE,
    OFFLINE,
    ACCURACY,
    EQUALITY,
    ENGINE,
    PYTEST,
    COMMAND,
)
_NAMED: Mapping[object, Kind] = {kind.name: kind for kind in KINDS}


def kind_of(workload: Workload) -> Kind:
    """The kind of a workload."""
    return _NAMED[workload.kind]


def kind_named(name: object) -> Kind | None:
    """The kind of that name; None if there is none, because a file or a record may have any name."""
    return _NAMED.get(name) if isinstance(name, str) else None


def kind_in(definition: Mapping[str, Any]) -> Kind | None:
    """The kind in a definition's workload; None for an unknown one."""
    workload = definition.get("workload")
    return kind_named(workload.get("kind")) if isinstance(workload, Mapping) else None
