"""The ordered trials of a run, before anything starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perfproof.model.scenarios.scenario import Build, Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One trial of every arm of one scenario, back to back, in `order` (names of arms).

    `number` counts from 1; `seed` is shared by its arms.
    """

    scenario: Scenario
    number: int
    order: tuple[str, ...]
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Blocks in the order in which they run; blocks of different scenarios are shuffled."""

    scenarios: tuple[Scenario, ...]
    blocks: tuple[Block, ...]
    seed: int

    def builds(self) -> Sequence[Build]:
        """Every build that a trial needs, each once."""
        by_key: dict[str, Build] = {}
        for scenario in self.scenarios:
            for arm in scenario.arms:
                build = scenario.builds[arm.build]
                by_key.setdefault(build.key, build)
        return list(by_key.values())
