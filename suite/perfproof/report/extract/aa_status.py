"""What the A/A runs of a results folder show about the machine of a scenario, and the command that runs one where there is none."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping, Sequence

from perfproof.analysis.hosts.host_trust import hosts_of
from perfproof.analysis.judging.design_power import design_power
from perfproof.analysis.trials import model_runners
from perfproof.analysis.verdicts.calibration import counts_for
from perfproof.model.base.errors import BadInput
from perfproof.model.base.untrusted import line
from perfproof.model.documents.decode import scenario_of
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import EXACT, METRICS, base_name
from perfproof.model.scenarios.scenario import PROFILES, Scenario
from perfproof.model.scenarios.scenario_paths import typed
from perfproof.model.verdicts.noise_floor import Floor, machine_fingerprint, workload_digests
from perfproof.report.base import formatting
from perfproof.report.base.page_model import TrustView

STANDARD = "standard"
"""The profile of `calibrate`, unless another is named."""


def of_scenario(name: str, records: Sequence[Record], floors: Sequence[Floor], results: str) -> TrustView:
    """The trust in the machine of these records, all of one scenario; `results` is the folder as a command should name it.

    Where a definition is no scenario (made by hand, or by a newer suite), only the records themselves count.
    """
    command = shlex.join(["perfproof", "calibrate", typed(name, results), *_profile(records), "--results", results])
    scenario = _scenario(name, records)
    if scenario is None:
        return TrustView(floors=(), seen=(), distrust="", command=command if _timed(records) else "")
    machines = {machine_fingerprint(record.environment) for record in records if record.environment}
    workloads = workload_digests(scenario.definition, model_runners.seen(records, scenario.baseline.name))
    latest = {floor.metric: floor for floor in floors if counts_for(floor, machines, workloads)}
    if not latest:
        kin = {floor.metric: floor for floor in floors if floor.primary and floor.scenario == name and floor.machine in machines}
        return TrustView(floors=(), seen=(), distrust="", command=command if _timed(records) else "", kin=tuple(map(_clean, kin.values())))
    seen = design_power(scenario, floors, next(iter(latest.values())).machine).sentences
    return TrustView(
        floors=tuple(_clean(floor) for floor in sorted(latest.values(), key=lambda floor: not floor.primary)),
        seen=tuple(formatting.sentence(sentence) for sentence in seen if "no noise floor" not in sentence),
        distrust=formatting.sentence(hosts_of(records, floors, workloads)[1].distrust),
        command="",
    )


def against_itself(definition: Mapping[str, object]) -> bool:
    """Whether all arms of a definition are the same: an A/A."""
    arms = definition.get("arms")
    if not isinstance(arms, Mapping) or len(arms) < 2:
        return False
    return not _differ([arm for arm in arms.values() if isinstance(arm, Mapping)])


def _differ(arms: Sequence[Mapping[str, object]]) -> bool:
    """Whether arms differ in more than their role; a second install of the same release is the same."""
    compared = [{key: value for key, value in arm.items() if key not in ("baseline", "equality")} for arm in arms]
    builds = {str(arm.get("build")) for arm in compared} - {"second_install"}
    return len(builds) > 1 or any({**arm, "build": ""} != {**compared[0], "build": ""} for arm in compared)


def _profile(records: Sequence[Record]) -> list[str]:
    """The option for the profile of these records, which may have a workload of its own, where it is not that of `calibrate`."""
    profile = records[-1].profile if records else STANDARD
    return ["--profile", profile] if profile in PROFILES and profile != STANDARD else []


def _scenario(name: str, records: Sequence[Record]) -> Scenario | None:
    if not records or not isinstance(records[-1].definition.get("arms"), Mapping):
        return None
    try:
        return scenario_of(records[-1].definition, source=typed(name))
    except BadInput:
        return None


def _timed(records: Sequence[Record]) -> bool:
    """Whether any measured value has noise."""
    names = {base_name(name) for record in records for name in record.measurements}
    return any(METRICS[name].kind not in (*EXACT, "share") for name in names if name in METRICS)


def _clean(floor: Floor) -> Floor:
    texts = {name: line(getattr(floor, name)) for name in ("scenario", "metric", "unit", "better", "when", "records")}
    texts["when"] = formatting.moment(texts["when"])
    return dataclasses.replace(floor, **texts, reason=formatting.sentence(floor.reason))  # type: ignore[arg-type]
