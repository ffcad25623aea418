"""The swap_states patches against upstream: every array and map of the batch, over random streams.

Two batches, one with a patch's functions, are led through the same adding, removing, condensing, swapping,
reordering, drafting, generating, preempting and resuming. What is compared: every list and map, every
per-request array over the rows in use, and of token ids, their mask and the block tables what is in use.
Behind that lies what earlier requests left; nothing reads it, and it differs by design.
"""

from __future__ import annotations

import functools
import inspect
import random
import types
from collections import Counter
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from streams import drive, none_rare, skip_unless_held

from perfproof.bench import adapter
from perfproof.patches import swap_states_active_prefix, swap_states_batched, swap_states_full_rows
from perfproof.patches.guard import PatchRefused, Target, original_of

ROWS, LENGTH, VOCAB, BLOCK = 6, 48, 40, 4
PATCHES = (swap_states_active_prefix, swap_states_full_rows, swap_states_batched)
SEEDS = st.integers(0, 2**32 - 1)
EVENTS = (
    "added",
    "removed",
    "condensed",
    "swapped",
    "reordered",
    "drafted",
    "swapped drafts",
    "generated",
    "preempted",
    "resumed",
    "embedded",
)
SWAP = "vllm.v1.worker.gpu_input_batch:InputBatch.swap_states"
SWAP_ROW = "vllm.v1.worker.block_table:BlockTable.swap_row"
REORDER = "vllm.v1.attention.backends.utils:reorder_batch_to_split_decodes_and_prefills"


class Side:
    """One batch with its requests and the functions that it uses."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]], device: str) -> None:
        sizes = {"max_num_reqs": ROWS, "max_model_len": LENGTH, "vocab_size": VOCAB, "block_size": BLOCK, "num_spec_tokens": 4}
        self.batch = adapter.input_batch(**sizes, device=device, pin_memory=device == "cuda")
        self.requests: dict[str, Any] = {}
        self.order = functions.get(REORDER, released(REORDER))
        if SWAP in functions:
            self.batch.swap_states = types.MethodType(functions[SWAP], self.batch)
        for table in self.batch.block_table.block_tables:
            if SWAP_ROW in functions:
                table.swap_row = types.MethodType(functions[SWAP_ROW], table)


def released(name: str) -> Callable[..., Any]:
    module, _, qualname = name.partition(":")
    return original_of(Target(module, qualname))


def sampling(rng: random.Random, masks: bool) -> dict[str, Any]:
    """Sampling parameters of every kind that the batch keeps by row."""
    return {
        "temperature": rng.choice((0.0, 0.7, 1.0)),
        "top_p": rng.choice((1.0, 0.9)),
        "top_k": rng.choice((0, 5)),
        "presence_penalty": rng.choice((0.0, 1.5)),
        "frequency_penalty": rng.choice((0.0, 0.5)),
        "repetition_penalty": rng.choice((1.0, 1.2)),
        "allowed_token_ids": rng.sample(range(VOCAB), 5) if masks and rng.random() < 0.5 else None,
    }


class Batches(RuleBasedStateMachine):
    """Upstream's batch and the patched one, in step."""

    functions: ClassVar[Mapping[str, Callable[..., Any]]] = {}
    events: ClassVar[Counter[str]] = Counter()
    device: ClassVar[str] = "cpu"

    def __init__(self) -> None:
        super().__init__()
        self.sides = (Side({}, self.device), Side(self.functions, self.device))
        self.named = 0
        self.masks = False
        self.waiting: list[str] = []
        self.phase = "removing"

    def note(self, event: str) -> None:
        self.events["steps"] += 1
        self.events[event] += 1

    @property
    def live(self) -> list[str]:
        return list(self.sides[0].batch.req_id_to_index)

    # --- a scheduler's step: removing, adding, then (condensed) moving, then refreshing ---

    @precondition(lambda self: self.phase == "removing" and self.live)
    @rule(seed=SEEDS, preempt=st.booleans())
    def remove(self, seed: int, preempt: bool) -> None:
        name = random.Random(seed).choice(self.live)
        for side in self.sides:
            side.batch.remove_request(name)
            if not preempt:
                del side.requests[name]
        if preempt:
            self.waiting.append(name)
        self.note("preempted" if preempt else "removed")

    @precondition(lambda self: self.phase in ("removing", "adding") and len(self.live) < ROWS)
    @rule(seed=SEEDS)
    def add(self, seed: int) -> None:
        self.phase, name, self.named = "adding", f"request-{self.named}", self.named + 1
        for side in self.sides:
            side.requests[name] = self.make(name, random.Random(seed))
            side.batch.add_request(side.requests[name])
        self.note("added")

    def make(self, name: str, rng: random.Random) -> Any:
        import torch
        from vllm import SamplingParams

        params = SamplingParams(**sampling(rng, self.masks))
        if rng.random() < 0.3:
            params._bad_words_token_ids = [[rng.randrange(VOCAB)]]
        prompt = [rng.randrange(VOCAB) for _ in range(rng.randint(1, 30))]
        output = [rng.randrange(VOCAB) for _ in range(rng.choice((0, 0, 3, 8)))]
        more: dict[str, Any] = {"generator": torch.Generator().manual_seed(rng.randrange(99)) if rng.random() < 0.4 else None}
        if rng.random() < 0.2:
            more["prompt_embeds"] = torch.full((len(prompt), 2), float(rng.randrange(99)))
            self.events["embedded"] += 1
        more["lora_request"] = SimpleNamespace(lora_int_id=rng.randrange(1, 4)) if rng.random() < 0.5 else None
        blocks = [rng.randrange(1, 999) for _ in range(-(-(len(prompt) + len(output)) // BLOCK))]
        done = rng.choice((0, len(prompt), 1))
        return adapter.cached_request(name, prompt, output, sampling_params=params, block_ids=blocks, num_computed_tokens=done, **more)

    @precondition(lambda self: self.phase in ("removing", "adding") and self.waiting and len(self.live) < ROWS)
    @rule()
    def resume(self) -> None:
        self.phase, name = "adding", self.waiting.pop(0)
        for side in self.sides:
            side.batch.add_request(side.requests[name])
        self.note("resumed")

    @precondition(lambda self: self.phase in ("removing", "adding"))
    @rule()
    def condense(self) -> None:
        self.phase = "moving"
        for side in self.sides:
            side.batch.condense()
        self.note("condensed")

    @precondition(lambda self: self.phase == "moving" and len(self.live) > 1)
    @rule(seed=SEEDS)
    def swap(self, seed: int) -> None:
        one, other = random.Random(seed).sample(range(len(self.live)), 2)
        self.events["swapped drafts"] += any(self.sides[0].batch.spec_token_ids[row] for row in (one, other))
        for side in self.sides:
            side.batch.swap_states(one, other)
        self.note("swapped")

    @precondition(lambda self: self.phase == "moving" and len(self.live) > 1)
    @rule(seed=SEEDS)
    def reorder(self, seed: int) -> None:
        rng = random.Random(seed)
        scheduled = SimpleNamespace(num_scheduled_tokens={name: rng.choice((1, 1, 5)) for name in self.live})
        changed = [side.order(side.batch, scheduled, 1) for side in self.sides]
        assert changed[0] == changed[1]
        self.note("reordered" if changed[0] else "in order")

    @precondition(lambda self: self.phase == "moving" and self.live)
    @rule(seed=SEEDS)
    def draft(self, seed: int) -> None:
        """Rows get draft tokens, others lose them."""
        for name in self.live:
            tokens = [random.Random(f"{seed}{name}").randrange(VOCAB) for _ in range(random.Random(f"{name}{seed}").randrange(5))]
            for side in self.sides:
                row = side.batch.req_id_to_index[name]
                room = LENGTH - int(side.batch.num_tokens_no_spec[row])
                adapter.speculate(side.batch, side.requests[name], tokens[:room])
        self.note("drafted")

    @precondition(lambda self: self.phase == "moving" and self.live)
    @rule(seed=SEEDS)
    def generate(self, seed: int) -> None:
        """Every row gets a token where it has room, and a block where the last is full; its drafts are spent."""
        for side in self.sides:
            rng, batch = random.Random(seed), side.batch
            for row, name in enumerate(batch.req_ids):
                end = int(batch.num_tokens_no_spec[row])
                token = rng.randrange(VOCAB)
                adapter.speculate(batch, side.requests[name], ())
                batch.num_accepted_tokens_cpu[row] = rng.randint(1, 4)
                if end >= LENGTH:
                    continue
                batch.token_ids_cpu[row, end], batch.is_token_ids[row, end] = token, True
                batch.num_tokens_no_spec[row] = end + 1
                batch.num_computed_tokens_cpu[row] = end
                side.requests[name].output_token_ids.append(token)
                if end % BLOCK == 0 and int(batch.block_table.block_tables[0].num_blocks_per_row[row]) < LENGTH // BLOCK:
                    batch.block_table.append_row(([rng.randrange(1, 999)],), row)
        self.note("generated")

    @precondition(lambda self: self.phase == "moving")
    @rule()
    def refresh(self) -> None:
        """The step ends: the batch's changes are drained, and both sides' must be the same."""
        updates = []
        for side in self.sides:
            builder = side.batch.batch_update_builder
            updates.append((list(builder.moved), list(builder.removed), [added[0] for added in builder.added]))
            side.batch.refresh_metadata()
        assert updates[0] == updates[1]
        self.phase = "removing"

    @invariant()
    def equal(self) -> None:
        left, right = (state(side.batch) for side in self.sides)
        differing = [name for name in left if not same(left[name], right[name])]
        assert not differing, f"{differing[0]}: upstream {left[differing[0]]}, patched {right[differing[0]]}"


class MaskedBatches(Batches):
    """The same with masks of allowed tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.masks = True


def same(one: Any, other: Any) -> bool:
    return np.array_equal(one, other) if isinstance(one, np.ndarray) else bool(one == other)


@functools.cache
def masks_drafts() -> bool:
    """Whether this release writes the mask of draft tokens; those that don't (0.17 to 0.19 at least) leave there what was there."""
    return "is_token_ids" in inspect.getsource(adapter.find("vllm.v1.worker.gpu_input_batch:InputBatch.update_req_spec_token_ids"))


def state(batch: Any) -> dict[str, Any]:
    """All that the batch knows of its requests."""
    rows = len(batch._req_ids)
    live = [row for row in range(rows) if batch._req_ids[row] is not None]
    found: dict[str, Any] = {
        name: getattr(batch, name) for name in ("_req_ids", "req_id_to_index", "req_output_token_ids", "bad_words_token_ids")
    }
    found["spec_token_ids"] = batch.spec_token_ids[:rows]
    found["moved"] = list(batch.batch_update_builder.moved)
    found["generators"] = {row: generator.initial_seed() for row, generator in batch.generators.items()}
    found["req_prompt_embeds"] = {row: embeds.tolist() for row, embeds in batch.req_prompt_embeds.items()}
    for name in (*swap_states_batched.ARRAYS, *swap_states_batched.SAMPLING_ARRAYS):
        found[name] = getattr(batch, name)[:rows].copy()
    if batch.allowed_token_ids_mask_cpu_tensor is not None:
        found["allowed_token_ids_mask"] = batch.allowed_token_ids_mask_cpu_tensor[:rows].numpy().copy()
    for row in live:
        used = int(batch.num_tokens_no_spec[row]) + len(batch.spec_token_ids[row])
        found[f"token ids of row {row}"] = batch.token_ids_cpu[row, :used].copy()
        found[f"mask of row {row}"] = batch.is_token_ids[row, : used if masks_drafts() else int(batch.num_tokens_no_spec[row])].copy()
        for number, table in enumerate(batch.block_table.block_tables):
            blocks = int(table.num_blocks_per_row[row])
            found[f"blocks of row {row} in group {number}"] = (blocks, table.block_table.np[row, :blocks].tolist())
    return found


def functions(patch: Any) -> Mapping[str, Callable[..., Any]]:
    skip_unless_held(patch.PATCH)
    return patch.replacements()  # type: ignore[no-any-return]


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.PATCH.name)
@pytest.mark.parametrize("machine", [Batches, MaskedBatches])
def test_leaves_what_upstream_leaves(patch: Any, machine: type[Batches], monkeypatch: pytest.MonkeyPatch) -> None:
    """After every kind of change a batch with the patch holds what upstream's holds."""
    monkeypatch.setattr(machine, "functions", functions(patch))
    none_rare(drive(machine), EVENTS)


@pytest.mark.cuda
@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.PATCH.name)
def test_leaves_what_upstream_leaves_on_a_gpu(patch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for batches whose tensors are on the GPU and whose host's copies are pinned."""
    monkeypatch.setattr(MaskedBatches, "functions", functions(patch))
    monkeypatch.setattr(MaskedBatches, "device", "cuda")
    none_rare(drive(MaskedBatches), EVENTS)


def off_by_one(patch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if patch is swap_states_active_prefix:
        right = patch.active_tokens
        monkeypatch.setattr(patch, "active_tokens", lambda batch, row: right(batch, row) - 1)
    else:
        right = patch.move_rows
        monkeypatch.setattr(
            patch, "move_rows", lambda rows, cycles, lengths: right(rows, cycles, {row: n - 1 for row, n in lengths.items()})
        )


def drafts_forgotten(patch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if patch is swap_states_active_prefix:
        monkeypatch.setattr(patch, "active_tokens", lambda batch, row: int(batch.num_tokens_no_spec[row]))
    else:
        monkeypatch.setattr(patch, "move_rows", _without_drafts(patch.move_rows))


def _without_drafts(right: Callable[..., None]) -> Callable[..., None]:
    """Moves nothing of the last quarter of a row: where drafts of long rows are."""
    return lambda rows, cycles, lengths: right(rows, cycles, {row: min(n, rows.shape[1] * 3 // 4) for row, n in lengths.items()})


def lengths_of_the_wrong_row(patch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if patch is swap_states_active_prefix:
        monkeypatch.setattr(patch, "max", min, raising=False)
    else:
        right = patch.move_rows

        def wrong(rows: Any, cycles: Any, lengths: Any) -> None:
            shortest = min(lengths.values(), default=0)
            right(rows, cycles, dict.fromkeys(lengths, shortest))

        monkeypatch.setattr(patch, "move_rows", wrong)


def maps_left_behind(patch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patch, "move_keys", lambda values, source: None)


def cycles_backwards(patch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    right = patch.cycles_of
    monkeypatch.setattr(patch, "cycles_of", lambda source: [cycle[::-1] for cycle in right(source)])


FAULTS = [
    (swap_states_active_prefix, off_by_one),
    (swap_states_active_prefix, drafts_forgotten),
    (swap_states_active_prefix, lengths_of_the_wrong_row),
    (swap_states_batched, off_by_one),
    (swap_states_batched, drafts_forgotten),
    (swap_states_batched, lengths_of_the_wrong_row),
    (swap_states_batched, maps_left_behind),
    (swap_states_batched, cycles_backwards),
]


@pytest.mark.parametrize(("patch", "fault"), FAULTS, ids=lambda one: getattr(one, "__name__", "").rpartition(".")[2])
def test_a_planted_fault_is_caught(patch: Any, fault: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    """A patch with a fault of its kind does not get through the machine."""
    made = functions(patch)
    fault(patch, monkeypatch)
    monkeypatch.setattr(Batches, "functions", made)
    with pytest.raises(AssertionError, match="upstream"):
        drive(Batches, steps=20_000)


def test_rows_cut_short_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """`swap_states_full_rows` that copied only half a row would not get through either."""
    skip_unless_held(swap_states_full_rows.PATCH)
    upstream = released(SWAP)

    def half(self: Any, i1: int, i2: int) -> None:
        self._get_active_token_count = lambda row: LENGTH // 2
        upstream(self, i1, i2)
        del self._get_active_token_count

    monkeypatch.setattr(Batches, "functions", {SWAP: half})
    with pytest.raises(AssertionError, match="upstream"):
        drive(Batches, steps=20_000)


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.PATCH.name)
def test_refuses_where_it_was_not_tested(patch: Any) -> None:
    """On a release that is not listed the patch refuses, naming those that are."""
    from perfproof.patches.guard import vllm_release

    if vllm_release() in patch.PATCH.holds:
        pytest.skip("it holds here")
    with pytest.raises(PatchRefused, match="it was tested with vLLM"):
        patch.register()


WITNESS = {
    "as released before 0.19": 557_056.0,
    "as released": 57_338.8,
    "swap_states_batched": 25_728.56,
}


def test_bytes_per_swap_is_exact() -> None:
    """The author's workload copies so many bytes an exchange on every machine."""
    from perfproof.bench import swap_states as bench

    expected = WITNESS["as released before 0.19" if adapter.release() < (0, 19) else "as released"]
    assert bench.tally(bench.PARAMETERS)[0] == pytest.approx(expected, abs=1e-9)
