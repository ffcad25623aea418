"""Model Runner V2's sampler: no float32 copy of the logits unless something will change them.

`Sampler.apply_sampling_params` copies the logits, `4 * rows * vocabulary` bytes, at every step, though
with greedy or plain sampling nothing modifies them. The author's way (vLLM #35214): at every step, look
over the active rows, with numpy on the host, whether any sampling parameter in use changes logits, and
hand the logits on untouched where none does. The kernels that follow widen to float32 in registers, so
the sampled ids and the values stay the same bit for bit. The speculative `RejectionSampler` calls the
same method and is covered with it.

In uncertain cases it copies, as upstream does, and counts that: a sampler with an
attribute that the tested ones don't have, logits whose rows are not contiguous, and
`logprobs_mode=processed_logprobs` (there `torch.topk` would choose among equal logits in another dtype).
Which rows need processing is decided by `rows_need_processing` alone; `sampler_skip_copy_cached` calls
it once per request instead of at every step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from perfproof.patches.guard import Patch, Target, counter, original_of

MODULE = "vllm.v1.worker.gpu.sample.sampler"
APPLY = Target(
    MODULE,
    "Sampler.apply_sampling_params",
    {"0.22.0": "6aa798f65dcd3d47", "0.25.1": "a477dd1adbfc3d60"},
)

TESTED_ATTRIBUTES = frozenset(
    {
        "bad_words_state",
        "compute_nans",
        "logit_bias_state",
        "logprob_token_ids_state",
        "logprobs_mode",
        "num_speculative_tokens",
        "penalties_state",
        "req_states",
        "sampling_states",
        "use_flashinfer",
        "use_fp64_gumbel",
    }
)
"""All attributes of a `Sampler` of 0.22.0 (without `req_states`, `use_flashinfer`) or 0.25.1; any other attribute may change logits."""

PATCH = Patch(
    name="sampler_skip_copy",
    direction="adds",
    summary="looks over the active rows at every step and copies the logits only if one of them needs processing",
    origin="https://github.com/vllm-project/vllm/pull/35214",
    holds={"0.22.0": frozenset({"cuda"}), "0.25.1": frozenset({"cuda"})},
    targets=(APPLY,),
)

Needs = Callable[[Any, Any], bool]


def rows_need_processing(sampler: Any, rows: Any) -> bool:
    """Whether any of those request slots (an index array or a list) has a parameter that changes logits.

    These are the same seven conditions that upstream's own operations check one by one: logit bias with allowed ids
    and minimum length, penalties, bad words, temperature other than 0 and 1, min-p, top-k, top-p.
    """
    states = sampler.sampling_states
    temperature = states.temperature.np[rows]
    return bool(
        sampler.logit_bias_state.use_logit_bias[rows].any()
        or sampler.penalties_state.use_penalty[rows].any()
        or (sampler.bad_words_state.num_bad_words.np[rows] != 0).any()
        or ((temperature != 0.0) & (temperature != 1.0)).any()
        or (states.min_p.np[rows] != 0.0).any()
        or (states.top_k.np[rows] != states.vocab_size).any()
        or (states.top_p.np[rows] != 1.0).any()
    )


def untested(sampler: Any, logits: Any, attributes: frozenset[str]) -> bool:
    """Whether the equivalence test has not covered this sampler or these logits."""
    return not (vars(sampler).keys() <= attributes and sampler.logprobs_mode == "raw_logprobs" and logits.stride(-1) == 1)


def skipping(name: str, upstream: Callable[..., Any], needs: Needs, attributes: frozenset[str]) -> Callable[..., Any]:
    """An `apply_sampling_params` that returns the logits themselves where `needs(sampler, rows)` says no.

    Counts `fast <name>` and `fallback <name>`, and among the latter `untested <name>` if an untested state
    decided, not the rows' parameters.
    """
    fast, fallback, unknown = counter(f"fast {name}"), counter(f"fallback {name}"), counter(f"untested {name}")

    @functools.wraps(upstream)
    def apply_sampling_params(self: Any, logits: Any, expanded_idx_mapping: Any, idx_mapping_np: Any, *rest: Any, **named: Any) -> Any:
        strange = untested(self, logits, attributes)
        if not strange and not needs(self, idx_mapping_np):
            fast.add()
            return logits
        unknown.add(int(strange))
        fallback.add()
        return upstream(self, logits, expanded_idx_mapping, idx_mapping_np, *rest, **named)

    return apply_sampling_params


def replacements() -> Mapping[str, Callable[..., Any]]:
    return {APPLY.qualname: skipping(PATCH.name, original_of(APPLY), rows_need_processing, TESTED_ATTRIBUTES)}


def register() -> None:
    PATCH.apply(replacements)
