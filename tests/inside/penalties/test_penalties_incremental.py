"""`penalties_incremental` against upstream: the penalised logits bit for bit, over random streams.

The streams are seeded; `PERFPROOF_STEPS=20000` makes each of them that long.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import penalties_harness as harness
import pytest
from penalties_harness import EVENTS
from streams import STEPS

from perfproof.patches.guard import counter
from perfproof.patches.penalties import penalties_incremental as patch
from perfproof.patches.penalties import pending_tokens, token_counts


@pytest.fixture
def switch() -> Iterator[harness.Switch]:
    harness.skip_unless_held(patch.PATCH)
    with harness.switched(patch) as made:
        yield made


def counts() -> dict[str, int]:
    names = ("fast", "fallback", "on the device", "awaited the host", "rows entered", "rows moved", "rows recounted")
    return {name: counter(f"{name} {patch.NAME}").value for name in names}


def equal_over_a_stream(switch: harness.Switch, *, device: str, asynchronous: bool, speculating: bool) -> None:
    before = counts()
    stream = harness.Stream(seed=11, device=device, asynchronous=asynchronous, speculating=speculating)
    stream.run(STEPS, switch)
    paths = {name: value - before[name] for name, value in counts().items()}
    print(f"\nevents {dict(stream.events)}\npaths {paths}")
    assert harness.rare(stream, *EVENTS) == []
    assert not asynchronous or harness.rare(stream, "placeholders") == []
    assert not asynchronous or speculating or harness.rare(stream, "repaired late") == []
    assert not speculating or harness.rare(stream, "drafted") == []
    assert not asynchronous or speculating or min(paths["on the device"], paths["awaited the host"], stream.events["owed"]) > STEPS // 50
    assert (paths["on the device"] > 0) == (stream.events["owed"] > 0) == asynchronous
    assert paths["fallback"] == 0
    assert paths["fast"] >= stream.events["steps with penalties"]
    assert all(paths[name] > STEPS // 50 for name in ("rows entered", "rows moved", "rows recounted"))


@harness.modes()
def test_logits_are_upstreams(switch: harness.Switch, asynchronous: bool, speculating: bool) -> None:
    """Whatever happens to the batch, the penalised logits equal upstream's bit for bit, without a fallback."""
    equal_over_a_stream(switch, device="cpu", asynchronous=asynchronous, speculating=speculating)


@pytest.mark.cuda
@harness.modes()
def test_logits_are_upstreams_on_a_gpu(switch: harness.Switch, asynchronous: bool, speculating: bool) -> None:
    """The same with the counts on a GPU, with upstream's repetition kernel, and with copies that are really asynchronous."""
    equal_over_a_stream(switch, device="cuda", asynchronous=asynchronous, speculating=speculating)


MUTANTS = {
    "counts not moved by a swap": ("self.counts[target] = self.counts[source]", "pass"),
    "prompt not moved by a swap": ("self.prompt_mask[target] = self.prompt_mask[source]", "pass"),
    "stale watermark after a shrink": ("if len(out) < start or (start", "if len(out) < start:\n            return []\n        if (start"),
    "shrunk row counted on top": ("            self.counts[row].zero_()\n", ""),
    "placeholder passed over": (
        "if token != -1:\n                    places",
        "if token == -1:\n                    counted[row] += 1\n                else:\n                    places",
    ),
    "placeholder in the tail passed over": ("self._counted[row] = start + known\n", "self._counted[row] = len(out)\n"),
    "re-entry not noticed": ("                self._owners[row] = None\n\n    def follow", "                pass\n\n    def follow"),
    "row not cleared for the next request": ("self.counts[self._send(rows)] = 0", "pass"),
    "prompt learnt once a row": ("            self._prompted[row] = False\n", "            pass\n"),
    "newest counted though others are missing": ("            elif ahead != 1:\n                return False\n", ""),
    "newest looked for where it was": ("if self._placed[0] != places:", "if len(self._placed[0]) != len(places):"),
    "newest counted twice": ("have + (place >= 0) for", "have for"),
    "lists paid to who sat there": ("            self._rows = None\n            known", "            known"),
    "lists not paid before they are read": (
        "        self.pay()\n        self._settle(rows)\n        counted, last",
        "        self._settle(rows)\n        counted, last",
    ),
}

LEDGER_MUTANTS = {
    "never paid": ("    out[start : start + len(there)] = known\n", ""),
    "paid a place too far": ("[len(out) - 1 for out", "[len(out) for out"),
    "a step before that had other rows": (" or last.arriving[0].shape != arriving.shape", ""),
    "other places taken for the same": (" or last.places is not places", ""),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_planted_faults_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these faults makes the streams differ from upstream."""
    harness.skip_unless_held(patch.PATCH)
    monkeypatch.setattr(patch, "Tally", harness.mutated(token_counts, *MUTANTS[name]).Tally)
    with harness.switched(patch) as switch, pytest.raises(harness.Difference):
        harness.run_all_modes(600, switch)


@pytest.mark.parametrize("name", LEDGER_MUTANTS)
def test_planted_faults_of_the_ledger_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these faults makes the outputs or the logits differ from upstream's, or breaks off."""
    harness.skip_unless_held(patch.PATCH)
    monkeypatch.setattr(token_counts, "Ledger", harness.mutated(pending_tokens, *LEDGER_MUTANTS[name]).Ledger)
    with harness.switched(patch) as switch, pytest.raises((harness.Difference, ValueError, IndexError)):
        harness.run_all_modes(600, switch)


class Arrived:
    """The event of a copy that is done."""

    def synchronize(self) -> None:
        """Nothing to wait for."""


def test_only_placeholders_are_paid_and_only_where_they_were() -> None:
    """Tokens go where the placeholders were when they were counted; a list that was cut takes what still has a place."""
    import torch

    owing = pending_tokens.Ledger()
    lists = [[7, -1], [-1], [5]]
    rows, places = list(lists), [1, 0, -1]
    owing.owe(rows, places, torch.tensor([[20], [10]]), Arrived())
    for out in lists:
        out.append(-1)
    owing.owe(rows, places, torch.tensor([[21], [11]]), Arrived())
    lists[0].append(-1)
    del lists[1][1:]
    assert len(owing) == 2
    assert owing.pay() == []
    assert lists == [[7, 10, 11, -1], [20], [5, -1]]
    assert len(owing) == 0


def test_a_token_that_is_none_gives_up_its_place() -> None:
    """Where the sampler left a placeholder for a token, the list loses the place, as upstream's repair has it, and is named."""
    import torch

    owing = pending_tokens.Ledger()
    lists = [[-1], [-1]]
    owing.owe(lists, [0, 1], torch.tensor([[-1], [4]]), Arrived())
    for out in lists:
        out.append(-1)
    owing.owe(list(lists), [0, 1], torch.tensor([[6], [5]]), Arrived())
    assert [out is lists[0] for out in owing.pay()] == [True]
    assert lists == [[6], [4, 5]]


def test_a_token_that_is_none_is_not_counted() -> None:
    """The operation counts no placeholder, and no row without a place."""
    import torch

    counts = torch.zeros((3, 5), dtype=torch.int32)
    patch.count_newest(
        counts, token_counts.Newest(torch.tensor([1, -1, 0], dtype=torch.int32), torch.tensor([[-1], [4]], dtype=torch.int32))
    )
    assert counts.tolist() == [[0, 0, 0, 0, 1], [0] * 5, [0] * 5]


def test_a_list_that_lost_tokens_and_got_others_is_counted_again() -> None:
    """A list that was cut between two steps and then grew past its old length by more than a token loses the counts of what it lost."""
    import torch

    kept = token_counts.Tally(5, torch.device("cpu"), 2)
    rows = [[1, 2, 3], [4, 4]]
    assert kept.follow(rows)
    rows[0][1:] = [0, 0, 4, 4]
    rows[1] += [2, -1]
    assert kept.follow(rows)
    assert kept.counts.tolist() == [[2, 1, 0, 0, 2], [0, 0, 1, 0, 2]]
    rows[1][3] = 3
    rows[1].append(-1)
    assert kept.follow(rows)
    assert kept.counts[1].tolist() == [0, 0, 1, 1, 2]


def test_tokens_beyond_a_placeholder_count_once() -> None:
    """A placeholder between tokens is left out until it is repaired, and the tokens after it count once."""
    import torch

    kept = token_counts.Tally(5, torch.device("cpu"), 1)
    rows = [[1, -1, 2, 2]]
    assert kept.follow(rows)
    assert kept.counts.tolist() == [[0, 1, 2, 0, 0]]
    rows[0][1] = 4
    assert kept.follow(rows)
    assert kept.counts.tolist() == [[0, 1, 2, 0, 1]]
    assert not kept.follow([[*rows[0], 5, 6]])


def test_drafts_are_taken_off_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drafts that stay in the counts make the streams differ."""
    harness.skip_unless_held(patch.PATCH)
    released = token_counts.Tally.add

    def only_add(self: Any, counts: Any, rows: Any, tokens: Any, *, amount: int) -> None:
        if amount > 0:
            released(self, counts, rows, tokens, amount=amount)

    monkeypatch.setattr(token_counts.Tally, "add", only_add)
    with harness.switched(patch) as switch, pytest.raises(harness.Difference):
        harness.Stream(seed=11, speculating=True).run(600, switch)


def test_an_unknown_batch_goes_upstreams_way(switch: harness.Switch) -> None:
    """A batch that was filled before the patch came is penalised by upstream, and counted as a fallback."""
    stream = harness.Stream(seed=3)
    for _ in range(10):
        stream.advance(stream.runners[1])
    before = counts()
    switch.on(True)
    metadata = stream.runners[1].batch.sampling_metadata
    assert not metadata.no_penalties
    importlib.import_module("vllm.v1.sample.sampler").Sampler.apply_penalties(
        stream._logits(stream.runners[1].batch.num_reqs), metadata, metadata.output_token_ids
    )
    after = counts()
    assert (after["fallback"] - before["fallback"], after["fast"] - before["fast"]) == (1, 0)


def test_registers_under_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry point puts the patch in place, attests it, and the sampler takes the fast path."""
    harness.skip_unless_held(patch.PATCH)
    harness.check_registration(patch, monkeypatch)
