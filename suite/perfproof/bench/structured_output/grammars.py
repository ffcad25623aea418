"""Requests with grammars that are compiled and in the middle of an answer: what the benchmarks of structured output start from."""

from __future__ import annotations

import functools
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.outputs.streams import tokenizer

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "sizes": {"type": "array", "items": {"type": "integer"}}},
    "required": ["name", "sizes"],
}
PATIENCE = 60.0
"""Seconds for a grammar to be compiled."""


@functools.cache
def tokenizer_folder() -> str:
    """The tokenizer's files, and the model's configuration beside them, in a folder that stays as long as the process."""
    folder = engine.lasting_folder("tokenizer")
    tokenizer().save_pretrained(folder)
    shutil.copy(Path(engine.model_folder(), "config.json"), folder)
    return folder


class Grammars:
    """`requests` requests, each with a grammar of its own, and the manager that knows them."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        from vllm import SamplingParams
        from vllm.sampling_params import StructuredOutputsParams
        from vllm.v1.request import Request
        from vllm.v1.structured_output import StructuredOutputManager

        model = {"tokenizer": tokenizer_folder(), "skip_tokenizer_init": False}
        config = engine.vllm_config(max_num_seqs=parameters["requests"], max_model_len=1_024, model=model)
        processor = engine.input_processor(max_model_len=1_024, model=model)
        self.manager = StructuredOutputManager(config)
        self.requests: dict[str, Any] = {}
        for n in range(parameters["requests"]):
            params = SamplingParams(temperature=0.0, max_tokens=64, structured_outputs=StructuredOutputsParams(json=dict(SCHEMA)))
            prompt = {"type": "token", "prompt_token_ids": engine.token_ids(8, parameters["seed"] + n)}
            core = processor.process_inputs(f"r{n}", prompt, params, supported_tasks=("generate",), arrival_time=0.0)
            self.requests[f"r{n}"] = Request.from_engine_core_request(core, None)
        for one in self.requests.values():
            self.manager.grammar_init(one)
        for one in self.requests.values():
            _await(one)


def _await(request: Any) -> None:
    """Waits until the grammar of a request is compiled, which other threads do."""
    ends = time.monotonic() + PATIENCE
    while request.structured_output_request.grammar is None:
        if time.monotonic() > ends:
            raise TimeoutError(f"a grammar was not compiled within {PATIENCE:.0f} s")
        time.sleep(0.01)
