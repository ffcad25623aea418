"""JUnit XML for tools that show test results: one case per judged metric, and one per scenario that could not be judged.

*Regressed* is a failure, *untestable* an error, *inconclusive* is skipped (neither passed nor failed); the rest passes.
The gate decides whether the whole run passes. Where a gate decided, its rulings are the cases. What fails the gate is a failure, or an
error where nothing could be tested. What is only reported or waived is skipped. The decision itself is one more case.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree import ElementTree as ET

from perfproof.model.base.errors import EXIT_INCONCLUSIVE, EXIT_REGRESSED
from perfproof.model.verdicts.gate_decision import Decision
from perfproof.model.verdicts.judged import Judged
from perfproof.report.base.page_model import Page, ScenarioView
from perfproof.report.formats import gate_view
from perfproof.report.formats.gate_view import Line
from perfproof.report.text import sentences
from perfproof.report.text.shown_rows import shown

FAILURES = (EXIT_REGRESSED, EXIT_INCONCLUSIVE)
"""Exit codes that count as failures; the others are errors."""
_ENDS = {"regressed": "failure", "untestable": "error", "inconclusive": "skipped"}


def render(page: Page) -> str:
    """The document. The XML writer escapes the texts; they are clean, so they hold no character that XML forbids."""
    top = ET.Element("testsuites", name=page.title)
    if page.decision is not None:
        top.extend(_decided(page, page.decision))
    else:
        top.extend(_suite(scenario) for scenario in page.scenarios)
    for name in ("tests", "failures", "errors", "skipped"):
        top.set(name, str(sum(int(suite.get(name, "0")) for suite in top)))
    ET.indent(top)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{ET.tostring(top, encoding='unicode')}\n"


def _suite(scenario: ScenarioView) -> ET.Element:
    spent = dict(scenario.seconds).get("in all", 0.0)
    suite = ET.Element("testsuite", name=scenario.name, time=f"{spent:.3f}")
    judged = [row for row in scenario.rows if row.verdict]
    cases = [_case(scenario, row) for row in judged] or [_nothing(scenario)]
    _borne(suite, scenario.provisos)
    return _counted(suite, cases)


def _borne(suite: ET.Element, provisos: Sequence[str]) -> None:
    """Adds the caveats of a suite's results as its properties."""
    if provisos:
        properties = ET.SubElement(suite, "properties")
        for each in provisos:
            ET.SubElement(properties, "property", name="caveat", value=each)


def _counted(suite: ET.Element, cases: list[ET.Element]) -> ET.Element:
    """The suite with its cases and their counts."""
    suite.extend(cases)
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("tests", str(len(cases)))
    return suite


def _case(scenario: ScenarioView, row: Judged) -> ET.Element:
    case = ET.Element("testcase", classname=scenario.name, name=f"{row.metric} ({row.candidate} against {row.baseline})")
    one, tag = shown(scenario, row), _ENDS.get(row.verdict or "")
    message = f"{one.word}: {sentences.claim(one.row)}"
    if tag:
        ET.SubElement(case, tag, message=message).text = row.reason
    else:
        ET.SubElement(case, "system-out").text = message
    return case


def _nothing(scenario: ScenarioView) -> ET.Element:
    case = ET.Element("testcase", classname=scenario.name, name="judged")
    ET.SubElement(case, "error", message=scenario.answer).text = "\n".join(scenario.unjudged)
    return case


# --- of a gate ----------------------------------------------------------------------------------------------


def _decided(page: Page, decision: Decision) -> Iterable[ET.Element]:
    """One suite per scenario with one case per ruling, then the decision itself."""
    seconds = {scenario.name: dict(scenario.seconds).get("in all", 0.0) for scenario in page.scenarios}
    provisos = {scenario.name: scenario.provisos for scenario in page.scenarios}
    lines = gate_view.laid(page)
    for name in dict.fromkeys(ruling.scenario for ruling in decision.rulings):
        suite = ET.Element("testsuite", name=name, time=f"{seconds.get(name, 0.0):.3f}")
        _borne(suite, provisos.get(name, ()))
        yield _counted(suite, [_ruled(one) for one in lines if one.ruling.scenario == name])
    case = ET.Element("testcase", classname="gate", name=f"decision ({decision.policy})")
    tag = "failure" if decision.exit_code in FAILURES else "error"
    if decision.passes:
        tag = "" if decision.judged else "skipped"
    text = "\n".join([*decision.todo, *decision.notes])
    if tag:
        ET.SubElement(case, tag, message=gate_view.headline(decision)).text = text
    else:
        ET.SubElement(case, "system-out").text = "\n".join(filter(None, [gate_view.headline(decision), text]))
    yield _counted(ET.Element("testsuite", name="gate", time="0.000"), [case])


def _ruled(one: Line) -> ET.Element:
    ruling = one.ruling
    case = ET.Element("testcase", classname=ruling.scenario, name=f"{ruling.metric} ({ruling.candidate})")
    message = f"{gate_view.WORDS[ruling.effect]}: {gate_view.verdict(one)} ({ruling.rule})"
    if ruling.effect == "fail":
        ET.SubElement(case, "failure" if ruling.code in FAILURES else "error", message=message).text = ruling.reason
    elif ruling.effect in ("report", "waived"):
        ET.SubElement(case, "skipped", message=message).text = ruling.reason
    else:
        ET.SubElement(case, "system-out").text = f"{message}: {ruling.reason}"
    return case
