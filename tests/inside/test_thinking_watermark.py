"""`thinking_watermark` against upstream: forced tokens, logits and state at every step, over random streams.

Two of vLLM's own holders, one with the patch's functions, see the same requests: they enter, finish, are
preempted and resumed, change rows, think again, get drafts of which some are rejected, lose tokens; with
asynchronous scheduling their tokens are placeholders (-1) that are repaired a step later, or never. The
alphabet is so small that markers come up by themselves. What is compared: the logits that come back, and
the whole state but for the patch's own keys and for its -2 where upstream has -1 after a scan.
"""

from __future__ import annotations

import random
import types
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from streams import drive, none_rare, skip_unless_held

from perfproof.bench import adapter
from perfproof.bench import thinking_scan as bench
from perfproof.bench.meter import TokenMeter
from perfproof.patches import thinking_watermark as patch
from perfproof.patches.guard import PatchRefused, vllm_release

ROWS, VOCAB, DRAFTS = 4, 8, 3
SEEDS = st.integers(0, 2**32 - 1)
OWN = {patch.SCANNED, patch.LAST, patch.SHARED}
EVENTS = (
    *("entered", "finished", "preempted", "resumed", "moved", "swapped", "swapped one tracked", "budget of 0", "prompt ends in the marker"),
    *("shrunk", "rewritten", "placeholders", "repaired", "never repaired", "drafted", "forced", "thought again", "long markers"),
)


@pytest.fixture(autouse=True)
def without_pinned_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to 0.23 forcing a token asks for pinned memory even without an accelerator, which newer PyTorch refuses."""
    import torch

    module = pytest.importorskip(adapter.HOLDER.partition(":")[0], reason="no ThinkingBudgetStateHolder in this version")
    if not torch.cuda.is_available():
        monkeypatch.setattr(module, "async_tensor_h2d", lambda data, dtype, device: torch.tensor(data, dtype=dtype, device=device))


class Request:
    """What the runner knows of a request."""

    def __init__(self, prompt: list[int], budget: int | None) -> None:
        self.prompt, self.budget = prompt, budget
        self.output: list[int] = []
        self.pending: list[int] = []


class Thinking(RuleBasedStateMachine):
    """Upstream's holder and the patched one, in step."""

    events: ClassVar[Counter[str]] = Counter()
    device: ClassVar[str] = "cpu"

    @initialize(seed=SEEDS)
    def begin(self, seed: int) -> None:
        rng = random.Random(seed)
        self.start = [rng.randrange(1, 4) for _ in range(rng.randint(1, 3))]
        self.end = [rng.randrange(3, 6) for _ in range(rng.randint(1, 3))]
        self.drafting, self.later = rng.random() < 0.4, rng.random() < 0.4
        made = {
            "start": self.start,
            "end": self.end,
            "max_num_seqs": ROWS,
            "num_spec_tokens": DRAFTS if self.drafting else 0,
            "device": self.device,
        }
        self.holders = (adapter.thinking_holder(**made), adapter.thinking_holder(**made))
        for target, function in patch.replacements().items():
            name = target.rpartition(".")[2]
            setattr(self.holders[1], name, types.MethodType(function, self.holders[1]))
        self.rows: list[Request] = []
        self.waiting: list[Request] = []

    def sync(self, removed: Any = (), added: Any = (), moved: Any = ()) -> None:
        from vllm import SamplingParams
        from vllm.v1.sample.logits_processor.interface import BatchUpdate

        new = [(row, SamplingParams(thinking_token_budget=one.budget), one.prompt, one.output) for row, one in added]
        for holder in self.holders:
            holder.sync_batch(BatchUpdate(batch_size=len(self.rows), removed=list(removed), added=list(new), moved=list(moved)))

    @precondition(lambda self: len(self.rows) < ROWS)
    @rule(seed=SEEDS)
    def enter(self, seed: int) -> None:
        rng = random.Random(seed)
        prompt = [rng.randrange(VOCAB) for _ in range(rng.randint(1, 5))] + rng.choice(([], self.start, self.start, self.end))
        self.rows.append(Request(prompt, rng.choice((None, 0, 2, 6, 12, 40))))
        self.sync(added=[(len(self.rows) - 1, self.rows[-1])])
        self.events["entered"] += 1
        self.events["budget of 0"] += self.rows[-1].budget == 0
        self.events["prompt ends in the marker"] += prompt[-len(self.start) :] == self.start

    @precondition(lambda self: self.waiting and len(self.rows) < ROWS)
    @rule()
    def resume(self) -> None:
        self.rows.append(self.waiting.pop(0))
        self.sync(added=[(len(self.rows) - 1, self.rows[-1])])
        self.events["resumed"] += 1

    @precondition(lambda self: self.rows)
    @rule(seed=SEEDS, preempt=st.booleans())
    def leave(self, seed: int, preempt: bool) -> None:
        """A row's request goes, and the last one moves down into its place."""
        from vllm.v1.sample.logits_processor.interface import MoveDirectionality

        row, last = random.Random(seed).randrange(len(self.rows)), len(self.rows) - 1
        if preempt:
            self.waiting.append(self.rows[row])
        self.rows[row] = self.rows[last]
        self.rows.pop()
        self.sync(removed=[row], moved=[(last, row, MoveDirectionality.UNIDIRECTIONAL)] if row != last else [])
        self.events["preempted" if preempt else "finished"] += 1
        self.events["moved"] += row != last

    @precondition(lambda self: len(self.rows) > 1)
    @rule(seed=SEEDS)
    def swap(self, seed: int) -> None:
        from vllm.v1.sample.logits_processor.interface import MoveDirectionality

        one, other = random.Random(seed).sample(range(len(self.rows)), 2)
        self.rows[one], self.rows[other] = self.rows[other], self.rows[one]
        tracked = [row in self.holders[0]._state for row in (one, other)]
        self.sync(moved=[(one, other, MoveDirectionality.SWAP)])
        self.events["swapped"] += 1
        self.events["swapped one tracked"] += tracked[0] != tracked[1]

    @precondition(lambda self: any(one.output for one in self.rows))
    @rule(seed=SEEDS)
    def shrink(self, seed: int) -> None:
        """A load is discarded: the last tokens go."""
        rng = random.Random(seed)
        output = rng.choice([one.output for one in self.rows if one.output])
        del output[-min(len(output), rng.randint(1, 4)) :]
        self.events["shrunk"] += 1

    @precondition(lambda self: any(one.output for one in self.rows))
    @rule(seed=SEEDS)
    def rewrite(self, seed: int) -> None:
        """The newest token goes and the one before becomes another: the output is as long as it was seen last."""
        rng = random.Random(seed)
        output = rng.choice([one.output for one in self.rows if one.output])
        if len(output) > 1 and output[-2] != -1:
            output.pop()
            output[-1] = rng.choice(self.end)
            self.events["rewritten"] += 1

    @precondition(lambda self: self.rows)
    @rule(seed=SEEDS, steps=st.integers(1, 4))
    def decode(self, seed: int, steps: int) -> None:
        rng = random.Random(seed)
        for _ in range(steps):
            self.step(rng)

    def step(self, rng: random.Random) -> None:
        self.events["steps"] += 1
        self.events["long markers"] += len(self.end) > 1
        self.repair(rng)
        drafts = [[self.token(rng, one) for _ in range(rng.randrange(DRAFTS + 1))] for one in self.rows] if self.drafting else None
        self.events["drafted"] += bool(drafts and any(drafts))
        outputs = [one.output for one in self.rows]
        if drafts and adapter.release() < (0, 26):
            outputs = [[*output, *draft] if draft else output for output, draft in zip(outputs, drafts, strict=False)]
        for holder in self.holders:
            holder.update_state(outputs, drafts)
        self.compare()
        bonus = self.forced(len(self.rows), drafts is not None, drafts)
        if drafts:
            self.forced(sum(map(len, drafts)), False, drafts)
        for row, one in enumerate(self.rows):
            self.sample(rng, one, bonus[row], drafts[row] if drafts else [])

    def token(self, rng: random.Random, one: Request) -> int:
        """A random token; often the one that continues with a marker."""
        for marker in (self.start, self.end):
            for length in range(len(marker) - 1, -1, -1):
                if one.output[len(one.output) - length :] == marker[:length] and rng.random() < 0.12:
                    return marker[length]
        return rng.randrange(VOCAB)

    def sample(self, rng: random.Random, one: Request, forced: int | None, drafts: list[int]) -> None:
        accepted = drafts[: rng.randint(0, len(drafts))]
        new = [*accepted, self.token(rng, one) if forced is None or rng.random() < 0.1 else forced]
        if self.later:
            one.pending = new
            one.output.extend([-1] * len(new))
            self.events["placeholders"] += 1
        else:
            one.output.extend(new)

    def repair(self, rng: random.Random) -> None:
        """What was sampled asynchronously takes the place of the placeholders, as `update_async_output_token_ids` does it."""
        for one in self.rows:
            if not one.pending or not one.output or one.output[-1] != -1:
                continue
            if rng.random() < 0.1:
                self.events["never repaired"] += 1
                continue
            first = len(one.output)
            while first and one.output[first - 1] == -1:
                first -= 1
            one.output[first:] = one.pending[: len(one.output) - first]
            one.pending = []
            self.events["repaired"] += 1

    def forced(self, rows: int, bonus: bool, drafts: Any) -> list[int | None]:
        """Both holders' logits, compared; the token that each row is forced to."""
        import torch

        logits = [torch.zeros(rows, VOCAB, device=self.device) for _ in self.holders]
        for holder, one in zip(self.holders, logits, strict=False):
            holder.apply_to_logits(one, bonus, drafts)
        assert torch.equal(*logits), "upstream forces other tokens"
        self.compare()
        tops = [int(row.argmax()) if row.max() > 0 else None for row in logits[0]]
        self.events["forced"] += any(top is not None for top in tops)
        return tops

    def compare(self) -> None:
        left, right = (holder._state for holder in self.holders)
        assert left.keys() == right.keys()
        for row, state in left.items():
            seen = {key: value for key, value in right[row].items() if key not in OWN}
            seen["end_thinking"] = max(seen["end_thinking"], -1)
            assert seen == state, f"row {row}: upstream {state}, patched {seen}"
            starts = sum(state["output_tok_ids"][n : n + len(self.start)] == self.start for n in range(len(state["output_tok_ids"])))
            self.events["thought again"] += starts > 1


def test_does_as_upstream_does() -> None:
    """Through every kind of stream the patched holder forces the same tokens and knows the same."""
    skip_unless_held(patch.PATCH)
    none_rare(drive(Thinking), EVENTS)


@pytest.mark.cuda
def test_does_as_upstream_does_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with the logits on the GPU, where a token is forced by a copy that the host does not wait for."""
    skip_unless_held(patch.PATCH)
    monkeypatch.setattr(Thinking, "device", "cuda")
    none_rare(drive(Thinking), EVENTS)


def stale_after_a_shrink(state: dict[str, Any], end: int, rescans: Callable[[], None]) -> int:
    return int(state.get(patch.SCANNED, 0))


def only_length_looked_at(state: dict[str, Any], end: int, rescans: Callable[[], None]) -> int:
    scanned = int(state.get(patch.SCANNED, 0))
    return 0 if patch.SHARED in state or end < scanned else scanned


def sharing_overlooked(state: dict[str, Any], end: int, rescans: Callable[[], None]) -> int:
    scanned = int(state.get(patch.SCANNED, 0))
    return 0 if end < scanned else scanned


def no_overlap(output: list[int], marker: list[int], low: int, high: int) -> int:
    return FIND(output, marker, low + len(marker) - 1 if low else 0, high)


def first_instead_of_last(output: list[int], marker: list[int], low: int, high: int) -> int:
    found = [at for at in range(low, high) if FIND(output, marker, at, min(high, at + len(marker))) == at]
    return found[0] if found else patch.ABSENT


class NothingRewritten(Thinking):
    """Tokens once seen stay or go, but don't become others: what the last token's identity guards against is left out."""

    def rewrite(self) -> None:
        """No rule here."""


FIND = patch.find_last
FAULTS: list[dict[str, Callable[..., Any]]] = [
    {"watermark": stale_after_a_shrink},
    {"watermark": only_length_looked_at},
    {"find_last": no_overlap},
    {"find_last": first_instead_of_last},
]


@pytest.mark.parametrize("fault", FAULTS, ids=["stale", "only length", "no overlap", "first"])
def test_a_planted_fault_is_caught(fault: dict[str, Callable[..., Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    """The patch with a fault of its kind does not get through the machine."""
    skip_unless_held(patch.PATCH)
    for name, function in fault.items():
        monkeypatch.setattr(patch, name, function)
    with pytest.raises(AssertionError, match="upstream"):
        drive(Thinking, steps=20_000)


def test_scanned_placeholders_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Placeholders taken as scanned hide the tokens that replace them, unless the last token's identity gives them away."""
    skip_unless_held(patch.PATCH)
    monkeypatch.setattr(patch, "settled", len)
    monkeypatch.setattr(patch, "watermark", only_length_looked_at)
    with pytest.raises(AssertionError, match="upstream"):
        drive(NothingRewritten, steps=20_000)


def test_two_rows_with_one_state_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to 0.27 a swap leaves two rows with one state: a watermark that overlooks that does not get through."""
    skip_unless_held(patch.PATCH)
    if adapter.release() >= (0, 28):
        pytest.skip("not in this version: a swap moves the state")
    monkeypatch.setattr(patch, "watermark", sharing_overlooked)
    with pytest.raises(AssertionError, match="upstream"):
        drive(NothingRewritten, steps=20_000)


def test_only_length_and_no_rewriting_gets_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is rewritten the length alone suffices: so what the two tests before catch is what they say."""
    skip_unless_held(patch.PATCH)
    monkeypatch.setattr(patch, "watermark", only_length_looked_at)
    drive(NothingRewritten)


def test_refuses_where_it_was_not_tested() -> None:
    """On a release that is not listed the patch refuses, naming those that are."""
    if vllm_release() in patch.PATCH.holds:
        pytest.skip("it holds here")
    with pytest.raises(PatchRefused, match="it was tested with vLLM"):
        patch.register()


@pytest.mark.parametrize("marker", [1, 3])
@pytest.mark.parametrize("length", [100, 2_000])
def test_compares_new_tokens_only(marker: int, length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step compares at most the marker's length and the new tokens, however long the output is."""
    skip_unless_held(patch.PATCH)
    holder = adapter.find(adapter.HOLDER)
    for target, function in patch.replacements().items():
        monkeypatch.setattr(holder, target.rpartition(".")[2], function)
    compared = bench.count_compared({**bench.PARAMETERS, "output_length": length, "marker_length": marker, "requests": 2})
    assert compared == 2.0 <= marker + 1


def test_upstream_compares_the_whole_output() -> None:
    """As released 0.22 and 0.26 on compare every token at every step, 0.25 only the new one."""
    compared = bench.count_compared({**bench.PARAMETERS, "requests": 2, "output_length": 1_000})
    assert compared == (1.0 if adapter.release()[:2] == (0, 25) else 1_000 + bench.SETTLING + (bench.PARAMETERS["steps"] + 1) / 2)


def test_every_way_to_compare_a_token_is_counted() -> None:
    """In a loop, in a search, in a comparison of lists, by `==` and by `!=`: a patch can't look at a token unnoticed."""
    meter = TokenMeter()
    tokens = meter.tokens([1, 2, 3])
    assert (tokens[0] == 1, tokens[1] != 2, 9 in tokens, tokens == [1, 2, 4]) == (True, False, False, False)
    assert meter.compared == 1 + 1 + 3 + 3
