"""A step's outputs are packed by the engine (`MsgpackEncoder`) and unpacked by the front end (`MsgpackDecoder`)."""

from __future__ import annotations

from typing import Any

from perfproof.bench.outputs.streams import core_output, logprobs_of
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 64, "logprobs": 0, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = ("vllm.v1.serial_utils:MsgpackEncoder.encode", "vllm.v1.serial_utils:MsgpackDecoder.decode")
TIMES = ("round_time",)
WITNESSES = ()
COUNT_AT = {"requests": 16}
MEANS = "once a step on either side of the socket between a server's two processes"


class Messages:
    """The same outputs again and again."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        from vllm.v1.engine import EngineCoreOutputs
        from vllm.v1.serial_utils import MsgpackDecoder, MsgpackEncoder

        count, logprobs, seed = parameters["requests"], parameters["logprobs"], parameters["seed"]
        more = [{"new_logprobs": logprobs_of(1, logprobs, seed + n)} if logprobs else {} for n in range(count)]
        self.outputs = EngineCoreOutputs(outputs=[core_output(f"r{n}", [n], **each) for n, each in enumerate(more)], timestamp=1.0)
        self.encoder, self.decoder = MsgpackEncoder(), MsgpackDecoder(EngineCoreOutputs)
        self.received = 0

    def prepare(self) -> Round:
        return self.send

    def send(self) -> None:
        self.received += len(self.decoder.decode(self.encoder.encode(self.outputs)).outputs)


def counted_round(parameters: dict[str, Any]) -> Round:
    return Messages(parameters).prepare()


def test_message_packing(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step's outputs, there and back."""
    messages = Messages(parameters)
    measure(benchmark, parameters, messages.prepare, lambda: {"received": messages.received})
