"""`sampler_writes_when_added` against the sampler whose states are written at every step.

On a CPU, with vLLM's own states and no kernels (`host_v2`): over random streams of requests that come and go, what the device would see is
the same after every step. On a GPU the real kernels run, and the ids that are sampled are compared, too.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import numpy as np
import pytest
from host_v2 import on_the_host

from perfproof.bench.adapter import accepted, find
from perfproof.bench.runner_v2 import SAMPLER, add_request, build_sampler, request_states, step_arguments
from perfproof.patches import guard
from perfproof.patches.guard import Attestation, counter, locate, original_of, vllm_release
from perfproof.patches.model_runner_v2 import sampler_writes_when_added as patch

STEPS = int(os.environ.get("PERFPROOF_STEPS", "300"))
SLOTS, VOCAB = 8, 64


@pytest.fixture(scope="module")
def released() -> str:
    """The release that runs here; skips on those that the patch is not for."""
    release = vllm_release()
    if release not in patch.PATCH.holds:
        pytest.skip(f"the patch is for vLLM {', '.join(patch.PATCH.holds)}, this is {release}")
    return release


def patched(adding: Any = patch.noting, name: str = "test written") -> type:
    """Upstream's `Sampler` with the patch's methods, without touching upstream's class."""
    body = {
        "add_request": adding(original_of(patch.ADD)),
        "apply_staged_writes": patch.writing(name, original_of(patch.WRITE)),
    }
    return type("Patched", (find(SAMPLER),), body)


def drawn(random: Any) -> Any:
    """Sampling parameters of every kind, a few of them at a time."""
    from vllm import SamplingParams

    every: dict[str, Any] = {
        "temperature": float(random.choice([0.0, 0.5, 1.0])),
        "top_k": int(random.choice([-1, 3, 20])),
        "top_p": float(random.choice([1.0, 0.9])),
        "min_p": float(random.choice([0.0, 0.1])),
        "seed": int(random.integers(2**31)),
        "presence_penalty": float(random.choice([0.0, 0.5])),
        "repetition_penalty": float(random.choice([1.0, 1.2])),
        "logit_bias": {int(random.integers(VOCAB)): 2.0} if random.random() < 0.3 else None,
        "allowed_token_ids": [1, int(random.integers(VOCAB))] if random.random() < 0.2 else None,
        "min_tokens": int(random.choice([0, 5])),
        "stop_token_ids": [3, 4],
        "max_tokens": 16,
    }
    made = SamplingParams(**every)
    if random.random() < 0.3:
        made._bad_words_token_ids = [[int(random.integers(VOCAB))], [5, 6]]
    return made


def seen_by_the_device(thing: Any, path: str = "", met: frozenset[int] = frozenset()) -> dict[str, Any]:
    """Every array that the device sees, of a sampler and of all that it is made of, but for what it shares with the runner."""
    import torch

    found: dict[str, Any] = {}
    if id(thing) in met or path.endswith("req_states"):
        return found
    if isinstance(thing, list):
        parts = {f"{path}[{n}]": one for n, one in enumerate(thing)}
    else:
        parts = {f"{path}.{name}": one for name, one in getattr(thing, "__dict__", {}).items()}
    for where, part in parts.items():
        if isinstance(part, torch.Tensor):
            found[where] = part
        elif isinstance(part, list) or type(part).__module__.startswith("vllm."):
            found.update(seen_by_the_device(part, where, met | {id(thing)}))
    return {where: tensor for where, tensor in found.items() if ".pool." not in where and not where.endswith(".cpu")}


class Stream:
    """Requests that come and go in two samplers, upstream's and the patched one, alike."""

    def __init__(self, kind: type, device: Any, seed: int = 7) -> None:
        self.random, self.device, self.seen = np.random.default_rng(seed), device, Counter[str]()
        self.states = [request_states(max_num_reqs=SLOTS, vocab_size=VOCAB, device=device) for _ in range(2)]
        self.samplers = [build_sampler(each, states) for each, states in zip((find(SAMPLER), kind), self.states, strict=True)]
        self.live: dict[str, int] = {}
        self.number = 0

    def change(self) -> None:
        """Now and then some requests leave and some come; in half of the steps nothing changes."""
        if self.random.random() < 0.5 and self.live:
            self.seen["unchanged"] += 1
            return
        for name in [name for name in self.live if self.random.random() < 0.3]:
            for states in self.states:
                states.remove_request(name)
            del self.live[name]
            self.seen["left"] += 1
        while len(self.live) < SLOTS and (not self.live or self.random.random() < 0.4):
            wanted, name = drawn(self.random), f"r{self.number}"
            tokens = [int(token) for token in self.random.integers(0, VOCAB, size=self.random.integers(2, 9))]
            for sampler, states in zip(self.samplers, self.states, strict=True):
                self.live[name] = add_request(sampler, states, name, wanted, tokens)
            self.number += 1
            self.seen["came"] += 1

    def write(self) -> None:
        """The runner's part of a step: what was staged goes to the device."""
        for sampler, states in zip(self.samplers, self.states, strict=True):
            states.apply_staged_writes()
            sampler.apply_staged_writes()


def run(kind: type, device: Any, steps: int) -> Counter[str]:
    """Drives both; raises `AssertionError` at the first step at which the device would see something else. What happened how often."""
    import torch

    stream = Stream(kind, device)
    for step in range(steps):
        stream.change()
        stream.write()
        want, have = (seen_by_the_device(sampler) for sampler in stream.samplers)
        have.pop(f".{patch.CURRENT}", None)
        assert want.keys() == have.keys()
        assert len(want) >= 14
        for where, tensor in want.items():
            assert torch.equal(tensor, have[where]), f"step {step}: {where}"
        if device.type == "cuda":
            sampled_alike(stream, step)
    return stream.seen


def sampled_alike(stream: Stream, step: int) -> None:
    import torch

    given = step_arguments(list(stream.live.values()), vocab_size=VOCAB, dtype=torch.bfloat16, device=stream.device, seed=step)
    results = []
    for sampler in stream.samplers:
        torch.manual_seed(step)
        results.append(sampler.sample(**accepted(sampler.sample, **given)))
    (want_ids, want), (have_ids, have) = results
    assert torch.equal(want_ids, have_ids), f"step {step}"
    assert torch.equal(want.view(torch.uint8), have.view(torch.uint8)), f"step {step}"


def test_the_device_sees_the_same_after_every_step(released: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a random stream every array that the device sees is equal to upstream's, and steps without a new request copy nothing."""
    import torch

    on_the_host(monkeypatch)
    before = {way: counter(f"{way} test written").value for way in ("fast", "fallback")}
    seen = run(patched(), torch.device("cpu"), STEPS)
    print(dict(seen))
    assert min(seen["unchanged"], seen["came"], seen["left"]) >= STEPS // 10
    fast, fallback = (counter(f"{way} test written").value - before[way] for way in ("fast", "fallback"))
    assert fast + fallback == STEPS
    assert fast >= seen["unchanged"] > 0


def test_a_request_that_is_not_noted_is_found(released: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: a sampler that does not note what is added leaves the device with what it saw before."""
    import torch

    on_the_host(monkeypatch)
    with pytest.raises(AssertionError, match="step"):
        run(patched(adding=lambda upstream: upstream), torch.device("cpu"), 200)


def test_a_request_that_upstream_refuses_is_noted(released: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If `add_request` fails halfway, what it wrote until then reaches the device as upstream's does."""
    import torch
    from vllm import SamplingParams

    on_the_host(monkeypatch)
    stream = Stream(patched(), torch.device("cpu"))
    stream.change()
    stream.write()
    for sampler, states in zip(stream.samplers, stream.states, strict=True):
        with pytest.raises(ValueError, match="Too many"):
            add_request(sampler, states, "refused", SamplingParams(temperature=0.3, seed=1, logit_bias=dict.fromkeys(range(1_025), 1.0)))
    stream.write()
    want, have = (seen_by_the_device(sampler) for sampler in stream.samplers)
    assert all(torch.equal(tensor, have[where]) for where, tensor in want.items())


def test_a_processor_of_somebody_else_is_written_at_every_step(released: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From 0.31.0 on a sampler may have logits processors of its own; their writes are never left out."""
    import torch

    on_the_host(monkeypatch)
    sampler = Stream(patched(), torch.device("cpu")).samplers[1]
    if not hasattr(sampler, "logits_processors"):
        pytest.skip("this release has no logits processors of others")
    written: list[int] = []

    class Theirs:
        def apply_staged_writes(self) -> None:
            written.append(1)

    sampler.logits_processors.append(Theirs())
    for _ in range(3):
        sampler.apply_staged_writes()
    assert len(written) == 3


def test_holds_on_cuda_with_the_tested_source(released: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The replaced functions read as tested; a CPU is refused. Applied, the class carries the patch over upstream's functions."""
    assert patch.PATCH.faults(vllm_release(), "cuda") == []
    assert "tested on cuda" in patch.PATCH.faults(vllm_release(), "cpu")[0]
    monkeypatch.setattr(Attestation, "_current", Attestation())
    monkeypatch.setattr(guard, "_holders", {})
    monkeypatch.setenv("PERFPROOF_ALLOW_UNVERIFIED", "1")
    for target in patch.PATCH.targets:
        owner, attribute = locate(target)
        monkeypatch.setattr(owner, attribute, getattr(owner, attribute))
    upstream = original_of(patch.WRITE)
    patch.register()
    assert find(SAMPLER).apply_staged_writes.perfproof_original is upstream


@pytest.mark.cuda
def test_ids_and_logits_are_equal_with_the_real_kernels(released: str) -> None:
    """On a GPU, over a random stream: the device sees the same, the same ids are sampled, and the processed logits are equal to the bit."""
    import torch

    seen = run(patched(), torch.device("cuda"), STEPS)
    assert min(seen["unchanged"], seen["came"], seen["left"]) >= STEPS // 10
