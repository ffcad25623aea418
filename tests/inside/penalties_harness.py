"""A small runner, twice: once with upstream's penalties, once with a patch's, led through the same random stream.

`Runner` does to an `InputBatch` what vLLM's V1 runner does between two calls of its sampler: requests enter,
finish, are preempted and resumed, continue with another prompt, lose tokens, change rows, get drafts; with
asynchronous scheduling their tokens are placeholders (-1) that are repaired a step later. `Stream` draws what
happens, leads two runners through it and compares what `compare` says is to be equal after every step.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import types
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from suite.bench import adapter
from suite.patches import guard
from suite.patches.guard import Attestation, counter, device_type, locate, original_of, vllm_release

ROWS, LENGTH, VOCAB = 6, 72, 23
OPERATION = "vllm.v1.sample.ops.penalties"


class Difference(AssertionError):
    """Upstream and the patch disagree."""


class Switch:
    """Upstream's functions and a patch's, put in place by turns."""

    def __init__(self, patch: Any, replacements: Any) -> None:
        self.places = [locate(target) for target in patch.targets]
        self.released = [inspect.getattr_static(owner, attribute) for owner, attribute in self.places]
        new = [replacements.get(target.name) or replacements[target.qualname] for target in patch.targets]
        self.patched = [method(held, function) for held, function in zip(self.released, new, strict=True)]

    def on(self, patched: bool) -> None:
        for (owner, attribute), function in zip(self.places, self.patched if patched else self.released, strict=True):
            setattr(owner, attribute, function)


def method(held: Any, function: Any) -> Any:
    """`function` as an attribute of the kind that it stands in for."""
    bound = function

    def plain(*args: Any, **kwargs: Any) -> Any:
        return bound(*args, **kwargs)

    return type(held)(plain) if isinstance(held, staticmethod) else plain


@contextmanager
def switched(module: Any) -> Iterator[Switch]:
    """The patch of `module` ready to be switched on; off again at the end."""
    switch = Switch(module.PATCH, module.replacements())
    try:
        yield switch
    finally:
        switch.on(False)


def skip_unless_held(patch: Any) -> None:
    """Skips where the patch does not hold; elsewhere its guard must find no fault with the functions that it replaces."""
    release = vllm_release()
    if release not in patch.holds:
        pytest.skip(f"the patch is for vLLM {', '.join(patch.holds)}, this is {release}")
    assert patch.faults(release, device_type()) == []


def check_registration(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Registers the patch as vLLM's plugin loader would, sees it in place and counted, and takes it off again."""
    monkeypatch.setattr(Attestation, "_current", Attestation())
    monkeypatch.setattr(guard, "_holders", {})
    places = [locate(target) for target in module.PATCH.targets]
    released = [inspect.getattr_static(owner, attribute) for owner, attribute in places]
    try:
        module.register()
        stream = Stream(seed=5, device="cpu")
        before = counter(f"fast {module.NAME}").value
        for _ in range(30):
            stream.advance(stream.runners[1])
        assert module.NAME in Attestation.current().patches
        assert counter(f"fast {module.NAME}").value > before
        assert all(hasattr(original_of(target), "__code__") for target in module.PATCH.targets)
    finally:
        for (owner, attribute), function in zip(places, released, strict=True):
            setattr(owner, attribute, function)


def mutated(module: Any, old: str, new: str) -> Any:
    """A copy of a module in which one piece of its text is another."""
    source = inspect.getsource(module)
    assert source.count(old) == 1, f"{old!r} is there {source.count(old)} times"
    copy = types.ModuleType(f"{module.__name__}_mutant")
    exec(compile(source.replace(old, new), copy.__name__, "exec"), copy.__dict__)
    return copy


# --- a runner -------------------------------------------------------------------------------------


class Copied:
    """The event of an asynchronous copy to the host, where there is no GPU."""

    def synchronize(self) -> None:
        """The copy is done."""


class Runner:
    """What vLLM's V1 runner does to its batch, without a model."""

    def __init__(self, *, device: str, asynchronous: bool) -> None:
        self.device = device
        self.asynchronous = asynchronous
        self.batch = adapter.input_batch(
            max_num_reqs=ROWS, max_model_len=LENGTH, vocab_size=VOCAB, device=device, pin_memory=device == "cuda", num_spec_tokens=3
        )
        self.requests: dict[str, Any] = {}
        self.continuing: list[Any] = []
        self.produced: dict[str, list[int]] = {}
        self.unrepaired: dict[str, list[int]] = {}
        self.optimistic: dict[str, int] = {}

    def enter(self, req_id: str, prompt: list[int], params: dict[str, float]) -> None:
        from vllm import SamplingParams

        self.requests[req_id] = adapter.cached_request(req_id, prompt, sampling_params=SamplingParams(**params), block_ids=[0])
        self.produced[req_id] = []
        self.batch.add_request(self.requests[req_id])

    def finish(self, req_id: str) -> None:
        self.preempt(req_id)
        del self.requests[req_id], self.produced[req_id]

    def preempt(self, req_id: str) -> None:
        self.batch.remove_request(req_id)
        self.unrepaired.pop(req_id, None)
        self.optimistic.pop(req_id, None)

    def resume(self, req_id: str) -> None:
        """Back into the batch; the scheduler knows the tokens that were still placeholders here."""
        request = self.requests[req_id]
        if self.asynchronous and self.produced[req_id]:
            request.output_token_ids = list(self.produced[req_id])
        self.batch.add_request(request)

    def go_on(self, req_id: str, prompt: list[int]) -> None:
        """A streaming request: its output becomes part of a new prompt, and the same list starts anew."""
        request = self.requests[req_id]
        self.preempt(req_id)
        request.prompt_token_ids = list(prompt)
        request.num_prompt_tokens = len(prompt)
        request.output_token_ids.clear()
        self.produced[req_id] = []
        self.continuing.append(request)

    def admit(self) -> None:
        """Adds the requests that continue; a batch takes no removals once something was added."""
        while self.continuing:
            self.batch.add_request(self.continuing.pop(0))

    def shrink(self, req_id: str, length: int) -> None:
        """Tokens are discarded, as after a failed load of the KV cache."""
        out = self.requests[req_id].output_token_ids
        row = self.batch.req_id_to_index[req_id]
        del out[length:]
        del self.produced[req_id][length:]
        self.unrepaired.pop(req_id, None)
        self.optimistic.pop(req_id, None)
        self.batch.num_tokens_no_spec[row] = self.batch.num_prompt_tokens[row] + length

    def draft(self, req_id: str, tokens: list[int]) -> None:
        adapter.speculate(self.batch, self.requests[req_id], tokens)

    def settle(self) -> None:
        """Closes the gaps; the batch is complete for this step."""
        self.batch.condense()

    def sample(self, logits: Any, draft_logits: Any, *, repair: bool) -> list[Any]:
        """What the sampler makes of these logits: penalised, for the outputs' next tokens and for the drafts."""
        self._take_drafts_for_granted()
        metadata = self.batch.sampling_metadata
        if repair:
            self.batch.update_async_output_token_ids()
            self.unrepaired.clear()
        sampler = importlib.import_module("vllm.v1.sample.sampler").Sampler
        if not any(self.batch.spec_token_ids):
            return [sampler.apply_penalties(logits, metadata, metadata.output_token_ids)]
        combined = metadata.output_token_ids
        if not metadata.no_penalties:
            combined = sampler._combine_outputs_with_spec_tokens(combined, metadata.spec_token_ids)
        bonus = sampler.apply_penalties(logits, metadata, combined)
        return [bonus, self._penalised_drafts(draft_logits, metadata)]

    def _take_drafts_for_granted(self) -> None:
        """Asynchronous scheduling assumes that all drafts of the last step were accepted until it hears otherwise."""
        for req_id, drafts in self.optimistic.items():
            self.requests[req_id].output_token_ids.extend([-1] * drafts)
        self.optimistic.clear()

    def _penalised_drafts(self, draft_logits: Any, metadata: Any) -> Any:
        import torch

        rejection = importlib.import_module("vllm.v1.sample.rejection_sampler").RejectionSampler
        drafts = [len(spec) for spec in self.batch.spec_token_ids[: self.batch.num_reqs]]
        repeated = torch.arange(len(drafts)).repeat_interleave(torch.tensor(drafts)).to(self.device)
        logits = draft_logits[: len(repeated)]
        if metadata.no_penalties:
            return logits
        combined = rejection._combine_outputs_with_spec_tokens(metadata.output_token_ids, metadata.spec_token_ids)
        return rejection.apply_penalties(logits, metadata, types.SimpleNamespace(num_draft_tokens=drafts), repeated, combined)

    def book(self, sampled: dict[str, list[int]]) -> None:
        """Appends what was sampled: the tokens, or placeholders for them."""
        batch = self.batch
        for req_id, tokens in sampled.items():
            row = batch.req_id_to_index[req_id]
            written = [-1] if self.asynchronous else tokens
            start = batch.num_tokens_no_spec[row]
            batch.token_ids_cpu[row, start : start + len(written)] = written
            batch.num_tokens_no_spec[row] = start + len(written)
            self.requests[req_id].output_token_ids.extend(written)
            self.produced[req_id] += tokens
            self.unrepaired.setdefault(req_id, []).extend(tokens)
            if self.asynchronous and batch.spec_token_ids[row]:
                self.optimistic[req_id] = len(batch.spec_token_ids[row])
        if self.asynchronous:
            self._send(sampled)

    def _send(self, sampled: dict[str, list[int]]) -> None:
        """Sends the sampled tokens to the host, where they may be late."""
        import torch

        waiting = [self.unrepaired.get(req_id, []) if req_id in sampled else [] for req_id in self.batch.req_ids]
        width = max([1, *map(len, waiting)])
        ids = torch.tensor([tokens + [-1] * (width - len(tokens)) for tokens in waiting], dtype=torch.int32, device=self.device)
        event: Any = Copied()
        if self.device == "cuda":
            event = torch.cuda.Event()
            ids = ids.to("cpu", non_blocking=True)
            event.record()
        self.batch.prev_req_id_to_index = {req_id: row for row, req_id in enumerate(self.batch.req_ids) if req_id in sampled}
        self.batch.set_async_sampled_token_ids(ids, event)


# --- a stream -------------------------------------------------------------------------------------

PENALTIES: tuple[dict[str, float], ...] = (
    {"presence_penalty": 1.5},
    {"frequency_penalty": 0.3},
    {"repetition_penalty": 1.2},
    {"presence_penalty": -0.7, "frequency_penalty": 0.1},
    {"presence_penalty": 0.9, "frequency_penalty": -0.2, "repetition_penalty": 0.8},
)


class Stream:
    """Random steps, taken by upstream's runner and by the patch's alike."""

    def __init__(self, *, seed: int, device: str = "cpu", asynchronous: bool = False, speculating: bool = False) -> None:
        import torch

        # Tensors this small are only slowed down by threads.
        torch.set_num_threads(1)
        self.rng = np.random.default_rng(seed)
        self.device = device
        self.asynchronous = asynchronous
        self.speculating = speculating
        self.runners = [Runner(device=device, asynchronous=asynchronous) for _ in range(2)]
        self.events: Counter[str] = Counter()
        self.preempted: list[str] = []
        self.named = 0
        self.kinds = PENALTIES
        self.late = False

    def run(self, steps: int, switch: Switch, seen: Any = None) -> None:
        """Takes `steps` steps with both, raising `Difference` at the first step that is not equal."""
        for step in range(steps):
            state = self.rng.bit_generator.state
            results = []
            for patched, runner in enumerate(self.runners):
                self.rng.bit_generator.state = state
                switch.on(bool(patched))
                kept = self.preempted.copy(), self.named, self.kinds, self.late
                results.append((self.advance(runner, counting=bool(patched)), seen() if seen else None))
                if not patched:
                    self.preempted, self.named, self.kinds, self.late = kept
            switch.on(False)
            self.compare(step, results)

    def compare(self, step: int, results: list[Any]) -> None:
        """Logits bit for bit, what was seen of the operation's arguments, and the outputs."""
        (upstream, seen_upstream), (patched, seen_patched) = results
        outputs = [[list(runner.requests[req_id].output_token_ids) for req_id in runner.batch.req_ids] for runner in self.runners]
        if outputs[0] != outputs[1]:
            raise Difference(f"step {step}: outputs {outputs[0]} and {outputs[1]}")
        if len(upstream) != len(patched) or not all(map(equal_bits, upstream, patched)):
            raise Difference(f"step {step}: logits {upstream} and {patched}")
        if seen_upstream is not None and not (
            len(seen_upstream) == len(seen_patched) and all(map(equal_tensors, seen_upstream, seen_patched))
        ):
            raise Difference(f"step {step}: the operation was given {seen_upstream} and {seen_patched}")

    def advance(self, runner: Runner, *, counting: bool = True) -> list[Any]:
        """One step of one runner, drawn from the stream's generator; copies of the penalised logits."""
        self.happened: Counter[str] = Counter()
        self._change(runner)
        runner.settle()
        self._reorder(runner)
        runner.batch.refresh_metadata()
        self._speculate(runner)
        late = self.asynchronous and not self.speculating and not self.late and self.rng.random() < 0.1
        logits = self._logits(runner.batch.num_reqs)
        draft_logits = self._logits(3 * ROWS)
        self._note(runner, repaired_late=late)
        results = [one.clone() for one in runner.sample(logits, draft_logits, repair=not late)]
        self.late = late
        runner.book(self._sampled(runner))
        if counting:
            self.events += self.happened
        return results

    def _change(self, runner: Runner) -> None:
        """Requests come and go, between two steps."""
        batch, draw = runner.batch, self.rng.random
        if draw() < 0.05:
            self.kinds = PENALTIES[: 1 + self.rng.integers(len(PENALTIES))] if draw() < 0.7 else ({},)
        for req_id in list(batch.req_ids):
            out = runner.requests[req_id].output_token_ids
            chance = draw()
            if batch.num_tokens_no_spec[batch.req_id_to_index[req_id]] > LENGTH - 12 or len(out) > LENGTH - 24 or chance < 0.02:
                runner.finish(req_id)
                self.happened["finished"] += 1
            elif chance < 0.06:
                runner.preempt(req_id)
                self.preempted.append(req_id)
                self.happened["preempted"] += 1
            elif chance < 0.10 and len(out) > 1:
                runner.shrink(req_id, len(out) - int(self.rng.integers(1, min(4, len(out)))))
                self.happened["shrunk"] += 1
            elif chance < 0.12:
                runner.go_on(req_id, self._tokens(self.rng.integers(1, 12)))
                self.happened["continued"] += 1
        runner.admit()
        while batch.num_reqs < ROWS and (batch.num_reqs == 0 or draw() < 0.4):
            self._fill_a_row(runner)

    def _fill_a_row(self, runner: Runner) -> None:
        if self.preempted and self.rng.random() < 0.6:
            runner.resume(self.preempted.pop(0))
            self.happened["resumed"] += 1
            return
        params = dict(self.kinds[self.rng.integers(len(self.kinds))]) if self.rng.random() < 0.6 else {}
        self.happened["entered with penalties" if params else "entered without"] += 1
        self.named += 1
        runner.enter(f"request-{self.named}", self._tokens(self.rng.integers(1, 12)), params)

    def _reorder(self, runner: Runner) -> None:
        while runner.batch.num_reqs > 1 and self.rng.random() < 0.25:
            one, other = self.rng.choice(runner.batch.num_reqs, 2, replace=False).tolist()
            runner.batch.swap_states(one, other)
            self.happened["swapped"] += 1

    def _speculate(self, runner: Runner) -> None:
        drafting = self.speculating and self.rng.random() < 0.75
        for req_id in runner.batch.req_ids:
            wanted = self.rng.integers(1, 4) if drafting and self.rng.random() < 0.5 else 0
            tokens = self._tokens(wanted)
            if len(tokens) > 1 and self.rng.random() < 0.2:
                tokens[-1] = -1
            runner.draft(req_id, tokens)
            self.happened["drafted"] += bool(tokens)

    def _sampled(self, runner: Runner) -> dict[str, list[int]]:
        """One token a request, and one more for each accepted draft; some requests are still in their prompts and get none."""
        sampled = {}
        for row, req_id in enumerate(runner.batch.req_ids):
            accepted = int(self.rng.integers(0, len(runner.batch.spec_token_ids[row]) + 1))
            tokens = self._tokens(1 + accepted)
            if self.rng.random() < 0.95:
                sampled[req_id] = tokens
        return sampled

    def _note(self, runner: Runner, *, repaired_late: bool) -> None:
        """Which kind of step this is."""
        batch = runner.batch
        penalised = batch.presence_penalties_reqs | batch.frequency_penalties_reqs | batch.repetition_penalties_reqs
        self.happened["steps"] += 1
        self.happened["steps with penalties"] += bool(penalised)
        self.happened["mixed batches"] += 0 < len(penalised) < batch.num_reqs
        self.happened["repaired late"] += repaired_late
        self.happened["placeholders"] += sum(bool(out) and out[-1] == -1 for out in batch.req_output_token_ids)

    def _tokens(self, count: Any) -> list[int]:
        """Tokens, small ones more often."""
        return (self.rng.integers(0, VOCAB, int(count)) * self.rng.random(int(count))).astype(int).tolist()

    def _logits(self, rows: int) -> Any:
        """Float32 `[rows, vocabulary]`, infinities and both zeros among them."""
        import torch

        values = self.rng.normal(0, 5, (rows, VOCAB)).astype(np.float32)
        values[self.rng.random(values.shape) < 0.03] = -np.inf
        values[self.rng.random(values.shape) < 0.03] = 0.0
        values[self.rng.random(values.shape) < 0.03] = -0.0
        return torch.from_numpy(values).to(self.device)


def equal_bits(one: Any, other: Any) -> bool:
    import torch

    return one.shape == other.shape and one.dtype == other.dtype and torch.equal(one.view(torch.int32), other.view(torch.int32))


def equal_tensors(one: Any, other: Any) -> bool:
    import torch

    return one.dtype == other.dtype and one.device == other.device and torch.equal(one, other)


def modes() -> Any:
    """How the runner schedules: with the tokens at hand or a step late, with and without speculation."""
    return pytest.mark.parametrize(
        ("asynchronous", "speculating"),
        [(False, False), (False, True), (True, False), (True, True)],
        ids=["synchronous", "speculating", "asynchronous", "asynchronous-speculating"],
    )


def run_all_modes(steps: int, switch: Switch, seen: Any = None) -> None:
    """Leads both runners through one stream of each mode."""
    for seed, (asynchronous, speculating) in enumerate(itertools.product((False, True), repeat=2)):
        Stream(seed=seed, asynchronous=asynchronous, speculating=speculating).run(steps, switch, seen)


def rare(stream: Stream, *names: str, share: float = 0.02) -> list[str]:
    """Which of these events happened in less than that share of the steps."""
    return [f"{name}: {stream.events[name]}" for name in names if stream.events[name] < share * stream.events["steps"]]


def needs_gpu() -> None:
    """Skips without a GPU."""
    import torch

    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")
