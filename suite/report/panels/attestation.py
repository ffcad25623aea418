"""What ran in each arm, as its own processes attest, with the differences marked."""

from __future__ import annotations

from markupsafe import Markup

from suite.report.nouns import Page
from suite.report.templates import render as render_template


def render(page: Page) -> Markup:
    return render_template("attestation.html", page=page)
