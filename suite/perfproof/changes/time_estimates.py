"""How long measuring a change takes, by what this machine has shown, and which scenarios fit into a budget.

A trial of a scenario takes as long as its trials took here before, for whatever change. Of one that never ran here only a guess is known;
it is stretched by as much as the import of vLLM took longer here, when it was last counted, than on the machine of the guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfproof import store
from perfproof.analysis.stats.number_format import duration
from perfproof.analysis.trials import trial_groups
from perfproof.changes.change_notes import settled
from perfproof.model.records.record import Record
from perfproof.model.scenarios.plan import Plan
from perfproof.model.scenarios.scenario import Scenario
from perfproof.planning import guessed_seconds
from perfproof.run.checks.resume import left
from perfproof.run.host import environment

IMPORT = 10.0
"""Seconds that importing vLLM took on the machine of the guesses: 2 cores, idle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialTime:
    """Seconds of one trial of a scenario, and how they are known: "measured" or "guessed"."""

    seconds: float
    how: str

    def block(self, scenario: Scenario) -> float:
        """Seconds of a block; of a scenario about answers, of all of it."""
        return self.seconds * (scenario.most_trials if scenario.again else len(scenario.arms))


def trial_times(scenarios: Iterable[Scenario], records: Iterable[Record], importing: float = 0.0) -> dict[str, TrialTime]:
    """The time of a trial of each scenario by name. `records` are of this change and others; those of other machines and other work are
    ignored. `importing` are the seconds that importing vLLM took here, 0 if that is not known."""
    here, took = trial_groups.machine_of(environment.machine()), dict[str, list[float]]()
    wanted = {one.name: one for one in scenarios}
    for record in records:
        scenario = wanted.get(record.scenario)
        if scenario is None or "total" not in record.seconds or record.definition["workload"] != scenario.definition["workload"]:
            continue
        if not trial_groups.differing(trial_groups.machine_of(record.environment), here):
            took.setdefault(record.scenario, []).append(record.took)
    slower = max(1.0, importing / IMPORT)
    return {
        name: TrialTime(seconds=sum(took[name]) / len(took[name]), how="measured")
        if name in took
        else TrialTime(seconds=guessed_seconds(one) * slower, how="guessed")
        for name, one in wanted.items()
    }


def duration_estimates(plan: Plan, results: Path, times: Mapping[str, TrialTime]) -> list[str]:
    """The estimated duration of each scenario that is not settled, with its missing trials, and the sum where there are several."""
    todo = left(plan, store.records_in(results), store.read_floors(results), settled)
    lines, minutes = [], 0.0
    for scenario in plan.scenarios:
        if count := todo[scenario.name]:
            one, trials = times[scenario.name], scenario.most_trials
            own = one.seconds * count / 60
            minutes += own
            number = f"{trials} trials" if count == trials else f"{count} of {trials} trials"
            lines.append(f"{scenario.name}: about {duration(own)} ({number}, {one.how} at {one.seconds:.1f} s each)")
    return [*lines, f"about {duration(minutes)} in all"] if len(lines) > 1 else lines


def fitting(
    scenarios: Sequence[Scenario], times: Mapping[str, TrialTime], seconds: float | None, *, beside: bool = False
) -> tuple[tuple[Scenario, ...], tuple[str, ...]]:
    """The scenarios that are worth beginning in so many seconds, and sentences on the others.

    In their order: the first whose block ends in time, then every other that ends as a whole in what those before it leave. `beside`: one
    that ran the change is measured already, and so the first must end as a whole, too.
    """
    if seconds is None:
        return tuple(scenarios), ()
    kept, left_out, free = list[Scenario](), dict[str, list[str]](), seconds
    for scenario in scenarios:
        one = times[scenario.name]
        block, whole = one.block(scenario), one.seconds * scenario.most_trials
        if whole <= free or (not kept and not beside and block <= free):
            kept.append(scenario)
            free -= whole
        else:
            first = f"a block takes about {duration(block / 60)} here ({one.how})"
            needs = f"it takes about {duration(whole / 60)}" if kept or beside else first
            remaining = duration(max(free, 0.0) / 60)
            left_out.setdefault(remaining, []).append(f"{scenario.name}: {needs}")
    sentences = (f"not timed, for the budget: {'; '.join(names)}, and {remaining} were left" for remaining, names in left_out.items())
    return tuple(kept), tuple(sentences)
