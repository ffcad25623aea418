"""What stands behind a scenario's numbers: the functions that make its counts differ, and the patches that its trials were seen to load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.report.base import formatting
from perfproof.report.base.page_model import ScenarioView

MOST = 3
"""The most counts whose functions are named."""


def counted(rows: Sequence[Judged]) -> Iterator[str]:
    """Why counts are more or less, with their functions, the most important first; and of one that is the same in all, but not function by
    function, which are not."""
    moved = [row for row in rows if row.of_host and row.verdict in (Outcome.REGRESSED, Outcome.LESS)]
    for row in sorted(moved, key=lambda row: (formatting.rank(row), -abs(row.effect or 0.0)))[:MOST]:
        yield f"{formatting.label(row.metric)}: {formatting.reason(row)}"
    shifted = [row for row in rows if row.of_host and row.verdict == Outcome.EQUIVALENT and row.effect == 0]
    for row in shifted[:1]:
        functions = formatting.reason(row).partition("; ")[2]
        yield f"{formatting.label(row.metric)}: unchanged in all, and so equivalent, but not identical: {functions or 'in other functions'}"


def loaded(scenario: ScenarioView) -> Iterator[str]:
    """The patches of each arm, in how many of its trials they are attested, and how often what they replace was called."""
    calls = [fact for fact in scenario.attestations if fact.name.startswith("calls ")]
    for place, arm in enumerate(scenario.arms):
        if arm.patches:
            seen = [f"{fact.name.partition(':')[2]} {fact.values[place]}" for fact in calls[:MOST] if place < len(fact.values)]
            called = f"; calls: {', '.join(seen)}" if seen else ""
            yield f"{', '.join(arm.patches)} in {arm.attested} of {arm.trials} trials of {arm.name}{called}"
