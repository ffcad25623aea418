"""The front end launches its engine's process and is connected to it (`EngineCoreClient.make_client`); the process answers at once."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Iterator
from typing import Any

from perfproof.bench.adapter import accepted, find
from perfproof.bench.front_end import configuration
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"rounds": 8, "warmup_rounds": 1, "seed": 7}
EXERCISES = (
    "vllm.v1.engine.core_client:EngineCoreClient.make_client",
    "vllm.v1.engine.core_client:MPClient.__init__",
    "vllm.v1.engine.utils:CoreEngineProcManager.__init__",
    "vllm.v1.engine.utils:wait_for_engine_startup",
)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a start, in the process that takes requests, beside its imports and all that the engine's process does until it is ready"
METHOD = "VLLM_WORKER_MULTIPROC_METHOD"
"""The variable that says how vLLM starts processes; one that is forked has imported everything."""
PATIENCE = 5.0
"""Seconds in which an engine's process ends."""
LONGEST = 30.0
"""Seconds for which a process waits that nobody ends."""


class Launching:
    """A configuration; each round launches a process for it, which ends before the next."""

    def __init__(self) -> None:
        self.config = configuration(tokenizer=False)
        self.core = find("vllm.v1.engine.core:EngineCoreProc")
        self.make = find("vllm.v1.engine.core_client:EngineCoreClient.make_client")
        executor = find("vllm.v1.executor.uniproc_executor:UniProcExecutor")
        wanted = {"vllm_config": self.config, "executor_class": executor, "log_stats": True}
        self.given = accepted(self.make, multiprocess_mode=True, asyncio_mode=False, **wanted)
        self.client: Any = None
        self.launched = 0

    def prepare(self) -> Round:
        self.end()
        return self.launch

    def launch(self) -> None:
        with self._answering():
            self.client = self.make(**self.given)
        self.launched += 1

    def end(self) -> None:
        """The process that was launched last ends."""
        if self.client is not None:
            self.client.shutdown(**accepted(self.client.shutdown, timeout=PATIENCE))
            self.client = None

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        """An engine's process is forked from this one, and does no more than answer."""
        kept, method = self.core.__dict__["run_engine_core"], os.environ.get(METHOD, "fork")
        self.core.run_engine_core, os.environ[METHOD] = staticmethod(answer), "fork"
        try:
            yield
        finally:
            self.core.run_engine_core, os.environ[METHOD] = kept, method


def answer(*args: Any, handshake_address: str, dp_rank: int = 0, **more: Any) -> None:
    """What is done in the engine's process: it says that it is there and that it is ready, and waits for its end."""
    import msgspec
    import zmq

    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    context = zmq.Context()

    def connected(address: str) -> Any:
        socket = context.socket(zmq.DEALER)
        socket.setsockopt(zmq.IDENTITY, dp_rank.to_bytes(2, "little"))
        socket.connect(address)
        return socket

    def saying(status: str) -> bytes:
        return msgspec.msgpack.encode({"status": status, "local": True, "headless": False})

    front = connected(handshake_address)
    front.send(saying("HELLO"))
    requests = connected(msgspec.msgpack.decode(front.recv())["addresses"]["inputs"][0])
    requests.send(b"")
    front.send(saying("READY"))
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join(LONGEST)


def counted_round(parameters: dict[str, Any]) -> Round:
    return Launching().prepare()


def test_engine_launch(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Launches of an engine's process."""
    launching = Launching()
    measure(benchmark, parameters, launching.prepare, lambda: {"launched": launching.launched})
    launching.end()
