"""Where the work went: the counted work of vLLM's host, feature by feature, and the functions behind it, before and after."""

from __future__ import annotations

from markupsafe import Markup

from perfproof.analysis.counts.count_comparison import WORDS
from perfproof.model.records.counts import METRICS
from perfproof.report.base import units
from perfproof.report.base.cause_model import HostWorkRow
from perfproof.report.base.page_model import Page
from perfproof.report.figures.work_bars import bars
from perfproof.report.formats.templates import render as render_template

OPEN = 2
"""Rows whose functions stand open; those of the others fold."""
MOST = 60
"""Rows in a table; the records have all."""


def render(page: Page) -> Markup:
    if not page.host_work:
        return Markup("")
    return render_template(
        "host_work.html",
        views=page.host_work,
        bars=bars,
        telling=telling,
        changed=changed,
        metric=metric,
        verdicts=WORDS,
        open=OPEN,
        most=MOST,
    )


def changed(row: HostWorkRow) -> str:
    """The change of a row, `+3.4 %`, or that there was nothing before."""
    if row.change is None:
        return "there was none"
    told = units.percent(row.change, units.places_for(row.change))
    return told if told.startswith("×") else f"{told}{units.THIN}%"


def metric(row: HostWorkRow) -> str:
    """What a row counts, in words."""
    return next((words for name, (words, _) in METRICS.items() if name == row.metric), row.metric)


def telling(rows: tuple[HostWorkRow, ...], drawn: int) -> list[HostWorkRow]:
    """The rows whose functions are drawn: the worst of each feature, then the others, so many at most."""
    with_functions = [row for row in rows if row.functions]
    first = {row.feature: row for row in reversed(with_functions)}
    return sorted(with_functions, key=lambda row: first[row.feature] is not row)[:drawn]
