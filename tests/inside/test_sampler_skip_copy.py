"""`sampler_skip_copy` and `sampler_skip_copy_cached` against the sampler that they replace.

Three circles. The predicate alone, over plain arrays, runs anywhere. The whole of upstream's `Sampler`
with its real states, but with the Triton kernels replaced by marks on the logits, runs on a CPU with the
releases that the patches are for: it shows that the logits are left alone exactly where upstream would
have launched nothing, and that the results are equal bit for bit. The real kernels, the sampled ids and
the rejection sampler run where there is a GPU (marked `cuda`).

The streams are seeded; `PERFPROOF_STEPS=20000` makes them that long.
"""

from __future__ import annotations

import functools
import os
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from perfproof.patches import guard
from perfproof.patches import sampler_skip_copy as plain
from perfproof.patches import sampler_skip_copy_cached as cached
from perfproof.patches.guard import Attestation, PatchRefused, counter, locate, original_of, vllm_release

STEPS = int(os.environ.get("PERFPROOF_STEPS", "300"))
SLOTS, VOCAB = 8, 64
PARTS = ("logit_bias", "penalty", "bad_words", "temperature", "min_p", "top_k", "top_p")


# --- the predicate over plain arrays --------------------------------------------------------------


def stub_sampler(slots: int = 4) -> SimpleNamespace:
    """A sampler of which only the seven gated states exist, all of them at their defaults."""
    return SimpleNamespace(
        logit_bias_state=SimpleNamespace(use_logit_bias=np.zeros(slots, bool)),
        penalties_state=SimpleNamespace(use_penalty=np.zeros(slots, bool)),
        bad_words_state=SimpleNamespace(num_bad_words=SimpleNamespace(np=np.zeros(slots, np.int32))),
        sampling_states=SimpleNamespace(
            vocab_size=VOCAB,
            temperature=SimpleNamespace(np=np.ones(slots, np.float32)),
            min_p=SimpleNamespace(np=np.zeros(slots, np.float32)),
            top_k=SimpleNamespace(np=np.full(slots, VOCAB, np.int32)),
            top_p=SimpleNamespace(np=np.ones(slots, np.float32)),
        ),
    )


def part_of(sampler: Any, part: str) -> np.ndarray:
    """The array of the states that holds that part, a value a slot."""
    states = sampler.sampling_states
    return {
        "logit_bias": lambda: sampler.logit_bias_state.use_logit_bias,
        "penalty": lambda: sampler.penalties_state.use_penalty,
        "bad_words": lambda: sampler.bad_words_state.num_bad_words.np,
        "temperature": lambda: states.temperature.np,
        "min_p": lambda: states.min_p.np,
        "top_k": lambda: states.top_k.np,
        "top_p": lambda: states.top_p.np,
    }[part]()


IN_USE = {"logit_bias": True, "penalty": True, "bad_words": 2, "temperature": 0.7, "min_p": 0.1, "top_k": 20, "top_p": 0.9}


def test_defaults_need_nothing() -> None:
    """Slots at their defaults, greedy ones included, need no processing."""
    sampler = stub_sampler()
    part_of(sampler, "temperature")[1] = 0.0
    assert not plain.rows_need_processing(sampler, np.arange(4))


@pytest.mark.parametrize("part", PARTS)
def test_each_parameter_alone_is_seen_in_active_rows_only(part: str) -> None:
    """One parameter in one slot makes a batch need processing if that slot is active, and no other batch; its slot reused, none."""
    sampler = stub_sampler()
    array = part_of(sampler, part)
    default = array[2]
    array[2] = IN_USE[part]
    assert plain.rows_need_processing(sampler, np.array([3, 2]))
    assert plain.rows_need_processing(sampler, [2])
    assert not plain.rows_need_processing(sampler, np.array([0, 1, 3]))
    array[2] = default
    assert not plain.rows_need_processing(sampler, np.array([3, 2]))


def test_every_combination_of_parameters_needs_processing_but_none() -> None:
    """Of the 128 combinations of the seven gates exactly the empty one needs no processing."""
    for bits in range(1 << len(PARTS)):
        sampler = stub_sampler()
        for i, part in enumerate(PARTS):
            if bits >> i & 1:
                part_of(sampler, part)[1] = IN_USE[part]
        assert plain.rows_need_processing(sampler, np.array([0, 1])) == (bits != 0)


# --- upstream's sampler with marks for kernels ----------------------------------------------------


@pytest.fixture(scope="module")
def released() -> str:
    """The release that runs here; skips on those that the patches are not for."""
    release = vllm_release()
    if release not in plain.PATCH.holds:
        pytest.skip(f"the patch is for vLLM {', '.join(plain.PATCH.holds)}, this is {release}")
    return release


class Marks(list):
    """Stands for the kernels: notes which were launched, and changes the logits so that each leaves its trace."""

    def kernel(self, name: str, change: float) -> Any:
        def launch(logits: Any, *rest: Any, **named: Any) -> Any:
            self.append(name)
            logits.mul_(1 + change).add_(change)
            return logits

        return launch


@pytest.fixture
def marks(released: str, monkeypatch: pytest.MonkeyPatch) -> Marks:
    """Makes the real states constructible without CUDA, and replaces their kernels by marks."""
    import torch
    from vllm.v1.worker.gpu import buffer_utils
    from vllm.v1.worker.gpu.sample import bad_words, logit_bias, penalties, states

    class HostBuffer:
        def __init__(self, size: Any, dtype: Any) -> None:
            self.cpu = torch.zeros(size, dtype=dtype)
            self.np = self.cpu.numpy()
            self.uva = self.cpu

    monkeypatch.setattr(buffer_utils, "UvaBuffer", HostBuffer)
    launched = Marks()
    monkeypatch.setattr(logit_bias, "apply_logit_bias", launched.kernel("logit_bias", 0.5))
    monkeypatch.setattr(penalties, "apply_penalties", launched.kernel("penalty", 0.25))
    monkeypatch.setattr(bad_words, "apply_bad_words", launched.kernel("bad_words", 0.125))
    monkeypatch.setattr(states, "apply_temperature", launched.kernel("temperature", -0.25))
    monkeypatch.setattr(states, "apply_min_p", launched.kernel("min_p", -0.5))
    monkeypatch.setattr(states, "apply_top_k_top_p", launched.kernel("top_k_top_p", 2.0))
    return launched


def patched_class(*, keeps_flags: bool, needs: Any = None, adding: Any = None) -> Any:
    """Upstream's `Sampler` with the patch's methods, without touching upstream's class.

    `needs` and `adding` put a fault in place of the predicate or of what `add_request` does.
    """
    from vllm.v1.worker.gpu.sample.sampler import Sampler

    upstream = original_of(plain.APPLY)
    if not keeps_flags:
        apply = plain.skipping("test plain", upstream, needs or plain.rows_need_processing, plain.TESTED_ATTRIBUTES)
        return type("Patched", (Sampler,), {"apply_sampling_params": apply})
    adding = adding or cached.setting_flag
    body = {
        "__init__": cached.keeping_flags(original_of(cached.INIT)),
        "add_request": adding(original_of(cached.ADD)),
        "apply_sampling_params": plain.skipping("test cached", upstream, needs or cached.flagged, plain.TESTED_ATTRIBUTES | {cached.FLAGS}),
    }
    return type("PatchedCached", (Sampler,), body)


def draw_parameters(random: Any, seen: Counter, vocab: int = VOCAB) -> Any:
    """Sampling parameters: plain in half of the cases, else a random few of all that there are."""
    from vllm import SamplingParams

    temperature = float(random.choice([0.0, 1.0]))
    wanted: dict[str, Any] = {"temperature": temperature, "max_tokens": 16}
    extra: dict[str, Any] = {}
    if random.random() < 0.5:
        for part in random.choice([*PARTS, "allowed", "min_tokens", "harmless"], size=random.integers(1, 4), replace=False):
            seen[f"parameter {part}"] += 1
            extra.update(PARAMETER[part](random, vocab))
    seed = int(random.integers(0, 2**31)) if random.random() < 0.7 else None
    made = SamplingParams(**{**wanted, **{k: v for k, v in extra.items() if not k.startswith("_")}}, seed=seed)
    if "_bad_words" in extra:
        made._bad_words_token_ids = extra["_bad_words"]
    return made


def _penalty(random: Any, vocab: int) -> dict[str, Any]:
    name, value = [("presence_penalty", 0.5), ("frequency_penalty", -0.5), ("repetition_penalty", 1.3)][random.integers(3)]
    return {name: value}


PARAMETER = {
    "logit_bias": lambda random, vocab: {"logit_bias": {int(random.integers(vocab)): 3.0}},
    "allowed": lambda random, vocab: {"allowed_token_ids": [1, 2, int(random.integers(vocab))]},
    "min_tokens": lambda random, vocab: {"min_tokens": 5, "stop_token_ids": [3, 4]},
    "penalty": _penalty,
    "bad_words": lambda random, vocab: {"_bad_words": [[int(random.integers(vocab))], [5, 6]]},
    "temperature": lambda random, vocab: {"temperature": float(random.choice([0.3, 0.7, 1.5]))},
    "min_p": lambda random, vocab: {"temperature": 1.0, "min_p": 0.1},
    "top_k": lambda random, vocab: {"temperature": 1.0, "top_k": int(random.choice([1, 20, vocab - 1]))},
    "top_p": lambda random, vocab: {"temperature": 1.0, "top_p": 0.9},
    # Set, but without effect: no stop ids for the minimum length, a top-k as wide as the vocabulary or wider.
    "harmless": lambda random, vocab: {"min_tokens": 2, "top_k": int(random.choice([0, vocab, vocab + 9]))},
}


class Stream:
    """Requests that come and go in the slots of two samplers, upstream's and the patched one, alike."""

    def __init__(self, patched: Any, seed: int, *, vocab: int = VOCAB, device: str = "cpu") -> None:
        import torch
        from vllm.v1.worker.gpu.sample.sampler import Sampler

        from perfproof.bench.runner_v2 import build_sampler, request_states

        self.random = np.random.default_rng(seed)
        self.vocab, self.device = vocab, torch.device(device)
        self.states = [request_states(max_num_reqs=SLOTS, vocab_size=vocab, device=self.device, num_speculative_steps=2) for _ in range(2)]
        self.samplers = [build_sampler(kind, states) for kind, states in zip((Sampler, patched), self.states, strict=True)]
        self.live: dict[int, str] = {}
        self.used: set[int] = set()
        self.number = 0
        self.seen: Counter = Counter()

    def add(self) -> None:
        from perfproof.bench.runner_v2 import add_request

        parameters = draw_parameters(self.random, self.seen, self.vocab)
        draw = int(self.random.integers(0, 2**31))
        tokens = tuple(int(t) for t in self.random.integers(0, self.vocab, size=self.random.integers(2, 9)))
        for sampler, states in zip(self.samplers, self.states, strict=True):
            np.random.seed(draw)  # Upstream draws an unseeded request's seed from here.
            slot = add_request(sampler, states, f"r{self.number}", parameters, tokens)
        self.seen["reused"] += slot in self.used
        self.seen["added"] += 1
        self.used.add(slot)
        self.live[slot] = f"r{self.number}"
        self.number += 1

    def remove(self) -> None:
        slot = int(self.random.choice(list(self.live)))
        for states in self.states:
            states.remove_request(self.live[slot])
        del self.live[slot]
        self.seen["removed"] += 1

    def change(self) -> None:
        """A few requests leave and come."""
        while self.live and self.random.random() < 0.4:
            self.remove()
        while len(self.live) < SLOTS and (not self.live or self.random.random() < 0.5):
            self.add()

    def arguments(self) -> dict[str, Any]:
        """A step over some of the live slots in any order, with one to three logit rows each."""
        import torch

        slots = self.random.permutation(list(self.live))[: self.random.integers(1, len(self.live) + 1)].astype(np.int32)
        counts = self.random.integers(1, 4, size=len(slots)) if self.random.random() < 0.5 else np.ones(len(slots), int)
        self.seen["expanded"] += bool((counts > 1).any())
        rows = int(counts.sum())
        dtype = [torch.bfloat16, torch.float16, torch.float32][self.random.integers(3)]
        generator = torch.Generator(self.device).manual_seed(int(self.random.integers(2**31)))
        # Few distinct values, so that there are ties, and some that no token can have.
        logits = torch.randn(rows, self.vocab, generator=generator, device=self.device).mul_(3)
        logits.masked_fill_(torch.rand(rows, self.vocab, generator=generator, device=self.device) < 0.02, float("-inf"))
        local = np.concatenate([np.arange(count) for count in counts]).astype(np.int32)
        tensor = lambda array: torch.from_numpy(np.ascontiguousarray(array)).to(self.device)  # noqa: E731
        return {
            "logits": logits.to(self.device, dtype),
            "idx_mapping_np": slots,
            "expanded_idx_mapping": tensor(np.repeat(slots, counts).astype(np.int32)),
            "pos": tensor((8 + local).astype(np.int64)),
            "input_ids": tensor(self.random.integers(0, self.vocab, size=rows).astype(np.int32)),
            "expanded_local_pos": tensor(local),
        }


def bits(tensor: Any) -> Any:
    """A tensor's float32 values as whole numbers, so that equal means equal bit for bit."""
    import torch

    return tensor.float().contiguous().view(torch.int32)


def run_marked(patched: Any, marks: Marks, steps: int, seed: int = 7) -> Counter:
    """Drives both samplers; raises `AssertionError` at the first step where they differ. What happened how often."""
    stream = Stream(patched, seed)
    upstream_sampler, patched_sampler = stream.samplers
    for _ in range(steps):
        stream.change()
        arguments = stream.arguments()
        before = arguments["logits"].clone()
        marks.clear()
        want = upstream_sampler.apply_sampling_params(**arguments)
        launched = list(marks)
        have = patched_sampler.apply_sampling_params(**arguments)
        assert bool((bits(have) == bits(want)).all()), f"processed logits differ where upstream launched {launched}"
        assert bool((bits(arguments["logits"]) == bits(before)).all()), "the model's logits were written to"
        assert (have is arguments["logits"]) == (not launched), f"left alone or not, against upstream's {launched}"
        stream.seen["fast" if have is arguments["logits"] else "slow"] += 1
        for name in launched:
            stream.seen[f"launched {name}"] += 1
    return stream.seen


@pytest.mark.parametrize("keeps_flags", [False, True], ids=["plain", "cached"])
def test_logits_are_left_alone_exactly_where_upstream_changes_nothing(keeps_flags: bool, marks: Marks) -> None:
    """Over a random stream of requests the results are equal bit for bit, and the copy is saved wherever upstream launches nothing."""
    seen = run_marked(patched_class(keeps_flags=keeps_flags), marks, STEPS)
    rare = {name: count for name, count in seen.items() if count < STEPS // 60}
    print(dict(seen))
    assert not rare, f"too rare to have been tested: {rare}"
    assert len(seen) >= 4 + 10 + 2 + 6


def neutral(sampler: Any, part: str) -> Any:
    """The sampler as one sees it who forgot that part."""
    blind = stub_sampler(SLOTS)
    for other in PARTS:
        if other != part:
            part_of(blind, other)[:] = part_of(sampler, other)
    return blind


@pytest.mark.parametrize("part", PARTS)
def test_a_predicate_that_forgets_a_parameter_is_caught(part: str, marks: Marks) -> None:
    """Mutants: each of the seven gates left out of the predicate is found by the stream."""
    forgetful = patched_class(keeps_flags=False, needs=lambda sampler, rows: plain.rows_need_processing(neutral(sampler, part), rows))
    with pytest.raises(AssertionError, match="differ"):
        run_marked(forgetful, marks, 2_000)


def test_a_predicate_over_all_slots_is_caught(marks: Marks) -> None:
    """Mutant: looking at slots that are not active saves fewer copies than there are to save."""
    every_slot = patched_class(keeps_flags=False, needs=lambda sampler, rows: plain.rows_need_processing(sampler, np.arange(SLOTS)))
    with pytest.raises(AssertionError, match="left alone or not"):
        run_marked(every_slot, marks, 2_000)


def test_a_flag_that_outlives_its_request_is_caught(marks: Marks) -> None:
    """Mutants: a flag that slot reuse does not clear, and one that it does not set."""

    def only_sets(upstream: Any) -> Any:
        @functools.wraps(upstream)
        def add_request(self: Any, req_idx: int, *args: Any, **named: Any) -> None:
            upstream(self, req_idx, *args, **named)
            flags = getattr(self, cached.FLAGS)
            flags[req_idx] |= plain.rows_need_processing(self, [req_idx])

        return add_request

    def only_first(upstream: Any) -> Any:
        @functools.wraps(upstream)
        def add_request(self: Any, req_idx: int, *args: Any, **named: Any) -> None:
            upstream(self, req_idx, *args, **named)
            met = self.__dict__.setdefault("met", set())
            if req_idx not in met:
                met.add(req_idx)
                getattr(self, cached.FLAGS)[req_idx] = plain.rows_need_processing(self, [req_idx])

        return add_request

    with pytest.raises(AssertionError, match="left alone or not"):
        run_marked(patched_class(keeps_flags=True, adding=only_sets), marks, 2_000)
    kept = patched_class(keeps_flags=True, adding=only_first)
    kept.apply_sampling_params = plain.skipping(
        "test kept", original_of(plain.APPLY), cached.flagged, plain.TESTED_ATTRIBUTES | {cached.FLAGS, "met"}
    )
    with pytest.raises(AssertionError, match=r"differ|left alone or not"):
        run_marked(kept, marks, 2_000)


def test_an_empty_slot_counts_as_needing_processing(marks: Marks) -> None:
    """With flags, vLLM's profiling run before any request copies as upstream does; without, the states at rest need nothing."""
    stream = Stream(patched_class(keeps_flags=True), 1)
    assert cached.flagged(stream.samplers[1], np.arange(SLOTS))
    stream = Stream(patched_class(keeps_flags=False), 1)
    assert not plain.rows_need_processing(stream.samplers[1], np.arange(SLOTS))


def test_a_request_that_upstream_refuses_leaves_its_slot_flagged(marks: Marks) -> None:
    """If `add_request` fails halfway, the slot's states are not to be trusted and its flag stays set."""
    from vllm import SamplingParams

    sampler = Stream(patched_class(keeps_flags=True), 1).samplers[1]
    sampler.add_request(0, 4, SamplingParams(temperature=0.0))
    assert not cached.flagged(sampler, [0])
    with pytest.raises(ValueError, match="Too many"):
        sampler.add_request(0, 4, SamplingParams(temperature=0.0, logit_bias=dict.fromkeys(range(1_025), 1.0)))
    assert cached.flagged(sampler, [0])


@pytest.mark.parametrize("keeps_flags", [False, True], ids=["plain", "cached"])
def test_what_was_not_tested_is_copied_and_counted(keeps_flags: bool, marks: Marks) -> None:
    """A sampler with an unknown state, processed logprobs, or logits of an odd layout takes upstream's path and is counted."""
    name = "test cached" if keeps_flags else "test plain"
    stream = Stream(patched_class(keeps_flags=keeps_flags), 3)
    sampler = stream.samplers[1]
    from vllm import SamplingParams

    from perfproof.bench.runner_v2 import add_request

    slot = add_request(sampler, stream.states[1], "greedy", SamplingParams(temperature=0.0))
    stream.live = {slot: "greedy"}
    arguments = stream.arguments()

    def left_alone(logits: Any) -> bool:
        return sampler.apply_sampling_params(**{**arguments, "logits": logits}) is logits

    logits = arguments["logits"][:1].repeat(2, 1)
    untested, fast = counter(f"untested {name}").value, counter(f"fast {name}").value
    assert left_alone(logits)
    assert counter(f"fast {name}").value == fast + 1
    assert not left_alone(logits.t().contiguous().t())
    sampler.logprobs_mode = "processed_logprobs"
    assert not left_alone(logits)
    sampler.logprobs_mode = "raw_logprobs"
    sampler.thinking_budget_state = object()
    assert not left_alone(logits)
    assert counter(f"untested {name}").value == untested + 3
    del sampler.thinking_budget_state
    assert left_alone(logits)


# --- the guard ------------------------------------------------------------------------------------


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, released: str) -> Attestation:
    """An attestation of its own, and upstream's class put back at the end."""
    attestation = Attestation()
    monkeypatch.setattr(Attestation, "_current", attestation)
    monkeypatch.setattr(guard, "_holders", {})
    for target in cached.PATCH.targets:
        owner, attribute = locate(target)
        monkeypatch.setattr(owner, attribute, getattr(owner, attribute))
    return attestation


@pytest.mark.parametrize("module", [plain, cached], ids=["plain", "cached"])
def test_holds_on_cuda_with_the_tested_source_and_is_refused_on_a_cpu(module: Any, fresh: Attestation) -> None:
    """The replaced functions read as tested; a CPU platform is refused, and so is another release."""
    assert module.PATCH.faults(vllm_release(), "cuda") == []
    (fault,) = module.PATCH.faults(vllm_release(), "cpu")
    assert "tested on cuda, this is cpu" in fault
    assert "this is 0.26.0" in module.PATCH.faults("0.26.0", "cuda")[0]


@pytest.mark.parametrize(("first", "second"), [(plain, cached), (cached, plain)])
def test_only_one_of_the_two_can_be_applied(first: Any, second: Any, fresh: Attestation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Applied, the class carries the patch over upstream's function; the other of the two is then refused."""
    monkeypatch.setenv("PERFPROOF_ALLOW_UNVERIFIED", "1")
    from vllm.v1.worker.gpu.sample.sampler import Sampler

    upstream = original_of(plain.APPLY)
    first.register()
    assert Sampler.apply_sampling_params.perfproof_original is upstream
    assert list(fresh.patches) == [first.PATCH.name]
    with pytest.raises(PatchRefused, match="is held by patch"):
        second.register()


# --- real kernels ---------------------------------------------------------------------------------


class OneWarp:
    """A Triton kernel that is launched with one warp a program: its loads and stores then follow one another."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def __getitem__(self, grid: Any) -> Any:
        return functools.partial(self.kernel[grid], num_warps=1)


@pytest.fixture
def in_order(released: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Upstream's kernel for allowed ids without the race that it has with itself in 0.22.0.

    It saves the logits of the allowed ids, overwrites the row with -inf and writes them back, from several warps with nothing
    between (fixed in 0.25 by vLLM #46245): which of the allowed ids survive is chance, from one call to the next. Rows that
    are wider than what one warp writes at a time show it, so no two runs of upstream itself need be equal there.
    """
    from vllm.v1.worker.gpu.sample import logit_bias

    monkeypatch.setattr(logit_bias, "_bias_kernel", OneWarp(logit_bias._bias_kernel))


@pytest.mark.cuda
def test_allowed_ids_survive_in_order(in_order: None) -> None:
    """With the race taken out, every allowed id keeps its logit, at every call, wherever in the row it stands."""
    lost, again = allowed_ids_lost(calls=200)
    assert (lost, again) == (0, 0)


def allowed_ids_lost(calls: int, rows: int = 64, vocab: int = 151_936) -> tuple[int, int]:
    """Calls of upstream's kernel in which an allowed id lost its logit, and calls whose result was not the first one's."""
    import torch
    from vllm import SamplingParams
    from vllm.v1.worker.gpu.sample.sampler import Sampler

    from perfproof.bench.runner_v2 import add_request, build_sampler, request_states

    device, random = torch.device("cuda"), np.random.default_rng(5)
    states = request_states(max_num_reqs=rows, vocab_size=vocab, device=device, num_speculative_steps=2)
    sampler = build_sampler(Sampler, states)
    allowed = random.integers(0, vocab, size=(rows, 8))
    slots = [
        add_request(sampler, states, f"r{n}", SamplingParams(temperature=0.0, allowed_token_ids=ids.tolist()))
        for n, ids in enumerate(allowed)
    ]
    states.apply_staged_writes()
    sampler.apply_staged_writes()
    logits = torch.randn(rows, vocab, device=device)
    want = torch.full_like(logits, float("-inf"))
    where = torch.from_numpy(allowed).to(device)
    want.scatter_(1, where, logits.gather(1, where))
    mapping, position = np.array(slots, dtype=np.int32), torch.full((rows,), 9, device=device)
    expanded = torch.from_numpy(mapping).to(device)
    first: Any = None
    lost = again = 0
    for _ in range(calls):
        have = logits.clone()
        sampler.logit_bias_state.apply_logit_bias(have, expanded, mapping, position)
        first = have if first is None else first
        lost += not torch.equal(have, want)
        again += not torch.equal(have, first)
    return lost, again


@pytest.mark.cuda
@pytest.mark.parametrize("vocab", [VOCAB, 151_936])
@pytest.mark.parametrize("keeps_flags", [False, True], ids=["plain", "cached"])
def test_sampled_ids_and_processed_logits_are_equal(keeps_flags: bool, vocab: int, in_order: None) -> None:
    """With the real kernels, over a random stream: the same ids, and the same processed logits bit for bit."""
    import torch

    stream = Stream(patched_class(keeps_flags=keeps_flags), 11, vocab=vocab, device="cuda")
    steps = STEPS if vocab == VOCAB else max(STEPS // 10, 30)
    for n in range(steps):
        stream.change()
        for states, sampler in zip(stream.states, stream.samplers, strict=True):
            states.apply_staged_writes()
            sampler.apply_staged_writes()
        arguments = stream.arguments()
        before = arguments["logits"].clone()
        results = []
        for sampler in stream.samplers:
            torch.manual_seed(n)
            results.append(sampler.sample(**arguments))
        (want_ids, want), (have_ids, have) = results
        assert torch.equal(have_ids, want_ids), f"step {n}"
        assert torch.equal(bits(have), bits(want)), f"step {n}"
        assert torch.equal(bits(arguments["logits"]), bits(before)), f"step {n}: the model's logits were written to"
        stream.seen["fast" if have is arguments["logits"] else "slow"] += 1
    print(dict(stream.seen))
    assert min(stream.seen["fast"], stream.seen["slow"], stream.seen["reused"], stream.seen["expanded"]) >= steps // 20


def speculative_batch(stream: Stream, arguments: dict[str, Any]) -> SimpleNamespace:
    """What the rejection sampler reads of a batch: each request's drafts, the likeliest id in three of four rows."""
    import torch

    slots, logits = arguments["idx_mapping_np"], arguments["logits"]
    expanded = arguments["expanded_idx_mapping"].cpu().numpy()
    counts = np.array([(expanded == slot).sum() for slot in slots])
    ids = arguments["input_ids"].clone()
    likely = logits.float().argmax(dim=-1).to(ids.dtype)
    take = torch.from_numpy(stream.random.random(len(ids)) < 0.75).to(ids.device)
    # Row j is judged by the draft that stands in row j + 1.
    ids[1:] = torch.where(take[1:], likely[:-1], ids[1:])
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    device = ids.device
    return SimpleNamespace(
        num_reqs=len(slots),
        input_ids=ids,
        positions=arguments["pos"],
        logits_indices=torch.arange(len(ids), device=device),
        idx_mapping=torch.from_numpy(slots).to(device),
        idx_mapping_np=slots,
        expanded_idx_mapping=arguments["expanded_idx_mapping"],
        expanded_local_pos=arguments["expanded_local_pos"],
        cu_num_logits=torch.from_numpy(ends).to(device),
        cu_num_logits_np=ends,
        seq_lens=torch.full((len(slots),), 32, dtype=torch.int32, device=device),
    )


@pytest.mark.cuda
@pytest.mark.parametrize("keeps_flags", [False, True], ids=["plain", "cached"])
def test_the_rejection_sampler_accepts_and_samples_alike(keeps_flags: bool, in_order: None) -> None:
    """Speculative decoding over the patched sampler accepts the same drafts and samples the same ids."""
    import torch
    from vllm.v1.worker.gpu.spec_decode.rejection_sampler import RejectionSampler

    config = SimpleNamespace(num_speculative_tokens=2, rejection_sample_method="standard", synthetic_acceptance_rates=None)
    stream = Stream(patched_class(keeps_flags=keeps_flags), 13, device="cuda")
    judges = [RejectionSampler(sampler, config, stream.device) for sampler in stream.samplers]
    for n in range(STEPS):
        stream.change()
        for states, sampler in zip(stream.states, stream.samplers, strict=True):
            states.apply_staged_writes()
            sampler.apply_staged_writes()
        arguments = stream.arguments()
        batch = speculative_batch(stream, arguments)
        drafts = torch.randn(SLOTS, 2, stream.vocab, device=stream.device) if n % 2 else None
        want, have = (judge(arguments["logits"], batch, drafts) for judge in judges)
        assert torch.equal(have.num_sampled, want.num_sampled), f"step {n}"
        for row, count in enumerate(want.num_sampled.tolist()):
            assert torch.equal(have.sampled_token_ids[row, :count], want.sampled_token_ids[row, :count]), f"step {n}, row {row}"
            stream.seen[f"sampled {count}"] += 1
    print(dict(stream.seen))
    assert min(stream.seen["sampled 1"], stream.seen["sampled 2"], stream.seen["sampled 3"]) >= STEPS // 60


@pytest.mark.cuda
@pytest.mark.parametrize("keeps_flags", [False, True], ids=["plain", "cached"])
@pytest.mark.parametrize("rows", [1, 8])
def test_the_bytes_of_a_step_are_the_copy_or_none(keeps_flags: bool, rows: int, released: str) -> None:
    """The witness: a greedy step asks for 4 x rows x vocabulary bytes as released, and for none patched."""
    import torch
    from vllm import SamplingParams

    from perfproof.bench.runner_v2 import add_request
    from perfproof.bench.sampler_copy import requested_bytes

    vocab = 151_936
    stream = Stream(patched_class(keeps_flags=keeps_flags), 17, vocab=vocab, device="cuda")
    slots = [0] * rows
    for sampler, states in zip(stream.samplers, stream.states, strict=True):
        slots = [add_request(sampler, states, f"r{i}", SamplingParams(temperature=0.0)) for i in range(rows)]
        states.apply_staged_writes()
        sampler.apply_staged_writes()
    from perfproof.bench.adapter import accepted
    from perfproof.bench.runner_v2 import step_arguments

    given = step_arguments(slots, vocab_size=vocab, dtype=torch.bfloat16, device=stream.device, seed=1)
    arguments = accepted(original_of(plain.APPLY), **given)
    asked = [requested_bytes(lambda s=sampler: s.apply_sampling_params(**arguments)) for sampler in stream.samplers]
    assert asked == [4 * rows * vocab, 0]
