"""`penalties_from_token_ids` against upstream: the tensors handed to the penalties operation, over random streams.

The streams are seeded; `PERFPROOF_STEPS=20000` makes each of them that long.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import penalties_harness as harness
import pytest
from penalties_harness import EVENTS
from streams import STEPS

from perfproof.patches.guard import counter
from perfproof.patches.penalties import penalties_from_token_ids as patch


class Handed:
    """What the operation over the vocabulary was given since it was last asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        module = importlib.import_module(harness.OPERATION)
        operation = module.apply_penalties
        self.tensors: list[Any] = []

        def keep(logits: Any, *fed: Any) -> Any:
            self.tensors += [tensor.clone() for tensor in fed]
            return operation(logits, *fed)

        monkeypatch.setattr(module, "apply_penalties", keep)

    def __call__(self) -> list[Any]:
        taken, self.tensors = self.tensors, []
        return taken


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> Handed:
    harness.skip_unless_held(patch.PATCH)
    return Handed(monkeypatch)


@pytest.fixture
def switch(handed: Handed) -> Iterator[harness.Switch]:
    with harness.switched(patch) as made:
        yield made


def counts() -> dict[str, int]:
    return {name: counter(f"{name} {patch.NAME}").value for name in ("fast", "fallback", "rows from lists")}


def equal_over_a_stream(switch: harness.Switch, handed: Handed, *, device: str, asynchronous: bool, speculating: bool) -> None:
    before = counts()
    stream = harness.Stream(seed=21, device=device, asynchronous=asynchronous, speculating=speculating)
    stream.run(STEPS, switch, handed)
    paths = {name: value - before[name] for name, value in counts().items()}
    print(f"\nevents {dict(stream.events)}\npaths {paths}")
    assert harness.rare(stream, *EVENTS) == []
    assert not asynchronous or harness.rare(stream, "placeholders") == []
    assert not asynchronous or speculating or harness.rare(stream, "repaired late") == []
    assert paths["fast"] + paths["fallback"] == stream.events["steps with penalties"]
    if speculating:
        assert harness.rare(stream, "drafted") == []
        assert min(paths["fast"], paths["fallback"]) > STEPS // 50
    else:
        assert paths["fallback"] == 0
    assert asynchronous or paths["rows from lists"] == 0


@harness.modes()
def test_tensors_are_upstreams(switch: harness.Switch, handed: Handed, asynchronous: bool, speculating: bool) -> None:
    """Whatever happens to the batch, the operation gets the tensors that upstream gives it; with drafts upstream makes them."""
    equal_over_a_stream(switch, handed, device="cpu", asynchronous=asynchronous, speculating=speculating)


@pytest.mark.cuda
@harness.modes()
def test_tensors_are_upstreams_on_a_gpu(switch: harness.Switch, handed: Handed, asynchronous: bool, speculating: bool) -> None:
    """The same by way of pinned memory, with copies that are really asynchronous."""
    equal_over_a_stream(switch, handed, device="cuda", asynchronous=asynchronous, speculating=speculating)


def test_rows_that_differ_in_length_come_from_their_lists(handed: Handed) -> None:
    """Placeholders that nobody repaired leave list and array out of step; such a row is converted from its list, and only it."""
    with harness.switched(patch) as switch:
        before = counts()
        stream = harness.Stream(seed=22, asynchronous=True)
        stream.run(600, switch, handed)
        after = counts()
    assert after["rows from lists"] - before["rows from lists"] > 20
    assert after["fallback"] == before["fallback"]


MUTANTS = {
    "missed write-back": ("            write_back(batch, row, first)\n", "            pass\n"),
    "write-back off by one": ("out[first:]\n", "out[first - 1 : -1]\n"),
    "placeholder handed on as a token": ("known == -1] = pad", "known == -1] = 0"),
    "stale padding": ("        padded[row, len(known) :] = pad\n", ""),
    "identity of the rows not checked": ("one is other for", "True for"),
    "lengths not compared": ("if len(known) != len(out) or id(out) in out_of_step:", "if False:"),
    "out of step once, trusted again": (" or id(out) in out_of_step:", ":"),
    "prompt taken for output": ("token_ids_cpu[row, start:end]", "token_ids_cpu[row, start - 1 : end - 1]"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_planted_faults_are_caught(name: str, handed: Handed) -> None:
    """Each of these faults makes the streams differ from upstream."""
    mutant = harness.mutated(patch, *MUTANTS[name])
    with harness.switched(mutant) as switch, pytest.raises((harness.Difference, ValueError, RuntimeError)):
        harness.run_all_modes(600, switch, handed)


def test_an_unannounced_batch_goes_upstreams_way(switch: harness.Switch) -> None:
    """Rows that are not the announced batch's own lists are converted by upstream, and counted as a fallback."""
    stream = harness.Stream(seed=3)
    switch.on(True)
    runner = stream.runners[1]
    for _ in range(10):
        stream.advance(runner)
    metadata = runner.batch.sampling_metadata
    assert not metadata.no_penalties
    before = counts()
    sampler = importlib.import_module("vllm.v1.sample.sampler").Sampler
    sampler.apply_penalties(stream._logits(runner.batch.num_reqs), metadata, [list(out) for out in metadata.output_token_ids])
    assert counts()["fallback"] - before["fallback"] == 1
    assert counts()["fast"] == before["fast"]


@pytest.mark.cuda
def test_staging_is_not_written_over_while_it_is_copied() -> None:
    """Steps that the host takes without waiting for the GPU each hand on their own rows."""
    import torch

    staging = patch.Staging(torch.device("cuda"))
    handed = []
    torch.cuda._sleep(200_000_000)
    for step in range(6):
        padded = staging.take(64, 20_000)
        padded.numpy()[:] = np.arange(20_000) + step
        handed.append(staging.hand_on(padded))
    wanted = torch.arange(20_000, device="cuda")
    assert all(torch.equal(tensor, (wanted + step).expand(64, -1)) for step, tensor in enumerate(handed))


def test_the_batch_is_not_kept_alive(switch: harness.Switch) -> None:
    """The runner replaces its batch once the KV cache is there; the patch lets go of the old one."""
    import gc
    import weakref

    stream = harness.Stream(seed=4)
    switch.on(True)
    for _ in range(5):
        stream.advance(stream.runners[1])
    batch = weakref.ref(stream.runners[1].batch)
    del stream
    gc.collect()
    assert batch() is None


def test_registers_under_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry point puts the patch in place, attests it, and the sampler takes the fast path."""
    harness.skip_unless_held(patch.PATCH)
    harness.check_registration(patch, monkeypatch)
