"""The work of one function before and after, as two bars on the scale that all functions of a row share."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from perfproof.report.base import units
from perfproof.report.base.cause_model import FunctionView
from perfproof.report.figures.sparklines import drawn

WIDTH, HEIGHT, THICK = 220, 20, 7
"""Of the drawing, and of one bar."""


def bars(function: FunctionView, functions: Sequence[FunctionView]) -> Markup:
    """The bar above is before, the one below after; nothing is drawn for a function that did not run."""
    most = max(1, *(max(one.before, one.after) for one in functions))
    parts = [
        f'<rect class="{kind}" x="0" y="{y}" width="{max(1.0, WIDTH * value / most):.1f}" height="{THICK}"/>'
        for kind, y, value in (("a", 2, function.before), ("b", 2 + THICK + 2, function.after))
        if value > 0
    ]
    said = f"{function.name}: {units.exact(function.before)} before, {units.exact(function.after)} after"
    return drawn(WIDTH, HEIGHT, "workbars", said, parts)
