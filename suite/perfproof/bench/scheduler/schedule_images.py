"""One call of `Scheduler.schedule` in which requests with images arrive: which images are encoded in the step, and where they are kept."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.adapter import accepted, find
from perfproof.bench.rounds import Round, measure

PARAMETERS = {"requests": 8, "images": 4, "image_tokens": 64, "rounds": 20, "warmup_rounds": 2, "seed": 7}
EXERCISES = ("vllm.v1.core.sched.scheduler:Scheduler._try_schedule_encoder_inputs",)
TIMES = ("round_time",)
WITNESSES = ()
MEANS = "once for a step in which requests with images arrive; it is part of their time to first token"
COUNT_AT = {"requests": 2}


class Seeing:
    """Each round's requests have images that nobody has seen, and end before the next."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self.parameters = parameters
        self.feature = find("vllm.multimodal.inputs:MultiModalFeatureSpec")
        self.place = find("vllm.multimodal.inputs:PlaceholderRange")
        self.tokens = parameters["images"] * (parameters["image_tokens"] + 8)
        at_once = parameters["requests"] * self.tokens
        config = engine.vllm_config(max_num_seqs=parameters["requests"], max_num_batched_tokens=max(8_192, at_once))
        self.scheduler = engine.scheduler(config, num_blocks=4 * (at_once // engine.BLOCK_SIZE + parameters["requests"]))
        self.scheduler.max_num_encoder_input_tokens = at_once  # those of a model that sees
        self.scheduler.encoder_cache_manager = find("vllm.v1.core.encoder_cache_manager:EncoderCacheManager")(cache_size=at_once)
        self.made = self.seen = 0
        self.scheduled: Any = None

    def request(self) -> Any:
        self.made += 1
        each = self.parameters["image_tokens"] + 8
        features = [
            self.feature(
                **accepted(
                    self.feature,
                    data=None,
                    modality="image",
                    identifier=f"{self.made}-{n}",
                    mm_position=self.place(offset=n * each + 4, length=self.parameters["image_tokens"]),
                    mm_hash=f"{self.made}-{n}",
                )
            )
            for n in range(self.parameters["images"])
        ]
        ids = engine.token_ids(self.tokens, self.parameters["seed"] + self.made)
        return engine.request(f"r{self.made}", ids, mm_features=features)

    def prepare(self) -> Round:
        if self.scheduled is not None:
            self.scheduler.update_from_output(self.scheduled, engine.runner_output(self.scheduled))
            self.scheduler.finish_requests(list(self.scheduler.requests), find("vllm.v1.request:RequestStatus").FINISHED_ABORTED)
        for _ in range(self.parameters["requests"]):
            self.scheduler.add_request(self.request())
        return self.schedule

    def schedule(self) -> None:
        self.scheduled = self.scheduler.schedule()
        self.seen += sum(map(len, self.scheduled.scheduled_encoder_inputs.values()))


def counted_round(parameters: dict[str, Any]) -> Round:
    return Seeing(parameters).prepare()


def test_schedule_images(benchmark: Any, parameters: dict[str, Any]) -> None:
    """A step with images."""
    seeing = Seeing(parameters)
    measure(benchmark, parameters, seeing.prepare, lambda: {"images": seeing.seen})
