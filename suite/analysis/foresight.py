"""What a plan can see: the noise floor of an earlier A/A put to the looks of a scenario."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from suite.analysis import words
from suite.analysis.calibration import counts_for, trusted
from suite.analysis.comparison import margin_on_scale
from suite.analysis.judge import spending_of
from suite.analysis.power import Foresight, foresee
from suite.analysis.spending import Spending
from suite.model.floor import Floor, workload_digest
from suite.model.metrics import is_timed, metric
from suite.model.scenario import MetricChoice, Scenario


def foreseen(scenario: Scenario, floors: Sequence[Floor], machine: str) -> dict[str, Any]:
    """What a run of this scenario on this machine (a fingerprint) can see, look by look, and the same as sentences.

    `told` are the sentences; `metrics` maps each timed primary metric that has a floor to the numbers of each look.
    Source: `power.foresee`.
    """
    workload = workload_digest(scenario.definition)
    mine = {floor.metric: floor for floor in floors if counts_for(floor, (machine,), workload)}
    paid, trust = spending_of(scenario), trusted(floors, (machine,), workload)
    told: list[str] = [f"a run's times will be untestable: {trust.distrust}"] if trust.distrust else []
    numbers: dict[str, list[dict[str, Any]]] = {}
    for choice in (choice for choice in scenario.primaries if is_timed(choice.name)):
        floor = mine.get(choice.name)
        if floor is None:
            command = f"perfproof calibrate {scenario.source}"
            told.append(f"{choice.name}: no noise floor of this machine is in the results folder; `{command}` measures one")
            continue
        looks = _looks(choice, floor, paid, trust.widening, len(scenario.arms))
        numbers[choice.name] = [
            {"blocks": each.blocks, "minutes": each.minutes, "effect": each.effect, "equivalent": each.equivalent} for each in looks
        ]
        told += [_sentence(choice, floor, each) for each in looks]
    return {"told": told, "metrics": numbers}


def _looks(choice: MetricChoice, floor: Floor, paid: Spending, widening: float, arms: int) -> list[Foresight]:
    """The looks at one metric; an A/A's block has two trials, the plan's as many as it has arms."""
    minutes = None if floor.minutes_per_block is None else floor.minutes_per_block * arms / 2
    return foresee(
        floor.sd,
        margin_on_scale(choice.margin, "log"),
        paid,
        better=metric(choice.name).better,
        minutes_per_block=minutes,
        widening=widening,
    )


def _sentence(choice: MetricChoice, floor: Floor, seen: Foresight) -> str:
    taking = f" in {words.duration(seen.minutes)}" if seen.minutes is not None else ""
    worse = "slowdown" if metric(choice.name).better == "lower" else "loss"
    return (
        f"{choice.name}: {words.count(seen.blocks, 'block')}{taking} see a {worse} of {words.percent(seen.effect, signed=False)} or more "
        f"with 80 % chance, and call no change equivalent with {words.percent(seen.equivalent, signed=False)} "
        f"(blocks deviate by {words.percent(floor.sd, signed=False)} on this machine)"
    )
