"""The scheduler's share of speculation: a step's accepted tokens go to their requests, and new drafts are taken for the next step."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.rounds import Round, measure
from perfproof.bench.scheduler.running import Running

PARAMETERS = {"requests": 64, "drafts": 3, "accepted": 1, "prompt_tokens": 128, "rounds": 40, "warmup_rounds": 4, "seed": 7}
LEAST = {"accepted": 0}
EXERCISES = (
    "vllm.v1.core.sched.scheduler:Scheduler.update_from_output",
    "vllm.v1.core.sched.scheduler:Scheduler.update_draft_token_ids",
)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once a step with speculation, after the model has run: without asynchronous scheduling the device waits for it"


class Speculating(Running):
    """Every request drafts as many tokens at each step, of which the first few are accepted."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.drafts, self.accepted = parameters["drafts"], min(parameters["accepted"], parameters["drafts"])
        longer = (self.drafts + 1) * (parameters["rounds"] + parameters["warmup_rounds"]) * parameters["requests"]
        super().__init__(parameters, tokens=longer, speculative=engine.ngram_speculation(self.drafts))
        self.tokens = 0
        self._draft()

    def _draft(self) -> None:
        self.scheduler.update_draft_token_ids(self._ids())

    def _ids(self) -> Any:
        from vllm.v1.outputs import DraftTokenIds

        names = [one.request_id for one in self.running]
        return DraftTokenIds(names, [list(range(10, 10 + self.drafts)) for _ in names])

    def prepare(self) -> Round:
        self.schedule()
        scheduled, ids = self.scheduled, self._ids()
        sampled = [*range(10, 10 + self.accepted), 7]
        output = engine.runner_output(scheduled, sampled_token_ids=[list(sampled) for _ in scheduled.num_scheduled_tokens])

        def update() -> None:
            made = self.scheduler.update_from_output(scheduled, output)
            self.scheduler.update_draft_token_ids(ids)
            self.tokens += sum(len(one.new_token_ids) for client in made.values() for one in client.outputs)

        return update


def counted_round(parameters: dict[str, Any]) -> Round:
    return Speculating(parameters).prepare()


def test_draft_tokens(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The end of a step of requests that speculate."""
    speculating = Speculating(parameters)
    measure(benchmark, parameters, speculating.prepare, lambda: {"tokens": speculating.tokens})
