"""`apply_grammar_bitmask`: the masks of a step, brought into the order of the batch, forbid tokens in its logits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from perfproof.bench.adapter import accepted, find
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 64, "structured": 32, "vocabulary": 32_000, "rounds": 30, "warmup_rounds": 3, "seed": 7}
EXERCISES = ("vllm.v1.structured_output.utils:apply_grammar_bitmask",)
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"requests": 8, "structured": 4}
MEANS = "once a step with structured requests in each worker, between the model and the sampler"


class Applying:
    """A step whose masks allow every second token, again and again; every second request is structured until there are enough."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        import numpy as np
        import torch

        names = [f"r{n}" for n in range(parameters["requests"])]
        structured = [*names[1::2], *names[::2]][: parameters["structured"]]
        bitmask = np.full((len(structured), -(-parameters["vocabulary"] // 32)), 0x55555555, dtype=np.int32)
        self.apply = find("vllm.v1.structured_output.utils:apply_grammar_bitmask")
        self.given = accepted(
            self.apply,
            scheduler_output=SimpleNamespace(scheduled_spec_decode_tokens={}),
            grammar_output=SimpleNamespace(structured_output_request_ids=structured, grammar_bitmask=bitmask),
            input_batch=SimpleNamespace(req_ids=names, req_id_to_index={name: row for row, name in enumerate(names)}),
        )
        self.logits = torch.zeros((len(names), parameters["vocabulary"]))
        self.forbidden = 0

    def prepare(self) -> Round:
        self.forbidden += int(self.logits.isneginf().sum())
        self.logits.zero_()
        return lambda: self.apply(**self.given, logits=self.logits)


def counted_round(parameters: dict[str, Any]) -> Round:
    return Applying(parameters).prepare()


def test_apply_bitmask(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step's masks over its logits."""
    applying = Applying(parameters)
    measure(benchmark, parameters, applying.prepare, lambda: {"forbidden": applying.forbidden})
