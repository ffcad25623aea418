"""Where it helps and where it doesn't: every metric of every scenario, with its change and margin on one scale."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from perfproof.model.verdicts.judged import Judged
from perfproof.report.base.page_model import Page
from perfproof.report.figures import sparklines
from perfproof.report.formats.templates import render as render_template
from perfproof.report.text import table_headers


def render(page: Page) -> Markup:
    rows = [row for scenario in page.scenarios for row in scenario.rows]
    return render_template("verdicts.html", page=page, axis=sparklines.axis(rows), counted=table_headers.counted(rows), in_common=in_common)


def in_common(rows: Sequence[Judged]) -> str:
    """The reason that several verdicts share; "" where some differ or have none."""
    reasons = {row.reason if row.verdict else "" for row in rows}
    return reasons.pop() if len(rows) > 1 and len(reasons) == 1 else ""
