"""The answers of a trial, as its record holds them, and how one answer differs from another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfproof.analysis.equality.said_differences import RANK, otherwise
from perfproof.analysis.stats.samples import Floats
from perfproof.model.kinds.equality.said_column import SAID, Said, said_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import Part
from perfproof.model.verdicts.equality_details import Difference, SaidOtherwise

NEAR_TIE = 0.01
"""The largest distance in nats between a token and its runner-up that rounding may decide."""
TEXT: Part = "text_perplexity"


class Incomparable(ValueError):
    """The answers can't be compared: the verdict is *untestable*."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """One part of one trial: for each prompt the tokens, the logprobs of the tokens and of their runners-up, the tokens' ranks and what the
    answer says besides, or an embedding's values. Columns that a record lacks are empty.
    """

    part: Part
    tokens: tuple[Floats, ...]
    logprobs: tuple[Floats, ...]
    runners_up: tuple[Floats, ...]
    values: tuple[Floats, ...]
    ranks: tuple[Floats, ...]
    said: tuple[Said, ...]

    @property
    def prompts(self) -> int:
        return len(self.values) if self.part == "embeddings" else len(self.tokens)


def answers_of(record: Record, part: Part) -> Answers:
    """The answers of a trial. Raises `Incomparable` for a record without answers. Source: none, bookkeeping."""
    lengths = [int(length) for length in record.raw.get(f"{part}.lengths", ())]
    if not lengths:
        raise Incomparable(f"arm {record.arm}: its record holds no answers")
    names = ("tokens", "logprobs", "runners_up", "values", "ranks")
    columns = {name: _rows(record.raw.get(f"{part}.{name}", ()), lengths) for name in names}
    column = record.raw.get(f"{part}.{SAID}", ())
    said = said_of(column) if column else ()
    if said and len(said) != len(lengths):
        raise Incomparable(f"{len(said)} answers say something, of {len(lengths)}")
    return Answers(part=part, said=said, **columns)


def _rows(values: Sequence[float], lengths: Sequence[int]) -> tuple[Floats, ...]:
    """A joined column cut into prompts; empty where the part has no such column."""
    if not len(values):
        return ()
    if len(values) != sum(lengths):
        raise Incomparable(f"{len(values)} values for answers of {sum(lengths)} tokens")
    return tuple(np.split(np.asarray(values, dtype=np.float64), np.cumsum(lengths)[:-1]))


def compare(baseline: Answers, other: Answers) -> tuple[Difference, ...]:
    """The difference between each answer of `other` and the baseline's, including equal ones, in the order of the prompts.

    Raises `Incomparable` where they are not answers to the same prompts. Source: none, arithmetic.
    """
    if baseline.prompts != other.prompts:
        raise Incomparable(f"{other.prompts} answers against {baseline.prompts}")
    if baseline.part == "embeddings":
        return tuple(_embedding(number, *pair) for number, pair in enumerate(zip(baseline.values, other.values, strict=True)))
    if baseline.part == TEXT:
        return tuple(_paragraph(number, baseline, other) for number in range(baseline.prompts))
    return tuple(_answer(number, baseline, other) for number in range(baseline.prompts))


def fields_of(baseline: Answers, other: Answers) -> tuple[str, ...]:
    """What both sides say of their answers besides tokens and logprobs, by vLLM's names. Source: none, bookkeeping."""
    pairs = zip(baseline.said, other.said, strict=True) if baseline.said and other.said else ()
    both = dict.fromkeys(name for ours, theirs in pairs for name in ours if name in theirs)
    return (*both, *((RANK,) if baseline.ranks and other.ranks else ()))


def _said(number: int, baseline: Answers, other: Answers) -> tuple[SaidOtherwise, ...]:
    """What an answer of the same tokens says otherwise."""
    logprobs = baseline.logprobs[number], other.logprobs[number]
    said = (baseline.said[number], other.said[number]) if baseline.said and other.said else ({}, {})
    ranks = (baseline.ranks[number], other.ranks[number]) if baseline.ranks and other.ranks else None
    return otherwise(said, logprobs, ranks)


def _answer(number: int, baseline: Answers, other: Answers) -> Difference:
    ours, theirs = baseline.tokens[number], other.tokens[number]
    shared = min(ours.size, theirs.size)
    differing = np.nonzero(ours[:shared] != theirs[:shared])[0]
    position = int(differing[0]) if differing.size else shared if ours.size != theirs.size else None
    until = shared if position is None else position
    moved = np.abs(baseline.logprobs[number][:until] - other.logprobs[number][:until])
    there = position is not None and position < shared
    gap = float(baseline.logprobs[number][position] - baseline.runners_up[number][position]) if there else None
    gap = gap if baseline.part == "greedy_outputs" else None
    return Difference(
        prompt=number,
        position=position,
        baseline_token=int(ours[position]) if there else None,
        candidate_token=int(theirs[position]) if there else None,
        gap=gap,
        near_tie=gap is not None and gap <= NEAR_TIE,
        distance=float(moved.max()) if moved.size else 0.0,
        cosine=None,
        said=_said(number, baseline, other) if position is None else (),
    )


def _paragraph(number: int, baseline: Answers, other: Answers) -> Difference:
    if not np.array_equal(baseline.tokens[number], other.tokens[number]):
        raise Incomparable(f"paragraph {number} of the text has other tokens: the arms have different tokenizers")
    moved = np.abs(baseline.logprobs[number] - other.logprobs[number])
    return _same_tokens(number, float(moved.max()) if moved.size else 0.0, None, _said(number, baseline, other))


def _embedding(number: int, ours: Floats, theirs: Floats) -> Difference:
    if ours.size != theirs.size:
        raise Incomparable(f"the embedding of prompt {number} has {theirs.size} values, the baseline's {ours.size}")
    return _same_tokens(number, float(np.abs(ours - theirs).max()), cosine_distance(ours, theirs), ())


def _same_tokens(number: int, distance: float, cosine: float | None, said: tuple[SaidOtherwise, ...]) -> Difference:
    return Difference(
        prompt=number,
        position=None,
        baseline_token=None,
        candidate_token=None,
        gap=None,
        near_tie=False,
        distance=distance,
        cosine=cosine,
        said=said,
    )


def cosine_distance(ours: Floats, theirs: Floats) -> float:
    """1 minus the cosine of the angle between two vectors: 0 for equal ones, 1 where only one is all zeros. Source: none, arithmetic."""
    if np.array_equal(ours, theirs):
        return 0.0
    size = float(np.linalg.norm(ours) * np.linalg.norm(theirs))
    return max(0.0, 1.0 - float(ours @ theirs) / size) if size else 1.0


def identical(difference: Difference) -> bool:
    """Whether an answer is bit-identical to the baseline's, and says the same besides. Source: none, bookkeeping."""
    return difference.position is None and difference.distance == 0.0 and not difference.cosine and not difference.said
