"""Known changes of vLLM, by version: the notes beside the steps of a history.

They are in one YAML file, `upstream.yaml` in the history folder, which anybody may extend:

    schema: 1
    changes:
      - {scenario: thinking_scan, version: 0.26.0, pull: 45984, words: the watermark of the scan was lost}

A change that several scenarios see names them in a list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.version import Version

from perfproof.model.base.errors import BadInput
from perfproof.model.base.yaml_io import read_mapping, shown

FILE = "upstream.yaml"
_KEYS = {"scenario", "version", "words", "pull", "metrics"}


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamChange:
    """A change of vLLM: first in `version`, seen by `scenario`, in `metrics` (empty: in any). `pull` is its pull request, if known."""

    scenario: str
    version: str
    pull: int | None
    words: str
    metrics: tuple[str, ...]


def load_upstream(folder: Path) -> tuple[UpstreamChange, ...]:
    """The changes in a history folder's file, none without a file; raises `BadInput` with all faults of the file."""
    path = folder / FILE
    if not path.is_file():
        return ()
    data = read_mapping(path)
    changes = data.get("changes")
    if data.get("schema") != 1 or not isinstance(changes, list):
        raise BadInput(f"{path}: expected 'schema: 1' and a list 'changes'")
    faults = [f"{path}: changes.{place}: {fault}" for place, change in enumerate(changes) for fault in _faults(change)]
    if faults:
        raise BadInput(*faults)
    return tuple(
        UpstreamChange(
            scenario=scenario,
            version=str(change["version"]),
            pull=change.get("pull"),
            words=change["words"],
            metrics=tuple(change.get("metrics", ())),
        )
        for change in changes
        for scenario in ([change["scenario"]] if isinstance(change["scenario"], str) else change["scenario"])
    )


def _faults(change: Any) -> Iterator[str]:
    if not isinstance(change, dict):
        yield f"expected a mapping, got {shown(change)}"
        return
    for key in sorted(change.keys() - _KEYS):
        yield f"unknown key {key!r}"
    scenarios = change.get("scenario")
    several = scenarios if isinstance(scenarios, list) and scenarios else [scenarios]
    if not all(isinstance(one, str) for one in several):
        yield f"scenario: expected a name, or a list of names, got {shown(scenarios)}"
    if not isinstance(change.get("words"), str):
        yield f"words: expected a text, got {shown(change.get('words'))}"
    if _version(str(change.get("version"))) is None:
        yield f"version: expected one such as 0.26.0, got {shown(change.get('version'))}"
    if not (change.get("pull") is None or type(change["pull"]) is int):
        yield f"pull: expected a number, got {shown(change['pull'])}"
    metrics = change.get("metrics", [])
    if not (isinstance(metrics, list) and all(isinstance(name, str) for name in metrics)):
        yield f"metrics: expected a list of names, got {shown(metrics)}"


def between(changes: Sequence[UpstreamChange], scenario: str, metric: str, before: str, at: str) -> list[UpstreamChange]:
    """The changes for a metric after version `before`, up to version `at`."""
    low, high = _version(before), _version(at)
    if low is None or high is None:
        return []
    return [
        change
        for change in changes
        if change.scenario == scenario
        and (not change.metrics or metric.partition("@")[0] in change.metrics)
        and (there := _version(change.version)) is not None
        and low < there <= high
    ]


def _version(text: str) -> Version | None:
    """A version without the part after a plus."""
    try:
        return Version(text.partition("+")[0])
    except ValueError:
        return None
