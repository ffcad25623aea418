"""The data behind the verdict on answers that are compared bit by bit, part by part and prompt by prompt, for the report."""

from __future__ import annotations

from dataclasses import dataclass

from perfproof.model.scenarios.metrics import Part


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidOtherwise:
    """What an answer of the same tokens says otherwise: `field` by vLLM's name, what it was and became, short enough to show.

    `nats` is how far a sum of logprobs lies from what its logprobs explain, per token; None for what is the same or is not.
    """

    field: str
    before: str
    after: str
    nats: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How one prompt's answer differs from the baseline's. `prompt` counts from 0.

    `position` is the first token that differs (from 0), None if all tokens are the same; `baseline_token` and
    `candidate_token` are the ids there, `gap` how far ahead (nats) the baseline's token was of its runner-up: None for sampled
    answers, which need no close race to part. `near_tie` says that it was so close that rounding may decide it. `distance` is the largest
    difference of a logprob before the answers part (nats), for embeddings the largest difference of a value, and `cosine` the cosine
    distance of the embeddings, None for answers. `said` is what the answer says otherwise though its tokens are the same.
    """

    prompt: int
    position: int | None
    baseline_token: int | None
    candidate_token: int | None
    gap: float | None
    near_tie: bool
    distance: float
    cosine: float | None
    said: tuple[SaidOtherwise, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualityDetails:
    """One part of one candidate against the baseline: the data behind the verdict.

    Of `asked` prompts (of a text: tokens) `identical` are bit-identical with the baseline's, and `equal` are within the tolerance; `parted`
    answers have another token somewhere, `floor_parted` had one when the baseline ran again. `largest` is the largest distance, `floor`
    that of the baseline against itself, both as in `Difference`. `differences` are the prompts (of a text: the paragraphs) that are not
    identical. `deterministic` says that the baseline's answers were bit-identical again, so that any difference is the candidate's.
    """

    scenario: str
    baseline: str
    candidate: str
    part: Part
    asked: int
    tokens: int
    identical: int
    equal: int
    parted: int
    floor_parted: int
    largest: float
    floor: float
    deterministic: bool
    differences: tuple[Difference, ...]
