"""A scheduler with requests that decode: what the benchmarks of the scheduler start from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.rounds import Round


class Running:
    """`requests` requests that decode, and a scheduler that has room for what a benchmark adds.

    `seats` are places in the batch for requests beside them, `tokens` what these may hold together, `scheduler` further keys of its
    configuration, `speculative` the one of speculation. The prompts differ in length by up to a KV block, so that at each step some of the
    requests enter another one.
    """

    def __init__(
        self,
        parameters: Mapping[str, Any],
        *,
        seats: int = 0,
        tokens: int = 0,
        scheduler: Mapping[str, Any] | None = None,
        max_num_batched_tokens: int = 8_192,
        speculative: Any = None,
        prefix_caching: bool = True,
        log_stats: bool = True,
    ) -> None:
        self.prompt, self.seed = parameters["prompt_tokens"], parameters["seed"]
        steps = parameters["rounds"] + parameters["warmup_rounds"]
        count = parameters["requests"]
        self.room = self.prompt + 2 * steps + 64
        config = engine.vllm_config(
            max_num_seqs=count + seats,
            max_model_len=max(self.room, tokens),
            max_num_batched_tokens=max_num_batched_tokens,
            enable_prefix_caching=prefix_caching,
            scheduler=scheduler,
            speculative_config=speculative,
        )
        blocks = count * (self.room // engine.BLOCK_SIZE + 2) + 2 * tokens // engine.BLOCK_SIZE + 64
        self.hashed = prefix_caching
        self.scheduler = engine.scheduler(config, num_blocks=blocks, log_stats=log_stats)
        self.scheduled: Any = None
        self.made = self.scheduled_tokens = 0
        self.running = [self.new() for _ in range(count)]
        engine.decoding(self.scheduler, self.running)

    def new(self, prompt: list[int] | None = None, **more: Any) -> Any:
        """A request that was not there before; its prompt is like the others' unless given."""
        self.made += 1
        ids = prompt or engine.token_ids(self.prompt + self.made % engine.BLOCK_SIZE, self.seed + self.made)
        return engine.request(f"r{self.made}", ids, **{"max_tokens": 1_000_000, "hashed": self.hashed, **more})

    def schedule(self) -> None:
        """A step begins."""
        self.scheduled = self.scheduler.schedule()

    def settle(self) -> None:
        """The step ends, if one has begun: every request that is past its prompt gets a token."""
        if self.scheduled is not None:
            self.scheduled_tokens += self.scheduled.total_num_scheduled_tokens
            late = engine.still_prefilling(self.scheduler, self.scheduled)
            self.scheduler.update_from_output(self.scheduled, engine.runner_output(self.scheduled, prefilling=late))
            self.scheduled = None

    def prepare(self) -> Round:
        """The next round is the next step's `schedule`."""
        self.settle()
        return self.schedule

    def abort(self, names: list[str]) -> None:
        """Ends requests as a client does that goes away."""
        from vllm.v1.request import RequestStatus

        self.scheduler.finish_requests(names, RequestStatus.FINISHED_ABORTED)

    def work(self) -> dict[str, int]:
        return {"scheduled_tokens": self.scheduled_tokens, "requests": self.made}
