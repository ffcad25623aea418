"""A small runner, twice: once with upstream's penalties, once with a patch's, led through the same random stream.

`Stream` draws what happens to the batch of `penalties_runner`, leads two runners through it and compares what `compare` says is to
be equal after every step. `Switch` puts upstream's functions and the patch's in place by turns.
"""

from __future__ import annotations

import inspect
import itertools
import sys
import types
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from penalties_runner import LENGTH, ROWS, VOCAB, Runner
from streams import skip_unless_held

from perfproof.patches import guard
from perfproof.patches.guard import Attestation, counter, locate, original_of

OPERATION = "vllm.v1.sample.ops.penalties"
EVENTS = (
    *("finished", "preempted", "resumed", "shrunk", "continued", "swapped"),
    *("entered with penalties", "entered without", "mixed batches"),
)
"""What happens in every stream, speculating or not; none of it may be rare."""


__all__ = ["EVENTS", "OPERATION", "Difference", "Stream", "Switch", "skip_unless_held"]


class Difference(AssertionError):
    """Upstream and the patch disagree."""


class Switch:
    """Upstream's functions and a patch's, put in place by turns."""

    def __init__(self, patch: Any, replacements: Any) -> None:
        held = getattr(replacements.get(patch.targets[0].name), "__self__", None)
        self.pay = getattr(held, "pay", None)
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
    sys.modules[copy.__name__] = copy  # where dataclasses look their module up
    exec(compile(source.replace(old, new), copy.__name__, "exec"), copy.__dict__)
    return copy


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
        self.pay: Any = None

    def run(self, steps: int, switch: Switch, seen: Any = None) -> None:
        """Takes `steps` steps with both, raising `Difference` at the first step that is not equal."""
        self.pay = switch.pay
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
        """Logits bit for bit, what was seen of the operation's arguments, and the outputs.

        A patch that repairs the lists later says so by `pay`; it pays at once where somebody else reads them (bad words), and
        every now and then, and everything must be there then.
        """
        (upstream, seen_upstream), (patched, seen_patched) = results
        batch = self.runners[1].batch
        if self.pay is not None and step % 41 == 0:
            self.pay(batch)
        may_owe = self.pay is not None and step % 41 and not batch.sampling_metadata.bad_words_token_ids
        outputs = [[list(runner.requests[req_id].output_token_ids) for req_id in runner.batch.req_ids] for runner in self.runners]
        self.events["owed"] += outputs[0] != outputs[1]
        if outputs[0] != (paid(*outputs) if may_owe else outputs[1]):
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
            longest = max(len(out), len(runner.produced[req_id]))
            if batch.num_tokens_no_spec[batch.req_id_to_index[req_id]] > LENGTH - 12 or longest > LENGTH - 24 or chance < 0.02:
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
        bad_words = [[3], [2, 5]] if self.rng.random() < 0.03 else None
        self.happened["entered with bad words"] += bad_words is not None
        runner.enter(f"request-{self.named}", self._tokens(self.rng.integers(1, 12)), params, bad_words)

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


def paid(upstream: list[list[int]], patched: list[list[int]]) -> list[list[int]]:
    """The patched outputs with upstream's tokens in the place of placeholders."""
    return [
        [theirs if ours == -1 else ours for theirs, ours in itertools.zip_longest(*rows, fillvalue=None)]
        for rows in zip(upstream, patched, strict=True)
    ]


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
    """Leads both runners through one stream of each mode; the one in which most can go wrong first, where a fault shows soonest."""
    for seed, (asynchronous, speculating) in reversed(list(enumerate(itertools.product((False, True), repeat=2)))):
        Stream(seed=seed, asynchronous=asynchronous, speculating=speculating).run(steps, switch, seen)


def rare(stream: Stream, *names: str, share: float = 0.02) -> list[str]:
    """Which of these events happened in less than that share of the steps."""
    return [f"{name}: {stream.events[name]}" for name in names if stream.events[name] < share * stream.events["steps"]]
