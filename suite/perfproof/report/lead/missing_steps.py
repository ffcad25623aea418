"""The steps that fetch what a page lacks: a GPU for waits that a host without one can't time, the patch against the same requests without
it, and answers that were not compared. Each names the scenario of perfproof's that does it; where there is none, it says so in words.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from perfproof.model.base.name_lists import few
from perfproof.model.scenarios.group_names import own_name
from perfproof.model.scenarios.metrics import base_name
from perfproof.model.scenarios.scenario_paths import typed
from perfproof.report.base.page_model import ArmView, Page, ScenarioView
from perfproof.report.extract import facts
from perfproof.report.lead import known_scenarios
from perfproof.report.text.answer_text import uncompared

SYNCS = "host_syncs_per_step"
"""The count of waits for a device."""
MOST_NAMED = 3
"""The most changes that a step names."""
Step = tuple[str, str]
"""What to do, in words, and the command."""


def waits_unseen(scenario: ScenarioView) -> bool:
    """Whether waits for a device changed on a host without one, where they take no time."""
    return not scenario.gpus and any(base_name(row.metric) == SYNCS and row.effect for row in scenario.rows)


def on_gpu(scenarios: Sequence[ScenarioView]) -> Step | None:
    """To measure on a GPU what waits for one, where waits were counted on a host without."""
    unseen = [scenario for scenario in scenarios if waits_unseen(scenario)]
    if not unseen:
        return None
    patches = list(dict.fromkeys(patch for scenario in unseen for arm in scenario.arms for patch in arm.patches))
    names = list(dict.fromkeys(name for patch in patches if (name := known_scenarios.on_gpu(patch))))
    what = few(patches, MOST_NAMED) or unseen[0].name
    if names:
        return f"measure {what} on a GPU, where waiting takes time", _run(names, facts.AGAIN)
    made = f"no scenario of perfproof's does: give {own_name(unseen[0].name)} a build for GPUs and device: cuda"
    return f"measure {what} on a GPU, where waiting takes time ({made})", ""


def same_requests(page: Page, scenarios: Sequence[ScenarioView]) -> Step | None:
    """To time a patch against the same requests without it, where it was only timed against others."""
    timed = [(scenario, arm) for scenario in scenarios if not scenario.of_answers for arm in scenario.arms if _of_patch(scenario, arm)]
    plain = {arm.patches for scenario, arm in timed if arm.name not in dict(scenario.unlike)}
    left = {arm.patches: scenario for scenario, arm in reversed(timed) if arm.patches not in plain}
    if not left:
        return None
    patches = [patch for own in left for patch in own]
    found = (known_scenarios.alike(patch, own_name(scenario.name), scenario.gpus) for own, scenario in left.items() for patch in own)
    names = list(dict.fromkeys(filter(None, found)))
    words = f"time {few(patches, MOST_NAMED)} against vLLM as released with the same requests"
    return (words, _run(names, page.results)) if names else (f"{words}: no scenario of perfproof's does", "")


def _of_patch(scenario: ScenarioView, arm: ArmView) -> bool:
    return bool(arm.patches) and not arm.baseline and arm.name not in scenario.planted and not scenario.itself


def answers(page: Page, scenarios: Sequence[ScenarioView]) -> Step | None:
    """To compare the answers of changes that were timed and whose answers were not compared."""
    judged = [scenario for scenario in scenarios if scenario.of_answers or not (scenario.unpatched or scenario.control)]
    left = uncompared(judged)
    if not left:
        return None
    arms = [(scenario, arm) for scenario in judged for arm in scenario.arms if arm.name in left and not arm.baseline]
    changed = {patch: scenario.gpus for scenario, arm in arms for patch in arm.patches or (arm.name,)}
    here = {patch: name for patch, gpus in changed.items() if (name := known_scenarios.of_answers(patch, gpus))}
    if here:
        return _compare(here), _run(sorted({*here.values()}), page.results)
    there = {patch: name for patch, gpus in changed.items() if not gpus and (name := known_scenarios.of_answers(patch, True))}
    if there:
        return f"{_compare(there)}, on a GPU", _run(sorted({*there.values()}), facts.AGAIN)
    return f"{_compare(changed)}: no scenario of perfproof's does", ""


def _compare(patches: Iterable[str]) -> str:
    return f"compare the answers with and without {few(list(patches), MOST_NAMED)}"


def _run(names: Sequence[str], results: str) -> str:
    return shlex.join(["perfproof", "run", *map(typed, names), "--results", results])
