"""What is said of a change beside its verdicts: how long measuring takes, and whether the changed code is known to have run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from suite import store
from suite.analysis.judge import JudgedScenario
from suite.analysis.words import duration
from suite.changes.calling import called
from suite.changes.choosing import files
from suite.changes.watching import Watching
from suite.model.judged import Outcome
from suite.model.plan import Plan
from suite.model.record import Record
from suite.planning import estimates
from suite.run.attest import NEVER_RAN
from suite.run.standing import decided, left


def foretold(plan: Plan, results: Path) -> list[str]:
    """About how long each scenario that is not settled will take, with the trials that are missing; and all together, where there are
    several."""
    records = store.records_in(results)
    todo = left(plan, records, store.read_floors(results), settled)
    told, minutes = [], 0.0
    for one in estimates(plan, records, (), ""):
        if count := todo[one.scenario]:
            own = one.minutes * count / one.trials
            minutes += own
            trials = one.source if count == one.trials else f"{count} of {one.source}"
            told.append(f"{one.scenario}: about {duration(own)} ({trials})")
    return [*told, f"about {duration(minutes)} in all"] if len(told) > 1 else told


def settled(judged: JudgedScenario) -> bool:
    """Whether a scenario of a change needs no more blocks: its looks say so, or nothing ran the changed code."""
    return decided(judged) or any(row.verdict == Outcome.UNTESTABLE and NEVER_RAN in row.reason for row in judged.judged)


def uncounted(found: Watching, names: Collection[str], records: Sequence[Record]) -> list[str]:
    """A sentence for the scenarios in which none of the counted functions ran, or of which nobody knows whether the changed code did."""
    counts = called(found.functions, names, records).anywhere
    if found.unknown:
        idle = ", ".join(sorted(name for name in names if not any(counts[name].values())))
        never = f"nothing called {files(found.functions)}, and " if found.functions else ""
        why = f"{never}no count of calls can tell of {files(found.unknown)}"
        return [f"whether the changed code ran is not known: {idle}: {why}"] if idle else []
    idle = ", ".join(sorted(name for name in names if counts[name] and not any(counts[name].values())))
    return [f"{NEVER_RAN}: {idle}: what was measured there says nothing of {files(found.functions)}"] if idle else []
