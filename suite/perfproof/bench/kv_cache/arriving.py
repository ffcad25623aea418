"""Requests that come to a KV cache and leave it again: what benchmarks of a prompt's admission start from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfproof.bench import engine_objects as engine
from perfproof.bench.adapter import absent


class Arriving:
    """A manager to which `requests` requests of `tokens` tokens come before each round; those of the round before leave it."""

    def __init__(self, parameters: Mapping[str, Any], manager: Any) -> None:
        self.parameters, self.manager = parameters, manager
        self.there: list[Any] = []
        self.made = self.allocated = 0

    def arrive(self) -> None:
        for one in self.there:
            self.manager.free(one)
        self.there = []
        for _ in range(self.parameters["requests"]):
            self.made += 1
            ids = engine.token_ids(self.parameters["tokens"], self.parameters["seed"] + self.made)
            self.there.append(engine.request(f"r{self.made}", ids))

    def allocate(self, request: Any, tokens: int, **more: Any) -> None:
        """Room for so many tokens of a request."""
        if self.manager.allocate_slots(request, tokens, **more) is None:
            absent("room for such a prompt")
        self.allocated += tokens
