"""The looks at the data, and the error that each may spend.

Four looks, at 6, 10, 16 and 24 blocks; at each, one-sided error .0025 for *regressed* and for *improved*, divided by the number of
primary metrics (Bonferroni: the printed interval and the decision are the same thing), and .0125 a side for *equivalent*, undivided
(an intersection-union test: Lauzon & Caffo, The American Statistician 63, 2009). Summed over the looks: 1 % false regressions of all
primary metrics together, 1 % false improvements, 5 % false equivalences at the margin. One look spends the whole at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from perfproof.model.scenarios import scenario

LOOKS = scenario.LOOKS
LEAST_BLOCKS = scenario.LEAST_BLOCKS
"""No timed metric is called regressed, improved or equivalent on fewer blocks."""
CHANGE_ERROR = 0.01
EQUIVALENCE_ERROR = 0.05
MOST_PRIMARIES = scenario.MOST_PRIMARY


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look: after `blocks` whole blocks, with one-sided errors `change` (each way) and `equivalence`."""

    blocks: int
    change: float
    equivalence: float

    @property
    def level(self) -> float:
        """Confidence of the two-sided interval that decides *regressed* and *improved*."""
        return 1 - 2 * self.change

    @property
    def equivalence_level(self) -> float:
        """Confidence of the two-sided interval that decides *equivalent*."""
        return 1 - 2 * self.equivalence


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """The planned looks, and the family that shares the error: primary metrics times candidates."""

    looks: tuple[Look, ...]
    family: int

    @property
    def blocks(self) -> int:
        """Blocks at the last look."""
        return self.looks[-1].blocks

    def taken(self, blocks: int, final: bool = True) -> tuple[Look, ...]:
        """The looks that `blocks` whole blocks allow. Where a run ended between two looks (`final`: interrupted, blocks lost, time
        spent), the next look is taken early, at what there is, if that is at least 6 blocks.

        Source: Lan & DeMets, Biometrika 70, 1983: the time of a look is free, so long as the data do not choose it.
        """
        reached = [look for look in self.looks if LEAST_BLOCKS <= look.blocks <= blocks]
        following = [look for look in self.looks if look.blocks > blocks]
        between = final and bool(following) and blocks >= LEAST_BLOCKS and all(look.blocks < blocks for look in reached)
        if between:
            reached.append(Look(blocks=blocks, change=following[0].change, equivalence=following[0].equivalence))
        return tuple(reached)


def sequential(primaries: int, candidates: int = 1, looks: tuple[int, ...] = LOOKS) -> Spending:
    """The standard looks; `primaries` metrics of `candidates` arms share the error. Raises ValueError on a family below one, more
    than six primaries, looks that do not rise, or a look before block 6.

    Source: equal shares of the error (Bonferroni); spending as such is Lan & DeMets, Biometrika 70, 1983.
    """
    family = _family(primaries, candidates)
    if not looks or list(looks) != sorted(set(looks)) or looks[0] < LEAST_BLOCKS:
        raise ValueError(f"looks must rise from at least {LEAST_BLOCKS} blocks, not {looks}")
    change, equivalence = CHANGE_ERROR / len(looks) / family, EQUIVALENCE_ERROR / len(looks)
    return Spending(looks=tuple(Look(blocks=n, change=change, equivalence=equivalence) for n in looks), family=family)


def one_look(blocks: int, primaries: int = 1, candidates: int = 1) -> Spending:
    """A single look at `blocks` blocks with the whole error. Fewer than 6 blocks are allowed, and then decide nothing.

    Source: Bonferroni over the family.
    """
    family = _family(primaries, candidates)
    return Spending(looks=(Look(blocks=blocks, change=CHANGE_ERROR / family, equivalence=EQUIVALENCE_ERROR),), family=family)


def at_once(blocks: int, planned: Spending) -> Spending:
    """A single look at `blocks` blocks with the whole error, for the family of `planned`.

    Source: `one_look`.
    """
    look = Look(blocks=blocks, change=CHANGE_ERROR / planned.family, equivalence=EQUIVALENCE_ERROR)
    return Spending(looks=(look,), family=planned.family)


def _family(primaries: int, candidates: int) -> int:
    if not 1 <= primaries <= MOST_PRIMARIES or candidates < 1:
        raise ValueError(f"1 to {MOST_PRIMARIES} primary metrics of at least one candidate, not {primaries} of {candidates}")
    return primaries * candidates
