"""What is planted on purpose: changes of perfproof's own that make vLLM slower or wrong, to see whether a verdict finds them.

Nobody is to take such a control for a change to accept or to reject. Only perfproof's own are known, patches by the room that they lie in
and diffs by their content, so that nobody else's change is ever taken for a control.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from perfproof.model.installed.scenario_folders import OWN
from perfproof.report.base.page_model import ArmView, PlantedView
from perfproof.report.extract import changes, facts

ROOM = "perfproof.patches.planted."
"""The room of the patches that do harm on purpose."""
HARMFUL, HARMLESS = ("slower_*.diff", "one_more_*.diff"), ("same_*.diff",)
"""The diffs of `scenarios/diffs` that add work on purpose, and their twins that add none."""
WORDS = {False: "work that perfproof adds on purpose", True: "other text that does the same work"}
"""What such a diff brings, by whether it is harmless."""


def controls(arms: Sequence[ArmView], definition: Mapping[str, Any], altered: bool) -> dict[str, PlantedView]:
    """The candidates that are controls; where they are vLLM as released and the baseline is `altered`, those whose baseline is one."""
    baseline = next((arm for arm in arms if arm.baseline), None)
    sides = ((arm, baseline) for arm in arms if baseline is not None and arm is not baseline)
    found = {arm.name: planted(*((other, arm) if altered else (arm, other)), definition) for arm, other in sides}
    return {name: one for name, one in found.items() if one is not None}


def planted(arm: ArmView, other: ArmView, definition: Mapping[str, Any]) -> PlantedView | None:
    """What is planted in an arm and not in the `other`; None where nothing is, or where the arm brings other code too."""
    own = [name for name in arm.patches if name not in other.patches]
    if not all(changes.module_of(name).startswith(ROOM) for name in own):
        return None
    if arm.build != other.build:
        build = changes.build_of(arm, definition)
        harmless = _planted_diffs().get(str(build.get("sha256")))
        return None if own or harmless is None else PlantedView(name=str(build.get("diff")), words=WORDS[harmless], harmless=harmless)
    return PlantedView(name=", ".join(own), words=changes.summary(own[0]), harmless=_is_sham(arm, definition)) if own else None


def _is_sham(arm: ArmView, definition: Mapping[str, Any]) -> bool:
    """Whether the arm's variables give every planted delay a size of 0."""
    defined = next((each for each in facts.defined_arms(definition) if each["name"] == arm.name), {})
    variables = defined.get("environment")
    own = (
        [str(value).split() for name, value in variables.items() if name.startswith("PERFPROOF_")] if isinstance(variables, Mapping) else []
    )
    return bool(own) and all(words and words[-1].strip("0.") == "" for words in own)


@cache
def _planted_diffs() -> Mapping[str, bool]:
    """The planted diffs by their hash, each with whether it is harmless."""
    found = {}
    for patterns, harmless in ((HARMFUL, False), (HARMLESS, True)):
        for path in (path for pattern in patterns for path in OWN.joinpath("diffs").glob(pattern)):
            found[hashlib.sha256(path.read_bytes()).hexdigest()] = harmless
    return found
