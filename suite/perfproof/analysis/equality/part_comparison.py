"""One part of one candidate held against the baseline, and against the floor: what is beyond it, how likely that is, and both in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from perfproof.analysis.equality.answer_differences import TEXT, identical
from perfproof.analysis.stats import number_format
from perfproof.model.scenarios.metrics import Part
from perfproof.model.verdicts.equality_details import Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a comparison found: a difference a prompt. `floor` are those of the baseline's further runs; `tokens` counts the baseline's."""

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
        """Whether the baseline gave the very same bits again."""
        return all(map(identical, self.floors))

    @property
    def identical(self) -> bool:
        """Whether the candidate gave the very same bits."""
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
        """How many answers did so when the baseline ran again, over all its runs."""
        return sum(each.position is not None for each in self.floors)

    def allowed(self, difference: Difference) -> bool:
        """Whether an answer has the baseline's tokens, and is no further from it than is tolerated or than the baseline is from itself."""
        near = difference.distance <= max(self.tolerance, self.largest_floor)
        return difference.position is None and near and (difference.cosine or 0.0) <= self._widest_cosine

    @property
    def beyond(self) -> tuple[Difference, ...]:
        """Answers that are further from the baseline than is tolerated, and than the baseline ever was from itself.

        A sampled answer that parts is one where nothing at all is tolerated: no close race tells why it did.
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
    """How far a logprob must have moved: seen before the answers part, or half the lead that was lost where they do.

    Source: none, arithmetic.
    """
    return max(difference.distance, (difference.gap or 0.0) / 2)


def chance_beyond(found: Found, beyond: int) -> float:
    """The chance that the so many furthest of candidate and floor together are all the candidate's, were they alike.

    Source: the count of one sample beyond all of another, as in Tukey's quick test, Technometrics 1, 1959.
    """
    return chance_of_furthest(beyond, len(found.prompts), sum(map(len, found.floor)))


def chance_of_furthest(count: int, ours: int, floors: int) -> float:
    """The chance that the `count` furthest of both are all ours. Source: sampling without replacement."""
    terms = np.arange(count)
    return float(np.prod((ours - terms) / (ours + floors - terms)))


def chance_parted(found: Found, parted: int) -> float:
    """The chance of so many answers that part, or more, were candidate and floor alike.

    Source: Fisher's exact test, one-sided; `scipy.stats.hypergeom`.
    """
    ours, floors = len(found.prompts), sum(map(len, found.floor))
    from scipy.stats import hypergeom  # late: its import takes longer than an answer may take

    return float(hypergeom.sf(parted - 1, ours + floors, parted + found.floor_parted, ours))


# --- words -----------------------------------------------------------------------------------------------------


def told_identical(found: Found) -> str:
    """What was identical, and what the floor was. Source: none, words."""
    if found.part == TEXT:
        return f"identical on {number_format.count(found.tokens, 'token')} of text: every logprob to the last bit; {told_floor(found)}"
    prompts = f"identical on {number_format.count(len(found.prompts), 'prompt')}"
    if found.part == "embeddings":
        return f"{prompts}: every value of every embedding to the last bit; {told_floor(found)}"
    return f"{prompts} ({number_format.count(found.tokens, 'token')}): every token and logprob to the last bit; {told_floor(found)}"


def told_differences(found: Found) -> str:
    """How many answers part and where, or how far off they are. Source: none, words."""
    if not found.parted:
        return _told_distances(found)
    first = min(found.parted, key=lambda each: each.position or 0)
    prompts = number_format.count(len(found.prompts), "prompt")
    said = f"{len(found.parted):,} of {prompts} get another answer, the earliest at token {first.position} (prompt {first.prompt})"
    gaps = sorted(each.gap for each in found.parted if each.gap is not None)
    if gaps:
        near = sum(each.near_tie for each in found.parted)
        said += f", {near} of them at a near tie (the lead lost was {gaps[0]:.2g} to {gaps[-1]:.2g} nat)"
    return f"{said}; {_told_distances(found)}" if found.largest else said


def _told_distances(found: Found) -> str:
    moved = f"{sum(not identical(each) for each in found.prompts):,} of {len(found.prompts):,}"
    if found.part == "embeddings":
        cosine = max(each.cosine or 0.0 for each in found.prompts)
        return f"{moved} embeddings differ, by up to {found.largest:.2g} in a value and by {cosine:.2g} in cosine distance"
    where = " before they part" if found.parted else ", the tokens are the same"
    return f"logprobs differ in {moved} answers{where}, by up to {found.largest:.2g} nat"


def told_floor(found: Found) -> str:
    """What the baseline does against itself. Source: none, words."""
    runs = f" ({len(found.floor)} times)" if len(found.floor) > 1 else ""
    if found.deterministic:
        return f"the baseline gave the very same bits again{runs}"
    many = sum(map(len, found.floor))
    parted = f", {found.floor_parted:,} of {many:,} answers part" if found.part not in ("embeddings", TEXT) else ""
    return f"the baseline is up to {found.largest_floor:.2g} from itself{runs}{parted}"
