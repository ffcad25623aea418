"""From the records of an A/A to noise floors: `calibration` applied to each timed metric of the baseline against itself.

Primary metrics are tested and share the error of the test; of the others only the spread is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfproof.analysis.stats import number_format
from perfproof.analysis.trials import model_runners
from perfproof.analysis.trials.paired_trials import latest, minutes_per_block, paired
from perfproof.analysis.verdicts.calibration import Calibration, calibrate
from perfproof.model.base.errors import CannotRun
from perfproof.model.records.record import Record
from perfproof.model.scenarios.metrics import is_timed
from perfproof.model.scenarios.scenario import Scenario
from perfproof.model.verdicts.noise_floor import FLOOR_SCHEMA, Floor, machine_fingerprint, workload_digest

ARMS = ("baseline", "again")
"""The arms of an A/A: equal code under two names."""
SECOND = "second_install"
"""The build of the arm `again`, where the same code was installed once more."""


def itself(definition: Mapping[str, object], blocks: int, second: Mapping[str, object] | None = None) -> dict[str, object]:
    """The definition of the A/A of a scenario's definition: its baseline twice, `blocks` blocks, one look.

    `second` is a build of its own for the arm `again`, the same code installed once more; None for the baseline's.
    Source: none.
    """
    arms, builds = definition["arms"], definition["builds"]
    assert isinstance(arms, Mapping)  # noqa: S101 (it has been decoded)
    assert isinstance(builds, Mapping)  # noqa: S101
    baseline = next(arm for arm in arms.values() if arm["baseline"])
    twice = {name: {**baseline, "baseline": name == ARMS[0]} for name in ARMS}
    if second is not None:
        twice[ARMS[1]]["build"] = SECOND
        builds = {**builds, SECOND: second}
    return {**definition, "arms": twice, "builds": builds, "blocks": blocks}


def check(scenario: Scenario, records: Sequence[Record]) -> dict[str, Calibration]:
    """The calibration of every timed metric of an A/A, by name, in the scenario's order.

    Raises `CannotRun` where fewer than two blocks are whole. Source: `calibration.calibrate`.
    """
    samples = paired(scenario, scenario.candidates[0], records)
    minutes = minutes_per_block(records)
    primaries = sum(is_timed(choice.name) for choice in scenario.primaries)
    calibrations: dict[str, Calibration] = {}
    for choice in (choice for choice in scenario.metrics if is_timed(choice.name)):
        sample = samples[choice.name]
        if sample.n >= 2:
            calibrations[choice.name] = calibrate(
                sample, margin=choice.margin, metrics=primaries if choice.primary else 1, minutes_per_block=minutes
            )
        elif choice.primary:
            why = f": block {sample.lost[0].block}: {sample.lost[0].reason}" if sample.lost else ""
            raise CannotRun(
                f"{scenario.name}: the A/A left {number_format.count(sample.n, 'whole block')} of {choice.name}, no spread to measure{why}"
            )
    return calibrations


def shares(records: Sequence[Record]) -> dict[str, list[float]]:
    """The shares of CPU time that others took while trials ran, excluded trials too: the input of `invalidation.lost`.

    Source: none, a reading of the records.
    """
    telemetry = [record.environment.get("telemetry", {}) for record in records if record.status in ("ok", "invalid")]
    return {key: [float(one[key]) for one in telemetry if key in one] for key in ("steal", "foreign")}


def _runner(records: Sequence[Record]) -> str:
    """The model runner of an A/A's trials, which are of one group; "" if none took part."""
    return max(model_runners.seen(records), default="")


def floors_of(scenario: Scenario, records: Sequence[Record], checked: Mapping[str, Calibration], *, when: str, folder: str) -> list[Floor]:
    """The noise floors of an A/A, one per metric. `when` is the time in words, `folder` the place of its records.

    Source: none, a reading of the calibrations.
    """
    primary = {choice.name for choice in scenario.primaries}
    machine = machine_fingerprint(latest(records)[-1].environment)
    return [
        Floor(
            schema=FLOOR_SCHEMA,
            scenario=scenario.name,
            metric=name,
            unit=one.floor.unit,
            better=one.floor.better,
            primary=name in primary,
            workload=workload_digest(scenario.definition, _runner(records)),
            machine=machine,
            blocks=one.floor.blocks,
            sd=one.floor.sd,
            sd_low=one.floor.sd_interval[0],
            sd_high=one.floor.sd_interval[1],
            effect=one.effect,
            order_p=one.order.p if one.order else None,
            rho=one.autocorrelation.rho if one.autocorrelation else None,
            widening=one.floor.widening,
            false_verdicts=one.false_verdicts,
            windows=one.windows,
            minutes_per_block=one.floor.minutes_per_block,
            passed=one.passed,
            reason=one.reason,
            when=when,
            records=folder,
            host=str(latest(records)[-1].environment.get("host") or ""),
        )
        for name, one in checked.items()
    ]
