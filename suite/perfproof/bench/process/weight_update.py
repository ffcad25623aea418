"""What a trainer has an engine do around new weights: requests make room, caches empty, it sleeps and wakes, weights are summed up."""

from __future__ import annotations

from typing import Any

from perfproof.bench.adapter import absent
from perfproof.bench.rounds import Round, measure
from perfproof.bench.whole_engine import Parts

PARAMETERS = {"requests": 32, "prompt_tokens": 64, "rounds": 15, "warmup_rounds": 2, "seed": 7}
EXERCISES = ("vllm.v1.engine.llm_engine:LLMEngine.sleep", "vllm.v1.engine.llm_engine:LLMEngine.wake_up")
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once an update of weights while a model is trained, between two generations; on a CPU the weights stay where they are"
COUNT_AT = {"requests": 8}


class Nothing:
    """Stands for what brings weights from a trainer: it does nothing, whatever it is asked."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: None


class Updating:
    """Requests decode; the round preempts them all, empties the caches, and has the engine sleep, take weights that nobody sends, and
    wake."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parts = Parts(parameters)
        if not hasattr(self.parts.engine, "sleep"):
            absent("engine that sleeps")
        self.transfers = hasattr(self.parts.worker.worker, "_check_weight_transfer_engine")
        self.updates = 0

    def prepare(self) -> Round:
        self.parts.steps(2)
        if self.transfers:
            self.parts.worker.worker.weight_transfer_engine = Nothing()
        return self.update

    def update(self) -> None:
        engine, core = self.parts.engine, self.parts.core
        self.parts.scheduler.reset_prefix_cache(reset_running_requests=True)
        engine.sleep(1, **({"mode": "keep"} if hasattr(core, "pause_scheduler") else {}))
        if hasattr(core, "compute_weight_checksums"):
            core.compute_weight_checksums()
        if hasattr(self.parts.worker.worker, "update_config"):
            engine.collective_rpc("update_config", args=({"load_config": {}},))
        if self.transfers:
            for call, args in (("start_weight_update", ()), ("update_weights", ([{}],)), ("finish_weight_update", ())):
                engine.collective_rpc(call, args=args)
        for call in ("reset_weights", "shutdown_weight_transfer_engine"):
            if hasattr(self.parts.worker.worker, call):
                engine.collective_rpc(call)
        engine.wake_up()
        self.updates += 1


def counted_round(parameters: dict[str, Any]) -> Round:
    return Updating(parameters).prepare()


def test_weight_update(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The engine's part of new weights."""
    updating = Updating(parameters)
    measure(benchmark, parameters, updating.prepare, lambda: {"updates": updating.updates})
