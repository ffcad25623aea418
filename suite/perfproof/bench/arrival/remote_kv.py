"""Requests whose keys and values come from another server (separate prefill): the step that learns that they are there, and the next one.

`Scheduler.update_from_output` notes those that have arrived, and `schedule` takes them out of waiting and runs them. The connector is ours,
and moves nothing: it says of each prompt that all but its last block comes from elsewhere.
"""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.adapter import accepted, find
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 32, "prompt_tokens": 512, "rounds": 20, "warmup_rounds": 2, "seed": 7}
LEAST = {"prompt_tokens": 33}
EXERCISES = (
    "vllm.v1.core.sched.scheduler:Scheduler._update_from_kv_xfer_finished",
    "vllm.v1.core.sched.scheduler:Scheduler._update_waiting_for_remote_kv",
)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a request on the decoding side of separate prefill and decode, after its prompt's keys and values have come"
COUNT_AT = {"requests": 8}


def connector(config: Any) -> Any:
    """A KV connector of the scheduler's side that has everything elsewhere, and transfers nothing."""
    base = find("vllm.distributed.kv_transfer.kv_connector.v1.base:KVConnectorBase_V1")
    role = find("vllm.distributed.kv_transfer.kv_connector.v1.base:KVConnectorRole")
    metadata = find("vllm.distributed.kv_transfer.kv_connector.v1.base:KVConnectorMetadata")

    class Elsewhere(base):  # type: ignore[misc]
        def get_num_new_matched_tokens(self, request: Any, num_computed_tokens: int) -> tuple[int, bool]:
            return (request.num_prompt_tokens - 1) // engine.BLOCK_SIZE * engine.BLOCK_SIZE - num_computed_tokens, True

        def update_state_after_alloc(self, *args: Any, **kwargs: Any) -> None:
            pass

        def build_connector_meta(self, scheduler_output: Any) -> Any:
            return metadata()

        def start_load_kv(self, *args: Any, **kwargs: Any) -> None:
            pass

        def wait_for_layer_load(self, layer_name: str) -> None:
            pass

        def save_kv_layer(self, *args: Any, **kwargs: Any) -> None:
            pass

        def wait_for_save(self) -> None:
            pass

    return Elsewhere(**accepted(base.__init__, vllm_config=config, role=role.SCHEDULER, kv_cache_config=engine.kv_cache_config(64)))


class Arriving:
    """Requests that wait for what comes from elsewhere; the round is the end of the step in which it came, and the next step's begin."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        transfer = find("vllm.config:KVTransferConfig")
        factory = find("vllm.distributed.kv_transfer.kv_connector.factory:KVConnectorFactory")
        self.requests, self.prompt, self.seed = parameters["requests"], parameters["prompt_tokens"], parameters["seed"]
        config = engine.vllm_config(
            max_num_seqs=self.requests,
            max_model_len=self.prompt + 64,
            kv_transfer_config=transfer(kv_connector="ExampleConnector", kv_role="kv_consumer"),
        )
        blocks = 4 * self.requests * (self.prompt // engine.BLOCK_SIZE + 4)
        kept, factory.create_connector = factory.__dict__["create_connector"], staticmethod(lambda *args, **kwargs: connector(config))
        try:
            self.scheduler = engine.scheduler(config, num_blocks=blocks)
        finally:
            factory.create_connector = kept
        self.made = self.arrived = 0

    def prepare(self) -> Round:
        output = find("vllm.v1.outputs:KVConnectorOutput")
        self.end()
        names = [self.add() for _ in range(self.requests)]
        scheduled = self.scheduler.schedule()
        there = engine.runner_output(scheduled, kv_connector_output=output(finished_recving=set(names)))

        def goes_on() -> None:
            self.scheduler.update_from_output(scheduled, there)
            self.arrived += len(self.scheduler.schedule().num_scheduled_tokens)

        return goes_on

    def add(self) -> str:
        self.made += 1
        name = f"r{self.made}"
        self.scheduler.add_request(engine.request(name, engine.token_ids(self.prompt, self.seed + self.made)))
        return name

    def end(self) -> None:
        """The requests of the round before leave."""
        from vllm.v1.request import RequestStatus

        self.scheduler.finish_requests(list(self.scheduler.requests), RequestStatus.FINISHED_ABORTED)
        engine.step(self.scheduler)


def counted_round(parameters: dict[str, Any]) -> Round:
    return Arriving(parameters).prepare()


def test_remote_kv(benchmark: Any, parameters: dict[str, Any]) -> None:
    """What has come from elsewhere goes on."""
    arriving = Arriving(parameters)
    measure(benchmark, parameters, arriving.prepare, lambda: {"arrived": arriving.arrived})
