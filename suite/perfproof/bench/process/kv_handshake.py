"""A KV connector's workers say where they are to be reached (`get_kv_connector_handshake_metadata`), and its scheduler's side learns it."""

from __future__ import annotations

from typing import Any

from perfproof.bench.adapter import absent, find
from perfproof.bench.rounds import Round, measure
from perfproof.bench.whole_engine import Parts, kv_transfer_state

PARAMETERS = {"requests": 0, "prompt_tokens": 64, "rounds": 20, "warmup_rounds": 2, "seed": 7}
LEAST = {"requests": 0}
EXERCISES = ("vllm.v1.worker.gpu_worker:Worker.get_kv_connector_handshake_metadata",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a start of a server that hands keys and values to others, such as in separate prefill and decode"


class Greeting:
    """An engine whose KV connector has an address in each worker."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parts = Parts(parameters, "connected")
        self.executor = self.parts.core.model_executor
        self.connector = self.parts.scheduler.get_kv_connector()
        if not hasattr(self.connector, "set_xfer_handshake_metadata"):
            absent("handshake of KV connectors")
        address = find("vllm.distributed.kv_transfer.kv_connector.v1.base:KVConnectorHandshakeMetadata")()
        self.parts.replace(kv_transfer_state()._KV_CONNECTOR_AGENT, "get_handshake_metadata", lambda: address)
        self.told = 0

    def prepare(self) -> Round:
        return self.greet

    def greet(self) -> None:
        every = [one for one in self.executor.get_kv_connector_handshake_metadata() if one]
        self.connector.set_xfer_handshake_metadata({rank: address for one in every for rank, address in one.items()})
        self.told += len(every)


def counted_round(parameters: dict[str, Any]) -> Round:
    return Greeting(parameters).prepare()


def test_kv_handshake(benchmark: Any, parameters: dict[str, Any]) -> None:
    """Handshakes of one worker."""
    greeting = Greeting(parameters)
    measure(benchmark, parameters, greeting.prepare, lambda: {"workers": greeting.told})
    greeting.parts.restore()
