"""The message with a step's outputs, unpacked as the front end does it."""

from __future__ import annotations

from typing import Any

from perfproof.bench.adapter import find
from perfproof.bench.outputs import streams
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 128, "logprobs": 0, "rounds": 40, "warmup_rounds": 4, "seed": 7}
LEAST = {"logprobs": 0}
EXERCISES = ("vllm.v1.serial_utils:MsgpackDecoder.decode",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step in the process that serves HTTP"


class Unpacking:
    """Messages with the outputs of one step of `requests` requests each."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        from vllm.v1.engine import EngineCoreOutputs

        self.parameters = parameters
        self.encoder = find("vllm.v1.serial_utils:MsgpackEncoder")()
        self.decoder = find("vllm.v1.serial_utils:MsgpackDecoder")(EngineCoreOutputs)
        self.steps = 0

    def prepare(self) -> Round:
        outputs = streams.step_outputs(self.parameters["requests"], self.parameters["logprobs"], self.parameters["seed"] + self.steps)
        self.steps += 1
        frames = [bytes(frame) for frame in self.encoder.encode(outputs)]
        return lambda: self.decoder.decode(frames)


def counted_round(parameters: dict[str, Any]) -> Round:
    return Unpacking(parameters).prepare()


def test_message_unpacking(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step's message."""
    unpacking = Unpacking(parameters)
    measure(benchmark, parameters, unpacking.prepare, lambda: {"messages": unpacking.steps})
