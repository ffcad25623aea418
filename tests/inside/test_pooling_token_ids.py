"""`pooling_cpu_token_ids` (0.17.1, 0.18.1) and `pooling_device_round_trip` (0.19.0, 0.22.0, 0.28.0) against upstream.

vLLM's own poolers pool the same random batches with the patch switched on and off between two steps;
what they make must be equal bit for bit, a refusal included. The streams are seeded;
`PERFPROOF_STEPS=20000` makes them that long. The witnesses of the benchmark are pinned here as well,
for every release.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from perfproof.bench import pooling_token_ids as bench
from perfproof.patches import guard
from perfproof.patches import pooling_cpu_token_ids as adds
from perfproof.patches import pooling_device_round_trip as removes
from perfproof.patches.guard import Attestation, counter, device_type, locate, vllm_release

STEPS = int(os.environ.get("PERFPROOF_STEPS", "150"))
ROWS, LENGTH, TAG = 8, 40, 103


@pytest.fixture(scope="module")
def module() -> Any:
    """The patch that is for the release that runs here; skips if none is."""
    bench.mend_cpu_probe()
    release = vllm_release()
    for one in (adds, removes):
        if release in one.PATCH.holds:
            return one
    versions = ", ".join([*adds.PATCH.holds, *removes.PATCH.holds])
    pytest.skip(f"the patches are for vLLM {versions}, this is {release}")


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """GritLM warns of each prompt without its marks; and tensors this small are not worth a second thread."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)
    torch.set_num_threads(threads)


class Switch:
    """Upstream's functions and the patch's, put in place by turns."""

    def __init__(self, patch: Any) -> None:
        self.places = [locate(target) for target in patch.targets]
        self.released = [getattr(owner, attribute) for owner, attribute in self.places]
        self.patched = self.released

    def learn(self) -> None:
        """What stands in the places now is the patch's."""
        self.patched = [getattr(owner, attribute) for owner, attribute in self.places]

    def on(self, patched: bool) -> None:
        for (owner, attribute), function in zip(self.places, self.patched if patched else self.released, strict=True):
            setattr(owner, attribute, function)


@pytest.fixture
def switch(module: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Switch]:
    """The patch, applied through the guard, and off again at the end."""
    if device_type() not in module.PATCH.holds[vllm_release()]:
        monkeypatch.setenv("PERFPROOF_ALLOW_UNVERIFIED", "1")
    monkeypatch.setattr(Attestation, "_current", Attestation())
    monkeypatch.setattr(guard, "_holders", {})
    made = Switch(module.PATCH)
    module.register()
    made.learn()
    yield made
    made.on(False)


def prompt_for(kind: str, random: Any) -> list[int]:
    """A prompt of 1 to 40 ids with every sort of beginning and end that the pooler tells apart."""
    length = int(random.integers(1, LENGTH + 1))
    if kind != "gritlm":
        return bench.prompt_for(kind, length, random)
    g = bench.GRITLM_IDS
    ids = random.integers(1_000, 1_010, size=length).tolist()
    instruction = [g[t] for t in bench.GRITLM_USER] if random.random() < 0.5 else []
    embed = [g[t] for t in (bench.GRITLM_EMBED_LATER if instruction else bench.GRITLM_EMBED_FIRST)]
    embed = embed if random.random() < 0.8 else []
    start = [g["<s>"]] if random.random() < 0.9 else []
    cut = LENGTH if random.random() < 0.9 else int(random.integers(1, 12))
    return (start + instruction + (ids[:3] if instruction else []) + embed + ids)[:cut]


class Stream:
    """A V1 pooling batch in which requests come, go and move up, and hidden states for it."""

    def __init__(self, kind: str, seed: int, device: str = "cpu") -> None:
        self.random = np.random.default_rng(seed)
        self.kind, self.device = kind, device
        self.size = int(self.random.choice([1, 4]))
        self.pooler = bench.build_pooler(kind, self.size, device)
        self.batch = bench.pooling_batch(ROWS, LENGTH, ROWS * LENGTH, device)
        self.prompts: dict[str, list[int]] = {}
        self.number = 0
        self.seen: Counter = Counter()

    def change(self) -> None:
        """Some requests leave, the rest moves up, others come; one in ten batches asks for no ids at all."""
        none_asks = self.random.random() < 0.1
        gone = [name for name in list(self.prompts) if none_asks or self.random.random() < 0.4]
        for name in gone:
            self.batch.remove_request(name)
            del self.prompts[name]
        self.seen["removed"] += len(gone)
        full = ROWS - len(self.prompts)
        for _ in range(int(self.random.integers(0 if self.prompts else 1, full + 1))):
            prompt = prompt_for(self.kind, self.random)
            asks = not none_asks and self.random.random() < 0.8
            self.batch.add_request(bench.pooling_request(f"r{self.number}", prompt, requires_token_ids=asks))
            self.prompts[f"r{self.number}"] = prompt
            self.number += 1
            self.seen["added"] += 1
            self.seen["short"] += len(prompt) <= 2
        before = list(self.batch.req_ids) if not gone else None
        self.batch.condense()
        self.seen["condensed"] += before is None and bool(self.prompts)

    def hidden(self) -> Any:
        import torch

        generator = torch.Generator().manual_seed(self.number)
        tokens = sum(len(self.prompts[name]) for name in self.batch.req_ids)
        return torch.randn(tokens, self.size, generator=generator).to(self.device)

    def outcome(self, hidden: Any, parts: list[slice]) -> list[Any]:
        """What the pooler makes of the whole batch and of each part of it, as the dispatch pooler would slice it; a refusal's type."""
        made: list[Any] = []
        metadata = self.batch.get_pooling_metadata()
        ends = np.concatenate([[0], np.cumsum(metadata.prompt_lens.numpy())])
        for part in [slice(0, self.batch.num_reqs), *parts]:
            try:
                made.append(list(self.pooler(hidden[ends[part.start] : ends[part.stop]], metadata[part])))
            except (AssertionError, ValueError, TypeError) as error:
                made.append(type(error).__name__)
        made.append(list(self.pooler(hidden, metadata)) if not isinstance(made[0], str) else made[0])
        return made


def same(one: Any, other: Any) -> bool:
    """Equal in shape, type and every bit, NaN included."""
    import torch

    if isinstance(one, str) or isinstance(other, str):
        return one is other or one == other
    return len(one) == len(other) and all(
        a.dtype == b.dtype and a.shape == b.shape and torch.equal(a.contiguous().view(torch.int32), b.contiguous().view(torch.int32))
        for a, b in zip(one, other, strict=True)
    )


def run(kind: str, switch: Switch, steps: int, seed: int = 5, device: str = "cpu") -> Counter:
    """Pools every batch of a stream both ways; raises `AssertionError` where the outcomes differ. What happened how often."""
    import torch

    stream = Stream(kind, seed, device)
    with torch.inference_mode():
        for n in range(steps):
            stream.change()
            hidden = stream.hidden()
            cut = int(stream.random.integers(0, stream.batch.num_reqs + 1))
            parts = [part for part in (slice(0, cut), slice(cut, stream.batch.num_reqs)) if part.start < part.stop]
            outcomes = []
            for patched in (False, True):
                switch.on(patched)
                stream.batch.refresh_metadata()
                outcomes.append(stream.outcome(hidden, parts))
            want, have = outcomes
            assert len(want) == len(have)
            assert all(same(a, b) for a, b in zip(want, have, strict=True)), f"step {n}: {kind} pools otherwise"
            stream.seen["sliced"] += len(parts) > 1
            stream.seen["refused" if isinstance(want[0], str) else "pooled"] += 1
            ids = stream.batch.sampling_metadata.prompt_token_ids
            stream.seen["ids asked for" if ids is not None else "no ids asked for"] += 1
    return stream.seen


@pytest.mark.parametrize("kind", bench.POOLERS)
def test_the_pooled_outputs_are_equal(kind: str, switch: Switch) -> None:
    """Over a random stream of batches, whole and sliced, vLLM's poolers make the same with and without the patch."""
    seen = run(kind, switch, STEPS)
    print(kind, dict(seen))
    for event in ("added", "removed", "short", "condensed", "sliced", "pooled", "ids asked for", "no ids asked for"):
        assert seen[event] >= STEPS // 40, f"{event} was too rare to have been tested: {dict(seen)}"


def test_host_rows_are_the_prompts(switch: Switch) -> None:
    """Whoever asks the metadata for ids on the host gets exactly each request's prompt, from whole and sliced metadata."""
    stream = Stream("splade", 9)
    switch.on(True)
    for _ in range(20):
        stream.change()
        stream.batch.refresh_metadata()
        metadata = stream.batch.get_pooling_metadata()
        if stream.batch.sampling_metadata.prompt_token_ids is None:
            continue
        want = [stream.prompts[name] for name in stream.batch.req_ids]
        for first in range(len(want)):
            part = metadata[slice(first, len(want))]
            if hasattr(part, "get_prompt_token_ids_cpu"):
                rows = [row.tolist() for row in part.get_prompt_token_ids_cpu()]
            else:
                rows = [row[:n].tolist() for row, n in zip(part.prompt_token_ids_cpu, part.prompt_lens.tolist(), strict=True)]
            assert rows == want[first:]
            assert [row.tolist() for row in part.get_prompt_token_ids()] == want[first:]


def test_metadata_made_by_hand_still_pools(module: Any, switch: Switch) -> None:
    """vLLM's warm-up makes metadata itself: it pools as released, and the patch that adds counts that as a fallback."""
    import torch
    from vllm import PoolingParams
    from vllm.v1.pool.metadata import PoolingMetadata, PoolingStates

    from perfproof.bench.adapter import accepted

    ids = torch.tensor([[bench.FIRST, 7, bench.LAST], [7, 7, bench.LAST]])
    pooler = bench.build_pooler("splade", 4, "cpu")
    hidden = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
    made = []
    count = counter(f"fallback {module.PATCH.name}")
    before = count.value
    for patched in (False, True):
        switch.on(patched)
        metadata = PoolingMetadata(
            **accepted(
                PoolingMetadata,
                prompt_lens=torch.tensor([3, 3]),
                prompt_token_ids=ids,
                prompt_token_ids_cpu=ids,
                pooling_params=[PoolingParams(task="embed")] * 2,
                pooling_states=[PoolingStates(), PoolingStates()],
            )
        )
        made.append(list(pooler(hidden, metadata)))
    assert same(made[0], made[1])
    assert count.value - before == (1 if module is adds else 0)


# --- mutants --------------------------------------------------------------------------------------


def faults(module: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[Switch], None]]:
    """Faults of the kind this patch could have, each as a function that plants it."""
    if module is adds:
        right = adds.host_ids

        def planted(change: Callable[[Any, Any], Any]) -> Callable[[Switch], None]:
            return lambda switch: monkeypatch.setattr(adds, "host_ids", lambda batch: change(batch, right(batch)))

        def drop_last(batch: Any, ids: Any) -> Any:
            for i, length in enumerate(batch.num_prompt_tokens[: batch.num_reqs]):
                ids[i, length - 1] = batch.vocab_size
            return ids

        def unsliced(switch: Switch) -> None:
            place = [target.name for target in adds.PATCH.targets].index(adds.SLICE.name)

            def forgets(self: Any, indices: slice) -> Any:
                part = switch.released[place](self, indices)
                part.prompt_token_ids_cpu = self.prompt_token_ids_cpu
                return part

            switch.patched[place] = forgets

        return {
            "the last id dropped": planted(drop_last),
            "the first id dropped": planted(lambda batch, ids: ids.roll(-1, 1)),
            "another request's row": planted(lambda batch, ids: ids.roll(1, 0)),
            "the slice forgotten": unsliced,
        }

    def rows(change: Callable[[list[Any]], list[Any]]) -> Callable[[Switch], None]:
        def plant(switch: Switch) -> None:
            places = [target.name for target in removes.PATCH.targets]
            rows_of, looks = switch.released[places.index(removes.HOST_IDS.name)], places.index(removes.BOS_EOS.name)
            switch.patched[looks] = removes.looking_on_device(switch.released[looks], lambda metadata: change(rows_of(metadata)))

        return plant

    return {
        "the last id dropped": rows(lambda found: [row.roll(1) for row in found]),
        "the first id dropped": rows(lambda found: [row.roll(-1) for row in found]),
        "another request's row": rows(lambda found: found[1:] + found[:1]),
        "the slice forgotten": rows(lambda found: found[-1:] * len(found)),
    }


FAULTS = ("the last id dropped", "the first id dropped", "another request's row", "the slice forgotten")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught(fault: str, module: Any, switch: Switch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutants: ids dropped at either end, rows of another request, metadata sliced without its ids."""
    faults(module, monkeypatch)[fault](switch)
    with pytest.raises((AssertionError, IndexError), match=r"pools otherwise|index"):
        run("bos_eos", switch, 200)
    switch.on(False)


# --- witnesses and the guard ----------------------------------------------------------------------


def witness(kind: str, device: str = "cpu", requests: int = 6, length: int = 24) -> tuple[int, int]:
    """Looks at the device's ids, and ids built, of one step over `requests` prompts of that length."""
    random = np.random.default_rng(1)
    pooler = bench.build_pooler(kind, 4, device)
    batch = bench.pooling_batch(requests, 64, requests * length, device)
    for i in range(requests):
        batch.add_request(bench.pooling_request(f"r{i}", bench.prompt_for(kind, length, random)))
    import torch

    hidden = torch.randn(requests * length, 4).to(device)
    built = bench.ids_built(lambda: bench.step(batch, pooler, hidden), requests)
    if device == "cpu":
        return bench.looks_at_ids(batch, pooler, hidden), built
    return bench.cuda_syncs(lambda: bench.step(batch, pooler, hidden)), built


LOOKS = {"splade": 2, "bos_eos": 2, "gritlm": 1}
"""A request's looks at the device's ids, in the releases that have no other copy."""


@pytest.mark.parametrize("kind", bench.POOLERS)
def test_the_witnesses_are_exact(kind: str) -> None:
    """As released: one or two looks a request up to 0.18 and none after; the padded ids built once, twice from 0.19 to 0.28."""
    from perfproof.bench.adapter import release

    looks = LOOKS[kind] if release() < (0, 19) else 0
    times = 2 if (0, 19) <= release() < (0, 29) else 1
    assert witness(kind) == (6 * looks, 6 * 24 * times)


@pytest.mark.parametrize("kind", bench.POOLERS)
def test_the_witnesses_of_the_patch_are_exact(kind: str, module: Any, switch: Switch) -> None:
    """Patched: no looks and a second copy where the patch adds, the old looks and one copy where it removes."""
    switch.on(True)
    assert witness(kind) == ((0, 2 * 6 * 24) if module is adds else (6 * LOOKS[kind], 6 * 24))


@pytest.mark.parametrize("patch", [adds.PATCH, removes.PATCH], ids=lambda patch: patch.name)
def test_other_releases_platforms_and_sources_are_refused(patch: Any, module: Any) -> None:
    """Runs where tested; refuses releases and platforms that were not, and a function that reads otherwise."""
    assert "this is 0.29.0" in patch.faults("0.29.0", "cpu")[0]
    release = vllm_release()
    if release not in patch.holds:
        assert patch.faults(release, "cpu")
        return
    assert patch.faults(release, "cpu") == []
    assert "this is tpu" in patch.faults(release, "tpu")[0]
    target = patch.targets[0]
    other = type(target)(target.module, target.qualname, {release: "0" * 16})
    changed = type(patch)(
        **{**{name: getattr(patch, name) for name in ("name", "direction", "summary", "origin", "holds")}, "targets": (other,)}
    )
    assert "is not the one tested" in changed.faults(release, "cpu")[0]


# --- on a GPU -------------------------------------------------------------------------------------


@pytest.mark.cuda
@pytest.mark.parametrize("kind", bench.POOLERS)
def test_the_pooled_outputs_are_equal_on_a_gpu(kind: str, switch: Switch) -> None:
    """The same stream with ids and hidden states on the GPU."""
    print(kind, dict(run(kind, switch, STEPS, device="cuda")))


@pytest.mark.cuda
@pytest.mark.parametrize("kind", bench.POOLERS)
def test_pytorch_reports_as_many_synchronisations_as_the_witness_counts(kind: str, module: Any, switch: Switch) -> None:
    """On CUDA the synchronisations that PyTorch reports are those that the instrumented ids count on a CPU."""
    old = 6 * LOOKS[kind]
    for patched, want in ((False, 0 if module is removes else old), (True, old if module is removes else 0)):
        switch.on(patched)
        assert witness(kind, "cuda")[0] == want, SimpleNamespace(patched=patched)
