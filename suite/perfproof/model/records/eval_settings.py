"""The settings of an evaluation run and its model: which differences make other questions, and which are only notes.

With other shots, limits, versions, templates, instructions or generation arguments the questions differ: nothing can be judged. Another
model is what people compare. The same model from another path is a note.
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

MOST_NAMES = 6
LONGEST = 80
"""The most characters of a value that are shown."""
_CACHED = re.compile(r"models--(?:[^/]+--)?(?P<name>[^/]+)")
"""A model's folder in a hub's cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one task in one run, from its results file; empty without a file.

    A difference in `question` makes another question; `model` is the model's name or path; a difference in `variant` (an adapter, a
    quantisation) makes another model; `other` may differ, with a note. `better` is the direction of each metric in the file.
    """

    source: str = ""
    question: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    variant: Mapping[str, Any] = field(default_factory=dict)
    other: Mapping[str, Any] = field(default_factory=dict)
    better: Mapping[str, Better] = field(default_factory=dict)

    @property
    def called(self) -> str:
        """The model in one line, with its variant."""
        return ", ".join([line(self.model, LONGEST), *(f"{line(name)} {_short(value)}" for name, value in self.variant.items())])


def other_questions(first: Settings, second: Settings) -> str:
    """The differences of the two questions, in words: "shots 5 against 0"; "" if both files agree in what they have."""
    return _listed(_both(first.question, second.question))


def other_model(first: Settings, second: Settings) -> str:
    """Both models, if they differ: "A against B"; "" if they don't, or if a file does not name its model."""
    if not first.model or not second.model:
        return ""
    alike = _name(first.model) == _name(second.model) and not _listed(differences(first.variant, second.variant))
    return "" if alike else f"{first.called} against {second.called}"


def notes(first: Settings, second: Settings) -> list[str]:
    """Notes beside the verdicts: other differences of the runs, and unknown settings."""
    silent = [side for side, settings in (("baseline", first), ("candidate", second)) if not settings.source]
    if silent:
        which = "neither run" if len(silent) == 2 else f"not the {silent[0]}"
        return [
            f"{which} has its results file beside its samples, so model, shots and limit can't be compared; items are compared one by one"
        ]
    sentences = []
    if first.model != second.model and not other_model(first, second):
        sentences.append(f"the same model from two paths: {line(first.model, LONGEST)} against {line(second.model, LONGEST)}")
    if unsaid := [
        name for name in dict.fromkeys([*first.question, *second.question]) if (name in first.question) != (name in second.question)
    ]:
        sentences.append(
            f"only one results file has these settings, so they can't be compared: {few([line(name) for name in unsaid], MOST_NAMES)}"
        )
    if differing := _listed(_both(first.other, second.other)):
        sentences.append(f"other differences of the runs: {differing}")
    return sentences


def _both(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """The differences in keys that both have."""
    shared = [name for name in first if name in second]
    return list(differences({name: first[name] for name in shared}, {name: second[name] for name in shared}))


def _listed(pairs: Iterable[tuple[str, Any, Any]]) -> str:
    parts = [f"{line(name, LONGEST)} {_short(old)} against {_short(new)}" for name, old, new in pairs]
    return ", ".join([*parts[:MOST_NAMES], *([f"{len(parts) - MOST_NAMES} more"] if len(parts) > MOST_NAMES else [])])


def _short(value: Any) -> str:
    if value is None:
        return "none"
    return line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str), LONGEST)


def _name(model: str) -> str:
    """A model's own name, without its folder or account."""
    cached = _CACHED.search(model)
    return (cached["name"] if cached else PurePosixPath(model.rstrip("/")).name or model).casefold()
