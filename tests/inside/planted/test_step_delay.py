"""The delay of a step is waited where something is computed and nowhere else, changes nothing, and can be set while its process lives."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from perfproof.patches import guard
from perfproof.patches.guard import Counter, PatchRefused, exists, original_of, source_hash
from perfproof.patches.planted.step_delay import PATCH, SCHEDULE, VARIABLE, delayed, register, set_delay, shared_cell

here = pytest.mark.skipif(guard.vllm_release() not in PATCH.holds, reason=f"tested with vLLM {', '.join(PATCH.holds)}")


class Clock:
    """A clock that moves by some nanoseconds at every look."""

    def __init__(self, tick: int = 100) -> None:
        self.now, self.tick = 0, tick

    def __call__(self) -> int:
        self.now += self.tick
        return self.now


def scheduled(tokens: int) -> Any:
    return SimpleNamespace(total_num_scheduled_tokens=tokens)


@here
def test_the_target_is_the_one_that_was_tested() -> None:
    """The scheduler's function is there, and reads as it did when this was written."""
    assert exists(SCHEDULE)
    assert source_hash(original_of(SCHEDULE)) == SCHEDULE.sources[guard.vllm_release()]


@pytest.mark.parametrize("microseconds", [0, 1, 50, 400])
def test_a_step_that_computes_waits_its_delay(microseconds: int) -> None:
    """The output is upstream's own, whatever its arguments; the wait is at least the delay, and both counters say so."""
    output, got = scheduled(3), []
    steps, waited = Counter("steps"), Counter("waited")

    def upstream(*args: Any, **kwargs: Any) -> Any:
        got.append((args, kwargs))
        return output

    slow = delayed(upstream, shared_cell(None, microseconds), steps, waited, Clock())
    assert slow(1, throttle=True) is output
    assert got == [((1,), {"throttle": True})]
    assert steps.value == 1
    assert 1000 * microseconds <= waited.value <= 1000 * microseconds + 100


def test_a_step_that_computes_nothing_does_not_wait() -> None:
    """An engine also schedules when all its requests are under way: such a call is no step."""
    steps, waited, clock = Counter("steps"), Counter("waited"), Clock()
    delayed(lambda: scheduled(0), shared_cell(None, 400), steps, waited, clock)()
    assert (steps.value, waited.value, clock.now) == (0, 0, 0)


def test_a_delay_can_be_set_while_processes_live(tmp_path: Path) -> None:
    """All processes that attest in a folder share one delay: the first sets what the environment says, later ones take what is there."""
    first = shared_cell(tmp_path / "attest", 50)
    second = shared_cell(tmp_path / "attest", 0)
    assert (first[0], second[0]) == (50, 50)
    set_delay(tmp_path / "attest", 400)
    assert (first[0], second[0], shared_cell(tmp_path / "attest", 7)[0]) == (400, 400, 400)
    assert [file.name for file in (tmp_path / "attest").iterdir()] == ["step_delay"]
    waited = Counter("waited")
    slow = delayed(lambda: scheduled(1), first, Counter("steps"), waited, Clock())
    slow()
    set_delay(tmp_path / "attest", 0)
    slow()
    assert 400_000 <= waited.value <= 400_200


@pytest.mark.parametrize("text", ["much", "-1", "1.5", "", "²", "1000001"])
def test_refuses_a_delay_that_is_none(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Anything but whole microseconds is refused with what is wanted."""
    monkeypatch.setenv(VARIABLE, text)
    monkeypatch.setenv("VLLM_PLUGINS", PATCH.name)
    with pytest.raises(PatchRefused, match="wanted whole microseconds"):
        register()
