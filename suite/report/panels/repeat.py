"""Everything that it takes to do it again: commands, the scenarios' text, where the time went, and the raw records themselves."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
from collections.abc import Sequence

from markupsafe import Markup

from suite.model.record import Record
from suite.report.nouns import Page
from suite.report.templates import render as render_template


def render(page: Page) -> Markup:
    raw = as_lines(page.records)
    packed = gzip.compress(raw, 6, mtime=0)
    link = f"data:application/gzip;base64,{base64.b64encode(packed).decode('ascii')}"
    return render_template("repeat.html", page=page, link=link, size=len(packed))


def as_lines(records: Sequence[Record]) -> bytes:
    """The records as JSON lines; what is not UTF-8 in them stays escaped."""
    return "".join(json.dumps(dataclasses.asdict(record), default=str) + "\n" for record in records).encode("ascii")
