"""Everything needed to repeat the run: commands, the scenarios' text, the time spent, and the raw records."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from perfproof.model.records.record import Record
from perfproof.report.base.page_model import Page
from perfproof.report.formats.templates import render as render_template

ALLOWED = 1_400_000
EACH = 600
"""Bytes allowed for the packed records, and more for each one beyond 500: a page of 500 trials stays under 3 MB, of 10,000 under 15."""


def render(page: Page) -> Markup:
    packed, whole = pack(page.records)
    link = f"data:application/gzip;base64,{base64.b64encode(packed).decode('ascii')}"
    return render_template("repeat.html", page=page, link=link, size=len(packed), whole=whole)


def pack(records: Sequence[Record]) -> tuple[bytes, bool]:
    """The records as gzipped JSON lines, and whether they are complete: values within trials are left out where all would be too large."""
    allowed = ALLOWED + EACH * max(0, len(records) - 500)
    if sum(len(values) for record in records for values in record.raw.values()) * 7 < allowed:
        packed = gzip.compress(as_lines(records, raw=True), 6, mtime=0)
        if len(packed) <= allowed:
            return packed, True
    return gzip.compress(as_lines(records, raw=False), 6, mtime=0), False


def as_lines(records: Sequence[Record], *, raw: bool) -> bytes:
    """The records as JSON lines; characters that UTF-8 can't hold stay escaped."""
    names = [field.name for field in dataclasses.fields(Record) if raw or field.name != "raw"]
    lines = (json.dumps({name: getattr(record, name) for name in names}, default=_plain) + "\n" for record in records)
    return "".join(lines).encode("ascii")


def _plain(value: Any) -> Any:
    """Converts types that JSON does not know: attestations, and other mappings and sequences."""
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, Sequence) else str(value)
