"""Which hosts count: one whose A/A failed, or scatters far more than those of the other hosts, is left out of the times, and told.

Both rules read A/A runs alone, never the candidate, and are fixed before any block runs.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence

from perfproof.analysis.hosts.host_effects import short_names
from perfproof.analysis.hosts.host_verdicts import Hosts
from perfproof.analysis.stats import number_format
from perfproof.analysis.trials.spread_blocks import host_of
from perfproof.analysis.verdicts.calibration import Trust, counts_for, trusted
from perfproof.model.records.record import Record
from perfproof.model.verdicts.noise_floor import Floor, machine_fingerprint

FAR = 3.0
"""How many times the median scatter of the hosts' A/As is too much, at the lower end of a host's own interval."""
LEAST_COMPARED = 3
"""The hosts with an A/A that a median needs."""


def hosts_of(trials: Sequence[Record], floors: Sequence[Floor], workloads: Collection[str]) -> tuple[Hosts, Trust]:
    """The hosts of these trials with those that are left out, and the trust in the others' times together.

    Source: `calibration.trusted`; of the scatter this project's rule.
    """
    machines: dict[str, set[str]] = {}
    for trial in trials:
        machines.setdefault(host_of(trial), set()).add(machine_fingerprint(trial.environment))
    trusts = {host: trusted(floors, own, workloads, {host}) for host, own in machines.items()}
    names = short_names(list(machines))
    distrusted = {host: trust.distrust for host, trust in trusts.items() if trust.distrust}
    odd = {**dict(_scattering(floors, machines, workloads)), **distrusted} if len(machines) > 1 else {}
    hosts = Hosts(
        of_block={trial.block: host_of(trial) for trial in trials},
        left_out={host: f"host {names[host]} is left out: {why}" for host, why in odd.items()},
    )
    staying = [trust for host, trust in trusts.items() if host not in odd]
    if len(machines) == 1 or not staying:
        return hosts, next((trust for trust in trusts.values() if trust.distrust), next(iter(trusts.values()), Trust()))
    return hosts, Trust(widening=max(trust.widening for trust in staying))


def _scattering(floors: Sequence[Floor], machines: Mapping[str, Collection[str]], workloads: Collection[str]) -> Iterator[tuple[str, str]]:
    """The hosts whose latest A/A scatters far more than the median of the hosts' A/As in some metric, and by how much."""
    for metric in dict.fromkeys(floor.metric for floor in floors if floor.primary):
        latest = {
            floor.host: floor
            for floor in floors
            if floor.primary and floor.metric == metric and floor.host in machines and counts_for(floor, machines[floor.host], workloads)
        }
        if len(latest) < LEAST_COMPARED:
            continue
        middle = statistics.median(floor.sd for floor in latest.values())
        for host, floor in latest.items():
            if floor.sd_low > FAR * middle:
                own, typical = (number_format.percent(sd, signed=False) for sd in (floor.sd, middle))
                yield host, f"its A/A scatters by {own} in {metric}, those of the {len(latest)} hosts by {typical} in the median"
