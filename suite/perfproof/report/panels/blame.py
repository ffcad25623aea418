"""What brings the change: the guilty functions with their shares, the mixtures of both builds on the way there, and the diff back."""

from __future__ import annotations

from markupsafe import Markup

from perfproof.report.base.page_model import Page
from perfproof.report.formats.templates import render as render_template

MOST = 80
"""Mixtures in the table, and lines of the diff, at most; the folder of the results has all."""
MOST_LINES = 400


def render(page: Page) -> Markup:
    if page.blame is None:
        return Markup("")
    return render_template("blame.html", view=page.blame, share=share, most=MOST, most_lines=MOST_LINES)


def share(value: float | None, interval: tuple[float, float] | None = None) -> str:
    """A share of the change in per cent, with its interval where the ends are not the share itself; a dash where it is not known."""
    if value is None:
        return "–"
    shown = "" if interval is None or interval[0] == interval[1] else f" [{', '.join(f'{100 * end:.3g}' for end in interval)}]"
    return f"{100 * value:.3g} %{shown}"
