"""What the machine did while a trial was measured: others' work is reported, our own never is."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perfproof.analysis.trials import invalidation
from perfproof.builds.processes.supervised_process import run_to_end
from perfproof.model.base.errors import CannotRun
from perfproof.run.host import telemetry
from perfproof.run.host.machine_lock import WAIT
from perfproof.run.host.preflight import settle
from perfproof.run.host.telemetry import Reading

BEFORE = Reading(seconds=0.0, whole=100.0, busy=50.0, stolen=1.0, ours=20.0, swapped=0.0, throttled=3, hot=None, strangers=None)
SPIN = "import time\nend = time.process_time() + 1.2\nwhile time.process_time() < end: pass"


def after(**changes: float | int | None) -> Reading:
    """Ten seconds of two cores later, of which we took eight."""
    return replace(BEFORE, **{"seconds": 10.0, "whole": 120.0, "busy": 58.0, "ours": 28.0, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("later", "told"),
    [
        ({}, {"steal": 0.0, "foreign": 0.0, "swapped": 0.0, "throttled": 0}),
        ({"busy": 63.0}, {"steal": 0.0, "foreign": 0.25, "swapped": 0.0, "throttled": 0}),
        ({"stolen": 3.0}, {"steal": 0.1, "foreign": 0.0, "swapped": 0.0, "throttled": 0}),
        ({"ours": 30.0}, {"steal": 0.0, "foreign": 0.0, "swapped": 0.0, "throttled": 0}),
        ({"swapped": 4096.0, "throttled": 5}, {"steal": 0.0, "foreign": 0.0, "swapped": 4096.0, "throttled": 2}),
        ({"seconds": 0.1}, {"swapped": 0.0, "throttled": 0}),
        ({"whole": 100.0, "throttled": None}, {"swapped": 0.0}),
        ({"hot": 1, "strangers": 2}, {"steal": 0.0, "foreign": 0.0, "swapped": 0.0, "throttled": 1, "foreign_gpu": 2}),
    ],
)
def test_the_time_between_two_readings_is_reported_in_shares(later: dict[str, float], told: dict[str, float]) -> None:
    """Foreign is what the cores did and we did not; what the machine does not count, or too short a time, is left out."""
    assert telemetry.between(BEFORE, after(**later)) == told


def test_a_trials_own_work_is_never_foreign(tmp_path: Path) -> None:
    """A program that keeps a core busy under a supervisor counts as ours, and so do its children; the same work of a stranger would not."""
    script = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {SPIN!r}])\n{SPIN}"
    before = telemetry.read()
    done = run_to_end([sys.executable, "-c", script], environment={}, log=tmp_path / "log", timeout=60)
    now = telemetry.read()
    assert done.ok
    assert now.ours - before.ours > 2.0


def test_a_strangers_work_is_not_ours() -> None:
    """A process that has left our family is not counted among ours, however busy."""
    script = f"import os, sys\nif os.fork(): sys.exit()\nos.setsid()\nif os.fork(): os._exit(0)\n{SPIN}"
    before = telemetry.read()
    subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.DEVNULL)
    time.sleep(2.0)
    assert telemetry.read().ours - before.ours < 1.0


def test_a_reading_costs_milliseconds() -> None:
    """It stands around every trial."""
    took = []
    for _ in range(5):
        began = time.perf_counter()
        telemetry.read()
        took.append(time.perf_counter() - began)
    assert min(took) < 0.05


def test_what_the_rules_ask_for_is_what_is_reported() -> None:
    """Every entry that is reported is one that a rule reads, and the rule throws out what exceeds it."""
    told = telemetry.between(BEFORE, after(busy=70.0, stolen=11.0, swapped=1e9, throttled=4, strangers=1))
    said = invalidation.invalid(told)
    for words in ("steal", "other processes", "swapped", "throttling event", "process on the GPU"):
        assert words in said


def test_the_share_of_others_is_looked_at_before_a_run() -> None:
    """A share between 0 and all of the cores."""
    assert 0 <= telemetry.in_use(0.2) <= 1.2


# --- a busy start --------------------------------------------------------------------------------------


class Clock:
    """A clock that moves when it is slept by."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def __call__(self) -> float:
        return self.now


def start(profile: str, look: Callable[[], float], **told: Any) -> tuple[list[str], float]:
    said: list[str] = []
    clock = Clock()
    settle(profile, said.append, look=look, sleep=clock.sleep, clock=clock, **told)  # type: ignore[arg-type]
    return said, clock.now


def test_a_quiet_machine_is_not_waited_for() -> None:
    """Nothing is said and no time is lost."""
    assert start("quick", lambda: 0.1) == ([], 0.0)


def test_a_machine_that_becomes_quiet_is_waited_for() -> None:
    """The run begins as soon as the others are done, without a warning that it began on a busy machine."""
    shares = iter([0.9, 0.8, 0.1])
    said, waited = start("standard", lambda: next(shares))
    assert len(said) == 1
    assert "waiting up to 60 s for it to become quiet (--wait 0 does not wait)" in said[0]
    assert 0 < waited < WAIT


def test_who_does_not_wait_is_told_of_no_waiting() -> None:
    """With --wait 0 the run goes on at once, and says only that."""
    said, waited = start("quick", lambda: 0.9, wait=0.0)
    assert (len(said), waited) == (1, 0.0)
    assert "the run continues" in said[0]
    assert "waiting" not in said[0]


def test_a_busy_start_is_warned_about_after_a_minute() -> None:
    """`quick` continues with a warning."""
    said, waited = start("quick", lambda: 0.9)
    assert "the run continues" in said[-1]
    assert WAIT <= waited < WAIT + 10


@pytest.mark.parametrize("profile", ["quick", "standard", "thorough"])
def test_who_asks_for_a_busy_machine_does_not_wait_for_a_quiet_one(profile: str) -> None:
    """With --anyway every profile begins at once, after one look and one sentence, however long --wait would be."""
    said, waited = start(profile, lambda: 0.9, anyway=True, wait=3600.0)
    assert [sentence for sentence in said if "the run continues" in sentence] == said
    assert (len(said), waited) == (1, 0.0)


@pytest.mark.parametrize("profile", ["standard", "thorough"])
def test_a_busy_start_of_what_takes_long_is_refused(profile: str) -> None:
    """A long measurement does not start on a busy machine, and the refusal names the remedies."""
    with pytest.raises(CannotRun, match=r"does not start on it; .*--wait MINUTES, .*--anyway"):
        start(profile, lambda: 0.9, wait=8.0)


def test_only_usable_cores_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work of others on cores that we may not use does not count."""
    everything = telemetry._cores()[0]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert telemetry._cores()[0] < 0.8 * everything or os.cpu_count() == 1
