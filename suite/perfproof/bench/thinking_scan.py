"""The search for the end of a thinking section (prime-rl #2772; vLLM #46425, #45984).

`requests` requests with a thinking budget have each generated `output_length` tokens: the start marker
first, then thoughts, no end marker. One round is `steps` decode steps of vLLM's own
`ThinkingBudgetStateHolder`, each appending one token to every output and updating the state; the figure is
seconds per round. The budget is never reached. The first search of the whole output and `SETTLING` more
steps, after which lists and caches no longer depend on how the workload was made, are not timed.

With `speculative_tokens` every step has that many draft tokens, combined with the outputs as
the sampler of that release does.

Releases before 0.21 do it elsewhere or not at all and are skipped.
"""

from __future__ import annotations

import itertools
import random
import zlib
from typing import Any

from perfproof.bench import adapter
from perfproof.bench.meter import TokenMeter
from perfproof.bench.rounds import time_rounds

PARAMETERS = {
    "requests": 8,
    "output_length": 16_000,
    "prompt_length": 16,
    "steps": 8,
    "marker_length": 1,
    "speculative_tokens": 0,
    "seed": 0,
    "rounds": 5,
    "warmup_rounds": 1,
}
EXERCISES = ("vllm.v1.sample.thinking_budget_state:ThinkingBudgetStateHolder._update_think_state",)
TIMES = ("round_time",)
WITNESSES = ("tokens_compared_per_step",)
COUNT_AT = {"requests": 1, "steps": 2}

SETTLING = 2
START, END = 100_000, 200_000
"""The first token of either marker; the rest of a marker counts up from it. Ordinary tokens are smaller."""


class Decoding:
    """A batch of requests in the middle of thinking, and the tokens they are about to generate."""

    def __init__(self, parameters: dict[str, Any], meter: TokenMeter | None = None) -> None:
        p, marker = parameters, parameters["marker_length"]
        rng = random.Random(p["seed"])
        start = list(range(START, START + marker))
        make = meter.tokens if meter else list
        self.holder = adapter.thinking_holder(
            start=start, end=list(range(END, END + marker)), max_num_seqs=p["requests"], num_spec_tokens=p["speculative_tokens"]
        )
        prompts = [[rng.randrange(50_000) for _ in range(p["prompt_length"])] for _ in range(p["requests"])]
        thoughts = [[rng.randrange(50_000) for _ in range(p["output_length"] - marker)] for _ in range(p["requests"])]
        self.outputs = [make([*start, *thought]) for thought in thoughts]
        self.new = [make([rng.randrange(50_000) for _ in range(p["requests"])]) for _ in range(SETTLING + p["steps"])]
        self.drafts = [make([rng.randrange(50_000) for _ in range(p["speculative_tokens"])]) for _ in range(p["requests"])]
        self.checksum = zlib.crc32(repr((prompts, thoughts, self.new, self.drafts)).encode())
        for output in self.outputs:
            make_room(output)
        self._track(prompts, budget=1_000_000 + p["output_length"])
        self.update()
        self.decode(self.new[:SETTLING])

    def _track(self, prompts: list[list[int]], budget: int) -> None:
        from vllm import SamplingParams
        from vllm.v1.sample.logits_processor.interface import BatchUpdate

        rows = zip(itertools.count(), prompts, self.outputs)
        added = [(row, SamplingParams(thinking_token_budget=budget), prompt, output) for row, prompt, output in rows]
        self.holder.sync_batch(BatchUpdate(batch_size=len(added), removed=[], added=added, moved=[]))

    def update(self) -> None:
        """Passes the outputs to the holder as that release's sampler does: with the drafts after them up to 0.25."""
        drafts = self.drafts if self.drafts[0] else None
        outputs = self.outputs
        if drafts and adapter.release() < (0, 26):
            outputs = [[*output, *draft] for output, draft in zip(outputs, drafts, strict=False)]
        self.holder.update_state(outputs, drafts)

    def run(self) -> None:
        """The timed steps."""
        self.decode(self.new[SETTLING:])

    def decode(self, steps: list[list[int]]) -> None:
        """Runs the steps: one new token for every request, then the state's update."""
        for tokens in steps:
            for output, token in zip(self.outputs, tokens, strict=False):
                output.append(token)
            self.update()


def make_room(tokens: list[int]) -> None:
    """Makes a list reallocate, so that it can grow: that takes time in proportion to its length, and does not belong to the scan."""
    tokens.append(0)
    tokens.pop()


def counted_round(parameters: dict[str, Any]) -> Any:
    """The steps of a batch of its own, for their work to be counted."""
    return Decoding(parameters).run


def count_compared(parameters: dict[str, Any]) -> float:
    """Tokens compared for one request at one step, counted in a separate run over counting tokens (not timed)."""
    meter = TokenMeter()
    decoding = Decoding(parameters, meter)
    meter.compared = 0
    decoding.run()
    return meter.compared / (parameters["steps"] * parameters["requests"])


def test_thinking_scan(benchmark: Any, parameters: dict[str, Any]) -> None:
    """One round is `steps` decode steps of `requests` requests in the middle of thinking."""
    p = parameters
    checksum = Decoding({**p, "output_length": p["marker_length"]}).checksum

    def setup() -> tuple[tuple[Decoding], dict[str, Any]]:
        return (Decoding(p),), {}

    time_rounds(benchmark, p, Decoding.run, setup)
    benchmark.extra_info["parameters"] = p
    benchmark.extra_info["witnesses"] = {"tokens_compared_per_step": count_compared(p)}
    benchmark.extra_info["work"] = {"request_steps": p["steps"] * p["requests"], "inputs": checksum}
