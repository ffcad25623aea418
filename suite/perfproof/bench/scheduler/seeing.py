"""Requests with images, and a scheduler that keeps what was encoded of them: what the benchmarks of images share."""

from __future__ import annotations

from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.adapter import accepted, find


class Seeing:
    """A scheduler whose requests have images that nobody has seen. `data` stands for an image as the encoder gets it; None where it is
    kept elsewhere."""

    def __init__(self, parameters: dict[str, Any], data: Any = None) -> None:
        self.parameters, self.data = parameters, data
        self.feature = find("vllm.multimodal.inputs:MultiModalFeatureSpec")
        self.place = find("vllm.multimodal.inputs:PlaceholderRange")
        self.tokens = parameters["images"] * (parameters["image_tokens"] + 8)
        at_once = parameters["requests"] * self.tokens
        self.blocks = 4 * (at_once // engine.BLOCK_SIZE + parameters["requests"])
        self.config = engine.vllm_config(max_num_seqs=parameters["requests"], max_num_batched_tokens=max(8_192, at_once))
        self.scheduler = engine.scheduler(self.config, num_blocks=self.blocks)
        self.scheduler.max_num_encoder_input_tokens = at_once  # those of a model that sees
        self.scheduler.encoder_cache_manager = find("vllm.v1.core.encoder_cache_manager:EncoderCacheManager")(cache_size=at_once)
        self.made = self.seen = 0
        self.scheduled: Any = None

    def arrive(self) -> None:
        """Those that were there end, and others come."""
        if self.scheduled is not None:
            self.scheduler.update_from_output(self.scheduled, engine.runner_output(self.scheduled))
            self.scheduler.finish_requests(list(self.scheduler.requests), find("vllm.v1.request:RequestStatus").FINISHED_ABORTED)
        for _ in range(self.parameters["requests"]):
            self.scheduler.add_request(self._request())

    def schedule(self) -> None:
        """The scheduler's part of their first step."""
        self.scheduled = self.scheduler.schedule()
        self.seen += sum(map(len, self.scheduled.scheduled_encoder_inputs.values()))

    def _request(self) -> Any:
        self.made += 1
        each = self.parameters["image_tokens"] + 8
        features = [
            self.feature(
                **accepted(
                    self.feature,
                    data=self.data,
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
