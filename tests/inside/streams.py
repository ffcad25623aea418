"""What the equivalence tests share: where a patch holds, how many steps are taken, and a driver of hypothesis state machines."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from perfproof.patches.guard import Patch, device_type, vllm_release

STEPS = int(os.environ.get("PERFPROOF_STEPS", "600"))
AN_EXAMPLE = 60
"""Steps of one run of a machine; then it starts again."""


def skip_unless_held(patch: Patch) -> None:
    """Skips where the patch claims nothing; elsewhere its guard must find no fault with the functions that it replaces."""
    release, device = vllm_release(), device_type()
    if device not in patch.holds.get(release, ()):
        pytest.skip(f"{patch.name} does not hold for vLLM {release} on {device}")
    assert patch.faults(release, device) == []


def drive(machine: type[RuleBasedStateMachine], steps: int = STEPS) -> Counter[str]:
    """Runs the machine over seeds 0, 1, 2... until it has counted `steps` under "steps"; what it counted in all.

    The machine counts in its class attribute `events`. `PERFPROOF_SHRINK=1` makes a failure small before telling it (slow).
    """
    events: Counter[str] = Counter()
    machine.events = events  # type: ignore[attr-defined]
    phases = (Phase.generate, Phase.shrink) if os.environ.get("PERFPROOF_SHRINK") else (Phase.generate,)
    run: dict[str, Any] = {
        "max_examples": 8,
        "stateful_step_count": AN_EXAMPLE,
        "phases": phases,
        "deadline": None,
        "database": None,
        "report_multiple_bugs": False,
        "print_blob": False,
    }
    for number in range(100_000):
        if events["steps"] >= steps:
            return events
        run_state_machine_as_test(seed(number)(machine), settings=settings(**run, suppress_health_check=list(HealthCheck)))
    raise AssertionError(f"no {steps} steps: {events}")


def none_rare(events: Counter[str], names: tuple[str, ...], share: float = 0.01) -> None:
    """Fails unless each of the events happened in at least `share` of the steps; prints them all."""
    print(f"\n{dict(events)}")
    rare = {name: events[name] for name in names if events[name] < share * events["steps"]}
    assert not rare, f"rare in {events['steps']} steps: {rare}"
