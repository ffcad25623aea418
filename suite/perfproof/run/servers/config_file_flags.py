"""Refuses arguments that come from another file: no check could read them and no record would hold them.

vLLM's own parsers replace `--config FILE` with the lines of a YAML file. A scenario must name what it compares: another file can change
unnoticed, could set what the suite sets, and two arms with the same arguments could run different servers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from perfproof.model.scenarios.scenario import Arm, Scenario
from perfproof.model.workloads.workload import Workload
from perfproof.run.servers.bench_client import flags, meant
from perfproof.run.servers.launch_spec import flags_of

FROM_FILE = frozenset(["--config"])
"""Flags of vLLM's commands that stand for arguments in a file."""

Flags = Mapping[str, str | int | float | bool]


def faults(scenario: Scenario) -> list[str]:
    """Every place of a scenario that takes arguments from another file, one sentence each."""
    faults_found = [*_workload(scenario.workload), *(fault for arm in scenario.arms for fault in _arm(arm))]
    return [f"{scenario.source}: {fault}" for fault in faults_found]


def _workload(workload: Workload) -> Iterator[str]:
    for key, words in workload.vllm_words.items():
        yield from _in_words(f"workload.{key}", words)
    for key, flags_given in workload.vllm_flags.items():
        yield from _in_flags(f"workload.{key}", flags_given)


def _arm(arm: Arm) -> Iterator[str]:
    yield from _in_words(f"arms.{arm.name}.server_arguments", arm.server_arguments)
    yield from _in_flags(f"arms.{arm.name}.client", arm.client)


def _in_flags(where: str, flags_given: Flags) -> Iterator[str]:
    """Faults of flags without their dashes, and of flags that hide among the values of a flag with several values."""
    for name, value in flags_given.items():
        own, *values = flags({name.replace("_", "-"): value}) or [""]
        yield from _in_words(f"{where}.{name}", [own])
        for word in (word for word in values if word.startswith("--")):
            yield f"{where}.{name}: {word} among its values would be a separate flag: set it separately, without its dashes"


def _in_words(where: str, words: Sequence[str]) -> Iterator[str]:
    for flag in meant(flags_of(words), FROM_FILE):
        yield f"{where}: {flag} takes arguments from a file, which are neither checked nor recorded: write its arguments here instead"
