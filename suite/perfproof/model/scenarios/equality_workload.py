"""What an equality run asks, and what its details are: the nouns between the lane, the analysis and the report.

A *part* is one way of asking: prompts answered greedily, prompts answered by seeded sampling, a text that the model is led through
(teacher-forced), prompts that are embedded. Each part is one metric of the registry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from perfproof.model.scenarios.model_source import Dataset, Model

Part = Literal["greedy_outputs", "sampled_outputs", "text_perplexity", "embeddings"]
PARTS: tuple[Part, ...] = ("greedy_outputs", "sampled_outputs", "text_perplexity", "embeddings")
"""The parts by the names of their metrics."""
Equality = Literal["off", "report", "require"]
"""What an arm's differences do: nothing, they are not even compared; they are shown; they decide."""
PASSAGE = "passage"
"""The name of the suite's own text."""
Value = str | int | float | bool
Sampling = Mapping[str, "Value | tuple[Value, ...]"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualityWorkload:
    """The same prompts for every arm, in one process that batches them the same way each time.

    `arguments` are flags of the engine without their dashes. `prompts` prompts are made of `dataset`, with the lengths of their answers;
    a model that pools has none. `sampling` are vLLM's sampling parameters in every answer, of several values each prompt has one, in
    turn; `sampled` are those that seeded sampling has beyond them. `text` is what the model is led through, `passage` for the suite's own.
    Logprobs that differ by no more than `tolerance` (nats; for embeddings the largest difference of a value, and the cosine distance)
    count as equal. The baseline runs `again` so often, in processes of its own: the floor.
    """

    model: Model
    arguments: Mapping[str, str | int | float | bool]
    dataset: Dataset
    prompts: int
    sampling: Sampling
    sampled: Sampling
    text: str
    tolerance: float
    again: int
    kind: Literal["equality"] = "equality"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How one prompt's answer differs from the baseline's. `prompt` counts from 0.

    `position` is the first token that is another one (from 0), None where the tokens are the same; `baseline_token` and
    `candidate_token` are the ids there, `gap` how far ahead (nats) the baseline's token was of its runner-up: None for sampled
    answers, which need no close race to part. `near_tie` says that it was so close that rounding may decide it. `distance` is the largest
    difference of a logprob before the answers part (nats), for embeddings the largest difference of a value, and `cosine` the cosine
    distance of the embeddings, None for answers.
    """

    prompt: int
    position: int | None
    baseline_token: int | None
    candidate_token: int | None
    gap: float | None
    near_tie: bool
    distance: float
    cosine: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualityDetails:
    """One part of one candidate against the baseline: what the report lays out behind the verdict.

    `identical` prompts (of a text: tokens) of `asked` are the baseline's to the last bit, `equal` of them no further from it than is
    allowed; `parted` answers have another token somewhere, `floor_parted` did so when the baseline ran again. `largest` is the largest
    distance, `floor` that of the baseline against itself, both as in `Difference`. `differences` are the prompts (of a text: the
    paragraphs) that are not identical. `deterministic` says that the baseline gave the very same bits again, so that any difference is
    the candidate's.
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
