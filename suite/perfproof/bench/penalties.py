"""The host cost of penalties at every decode step of vLLM's V1 sampler, and its growth with the output.

A batch of requests that have already produced `output_length` tokens takes decode steps; each appends
one token per request, to the Python lists and to `token_ids_cpu`, as the runner does. With
`scheduling: asynchronous` that token is a placeholder, and its value lies in an array of the step before, on
the device and, already copied, on the host. That, and the batch's metadata, is made outside the timed part. The
timed part is one call of `Sampler.apply_penalties`, the function that the sampler calls, with new logits; before it,
where there are placeholders, also their repair (`InputBatch.update_async_output_token_ids`):

- `test_penalties_feed`: without the operation over the vocabulary. The name
  `vllm.v1.sample.ops.penalties.apply_penalties`, through which the sampler calls that operation, is bound
  to a function that returns the logits. This includes everything that makes its arguments: the conversion
  of the outputs, the copy to the device, and the update of counts that are kept from step to step. It excludes
  work on arrays as wide as the vocabulary.
- `test_penalties_apply`: the whole call.

On a GPU the timed part ends with a synchronisation. The first steps are not timed: they build
what is kept from step to step. The middle one of the timed steps is the one at `output_length`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from perfproof.bench import adapter

PARAMETERS = {
    "batch": 128,
    "output_length": 12_000,
    "prompt_length": 64,
    "vocab_size": 32_000,
    "presence_penalty": 1.5,
    "frequency_penalty": 0.0,
    "repetition_penalty": 1.0,
    "device": "cpu",
    "scheduling": "synchronous",
    "rounds": 30,
    "warmup_rounds": 3,
    "seed": 7,
}

LEAST = {"output_length": 0}
CHOICES = {"device": ("cpu", "cuda"), "scheduling": ("synchronous", "asynchronous")}
EXERCISES = ("vllm.v1.sample.sampler:Sampler.apply_penalties",)

TIMES = ("feed_time", "apply_time")
WITNESSES = ("list_elements_converted_per_step",)
COUNT_AT = {"batch": 8, "vocab_size": 2_000}

OPERATION = "vllm.v1.sample.ops.penalties"
UNCOUNTED_STEPS = 2


class CountedList(list):  # type: ignore[type-arg]
    """An output list that counts how many of its elements are read; NumPy reads a list's subclass through its iterator."""

    read = 0

    def __iter__(self) -> Any:
        CountedList.read += len(self)
        return super().__iter__()

    def __getitem__(self, index: Any) -> Any:
        got = super().__getitem__(index)
        CountedList.read += len(got) if isinstance(index, slice) else 1
        return got


class Arrived:
    """The event of a copy to the host that is done."""

    def synchronize(self) -> None:
        """Nothing to wait for."""


class Decoding:
    """A batch in the middle of its decoding, and the call that is timed."""

    def __init__(self, parameters: dict[str, Any], *, ahead: int, rows_of: type[list[int]] = list) -> None:
        """Requests `ahead` steps before `output_length`, with outputs in lists of the class `rows_of`."""
        import torch

        self.sampler = adapter.find(EXERCISES[0].rpartition(".")[0])
        self.parameters = {**parameters, "output_length": max(0, parameters["output_length"] - ahead)}
        self.rows_of = rows_of
        self.device = torch.device(parameters["device"])
        self.asynchronous = parameters["scheduling"] == "asynchronous"
        self.rng = np.random.default_rng(parameters["seed"])
        self.steps = 0
        self.batch = self._batch()
        self.rows = np.arange(parameters["batch"])
        self.outputs = [self.batch.req_output_token_ids[row] for row in self.rows]
        self.checksum = sum(map(sum, self.outputs))
        generator = torch.Generator(device=self.device).manual_seed(parameters["seed"])
        shape = (parameters["batch"], parameters["vocab_size"])
        self.fresh = torch.randn(shape, generator=generator, device=self.device)
        self.logits = torch.empty_like(self.fresh)

    def _batch(self) -> Any:
        p = self.parameters
        spare = p["rounds"] + p["warmup_rounds"] + UNCOUNTED_STEPS + 1
        batch = adapter.input_batch(
            max_num_reqs=p["batch"],
            max_model_len=p["prompt_length"] + p["output_length"] + spare,
            vocab_size=p["vocab_size"],
            device=self.device,
            pin_memory=self.device.type == "cuda",
        )
        for number in range(p["batch"]):
            batch.add_request(self._request(number))
        batch.refresh_metadata()
        return batch

    def _request(self, number: int) -> Any:
        from vllm import SamplingParams

        p = self.parameters
        params = SamplingParams(
            presence_penalty=p["presence_penalty"],
            frequency_penalty=p["frequency_penalty"],
            repetition_penalty=p["repetition_penalty"],
        )
        prompt, output = (self.rng.integers(0, p["vocab_size"], p[size]).tolist() for size in ("prompt_length", "output_length"))
        request = adapter.cached_request(f"request-{number}", prompt, output, sampling_params=params)
        request.output_token_ids = self.rows_of(request.output_token_ids)
        return request

    def advance(self) -> None:
        """Appends one token to every request, then prepares the batch and the logits for sampling, as the runner does."""
        tokens = self.rng.integers(0, self.parameters["vocab_size"], len(self.outputs))
        self.checksum += int(tokens.sum())
        if self.asynchronous:
            self._leave_on_device(tokens)
            tokens = np.full_like(tokens, -1)
        ends = self.batch.num_tokens_no_spec
        self.batch.token_ids_cpu[self.rows, ends[: len(self.rows)]] = tokens
        ends[: len(self.rows)] += 1
        for out, token in zip(self.outputs, tokens.tolist(), strict=True):
            out.append(token)
        self.batch.refresh_metadata()
        if not self.asynchronous:
            self.batch.update_async_output_token_ids()
        self.logits.copy_(self.fresh)
        self.synchronize()
        self.steps += 1

    def _leave_on_device(self, tokens: Any) -> None:
        """Leaves the tokens where asynchronous scheduling has them: on the device, and copied to the host beside the next step."""
        import torch

        batch = self.batch
        batch.prev_sampled_token_ids = torch.as_tensor(tokens, dtype=torch.int32, device=self.device).unsqueeze(dim=1)
        batch.prev_req_id_to_index = {req_id: row for row, req_id in enumerate(batch.req_ids)}
        batch.set_async_sampled_token_ids(batch.prev_sampled_token_ids.cpu(), Arrived())

    def call(self) -> None:
        """The timed part: placeholders repaired, where there are any, and one call of the sampler's penalties."""
        if self.asynchronous:
            self.batch.update_async_output_token_ids()
        metadata = self.batch.sampling_metadata
        self.sampler.apply_penalties(self.logits, metadata, metadata.output_token_ids)
        self.synchronize()

    def synchronize(self) -> None:
        import torch

        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def settled(parameters: dict[str, Any], rows_of: type[list[int]] = list) -> Decoding:
    """A batch before its step at `output_length`; the steps before it have built what is kept."""
    decoding = Decoding(parameters, ahead=UNCOUNTED_STEPS + 1, rows_of=rows_of)
    for _ in range(UNCOUNTED_STEPS):
        decoding.advance()
        decoding.call()
    decoding.advance()
    return decoding


def counted_round(parameters: dict[str, Any]) -> Callable[[], None]:
    """The step at `output_length` of a batch of its own, the operation over the vocabulary included, for its work to be counted."""
    adapter.mend_cpu_probe()
    return settled(parameters).call


def elements_converted(parameters: dict[str, Any]) -> int:
    """List elements read in the step at `output_length`, counted."""
    decoding = settled(parameters, rows_of=CountedList)
    CountedList.read = 0
    decoding.call()
    return CountedList.read


def feed_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Binds the operation over the vocabulary to one that does nothing."""
    adapter.mend_cpu_probe()
    monkeypatch.setattr(importlib.import_module(OPERATION), "apply_penalties", lambda logits, *fed: logits)


def measure(benchmark: Any, parameters: dict[str, Any], metric: str) -> None:
    """Times decode steps one by one, as `metric`, and counts the elements that they read."""
    import torch

    adapter.mend_cpu_probe()
    if parameters["device"] == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    witnessed = elements_converted(parameters)
    decoding = Decoding(parameters, ahead=parameters["warmup_rounds"] + parameters["rounds"] // 2)
    setup: Callable[[], None] = decoding.advance
    benchmark.pedantic(decoding.call, setup=setup, rounds=parameters["rounds"], warmup_rounds=parameters["warmup_rounds"], iterations=1)
    benchmark.extra_info["witnesses"] = {WITNESSES[0]: witnessed}
    benchmark.extra_info["metric"] = metric
    benchmark.extra_info["parameters"] = parameters
    benchmark.extra_info["work"] = {
        "steps": decoding.steps,
        "tokens": sum(map(len, decoding.outputs)),
        "checksum": decoding.checksum % 2**31,
    }


def test_penalties_feed(benchmark: Any, parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Host work of a step: making the arguments of the penalties operation, without that operation."""
    feed_only(monkeypatch)
    measure(benchmark, parameters, "feed_time")


def test_penalties_apply(benchmark: Any, parameters: dict[str, Any]) -> None:
    """The whole call, the operation over the vocabulary included."""
    measure(benchmark, parameters, "apply_time")
