"""A step's work through the ring in shared memory that joins the engine's process to its workers: one message written and read again.

Writer and reader live in one process, so that no time is spent in waiting for the other.
"""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.adapter import find
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 128, "rounds": 40, "warmup_rounds": 4, "seed": 7}
EXERCISES = (
    "vllm.distributed.device_communicators.shm_broadcast:MessageQueue.enqueue",
    "vllm.distributed.device_communicators.shm_broadcast:MessageQueue.dequeue",
)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step and worker where several GPUs serve a model (tensor parallelism), before the workers can begin"


class Ring:
    """A queue with its reader. Each round sends the name and the argument of `execute_model`, `requests` long."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        made = find("vllm.distributed.device_communicators.shm_broadcast:MessageQueue")
        self.parameters = parameters
        self.writer = made(n_reader=1, n_local_reader=1)
        self.reader = made.create_from_handle(self.writer.export_handle(), 0)
        self.writer.wait_until_ready()
        self.reader.wait_until_ready()
        self.steps = 0

    def prepare(self) -> Round:
        count = self.parameters["requests"]
        tokens = engine.token_ids(count, self.parameters["seed"] + self.steps)
        message = ("execute_model", ({f"request-{n}": [token, 16 * n] for n, token in enumerate(tokens)},), {}, 0)
        self.steps += 1
        return lambda: self.send(message)

    def send(self, message: tuple[Any, ...]) -> None:
        self.writer.enqueue(message)
        self.reader.dequeue(timeout=10)


def counted_round(parameters: dict[str, Any]) -> Round:
    ring = Ring(parameters)
    ring.prepare()()
    return ring.prepare()


def test_message_ring(benchmark: Any, parameters: dict[str, Any]) -> None:
    """One message from the engine's process to a worker."""
    ring = Ring(parameters)
    measure(benchmark, parameters, ring.prepare, lambda: {"messages": ring.steps})
