"""Sentences beside the verdicts on a change: how long measuring takes, and whether the changed code is known to have run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from perfproof import store
from perfproof.analysis.judging.judge import JudgedScenario
from perfproof.analysis.stats.number_format import duration
from perfproof.analysis.trials.paired_trials import counts, fine, latest
from perfproof.changes.call_coverage import called
from perfproof.changes.countable_functions import Watching
from perfproof.changes.scenario_selection import files
from perfproof.model.base.errors import EXIT_UNTESTABLE
from perfproof.model.records.record import Record
from perfproof.model.scenarios.group_names import own_name
from perfproof.model.scenarios.metrics import is_timed
from perfproof.model.scenarios.plan import Plan
from perfproof.model.verdicts.gate_decision import Decision
from perfproof.model.verdicts.judged import Outcome
from perfproof.planning import estimates
from perfproof.run.checks.resume import decided, left
from perfproof.run.processes.attestation import NEVER_RAN

TIMES_NOT_TESTED = "times were NOT tested"
"""The start of the sentence on times that a busy machine spoilt, where counts were judged."""


def duration_estimates(plan: Plan, results: Path) -> list[str]:
    """The estimated duration of each scenario that is not settled, with its missing trials, and the sum where there are several."""
    records = store.records_in(results)
    todo = left(plan, records, store.read_floors(results), settled)
    lines, minutes = [], 0.0
    for one in estimates(plan, records, (), ""):
        if count := todo[one.scenario]:
            own = one.minutes * count / one.trials
            minutes += own
            trials = one.source if count == one.trials else f"{count} of {one.source}"
            lines.append(f"{one.scenario}: about {duration(own)} ({trials})")
    return [*lines, f"about {duration(minutes)} in all"] if len(lines) > 1 else lines


def settled(judged: JudgedScenario) -> bool:
    """Whether a scenario of a change needs no more blocks, by its looks or because nothing ran the changed code."""
    return decided(judged) or any(row.verdict == Outcome.UNTESTABLE and NEVER_RAN in row.reason for row in judged.judged)


def uncounted(counted: Watching, names: Collection[str], records: Sequence[Record]) -> list[str]:
    """A sentence on the scenarios in which none of the counted functions ran, or in which it is not known whether the changed code did."""
    counts = called(counted.functions, names, records).anywhere
    if counted.unknown:
        idle = ", ".join(sorted(name for name in names if not any(counts[name].values())))
        never = f"nothing called {files(counted.functions)}, and " if counted.functions else ""
        why = f"{never}calls can't be counted of {files(counted.unknown)}"
        return [f"whether the changed code ran is not known: {idle}: {why}"] if idle else []
    idle = ", ".join(sorted(name for name in names if counts[name] and not any(counts[name].values())))
    return [f"{NEVER_RAN}: {idle}: their results say nothing about {files(counted.functions)}"] if idle else []


def counted_alone(decision: Decision, records: Sequence[Record]) -> list[str]:
    """The scenarios whose times a busy machine spoilt, while their exact counts or answers were judged; none where anything else is
    untestable or worse."""
    failing = decision.of("fail")
    judged = {
        (one.scenario, one.candidate)
        for one in decision.deciding
        if not is_timed(one.metric) and one.passes and one.verdict not in (None, Outcome.UNTESTABLE)
    }
    spoilt = {name for name in {own_name(one.scenario) for one in failing} if _busy(name, records)}
    alone = all(
        one.code == EXIT_UNTESTABLE
        and is_timed(one.metric)
        and (one.scenario, one.candidate) in judged
        and own_name(one.scenario) in spoilt
        for one in failing
    )
    return sorted(spoilt) if alone else []


def _busy(scenario: str, records: Sequence[Record]) -> bool:
    """Whether its trials lack only some times, which were excluded because the machine was busy."""
    trials = latest([record for record in records if record.scenario == scenario])
    return all(map(counts, trials)) and not all(map(fine, trials))
