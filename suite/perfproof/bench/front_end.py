"""A server's front end in this process: vLLM's `AsyncLLM`, with a client of ours in place of the one that talks to the engine's process."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.adapter import accepted, find
from perfproof.bench.texts import tokenizer_folder

ANSWERS = {"get_weight_version": "default", "compute_weight_checksums": [{"layer": "0"}]}
"""What the engine answers to calls; everything else it affirms."""


@functools.cache
def loop() -> asyncio.AbstractEventLoop:
    """The loop in which a front end runs, one for the process."""
    return asyncio.new_event_loop()


def front_end(**scheduler: Any) -> tuple[Any, Any]:
    """An `AsyncLLM` and its client. `scheduler` are keys of the scheduler's configuration that this release must have."""
    return front_end_of(configuration(**scheduler))


def configuration(*, tokenizer: bool = True, **scheduler: Any) -> Any:
    """The configuration of a front end, with a tokenizer or without."""
    model = {"tokenizer": tokenizer_folder(), "skip_tokenizer_init": False} if tokenizer else {}
    return engine.vllm_config(max_num_seqs=256, max_model_len=1_024, model=model, scheduler=scheduler)


def front_end_of(config: Any) -> tuple[Any, Any]:
    """An `AsyncLLM` of a configuration, and its client."""
    core_client = find("vllm.v1.engine.core_client:EngineCoreClient")
    made = find("vllm.v1.engine.async_llm:AsyncLLM")
    client = _client()
    kept, core_client.make_async_mp_client = core_client.__dict__["make_async_mp_client"], staticmethod(lambda *args, **kwargs: client)
    try:
        front = made(**accepted(made.__init__, vllm_config=config, executor_class=None, log_stats=True, log_requests=False))
    finally:
        core_client.make_async_mp_client = kept
    return front, client


def _client() -> Any:
    base = find("vllm.v1.engine.core_client:AsyncMPClient")

    class Client(base):  # type: ignore[misc]
        """Notes the requests that come; gives what a benchmark has it give, once there are as many requests as it waits for."""

        def __init__(self) -> None:
            self.core_engine, self.core_engines, self.engine_ranks_managed = b"0", [b"0"], [0]
            self.resources = SimpleNamespace(engine_dead=False)
            self.asked: list[Any] = []
            self.coming: list[Any] = []
            self.there = asyncio.Event()
            self.awaited = 0

        def expect(self, requests: int) -> None:
            """From here on, so many requests are awaited."""
            self.asked, self.coming, self.awaited = [], [], requests
            self.there.clear()

        def give(self, steps: Sequence[Any]) -> None:
            """What the engine gives, step by step."""
            self.coming = list(steps)
            self.there.set()

        async def add_request_async(self, request: Any) -> None:
            self.asked.append(request)

        async def abort_requests_async(self, request_ids: list[str]) -> None:
            pass

        async def get_output_async(self) -> Any:
            while not self.coming:
                self.there.clear()
                await self.there.wait()
            return self.coming.pop(0)

        async def get_supported_tasks_async(self) -> tuple[str, ...]:
            return ("generate",)

        async def _call_utility_async(self, method: str, *args: Any, engine: Any) -> Any:
            return ANSWERS.get(method, True)

        def shutdown(self, timeout: float | None = None) -> None:
            pass

    return Client()
