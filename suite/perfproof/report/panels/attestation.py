"""What ran in each arm, as its own processes report, with the differences marked."""

from __future__ import annotations

from markupsafe import Markup

from perfproof.report.base.page_model import Page, ScenarioView
from perfproof.report.extract.facts import CALLS
from perfproof.report.formats.templates import render as render_template


def render(page: Page) -> Markup:
    return render_template("attestation.html", page=page, counted=counted)


def counted(scenario: ScenarioView) -> str:
    """A sentence that says why arms called the watched functions unequally often; "" where they did not."""
    unequal = [fact for fact in scenario.attestations if fact.name.startswith(CALLS) and len({*fact.values} - {"–"}) > 1]
    if not unequal:
        return ""
    if scenario.of_answers:
        why = f"{scenario.arms[0].name} got the same requests twice, to see whether it repeats itself, and its processes counted both"
    elif scenario.traits and scenario.traits.calls_vary:
        why = scenario.traits.calls_vary
    else:
        why = "they count all requests to an arm’s processes, and do not show which code ran"
    return f"The counts of calls of {len(unequal)} function{'' if len(unequal) == 1 else 's'} are not equal: {why}."
