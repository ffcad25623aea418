"""A step's outputs, packed into the message that the engine's process sends to the front end's; or requests, as admission sends them."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.adapter import find
from perfproof.bench.outputs import streams
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 128, "logprobs": 0, "message": "outputs", "rounds": 40, "warmup_rounds": 4, "seed": 7}
CHOICES = {"message": ("outputs", "requests")}
LEAST = {"logprobs": 0}
EXERCISES = ("vllm.v1.serial_utils:MsgpackEncoder.encode",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "`outputs`: once a step in the engine's process, beside the device's work; `requests`: once for each request"


class Packing:
    """Packs the outputs of one step of `requests` requests, or that many new requests."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parameters = parameters
        self.encoder = find("vllm.v1.serial_utils:MsgpackEncoder")()
        self.packed = 0

    def prepare(self) -> Round:
        seed, count = self.parameters["seed"] + self.packed, self.parameters["requests"]
        if self.parameters["message"] == "outputs":
            messages = [streams.step_outputs(count, self.parameters["logprobs"], seed)]
        else:
            messages = [streams.core_request(f"request-{n}", engine.token_ids(512, seed + n)) for n in range(count)]
        self.packed += len(messages)
        return lambda: self.pack(messages)

    def pack(self, messages: list[Any]) -> None:
        for message in messages:
            self.encoder.encode(message)


def counted_round(parameters: dict[str, Any]) -> Round:
    return Packing(parameters).prepare()


def test_message_packing(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The message of a step, or of requests that are admitted."""
    packing = Packing(parameters)
    measure(benchmark, parameters, packing.prepare, lambda: {"messages": packing.packed})
