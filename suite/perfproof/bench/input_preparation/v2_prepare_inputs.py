"""A step of Model Runner V2 up to the model: states are written, kernels lay out inputs and block tables; the host's part of it (CUDA)."""

from __future__ import annotations

from typing import Any

from perfproof.bench import runner_v2
from perfproof.bench.rounds import Round, measure

PARAMETERS = {
    "requests": 128,
    "prompt_tokens": 64,
    "turnover": 0,
    "max_model_len": 16_384,
    "rounds": 60,
    "warmup_rounds": 10,
    "seed": 7,
}
LEAST = {"turnover": 0}
EXERCISES = (
    "vllm.v1.worker.gpu.model_runner:GPUModelRunner.add_requests",
    "vllm.v1.worker.gpu.model_runner:GPUModelRunner.update_requests",
    "vllm.v1.worker.gpu.model_runner:GPUModelRunner.prepare_inputs",
    "vllm.v1.worker.gpu.model_runner:GPUModelRunner.prepare_attn",
    "vllm.v1.worker.gpu.sample.sampler:Sampler.apply_staged_writes",
)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step in each worker, before the model; its kernels are not waited for, and behind a slow model none of it shows"
COUNT_AT = {"requests": 16}
VOCABULARY = 4_096


class Stepping:
    """Requests that decode, a sixteenth of which enter a new block at each step; at each `turnover` requests end and as many come."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.count, self.turnover, self.prompt_tokens = parameters["requests"], parameters["turnover"], parameters["prompt_tokens"]
        self.runner = runner_v2.runner(
            requests=self.count, max_model_len=parameters["max_model_len"], vocab_size=VOCABULARY, device=runner_v2.device()
        )
        self.made = self.tokens = self.blocks = 0
        self.computed: dict[str, int] = {}
        first = runner_v2.scheduled({}, self._come(self.count))
        runner_v2.prepared(self.runner, first)

    def _come(self, count: int) -> list[Any]:
        from vllm import SamplingParams

        come = []
        for n in range(self.made, self.made + count):
            length = self.prompt_tokens + n % runner_v2.BLOCK_SIZE
            name = f"r{n}"
            prompt = [11 + one % 1_000 for one in range(length)]
            come.append(runner_v2.new_request(name, prompt, SamplingParams(temperature=0.0), self._new_blocks(length)))
            self.computed[name] = length
        self.made += count
        return come

    def _new_blocks(self, tokens: int) -> list[int]:
        count = -(-(tokens + 1) // runner_v2.BLOCK_SIZE)
        self.blocks += count
        return [(self.blocks + n) % 10_000 for n in range(count)]

    def prepare(self) -> Round:
        """The next step's output of a scheduler; the device has done what it was given before."""
        ended = list(self.computed)[: self.turnover]
        for name in ended:
            del self.computed[name]
        running = {name: length + 1 for name, length in self.computed.items()}
        entered = {name: [self.made % 10_000] for name, length in running.items() if length % runner_v2.BLOCK_SIZE == 0}
        self.computed.update(running)
        output = runner_v2.scheduled(running, self._come(self.turnover), entered)
        output.finished_req_ids = set(ended)
        self.tokens += output.total_num_scheduled_tokens
        runner_v2.synchronize()
        return lambda: runner_v2.prepared(self.runner, output)


def counted_round(parameters: dict[str, Any]) -> Round:
    return Stepping(parameters).prepare()


def test_v2_prepare_inputs(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The host's part of the next step."""
    stepping = Stepping(parameters)
    measure(benchmark, parameters, stepping.prepare, lambda: {"scheduled_tokens": stepping.tokens})
