"""What a plan can detect: the power of a scenario's looks at the noise floor of an earlier A/A."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfproof.analysis.judging.answer_judges import judge_of
from perfproof.analysis.judging.judge import spending_of
from perfproof.analysis.stats import number_format
from perfproof.analysis.stats.alpha_spending import Spending
from perfproof.analysis.stats.comparison import margin_on_scale
from perfproof.analysis.stats.power import LookPower, look_powers
from perfproof.analysis.verdicts.calibration import counts_for, trusted
from perfproof.model.scenarios.metrics import is_timed, metric
from perfproof.model.scenarios.scenario import MetricChoice, Scenario
from perfproof.model.verdicts.noise_floor import Floor, workload_digests


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignPower:
    """What a plan can detect: `sentences` in words, `looks` for each timed primary metric with a noise floor."""

    sentences: tuple[str, ...]
    looks: Mapping[str, tuple[LookPower, ...]]


def design_power(scenario: Scenario, floors: Sequence[Floor], machine: str) -> DesignPower:
    """What a run of this scenario on this machine (a fingerprint) can detect, look by look.

    Source: `power.look_powers`, `equality_verdict.power_sentences`, `accuracy_tasks.power_sentences`.
    """
    if (of_answers := judge_of(scenario)) is not None:
        return DesignPower(sentences=of_answers.power_sentences(scenario), looks={})
    workloads = workload_digests(scenario.definition)
    latest = {floor.metric: floor for floor in floors if counts_for(floor, (machine,), workloads)}
    paid, trust = spending_of(scenario), trusted(floors, (machine,), workloads)
    sentences: list[str] = [f"a run's times will be untestable: {trust.distrust}"] if trust.distrust else []
    seen: dict[str, tuple[LookPower, ...]] = {}
    for choice in (choice for choice in scenario.primaries if is_timed(choice.name)):
        floor = latest.get(choice.name)
        if floor is None:
            command = f"perfproof calibrate {scenario.source}"
            sentences.append(f"{choice.name}: no noise floor of this machine is in the results folder; `{command}` measures one")
            continue
        seen[choice.name] = tuple(_looks(choice, floor, paid, trust.widening, len(scenario.arms)))
        sentences += [_sentence(choice, floor, each) for each in seen[choice.name]]
    return DesignPower(sentences=tuple(sentences), looks=seen)


def _looks(choice: MetricChoice, floor: Floor, paid: Spending, widening: float, arms: int) -> list[LookPower]:
    """The looks at one metric; an A/A's block has two trials, the plan's as many as it has arms."""
    minutes = None if floor.minutes_per_block is None else floor.minutes_per_block * arms / 2
    return look_powers(
        floor.sd,
        margin_on_scale(choice.margin, "log"),
        paid,
        better=metric(choice.name).better,
        minutes_per_block=minutes,
        widening=widening,
    )


def _sentence(choice: MetricChoice, floor: Floor, seen: LookPower) -> str:
    taking = f" in {number_format.duration(seen.minutes)}" if seen.minutes is not None else ""
    worse = "loss" if metric(choice.name).better == "higher" else "slowdown" if metric(choice.name).kind == "time" else "growth"
    return (
        f"{choice.name}: {number_format.count(seen.blocks, 'block')}{taking} detect a {worse} of "
        f"{number_format.size(seen.effect, 'log')} or more "
        f"with 80 % power, and call no change equivalent with {number_format.percent(seen.equivalent, signed=False)} probability "
        f"(blocks deviate by {number_format.percent(floor.sd, signed=False)} on this machine)"
    )
