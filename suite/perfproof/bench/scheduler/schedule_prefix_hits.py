"""One call of `Scheduler.schedule` in which requests arrive whose prompts begin with tokens that are cached, while others decode."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.rounds import Round, measure
from perfproof.bench.scheduler.running import Running

PARAMETERS = {"requests": 64, "prompt_tokens": 128, "arriving": 8, "cached_tokens": 2_048, "rounds": 30, "warmup_rounds": 3, "seed": 7}
EXERCISES = ("vllm.v1.core.sched.scheduler:Scheduler.schedule", "vllm.v1.core.kv_cache_manager:KVCacheManager.get_computed_blocks")
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once for a step in which requests with a known system prompt or chat history arrive; it is part of their time to first token"


class Hits(Running):
    """What arrives is gone again before the next round, and its blocks are still cached."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.arriving, self.cached = parameters["arriving"], parameters["cached_tokens"]
        super().__init__(parameters, seats=self.arriving, tokens=self.arriving * (self.cached + 64))
        self.shared = engine.token_ids(self.cached, self.seed)
        self.hit = 0
        self.arrived: list[Any] = []
        self._arrive(1)
        engine.step(self.scheduler)

    def _arrive(self, count: int) -> None:
        self.arrived = [self.new(self.shared + engine.token_ids(16, self.seed + self.made)) for _ in range(count)]
        for one in self.arrived:
            self.scheduler.add_request(one)

    def prepare(self) -> Round:
        if self.scheduled is not None:
            self.hit += sum(new.num_computed_tokens for new in self.scheduled.scheduled_new_reqs)
        self.settle()
        self.abort([one.request_id for one in self.arrived])
        self._arrive(self.arriving)
        return self.schedule


def counted_round(parameters: dict[str, Any]) -> Round:
    return Hits(parameters).prepare()


def test_schedule_prefix_hits(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The step in which they arrive."""
    hits = Hits(parameters)
    measure(benchmark, parameters, hits.prepare, lambda: {**hits.work(), "cached_tokens": hits.hit})
