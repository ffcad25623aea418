"""One part of a candidate's answers compared with the baseline and its noise floor: what lies beyond, how likely that is, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from perfproof.analysis.equality.answer_differences import TEXT, identical
from perfproof.analysis.equality.said_differences import RANK
from perfproof.analysis.stats import number_format
from perfproof.model.scenarios.metrics import Part
from perfproof.model.verdicts.equality_details import Difference, SaidOtherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class PartComparison:
    """One difference per prompt. `floor` holds the differences of the baseline's further runs; `tokens` counts the baseline's tokens;
    `fields` is what was compared of them besides tokens and logprobs.
    """

    part: Part
    prompts: tuple[Difference, ...]
    floor: tuple[tuple[Difference, ...], ...]
    tokens: int
    tolerance: float
    fields: tuple[str, ...]

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
        near = difference.distance <= max(self.tolerance, self.largest_floor) and not self.said(difference)
        return difference.position is None and near and (difference.cosine or 0.0) <= self._widest_cosine

    def said(self, difference: Difference) -> tuple[SaidOtherwise, ...]:
        """What no noise explains: an answer says it otherwise, beyond the tolerance, and the baseline always said it alike."""
        if not difference.said:
            return ()
        unsteady = {*self.unsteady, *(() if self.deterministic else (RANK,))}
        return tuple(
            each for each in difference.said if each.field not in unsteady and not (each.nats is not None and each.nats <= self.tolerance)
        )

    @property
    def unsteady(self) -> tuple[str, ...]:
        """What the baseline itself said otherwise when it ran again."""
        return tuple(dict.fromkeys(said.field for each in self.floors for said in each.said))

    @property
    def says_otherwise(self) -> bool:
        """Whether some answer says what no noise explains."""
        return any(map(self.said, self.prompts))

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
        text = f"{number_format.count(comparison.tokens, 'token')} of text"
        return f"identical on {text}: every logprob is bit-identical{_as_are(comparison)}; {floor}"
    prompts = f"identical on {number_format.count(len(comparison.prompts), 'prompt')}"
    if comparison.part == "embeddings":
        return f"{prompts}: every value of every embedding is bit-identical; {floor}"
    tokens = number_format.count(comparison.tokens, "token")
    return f"{prompts} ({tokens}): every token and logprob is bit-identical{_as_are(comparison)}; {floor}"


def _as_are(comparison: PartComparison) -> str:
    *others, last = comparison.fields or ("",)
    return f", as {'are' if others else 'is'} {' and '.join(filter(None, (', '.join(others), last)))}" if last else ""


def difference_words(comparison: PartComparison) -> str:
    """How many answers part and where, how large the differences are, and what else they say. Source: none, words."""
    moved = comparison.largest or any(each.cosine for each in comparison.prompts)
    parts = [_parted_words(comparison) if comparison.parted else "", _distance_words(comparison) if moved else ""]
    return "; ".join(filter(None, [*parts, said_words(comparison)]))


def said_words(comparison: PartComparison) -> str:
    """What answers of the same tokens say otherwise, each with the first of them; "" where they say the same. Source: none, words."""
    found: dict[str, list[tuple[int, SaidOtherwise]]] = {}
    for each in comparison.prompts:
        for said in each.said:
            found.setdefault(said.field, []).append((each.prompt, said))
    noun = "paragraph" if comparison.part == TEXT else "prompt"
    of = f"of {number_format.count(len(comparison.prompts), noun)} with the same tokens"
    return "; ".join(
        f"{field} differs in {len(rows):,} {of} ({noun} {rows[0][0]}: was {rows[0][1].before}, is {rows[0][1].after})"
        for field, rows in found.items()
    )


def _parted_words(comparison: PartComparison) -> str:
    first = min(comparison.parted, key=lambda each: each.position or 0)
    prompts = number_format.count(len(comparison.prompts), "prompt")
    words = f"{len(comparison.parted):,} of {prompts} with other tokens, the earliest at token {first.position} (prompt {first.prompt})"
    gaps = sorted(each.gap for each in comparison.parted if each.gap is not None)
    if gaps:
        near = sum(each.near_tie for each in comparison.parted)
        words += f", {near} of them at a near tie (the lead lost was {gaps[0]:.2g} to {gaps[-1]:.2g} nat)"
    return words


def _distance_words(comparison: PartComparison) -> str:
    moved = f"{sum(bool(each.distance or each.cosine) for each in comparison.prompts):,} of {len(comparison.prompts):,}"
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
    if not comparison.largest_floor and not comparison.floor_parted and comparison.unsteady:
        return f"the baseline differs from itself{runs} in {', '.join(comparison.unsteady)}"
    many = sum(map(len, comparison.floor))
    parted = f", {comparison.floor_parted:,} of {many:,} answers part" if comparison.part not in ("embeddings", TEXT) else ""
    return f"the baseline differs from itself by up to {comparison.largest_floor:.2g}{runs}{parted}"
