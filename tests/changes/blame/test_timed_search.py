"""A search by noisy times, simulated: pairs of trials are drawn, looked at as real ones are, and the search must not name the innocent."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from perfproof.analysis.stats.alpha_spending import LOOKS
from perfproof.analysis.stats.share_interval import settled, share
from perfproof.changes.blame.difference import Difference
from perfproof.changes.blame.guilty_units import find_roughly_first
from perfproof.changes.blame.search import Ask, Found, Side, Units
from perfproof.changes.blame.timed_mixtures import LEAST, LEVEL

EFFECT = 0.1
FUNCTIONS = 24


def differing(root: Path) -> Difference:
    """Two builds whose only file differs in each of its functions, by one statement."""
    for name in ("good", "bad"):
        (root / name / "vllm").mkdir(parents=True)
        text = "".join(f"def f{number}():\n    return {name!r}, {number}\n\n\n" for number in range(FUNCTIONS))
        (root / name / "vllm" / "a.py").write_text(text)
    return Difference(root / "good", root / "bad")


@dataclass
class Noisy:
    """Trials whose ratio of times within a block scatters by `spread`. `shares` of the change are brought by single units; `both` bring
    the rest together. `blocks` counts the blocks that were drawn."""

    shares: dict[str, float]
    both: tuple[str, ...]
    spread: float
    draw: np.random.Generator
    blocks: int = 0
    drawn: dict[tuple[Side, Units], np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.whole = self._x(EFFECT, 16)

    def to(self, least: float) -> Ask:
        def ask(side: Side, units: Units) -> float | None:
            true = self.true(side, units)
            x = self.drawn.setdefault((side, units), self._x(EFFECT * true, LOOKS[-1]))
            for look in LOOKS:
                if (known := settled(share(x[:look], self.whole, LEVEL), least)) is not None:
                    self.blocks += look
                    return known
            self.blocks += LOOKS[-1]
            return None

        return ask

    def differs(self, side: Side, units: Units, without: Units) -> bool:
        x = self._x(EFFECT * (self.true(side, units) - self.true(side, units - without)), LOOKS[-1])
        for look in LOOKS:
            found = share(x[:look], self.whole, LEVEL)
            if found.low > 0 or found.high < LEAST:
                break
        self.blocks += look
        return found.low > 0

    def true(self, side: Side, units: Units) -> float:
        """The share of the change that a mixture has taken back, or brings."""
        rest = 1 - sum(self.shares.values())
        names = {unit.partition(":")[2] for unit in units}
        return sum(own for unit, own in self.shares.items() if unit in names) + (
            rest if self.both and (set(self.both) <= names if side == "forth" else set(self.both) & names) else 0.0
        )

    def _x(self, mean: float, size: int) -> np.ndarray:
        return self.draw.normal(mean, self.spread, size)


def searched(difference: Difference, noisy: Noisy) -> Found:
    asked = 0

    def asking(least: float) -> Ask:
        inner = noisy.to(least)

        def ask(side: Side, units: Units) -> float | None:
            nonlocal asked
            asked += 1
            return inner(side, units)

        return ask

    ran = {f"vllm.a:f{number}": 1.0 for number in range(FUNCTIONS)}
    return find_roughly_first(difference, ran, asking, noisy.differs, lambda: asked, lambda _: None, least=LEAST)


def named(found: Found) -> set[frozenset[str]]:
    return {frozenset(unit.partition(":")[2] for unit in one.units) for one in found.guilty}


PLANTED: dict[str, Callable[[str, str], tuple[dict[str, float], tuple[str, ...]]]] = {
    "one": lambda one, _: ({one: 1.0}, ()),
    "two alone": lambda one, other: ({one: 0.6, other: 0.4}, ()),
    "two together": lambda one, other: ({}, (one, other)),
}


@pytest.mark.parametrize(
    ("kind", "spread", "least"),
    [
        ("one", 0.01, 57),
        ("one", 0.02, 57),
        ("two alone", 0.01, 57),
        ("two alone", 0.02, 0),
        ("two together", 0.01, 57),
        ("two together", 0.02, 57),
    ],
)
def test_what_was_planted_is_found_by_noisy_times_and_nothing_else(tmp_path: Path, kind: str, spread: float, least: int) -> None:
    """At a change of 10 % and blocks that scatter by 1 or 2 % at least 57 of 60 searches end with the guilty, and none names anyone else.
    Where a share of 40 % can't be told from none in 24 blocks, one of two is missed, but never replaced."""
    difference, right, innocent, blocks = differing(tmp_path), 0, 0, 0
    for seed in range(60):
        one, other = (f"f{number}" for number in random.Random(seed).sample(range(FUNCTIONS), 2))
        shares, both = PLANTED[kind](one, other)
        noisy = Noisy(shares=shares, both=both, spread=spread, draw=np.random.default_rng(seed))
        sets = named(searched(difference, noisy))
        right += sets == ({frozenset([unit]) for unit in shares} | ({frozenset(both)} if both else set()))
        innocent += bool({unit for group in sets for unit in group} - {one, other})
        blocks += noisy.blocks
    assert innocent == 0
    assert right >= least
    assert blocks / 60 < 250  # on average


def test_without_a_guilty_unit_none_is_named(tmp_path: Path) -> None:
    """A change that no unit takes back, since it lies in compiled code, is nobody's."""
    difference = differing(tmp_path)
    for seed in range(40):
        noisy = Noisy(shares={}, both=(), spread=0.02, draw=np.random.default_rng(seed))
        assert not searched(difference, noisy).guilty
