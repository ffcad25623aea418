"""Penalties that are wrong on purpose, each in one way; `PERFPROOF_FAULT` says in which (see `chosen_fault`).

- `token_twice`: the first token of every output is counted once more;
- `prompt_ignored`: the repetition penalty sees no prompt;
- `one_step_late`: the newest token of every output is not counted yet;
- `last_row_unpenalised`: the last row of the batch gets no penalties;
- `stale_row`: where a request takes the row of one that left, it has the other's output for one step;
- `resumed_uncounted`: the tokens of a request from before its preemption are no longer counted;
- `rounded_factors`: the factors go through bfloat16;
- `long_outputs`: from 64 tokens on, only the last 64 are counted;
- `high_rows`: rows from the 32nd on get no penalties.

The last two are wrong only where outputs are long or batches large: a short run with small batches can't see them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from perfproof.patches.guard import Patch, Target, original_of
from perfproof.patches.planted.chosen_fault import chosen

APPLY = Target("vllm.v1.sample.sampler", "Sampler.apply_penalties", {"0.32.0": "6fe02ed4915339fa"})
ENTER = Target("vllm.v1.worker.gpu_input_batch", "InputBatch.add_request", {"0.32.0": "d1d5a3ee7945bb4c"})
PATCH = Patch(
    name="planted_penalties",
    direction="adds",
    summary="penalties that are wrong on purpose, to see which gate catches them",
    origin="the suite's own",
    holds={"0.32.0": frozenset({"cpu"})},
    targets=(APPLY, ENTER),
)
LONGEST, HIGHEST = 64, 32
Outputs = Sequence[list[int]]


class Faults:
    """The wrong ways, around upstream's right one. A fault takes metadata and outputs and returns upstream's new arguments."""

    def __init__(self, enter: Callable[..., Any]) -> None:
        self._enter = enter
        self._before: Outputs = ()
        self._resumed: dict[int, tuple[list[int], int]] = {}

    def add_request(self, batch: Any, request: Any) -> Any:
        """Adds a request as upstream does; a request that already has output is resumed."""
        if request.output_token_ids:
            self._resumed[id(request.output_token_ids)] = (request.output_token_ids, len(request.output_token_ids))
        return self._enter(batch, request)

    def token_twice(self, metadata: Any, outputs: Outputs) -> tuple[Any, Outputs]:
        return metadata, [[*out, out[0]] if out else out for out in outputs]

    def prompt_ignored(self, metadata: Any, outputs: Outputs) -> tuple[Any, Outputs]:
        seen = copy.copy(metadata)
        seen.prompt_token_ids = metadata.prompt_token_ids.new_full(metadata.prompt_token_ids.shape, self.vocabulary)
        return seen, outputs

    def one_step_late(self, metadata: Any, outputs: Outputs) -> tuple[Any, Outputs]:
        return metadata, [out[:-1] for out in outputs]

    def last_row_unpenalised(self, metadata: Any, outputs: Outputs) -> tuple[Any, Outputs]:
        return neutral(metadata, slice(len(outputs) - 1, None)), outputs

    def stale_row(self, metadata: Any, outputs: Outputs) -> tuple[Any, Outputs]:
        before, self._before = self._before, list(outputs)
        return metadata, before if len(before) == len(outputs) else outputs

    def resumed_uncounted(self, metadata: Any, outputs: Outputs) -> tuple[Any, Outputs]:
        return metadata, [out[self._resumed[id(out)][1] :] if id(out) in self._resumed else out for out in outputs]

    def rounded_factors(self, metadata: Any, outputs: Outputs) -> tuple[Any, Outputs]:
        seen = copy.copy(metadata)
        for name in ("presence_penalties", "frequency_penalties", "repetition_penalties"):
            factors = getattr(metadata, name)
            setattr(seen, name, factors.bfloat16().to(factors.dtype))
        return seen, outputs

    def long_outputs(self, metadata: Any, outputs: Outputs) -> tuple[Any, Outputs]:
        return metadata, [out[-LONGEST:] for out in outputs]

    def high_rows(self, metadata: Any, outputs: Outputs) -> tuple[Any, Outputs]:
        return neutral(metadata, slice(HIGHEST, None)), outputs

    vocabulary = 0
    """The padding value for these logits."""

    def applying(self, fault: Callable[[Any, Outputs], tuple[Any, Outputs]], apply: Callable[..., Any]) -> Callable[..., Any]:
        """Upstream's `apply_penalties`, called with the fault's arguments."""

        def apply_penalties(logits: Any, sampling_metadata: Any, output_token_ids: Outputs) -> Any:
            if sampling_metadata.no_penalties:
                return logits
            self.vocabulary = logits.shape[1]
            return apply(logits, *fault(sampling_metadata, output_token_ids))

        return apply_penalties


def neutral(metadata: Any, rows: slice) -> Any:
    """The metadata with factors that change nothing in these rows."""
    seen = copy.copy(metadata)
    for name, nothing in (("presence_penalties", 0.0), ("frequency_penalties", 0.0), ("repetition_penalties", 1.0)):
        factors = getattr(metadata, name).clone()
        factors[rows] = nothing
        setattr(seen, name, factors)
    return seen


def replacements() -> Mapping[str, Callable[..., Any]]:
    faults = Faults(original_of(ENTER))
    known = {
        name: getattr(faults, name)
        for name in (
            "token_twice",
            "prompt_ignored",
            "one_step_late",
            "last_row_unpenalised",
            "stale_row",
            "resumed_uncounted",
            "rounded_factors",
            "long_outputs",
            "high_rows",
        )
    }
    wrong = faults.applying(chosen(PATCH.name, known), original_of(APPLY))
    return {APPLY.name: wrong, ENTER.name: faults.add_request}


def register() -> None:
    PATCH.apply(replacements)
