"""How a gate spends its time: the scenarios that a policy always measures, the blocks of each, and what fits the budget.

Exact counts are settled after a few blocks, times by their looks. So the minutes go where the verdict is open.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from perfproof.analysis.judging.judge import JudgedScenario
from perfproof.analysis.trials.invalidation import NOISE_ALLOWED, STANDARD, Rules
from perfproof.model.base.errors import BadInput
from perfproof.model.installed.scenario_folders import OWN
from perfproof.model.scenarios.metrics import EXACT, METRICS, base_name
from perfproof.model.scenarios.plan import Plan
from perfproof.model.scenarios.scenario import Scenario
from perfproof.model.verdicts.policy import Policy, deciding, policed
from perfproof.planning import guessed_seconds

ARMS = 2
"""A change and its base."""


def own_canaries(policy: Policy, files: Sequence[Path]) -> list[Path]:
    """perfproof's own scenarios that a policy has as canaries, where a folder of scenarios of the user's own takes their place."""
    there = {file.stem for file in files}
    missing = [name for name in policy.canary if not any(fnmatchcase(one, name) for one in there)]
    return [file for name in missing if (file := OWN / f"{name}.yaml").is_file()]


def canaries(policy: Policy, scenarios: Sequence[Scenario]) -> list[Scenario]:
    """The scenarios that a policy always measures. Raises `BadInput` for a name that fits none."""
    names = [one.name for one in scenarios]
    if lost := [name for name in policy.canary if not any(fnmatchcase(one, name) for one in names)]:
        raise BadInput(*(f"{policy.called}: canary: there is no scenario {name!r}; there are {', '.join(names)}" for name in lost))
    return [one for one in scenarios if any(fnmatchcase(one.name, name) for name in policy.canary)]


def under(scenario: Scenario, policy: Policy) -> Scenario:
    """The scenario with the primary metrics and margins of the policy in its definition."""
    return dataclasses.replace(scenario, definition=policed(scenario.definition, policy))


def exact_blocks(scenario: Scenario, policy: Policy) -> int | None:
    """The number of blocks after which a scenario is done, if all its deciding metrics are exact counts; else None."""
    kinds = {METRICS[base_name(name)].kind for name in deciding(scenario.definition, policy)}
    return policy.exact_blocks if kinds and kinds <= EXACT else None


def done(policy: Policy, judged: JudgedScenario) -> bool:
    """Whether a scenario needs no more blocks, by its looks or because all deciding counts have enough blocks."""
    exact = exact_blocks(judged.scenario, policy)
    names = deciding(judged.scenario.definition, policy)
    counted = [row.blocks for row in judged.judged if row.metric in names]
    return bool(judged.stop) or (exact is not None and bool(counted) and min(counted) >= exact)


def rules_for(scenarios: Sequence[Scenario], policy: Policy) -> Rules:
    """The rules that exclude trials. Where no time decides, a neighbour's noise does no harm, and must not cost the gate its blocks."""
    names = [(one.name, name) for one in scenarios for name in deciding(one.definition, policy)]
    timed = any(policy.asks(scenario, name, primary=True).family == "times" for scenario, name in names)
    return STANDARD if timed else NOISE_ALLOWED


def minutes_for(scenario: Scenario, policy: Policy) -> float:
    """The estimated minutes of a scenario before any of its trials has been timed."""
    exact = exact_blocks(scenario, policy)
    blocks = min(exact or scenario.most_blocks, scenario.most_blocks)
    trials = ARMS + scenario.again if scenario.again else blocks * ARMS
    return trials * guessed_seconds(scenario) / 60


def cheapest_first(plan: Plan, policy: Policy) -> Plan:
    """The plan with the blocks of cheap scenarios first, where no time decides: one long scenario must not displace many short ones.

    Where times decide, scenarios stay shuffled, so that all share the machine's drift.
    """
    if rules_for(plan.scenarios, policy) is STANDARD:
        return plan
    return dataclasses.replace(plan, blocks=tuple(sorted(plan.blocks, key=lambda block: guessed_seconds(block.scenario))))


def fitting(scenarios: Sequence[Scenario], policy: Policy, minutes: float) -> tuple[list[Scenario], list[tuple[Scenario, float]]]:
    """The scenarios that fit into these minutes, always with the first one, and the others with their estimated minutes."""
    kept: list[Scenario] = []
    skipped: list[tuple[Scenario, float]] = []
    for scenario in scenarios:
        needed = minutes_for(scenario, policy)
        if not kept or needed <= minutes:
            kept.append(scenario)
            minutes -= needed
        else:
            skipped.append((scenario, needed))
    return kept, skipped
