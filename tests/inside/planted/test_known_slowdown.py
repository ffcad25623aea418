"""The known slowdown changes how long a function takes and nothing else, and its targets make up what is measured around them."""

from __future__ import annotations

import time
from typing import Any

import pytest

from perfproof.bench import thinking_scan
from perfproof.bench.thinking_scan import Decoding
from perfproof.patches import guard
from perfproof.patches.guard import Counter, PatchRefused, exists, original_of, source_hash
from perfproof.patches.planted.known_slowdown import PATCH, TARGETS, THINKING, VARIABLE, register, slowed

PARAMETERS = {**thinking_scan.PARAMETERS, "output_length": 1000, "steps": 16, "rounds": 1, "warmup_rounds": 0}

here = pytest.mark.skipif(guard.vllm_release() not in PATCH.holds, reason=f"tested with vLLM {', '.join(PATCH.holds)}")


@here
def test_the_targets_are_those_that_were_tested() -> None:
    """Every function that may be slowed is there, and reads as it did when this was written."""
    release = guard.vllm_release()
    assert all(exists(target) and source_hash(original_of(target)) == target.sources[release] for target in TARGETS)


@here
def test_the_state_is_the_same_and_the_time_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slowed by a half, the state comes out as upstream's; the waits are a half of the calls, and the calls nearly all of a round.

    By the thread's own clock, which stands while other work has the core.
    """
    plain = Decoding(PARAMETERS)
    plain.run()
    measured, added = Counter("measured"), Counter("added")
    upstream = original_of(THINKING)
    slow = Decoding(PARAMETERS)
    monkeypatch.setattr(type(slow.holder), "update_state", slowed(upstream, 0.5, measured, added, time.thread_time_ns))
    began = time.thread_time_ns()
    slow.run()
    spent = time.thread_time_ns() - began
    assert states(slow) == states(plain)
    assert added.value / measured.value == pytest.approx(0.5, abs=0.02)
    assert (added.value + measured.value) / spent > 0.97


def states(decoding: Decoding) -> list[dict[str, Any]]:
    return [dict(state) for state in decoding.holder._state.values()]


@here
def test_refuses_a_fraction_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a function and a fraction in the environment the patch refuses, and says what it wants."""
    monkeypatch.setenv(VARIABLE, f"{THINKING.name} much")
    with pytest.raises(PatchRefused, match=r'wanted like "module:Qual.name 0.05"'):
        register()
