"""One part of a candidate's answers compared with the baseline and its noise floor: what lies beyond, how likely that is, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from perfproof.analysis.equality.answer_differences import TEXT, identical
from perfproof.analysis.stats import number_format
from perfproof.model.scenarios.metrics import Part
from perfproof.model.verdicts.equality_details import Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class PartComparison:
    """One difference per prompt. `floor` holds the differences of the baseline's further runs; `tokens` counts the baseline's tokens."""

    part: Part
    prompts: tuple[Difference, ...]
    floor: tuple[tuple[Difference, ...], ...]
    tokens: int
    tolerance: float

    @property
    def floors(self) -> Iterator[Difference]:
        """The baseline's own differences from itself, over all its runs."""
        return (each for run in self.floor for each in run)

    @property
    def deterministic(self) -> bool:
        """Whether the baseline repeated itself bit-identically."""
        return all(map(identical, self.floors))

    @property
    def identical(self) -> bool:
        """Whether the candidate's answers are bit-identical to the baseline's."""
        return all(map(identical, self.prompts))

    @property
    def largest(self) -> float:
        return max(each.distance for each in self.prompts)

    @property
    def largest_floor(self) -> float:
        return max((each.distance for each in self.floors), default=0.0)

    @property
    def parted(self) -> tuple[Difference, ...]:
        """Answers that have another token somewhere."""
        return tuple(each for each in self.prompts if each.position is not None)

    @property
    def floor_parted(self) -> int:
        """How many answers parted when the baseline ran again, over all its runs."""
        return sum(each.position is not None for each in self.floors)

    def allowed(self, difference: Difference) -> bool:
        """Whether an answer has the baseline's tokens, and a difference within the tolerance or the baseline's own floor."""
        near = difference.distance <= max(self.tolerance, self.largest_floor)
        return difference.position is None and near and (difference.cosine or 0.0) <= self._widest_cosine

    @property
    def beyond(self) -> tuple[Difference, ...]:
        """Answers whose difference exceeds both the tolerance and the baseline's own floor.

        A sampled answer that parts is one of them where nothing is tolerated: no near tie explains it.
        """
        most = max([self.tolerance, *map(reach, self.floors)])
        strict = self.deterministic and self.tolerance == 0.0
        return tuple(
            each
            for each in self.prompts
            if reach(each) > most
            or (each.cosine or 0.0) > self._widest_cosine
            or (strict and each.position is not None and each.gap is None)
        )

    @property
    def _widest_cosine(self) -> float:
        return max([self.tolerance, *(each.cosine or 0.0 for each in self.floors)])


def reach(difference: Difference) -> float:
    """How far a logprob must have moved: as seen before the answers part, or half the lost lead where they part.

    Source: none, arithmetic.
    """
    return max(difference.distance, (difference.gap or 0.0) / 2)


def chance_beyond(comparison: PartComparison, beyond: int) -> float:
    """The probability that the `beyond` furthest of candidate and floor together are all the candidate's, if both were alike.

    Source: the count of one sample beyond all of another, as in Tukey's quick test, Technometrics 1, 1959.
    """
    return chance_of_furthest(beyond, len(comparison.prompts), sum(map(len, comparison.floor)))


def chance_of_furthest(count: int, ours: int, floors: int) -> float:
    """The chance that the `count` furthest of both are all ours. Source: sampling without replacement."""
    terms = np.arange(count)
    return float(np.prod((ours - terms) / (ours + floors - terms)))


def chance_parted(comparison: PartComparison, parted: int) -> float:
    """The probability of at least this many parted answers, if candidate and floor were alike.

    Source: Fisher's exact test, one-sided; `scipy.stats.hypergeom`.
    """
    ours, floors = len(comparison.prompts), sum(map(len, comparison.floor))
    from scipy.stats import hypergeom  # late: its import takes longer than an answer may take

    return float(hypergeom.sf(parted - 1, ours + floors, parted + comparison.floor_parted, ours))


# --- words -----------------------------------------------------------------------------------------------------


def identical_words(comparison: PartComparison) -> str:
    """What was identical, and the floor. Source: none, words."""
    floor = floor_words(comparison)
    if comparison.part == TEXT:
        return f"identical on {number_format.count(comparison.tokens, 'token')} of text: every logprob is bit-identical; {floor}"
    prompts = f"identical on {number_format.count(len(comparison.prompts), 'prompt')}"
    if comparison.part == "embeddings":
        return f"{prompts}: every value of every embedding is bit-identical; {floor}"
    return f"{prompts} ({number_format.count(comparison.tokens, 'token')}): every token and logprob is bit-identical; {floor}"


def difference_words(comparison: PartComparison) -> str:
    """How many answers part and where, or how large the differences are. Source: none, words."""
    if not comparison.parted:
        return _distance_words(comparison)
    first = min(comparison.parted, key=lambda each: each.position or 0)
    prompts = number_format.count(len(comparison.prompts), "prompt")
    words = f"{len(comparison.parted):,} of {prompts} with other tokens, the earliest at token {first.position} (prompt {first.prompt})"
    gaps = sorted(each.gap for each in comparison.parted if each.gap is not None)
    if gaps:
        near = sum(each.near_tie for each in comparison.parted)
        words += f", {near} of them at a near tie (the lead lost was {gaps[0]:.2g} to {gaps[-1]:.2g} nat)"
    return f"{words}; {_distance_words(comparison)}" if comparison.largest else words


def _distance_words(comparison: PartComparison) -> str:
    moved = f"{sum(not identical(each) for each in comparison.prompts):,} of {len(comparison.prompts):,}"
    if comparison.part == "embeddings":
        cosine = max(each.cosine or 0.0 for each in comparison.prompts)
        return f"{moved} embeddings differ, by up to {comparison.largest:.2g} in a value and by {cosine:.2g} in cosine distance"
    where = " before they part" if comparison.parted else ", the tokens are the same"
    return f"logprobs differ in {moved} answers{where}, by up to {comparison.largest:.2g} nat"


def floor_words(comparison: PartComparison) -> str:
    """How the baseline compares with itself. Source: none, words."""
    runs = f" ({len(comparison.floor)} times)" if len(comparison.floor) > 1 else ""
    if comparison.deterministic:
        return f"the baseline repeated itself bit-identically{runs}"
    many = sum(map(len, comparison.floor))
    parted = f", {comparison.floor_parted:,} of {many:,} answers part" if comparison.part not in ("embeddings", TEXT) else ""
    return f"the baseline differs from itself by up to {comparison.largest_floor:.2g}{runs}{parted}"
