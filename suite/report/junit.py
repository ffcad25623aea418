"""JUnit XML, for whoever shows test results: one case a judged metric, one a scenario that could not be judged.

*Regressed* is a failure, *untestable* an error, *inconclusive* is skipped (neither passed nor failed), the rest passes.
Whether the run as a whole passes is the gate's to say, by its exit code.
"""

from __future__ import annotations

from xml.etree import ElementTree as ET

from suite.model.judged import Judged
from suite.report import words
from suite.report.nouns import Page, ScenarioView

_ENDS = {"regressed": "failure", "untestable": "error", "inconclusive": "skipped"}


def render(page: Page) -> str:
    """The document; texts are escaped by the XML writer and hold no character that XML forbids, being clean."""
    top = ET.Element("testsuites", name=page.title)
    for scenario in page.scenarios:
        top.append(_suite(scenario))
    for name in ("tests", "failures", "errors", "skipped"):
        top.set(name, str(sum(int(suite.get(name, "0")) for suite in top)))
    ET.indent(top)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{ET.tostring(top, encoding='unicode')}\n"


def _suite(scenario: ScenarioView) -> ET.Element:
    spent = dict(scenario.seconds).get("in all", 0.0)
    suite = ET.Element("testsuite", name=scenario.name, time=f"{spent:.3f}")
    judged = [row for row in scenario.rows if row.verdict]
    cases = [_case(scenario.name, row) for row in judged] or [_nothing(scenario)]
    suite.extend(cases)
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("tests", str(len(cases)))
    return suite


def _case(scenario: str, row: Judged) -> ET.Element:
    case = ET.Element("testcase", classname=scenario, name=f"{row.metric} ({row.candidate} against {row.baseline})")
    tag = _ENDS.get(row.verdict or "")
    if tag:
        ET.SubElement(case, tag, message=f"{row.verdict}: {words.claim(row)}").text = row.reason
    else:
        ET.SubElement(case, "system-out").text = f"{row.verdict}: {words.claim(row)}"
    return case


def _nothing(scenario: ScenarioView) -> ET.Element:
    case = ET.Element("testcase", classname=scenario.name, name="judged")
    ET.SubElement(case, "error", message=scenario.answer).text = "\n".join(scenario.unjudged)
    return case
