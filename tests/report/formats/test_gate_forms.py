"""A gate's decision in every form: comment, step summary, terminal, JUnit and JSON, none of which may say anything else than the others."""

from __future__ import annotations

import dataclasses
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from markupsafe import escape
from rich.console import Console

from perfproof.analysis.judging.apply_policy import Failure, decide, stopped
from perfproof.gate import gate_outputs
from perfproof.model.documents.policy_documents import load_policy
from perfproof.model.verdicts.gate_decision import Decision
from perfproof.model.verdicts.judged import Judged
from perfproof.model.verdicts.policy import Policy
from perfproof.report import html
from perfproof.report.base.page_model import Page
from perfproof.report.formats import gate_view, junit, pr_comment, terminal
from tests.report import factory
from tests.report.golden import check

RULES = {
    "schema": 1,
    "times": {"decide": "primary", "warn": 0.01},
    "witnesses": {"decide": "all"},
    "metrics": {"serve_penalties_cpu/median_tpot": {"decide": False}},
    "waivers": [
        {
            "scenario": "sampler_skip_copy",
            "metric": "round_time",
            "reason": "the copy is back until the sampler is reworked",
            "until": "2027-01-31",
            "issue": "https://github.com/example/vllm/issues/1",
        }
    ],
}
NOTES = ("my-branch against 0123456789ab, where it left main changes vllm/v1/worker/gpu_input_batch.py", "20 trials run, 6.2 min in all")


def policy(folder: Path, **changes: object) -> Policy:
    """The rules of these tests, with changes; JSON is YAML too."""
    path = folder / "rules.yaml"
    path.write_text(json.dumps({**RULES, **changes}))
    return load_policy(path)


def decided(folder: Path, *, waived: bool = True, page: Page | None = None) -> Page:
    """The ordinary page with a decision: failing, waived, warning, passing and reporting metrics."""
    found = page or factory.page()
    rows: list[Judged] = [row for scenario in found.scenarios for row in scenario.rows]
    rules = policy(folder, **({} if waived else {"waivers": []}))
    failures = {("thinking_scan", "patched"): Failure(blame="base", arm="as released", reason="exit code -9 after 3.2 s")}
    return gate_outputs.with_decision(found, decide(rows, rules, failures=failures, notes=NOTES))


def halted() -> Page:
    """A decision without anything measured."""
    return gate_outputs.bare(
        stopped("noisy-ci", "the change touches no code of vLLM, so there is nothing to measure", 0, notes=("not measured: docs/a.md",))
    )


def test_comment_golden(tmp_path: Path) -> None:
    """The comment: decision, a line a metric, reasons, what to do, what was measured; the rest folds."""
    check("gate-comment.md", pr_comment.render(decided(tmp_path)))


def test_comment_of_a_regression_golden(tmp_path: Path) -> None:
    """A failure stands first, with its reason and with what to do."""
    check("gate-comment-failing.md", pr_comment.render(decided(tmp_path, waived=False)))


def test_comment_without_measuring_golden() -> None:
    """A change of documents alone is a few lines."""
    check("gate-comment-nothing.md", pr_comment.render(halted()))


@pytest.mark.parametrize("width", [80, 120])
def test_terminal_golden(tmp_path: Path, width: int) -> None:
    """The terminal: the verdicts, then every ruling, what to do, notes and the decision as the last line."""
    check(f"gate-terminal-{width}.txt", terminal.text(decided(tmp_path, waived=False), width))


def test_junit_golden(tmp_path: Path) -> None:
    """JUnit: a case a ruling, and one for the decision."""
    check("gate-junit.xml", junit.render(decided(tmp_path, waived=False)))


def test_step_summary_golden(tmp_path: Path) -> None:
    """The step's summary is the comment, added to what stands there already."""
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    page = decided(tmp_path, waived=False)
    gate_outputs.tell(page, gate_outputs.NO_FILES, Console(file=io.StringIO()), {gate_outputs.SUMMARY: str(summary)})
    check("gate-summary.md", summary.read_text())


@pytest.mark.parametrize("waived", [True, False])
def test_all_forms_say_the_same(tmp_path: Path, waived: bool) -> None:
    """Every ruling has the same word in each form, the exit code is one, and the headline stands in all."""
    page = decided(tmp_path, waived=waived)
    outputs = gate_outputs.Outputs(json=tmp_path / "g.json", junit=tmp_path / "j.xml", comment=tmp_path / "c.md", report=None)
    said = io.StringIO()
    code = gate_outputs.tell(page, outputs, Console(file=said, width=300), {gate_outputs.SUMMARY: str(tmp_path / "s.md")})
    document = json.loads((tmp_path / "g.json").read_text())
    wanted = {(one["scenario"], one["metric"], gate_view.WORDS[one["effect"]]) for one in document["rulings"]}
    assert (document["exit_code"], document["passes"]) == (code, code == 0)
    assert _of_terminal(said.getvalue()) == {(scenario, words_of(metric), word) for scenario, metric, word in wanted}
    assert _of_junit(tmp_path / "j.xml") == wanted
    with_say = {(scenario, words_of(metric), word) for scenario, metric, word in wanted if word != "reported"}
    assert _of_markdown((tmp_path / "c.md").read_text()) == with_say
    assert (tmp_path / "s.md").read_text() == (tmp_path / "c.md").read_text() + "\n"
    for form in (said.getvalue(), (tmp_path / "c.md").read_text(), (tmp_path / "j.xml").read_text()):
        assert document["headline"] in form.replace("\\", "").replace("&#x27;", "'").replace("&apos;", "'")
    assert f"(exit code {code})" in said.getvalue()
    failing = ET.parse(tmp_path / "j.xml").getroot().find("testsuite[@name='gate']/testcase")
    assert failing is not None
    assert (failing.find("failure") is None and failing.find("error") is None) == (code == 0)


def words_of(metric: str) -> str:
    """A metric as people read it."""
    from perfproof.report.base import formatting

    return formatting.label(metric)


def _of_terminal(text: str) -> set[tuple[str, str, str]]:
    found = re.findall(r"^[✗⊘~!?✓·] (fails|waived|warns|passes|reported) +(\S+)  (.+?)  (?:likely )?\w+$", text, re.M)
    return {(scenario, metric, word) for word, scenario, metric in found}


def _of_junit(file: Path) -> set[tuple[str, str, str]]:
    found = set()
    for case in ET.parse(file).getroot().iter("testcase"):
        if case.get("classname") != "gate":
            part = next(iter(case))
            said = part.get("message") or part.text or ""
            found.add((case.get("classname", ""), case.get("name", "").rpartition(" (")[0], said.partition(":")[0]))
    return found


def _of_markdown(text: str) -> set[tuple[str, str, str]]:
    lines = re.findall(r"^\| \S+ (fails|waived|warns|passes) \| (.+?)\u00a0[↓↑] · (\S+) \|", text, re.M)
    return {(scenario, metric.replace("\\", ""), word) for word, metric, scenario in lines}


def test_the_page_shows_every_ruling_with_its_reason(tmp_path: Path) -> None:
    """A gate's page has the decision under its headline, then every ruling: word, verdict, what was asked and why; what to do."""
    page = decided(tmp_path, waived=False)
    text = html.render(page)
    panel = text[text.index('id="decision"') : text.index('id="verdicts"')]
    assert escape(gate_view.headline(page.decision)) in text[: text.index('id="decision"')]
    assert panel.count("<tr") == len(page.decision.rulings) + 1
    for one in gate_view.laid(page):
        for told in (gate_view.WORDS[one.ruling.effect], gate_view.verdict(one), one.ruling.rule, one.ruling.reason, one.ruling.scenario):
            assert str(escape(told)) in panel
    for told in (*page.decision.todo, *page.decision.notes):
        assert str(escape(told)) in panel
    assert 'id="decision"' not in html.render(factory.page())
    assert "there is nothing to measure" in html.render(halted())


def test_a_ruling_has_the_minus_of_every_other_number(tmp_path: Path) -> None:
    """Reasons come with hyphens before their numbers; every form of the decision shows the sign that stands in its tables."""
    page = factory.page()
    rows = [
        dataclasses.replace(row, reason="-12.3 % [-14.1, -9.8 %] (exit code -9)") for scenario in page.scenarios for row in scenario.rows
    ]
    page = gate_outputs.with_decision(page, decide(rows, policy(tmp_path, waivers=[]), notes=["moved by -0.12 %"]))
    forms = (html.render(page), pr_comment.render(page).replace("\\", ""), terminal.text(page, 200), junit.render(page))
    for form in (*forms, json.dumps(gate_view.document(page), ensure_ascii=False)):
        assert "−12.3 % [−14.1, −9.8 %] (exit code -9)" in form
        assert "moved by −0.12 %" in form
        assert not re.search(r"-\d[\d.]* %", form)


def test_the_worst_stands_first(tmp_path: Path) -> None:
    """In each form what fails comes before what warns, and that before what passes."""
    effects = [one.ruling.effect for one in gate_view.laid(decided(tmp_path, waived=False))]
    assert effects == sorted(effects, key=["fail", "waived", "warn", "pass", "report"].index)
    assert effects[0] == "fail"


def test_hostile_texts_are_harmless_in_every_form(tmp_path: Path) -> None:
    """Names, reasons and notes that mean harm neither mark up the comment nor steer the terminal, and the JUnit file parses."""
    page = factory.page(factory.hostile())
    rows = [row for scenario in page.scenarios for row in scenario.rows]
    bad = (factory.HOSTILE, factory.ANSI, factory.RIGHT_TO_LEFT, factory.SURROGATE, factory.LONG)
    found = decide(rows, policy(tmp_path, inconclusive="fail"), notes=bad)
    found = dataclasses.replace(found, todo=bad, stopped="")
    page = gate_outputs.with_decision(page, found)
    text = pr_comment.render(page)
    assert not re.search(r"<(?!/?details>|/?summary>|!-- )", re.sub(r"(?s)```.*?```", "", text))
    assert not re.search(r"@\w", re.sub(r"(?s)```.*?```", "", text))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b]", terminal.text(page, 100))
    ET.fromstring(junit.render(page).split("\n", 1)[1])
    json.dumps(gate_view.document(page))


@pytest.mark.parametrize(
    ("code", "why", "told"),
    [
        (0, "nothing to do", "The gate passes (p): nothing to do"),
        (1, "2 tests fail", "The gate fails (p): 2 tests fail"),
        (2, "the diff does not apply", "The gate refuses the change (p): the diff does not apply"),
        (3, "the base is broken", "The gate can't tell (p): the base is broken"),
    ],
)
def test_a_decision_without_rulings_says_why(code: int, why: str, told: str) -> None:
    """Whatever stopped a gate is its headline, in a comment too."""
    found: Decision = stopped("p", why, code)
    assert gate_view.headline(found) == told
    assert told in pr_comment.render(gate_outputs.bare(found)).replace("\\", "")
