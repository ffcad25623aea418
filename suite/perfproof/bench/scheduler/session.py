"""`Scheduler.add_request` of what comes next in sessions whose input streams: their tokens and hashes go on from what was computed."""

from __future__ import annotations

import inspect
from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.adapter import absent, find
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"sessions": 16, "prompt_tokens": 256, "more_tokens": 64, "rounds": 20, "warmup_rounds": 2, "seed": 7}
EXERCISES = ("vllm.v1.core.sched.scheduler:Scheduler._update_request_as_session",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a piece of input of every session, such as a second of speech"
COUNT_AT = {"sessions": 4}


class Talking:
    """Sessions that answered what they have heard, and wait. Each round brings more input to each."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        if "resumable" not in inspect.signature(find("vllm.v1.request:Request").__init__).parameters:
            absent("session")
        self.parameters = parameters
        steps = parameters["rounds"] + parameters["warmup_rounds"] + 2
        longest = parameters["prompt_tokens"] + steps * (parameters["more_tokens"] + 2)
        config = engine.vllm_config(max_num_seqs=parameters["sessions"], max_model_len=longest + 64)
        blocks = 2 * parameters["sessions"] * (longest // engine.BLOCK_SIZE + 2)
        self.scheduler = engine.scheduler(config, num_blocks=blocks)
        self.pieces = 0
        self.piece(parameters["prompt_tokens"])

    def piece(self, tokens: int) -> None:
        for one in self.made(tokens):
            self.scheduler.add_request(one)

    def made(self, tokens: int) -> list[Any]:
        self.pieces += 1
        seed = self.parameters["seed"] + 1_000 * self.pieces
        return [
            engine.request(f"s{n}", engine.token_ids(tokens, seed + n), max_tokens=1, resumable=True)
            for n in range(self.parameters["sessions"])
        ]

    def prepare(self) -> Round:
        while self.scheduler.running or self.scheduler.waiting:
            engine.step(self.scheduler)
        coming = self.made(self.parameters["more_tokens"])
        return lambda: self.hear(coming)

    def hear(self, coming: list[Any]) -> None:
        for one in coming:
            self.scheduler.add_request(one)


def counted_round(parameters: dict[str, Any]) -> Round:
    return Talking(parameters).prepare()


def test_session(benchmark: Any, parameters: dict[str, Any]) -> None:
    """More input for sessions."""
    talking = Talking(parameters)
    measure(benchmark, parameters, talking.prepare, lambda: {"pieces": talking.pieces})
