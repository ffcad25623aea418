"""The page: one template joins its panels in order into a single file that needs no network."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from markupsafe import Markup

from perfproof.report.base.page_model import Page
from perfproof.report.formats import gate_view
from perfproof.report.formats.templates import asset
from perfproof.report.formats.templates import render as render_template
from perfproof.report.lead.lead import lead
from perfproof.report.panels import (
    attestation,
    blame,
    compared_answers,
    decision,
    exposure,
    frontier,
    host_work,
    machine,
    reproduce,
    spread,
    trials,
    verdicts,
    worded,
    work,
)

PANELS = (
    ("answer", "The answer", worded.lead),
    ("decision", "What the gate decides", decision.render),
    ("verdicts", "Where it helps, where it doesn’t", verdicts.render),
    ("blame", "What brings the change", blame.render),
    ("runs", "What was run, and what would refute it", worded.runs),
    ("host_work", "Where the work went", host_work.render),
    ("exposure", "What host time is worth", exposure.render),
    ("trials", "Every trial", trials.render),
    ("spread", "Within the trials", spread.render),
    ("frontier", "Throughput against latency", frontier.render),
    ("work", "The work done", work.render),
    ("answers", "Did the answers change?", compared_answers.render),
    ("machine", "Can this machine be trusted?", machine.render),
    ("attestation", "What ran in each arm", attestation.render),
    ("repeat", "Repeat it", reproduce.render),
    ("glossary", "What the words mean", worded.glossary),
)
"""The panels in the order of the page: id, title and render function. A panel that renders nothing is left out."""

COUNTED = ("answer", "decision", "blame", "host_work", "glossary")
"""The panels of a page on which nothing was measured, only counted."""


def render(page: Page) -> str:
    """The whole report as one HTML document."""
    shown = [one for one in PANELS if page.scenarios or not (page.host_work or page.blames) or one[0] in COUNTED]
    panels = [(name, title, markup) for name, title, panel in shown if (markup := panel(page))]
    main = next((name for name in ("verdicts", "blame", "host_work") if name in [panel[0] for panel in panels]), panels[0][0])
    return shell("page.html", page=page, result=lead(page).result, panels=panels, main=main, deciding=gate_view)


def shell(template: str, **values: Any) -> str:
    """A template with the page's style and script, and a content policy that allows these and nothing else."""
    script, style = asset("page.js"), asset("page.css")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    return render_template(template, policy=policy, style=Markup(style), script=Markup(script), **values)  # noqa: S704
