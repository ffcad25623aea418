"""What a run of an evaluation asked, and of which model: what makes the questions of two runs others, and what is only to be told.

Other shots, limits, versions, templates, instructions or generation arguments are other questions: nothing can be judged. Another model is
what people compare. The same model from another path is a note.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from perfproof.model.base.name_lists import few
from perfproof.model.base.untrusted import line
from perfproof.model.records.definition_diff import differences
from perfproof.model.scenarios.metrics import Better

MOST_TOLD = 6
LONGEST = 80
"""Characters of a value that are told."""
_CACHED = re.compile(r"models--(?:[^/]+--)?(?P<name>[^/]+)")
"""A model's folder in a hub's cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What one run asked of one task, as far as its results file says; empty where there is none.

    `question` has what another value of makes another question, `model` the model's name or path, `variant` what makes another model of
    it (an adapter, a quantisation), `other` what may differ and is told. `better` is the direction of each metric that the file names.
    """

    source: str = ""
    question: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    variant: Mapping[str, Any] = field(default_factory=dict)
    other: Mapping[str, Any] = field(default_factory=dict)
    better: Mapping[str, Better] = field(default_factory=dict)

    @property
    def called(self) -> str:
        """The model in one line, with what makes another of it."""
        return ", ".join([line(self.model, LONGEST), *(f"{line(name)} {_short(value)}" for name, value in self.variant.items())])


def other_questions(first: Settings, second: Settings) -> str:
    """What the two asked differently, in words: "shots 5 against 0"; "" for nothing that both files tell."""
    return _listed(_both(first.question, second.question))


def other_model(first: Settings, second: Settings) -> str:
    """Both models, where they are not one: "A against B"; "" where they are, or where a file does not tell."""
    if not first.model or not second.model:
        return ""
    alike = _name(first.model) == _name(second.model) and not _listed(differences(first.variant, second.variant))
    return "" if alike else f"{first.called} against {second.called}"


def notes(first: Settings, second: Settings) -> list[str]:
    """What is to be told beside the verdicts: what was run otherwise, and what nobody can tell."""
    silent = [side for side, settings in (("baseline", first), ("candidate", second)) if not settings.source]
    if silent:
        which = "neither run" if len(silent) == 2 else f"not the {silent[0]}"
        return [f"{which} has its results file beside its samples, so model, shots and limit can't be compared; items are, one by one"]
    found = []
    if first.model != second.model and not other_model(first, second):
        found.append(f"one model from two paths: {line(first.model, LONGEST)} against {line(second.model, LONGEST)}")
    if unsaid := [
        name for name in dict.fromkeys([*first.question, *second.question]) if (name in first.question) != (name in second.question)
    ]:
        found.append(f"one results file alone says these, which can't be compared: {few([line(name) for name in unsaid], MOST_TOLD)}")
    if told := _listed(_both(first.other, second.other)):
        found.append(f"run otherwise: {told}")
    return found


def _both(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """The differences in what both name."""
    shared = [name for name in first if name in second]
    return list(differences({name: first[name] for name in shared}, {name: second[name] for name in shared}))


def _listed(found: Iterable[tuple[str, Any, Any]]) -> str:
    told = [f"{line(name, LONGEST)} {_short(old)} against {_short(new)}" for name, old, new in found]
    return ", ".join([*told[:MOST_TOLD], *([f"{len(told) - MOST_TOLD} more"] if len(told) > MOST_TOLD else [])])


def _short(value: Any) -> str:
    if value is None:
        return "none"
    return line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str), LONGEST)


def _name(model: str) -> str:
    """A model's own name, without the folder or the account that it lies in."""
    cached = _CACHED.search(model)
    return (cached["name"] if cached else PurePosixPath(model.rstrip("/")).name or model).casefold()
