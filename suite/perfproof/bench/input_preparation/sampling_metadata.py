"""The batch's sampling parameters, made ready for the sampler after a request was replaced (`InputBatch.refresh_metadata`)."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.adapter import cached_request, input_batch
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 128, "output_tokens": 64, "sampling": "greedy", "rounds": 40, "warmup_rounds": 4, "seed": 7}
SAMPLING: dict[str, dict[str, Any]] = {
    "greedy": {"temperature": 0.0},
    "random": {"temperature": 0.7, "top_p": 0.9, "top_k": 40},
    "penalties": {"temperature": 0.7, "presence_penalty": 1.5, "repetition_penalty": 1.1},
    "min_p": {"temperature": 0.7, "min_p": 0.05},
    "logit_bias": {"temperature": 0.0, "logit_bias": {9: 1.0, 11: -1.0}},
    "min_tokens": {"temperature": 0.0, "min_tokens": 2_000, "max_tokens": 4_000, "stop_token_ids": [5]},
    "bad_words": {"temperature": 0.0},
}
CHOICES = {"sampling": ("greedy", "random", "penalties", "min_p", "logit_bias", "min_tokens", "bad_words")}
EXERCISES = (
    "vllm.v1.worker.gpu_input_batch:InputBatch.refresh_metadata",
    "vllm.v1.worker.gpu_input_batch:InputBatch._make_sampling_metadata",
)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "at every step in which a request comes or goes, in each worker before the sampler; a step without change skips it"


class Replacing:
    """A batch of requests that decode. Before each round its last request is taken out and put back as a new one would be."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        from vllm import SamplingParams

        count, output = parameters["requests"], parameters["output_tokens"]
        self.batch = input_batch(max_num_reqs=count, max_model_len=output + 64, vocab_size=engine.VOCABULARY)
        self.changes = 0
        for n in range(count):
            params = SamplingParams(**SAMPLING[parameters["sampling"]])
            if parameters["sampling"] == "bad_words":
                params._bad_words_token_ids = [[11, 12], [13]]
            self.last = cached_request(
                f"r{n}",
                engine.token_ids(16, parameters["seed"] + n),
                engine.token_ids(output, parameters["seed"] + 500 + n),
                sampling_params=params,
            )
            self.batch.add_request(self.last)
        self.batch.refresh_metadata()

    def prepare(self) -> Round:
        self.batch.remove_request(self.last.req_id)
        self.batch.add_request(self.last)
        self.changes += 1
        refresh: Round = self.batch.refresh_metadata
        return refresh


def counted_round(parameters: dict[str, Any]) -> Round:
    return Replacing(parameters).prepare()


def test_sampling_metadata(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The sampler's view of a batch that changed."""
    replacing = Replacing(parameters)
    measure(benchmark, parameters, replacing.prepare, lambda: {"changes": replacing.changes})
