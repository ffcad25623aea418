"""Which of perfproof's own scenarios go on from a page: those that compare a patch's answers, run it on a GPU, or time it with the same
requests on both sides. They are looked up by the patch's name; a project's own scenarios are not searched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from typing import Any

from perfproof.model.base.yaml_io import read_mapping
from perfproof.model.installed.scenario_folders import OWN
from perfproof.model.kinds import kind_named
from perfproof.model.workloads.kind import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A scenario by its name: the traits of its kind, whether it needs a GPU, and its arms as they are written, by name."""

    name: str
    traits: Kind
    cuda: bool
    arms: Mapping[str, Mapping[str, Any]]


@cache
def _texts() -> Mapping[str, str]:
    """The text of every file in the folder, by the scenario's name."""
    return {path.stem: path.read_text("utf-8") for path in sorted(OWN.glob("*.yaml"))}


@cache
def known(patch: str) -> tuple[Known, ...]:
    """The scenarios that have an arm with this patch, in the order of their names."""
    found = []
    for name, text in _texts().items():
        if patch in text:
            plain = read_mapping(OWN / f"{name}.yaml")
            arms = {str(arm): dict(own or {}) for arm, own in plain.get("arms", {}).items()}
            traits = kind_named(str(plain.get("workload", {}).get("kind", "")))
            if traits is not None and any(patch in arm.get("patches", ()) for arm in arms.values()):
                found.append(Known(name=name, traits=traits, cuda=plain.get("device") == "cuda", arms=arms))
    return tuple(found)


def of_answers(patch: str, gpus: bool) -> str:
    """The scenario that compares the answers with and without a patch, for a machine with or without GPUs; "" where there is none. One
    that compares every token and logprob comes before one that counts right answers."""
    own = [each for each in known(patch) if each.traits.of_answers and each.cuda == gpus]
    return next((each.name for each in sorted(own, key=lambda each: each.traits.judged_by != "bits")), "")


def on_gpu(patch: str) -> str:
    """The scenario that times a part of vLLM with and without a patch on a GPU, else one of the whole; "" where there is none."""
    own = [each for each in known(patch) if each.cuda and not each.traits.of_answers and _alone(each, patch)]
    return next((each.name for each in sorted(own, key=lambda each: each.traits.scope != "part")), "")


def alike(patch: str, name: str, gpus: bool) -> str:
    """The scenario that times a patch against the same requests and settings without it, the one whose name is most like `name`; ""
    where there is none."""
    own = [each for each in known(patch) if each.cuda == gpus and not each.traits.of_answers and _alone(each, patch)]
    whole = [each for each in own if each.traits.scope == "end to end"]
    return max((each.name for each in whole), key=lambda other: SequenceMatcher(None, other, name).ratio(), default="")


def _alone(scenario: Known, patch: str) -> bool:
    """Whether an arm differs from the baseline in this patch alone."""
    bare = [_beside(arm) for arm in scenario.arms.values() if arm.get("baseline") and not arm.get("patches")]
    with_it: Sequence[Mapping[str, Any]] = [_beside(arm) for arm in scenario.arms.values() if arm.get("patches") == [patch]]
    return any(arm in bare for arm in with_it)


def _beside(arm: Mapping[str, Any]) -> Mapping[str, Any]:
    """What an arm has beside its patches."""
    return {key: value for key, value in arm.items() if key not in ("baseline", "patches")}
