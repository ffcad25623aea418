"""The GPUs of a run: as many as its largest arm has workers, those in whose memory least is in use."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from perfproof.model.scenarios.scenario import Scenario
from perfproof.model.workloads.parallelism import parallelism
from perfproof.run.host import environment, gpus


def choose_gpus(scenarios: Sequence[Scenario], say: Callable[[str], object]) -> None:
    """Keeps so many GPUs for this process and all that it starts, and says which. Raises `BadInput` where there are GPUs, but too few."""
    wanted = max((parallelism(one.workload, arm.server_arguments).workers for one in scenarios for arm in one.arms), default=1)
    before = gpus.uuids()
    chosen = gpus.choose(wanted)
    if gpus.uuids() != before:
        environment.machine.cache_clear()
        if chosen:
            say(chosen)
