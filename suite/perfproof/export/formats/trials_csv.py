"""A table of trials: a line a trial and metric, as `perfproof judge` reads it where there is one scenario."""

from __future__ import annotations

import csv
import io

from perfproof.export.format import Exported, Files, Format
from perfproof.export.trial_rows import COLUMNS, rows


def files(exported: Exported) -> Files:
    text = io.StringIO(newline="")
    sheet = csv.writer(text, lineterminator="\n")
    sheet.writerow(COLUMNS)
    sheet.writerows([repr(cell) if isinstance(cell, float) else _cell(cell) for cell in row] for row in rows(exported.trials))
    return {"trials.csv": text.getvalue()}


def _cell(cell: str | int | bool) -> str:
    """A cell that no spreadsheet takes for a formula."""
    text = str(cell)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text


TRIALS_CSV = Format(name="csv", files=files)
