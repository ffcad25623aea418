"""Requests with grammars that are compiled and in the middle of an answer: what the benchmarks of structured output start from."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.adapter import find
from perfproof.bench.texts import tokenizer_folder

PATIENCE = 60.0
"""Seconds for a grammar to be compiled."""


def grammar(kind: str, n: int) -> dict[str, Any]:
    """What the n-th request is constrained to, as `StructuredOutputsParams` takes it; no two are the same but for the shape."""
    schema = {
        "type": "object",
        "properties": {f"name{n}": {"type": "string"}, "sizes": {"type": "array", "items": {"type": "integer"}}},
        "required": [f"name{n}", "sizes"],
    }
    return {
        "json": {"json": schema},
        "regex": {"regex": f"id{n}: ([a-z] ?){{8,16}}"},
        "choice": {"choice": [f"yes{n}", f"no{n}", f"perhaps{n}"]},
    }[kind]


class Grammars:
    """`requests` requests, each with a grammar of its own, and the manager that knows them."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        from vllm.v1.structured_output import StructuredOutputManager

        model = {"tokenizer": tokenizer_folder(), "skip_tokenizer_init": False}
        backend = parameters.get("backend", "xgrammar")
        more = {"structured_outputs_config": find("vllm.config:StructuredOutputsConfig")(backend=backend)}
        config = engine.vllm_config(max_num_seqs=parameters["requests"], max_model_len=1_024, model=model, **more)
        self.kind, self.seed = parameters.get("grammar", "json"), parameters["seed"]
        self.processor = engine.input_processor(max_model_len=1_024, model=model, **more)
        self.manager = StructuredOutputManager(config)
        self.made = 0
        self.requests: dict[str, Any] = {f"r{n}": self.request(n) for n in range(parameters["requests"])}
        for one in self.requests.values():
            self.manager.grammar_init(one)
        for one in self.requests.values():
            await_grammar(one)

    def asked(self, n: int) -> Any:
        """The parameters of the n-th request."""
        from vllm import SamplingParams
        from vllm.sampling_params import StructuredOutputsParams

        return SamplingParams(temperature=0.0, max_tokens=64, structured_outputs=StructuredOutputsParams(**grammar(self.kind, n)))

    def arrived(self, name: str, params: Any) -> Any:
        """What the front end makes of a request."""
        prompt = {"type": "token", "prompt_token_ids": engine.token_ids(8, self.seed)}
        return self.processor.process_inputs(name, prompt, params, supported_tasks=("generate",), arrival_time=0.0)

    def request(self, n: int) -> Any:
        """The n-th request, as the engine has it; its grammar is not compiled."""
        from vllm.v1.request import Request

        self.made = n + 1
        return Request.from_engine_core_request(self.arrived(f"r{n}", self.asked(n)), None)


def await_grammar(request: Any) -> None:
    """Waits until the grammar of a request is compiled, which other threads do."""
    ends = time.monotonic() + PATIENCE
    while request.structured_output_request.grammar is None:
        if time.monotonic() > ends:
            raise TimeoutError(f"a grammar was not compiled within {PATIENCE:.0f} s")
        time.sleep(0.01)
