"""The faults of a serve scenario that show before anything is made."""

from __future__ import annotations

from perfproof.model.scenarios.scenario import Scenario
from perfproof.run.servers.bench_client import DATASET, OURS, client_faults, endpoint_faults, meant, packed_faults
from perfproof.run.servers.launch_spec import SET_BY_SUITE, flags_of, model_faults, workload_of


def scenario_faults(scenario: Scenario) -> list[str]:
    """The faults of a serve scenario that show before anything is made, one sentence each."""
    workload = workload_of(scenario)
    ours = OURS if workload.dataset is None else OURS | DATASET
    faults = endpoint_faults("workload", workload.client)
    for where, client in {"workload": workload.client, **{f"arms.{arm.name}": arm.client for arm in scenario.arms}}.items():
        faults += client_faults(where, client, ours=ours) + packed_faults(where, client)
    faults += [f"workload.{fault}" for fault in model_faults(workload.model)]
    server_arguments = {"workload": workload.server_arguments, **{f"arms.{arm.name}": arm.server_arguments for arm in scenario.arms}}
    for where, arguments in server_arguments.items():
        faults += [f"{where}.server_arguments: {flag} is set by the suite" for flag in meant(flags_of(arguments), SET_BY_SUITE)]
    return [f"{scenario.source}: {fault}" for fault in faults]
