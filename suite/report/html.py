"""The page: its panels in order, joined by one template into a single file that asks the network for nothing."""

from __future__ import annotations

import base64
import hashlib

from markupsafe import Markup

from suite.report.nouns import Page
from suite.report.panels import answer, attestation, machine, repeat, spread, trials, verdicts, work
from suite.report.templates import asset
from suite.report.templates import render as render_template

PANELS = (
    ("answer", "The answer", answer.render),
    ("verdicts", "Where it helps, where it doesn’t", verdicts.render),
    ("trials", "Every trial", trials.render),
    ("spread", "Within the trials", spread.render),
    ("work", "The work done", work.render),
    ("machine", "The machine", machine.render),
    ("attestation", "What ran in each arm", attestation.render),
    ("repeat", "Repeat it", repeat.render),
)
"""The panels in the order of the page: id, title, and the function that renders it."""


def render(page: Page) -> str:
    """The whole report as one HTML document."""
    script, style = asset("page.js"), asset("page.css")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    panels = [(name, title, panel(page)) for name, title, panel in PANELS]
    return render_template("page.html", page=page, panels=panels, policy=policy, style=Markup(style), script=Markup(script))  # noqa: S704
