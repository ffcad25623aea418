"""Where it helps and where it doesn't: every metric of every scenario, with its change and margin on one scale."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from perfproof.model.verdicts.judged import Judged, Outcome
from perfproof.report.base.page_model import Page, ScenarioView
from perfproof.report.figures import sparklines
from perfproof.report.formats.templates import render as render_template
from perfproof.report.text import reasons, sentences, table_headers
from perfproof.report.text.shown_rows import shown, sides


def render(page: Page) -> Markup:
    rows = [shown(scenario, row).row for scenario in page.scenarios for row in scenario.rows]
    return render_template(
        "verdicts.html",
        page=page,
        axis=sparklines.axis(rows),
        counted=table_headers.counted(rows),
        in_common=in_common,
        merged=merged,
        reasons=reasons,
        show=shown,
        sides=sides,
    )


def merged(scenario: ScenarioView) -> list[tuple[Judged, list[Judged]]]:
    """The rows with those that say the same of other answers: each first one, and all of them. Only equivalent answers are merged."""

    def same(row: Judged) -> str:
        plain = scenario.of_answers and row.verdict == Outcome.EQUIVALENT
        told = (row.reason, row.effect, row.interval, row.margin, row.blocks, scenario.bound(row)) if plain else (row.metric, row.candidate)
        return repr(told)

    return [(group[0], group) for group in sentences.alike(scenario.rows, same)]


def in_common(rows: Sequence[Judged]) -> str:
    """The reason that several verdicts share; "" where some differ or have none."""
    found = {reasons.told(row) if row.verdict else "" for row in rows}
    return found.pop() if len(rows) > 1 and len(found) == 1 else ""
