"""The table of trials as Parquet. Needs pyarrow, which perfproof itself does without: `pip install 'perfproof[parquet]'`."""

from __future__ import annotations

import io

from perfproof.export.format import Exported, Files, Format
from perfproof.export.trial_rows import COLUMNS, rows
from perfproof.model.base.errors import CannotRun


def files(exported: Exported) -> Files:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise CannotRun("export --format parquet: pyarrow is not installed here: pip install 'perfproof[parquet]'") from error
    columns = zip(COLUMNS, zip(*rows(exported.trials), strict=True), strict=True)
    table = pyarrow.table({name: list(cells) for name, cells in columns})
    content = io.BytesIO()
    parquet.write_table(table, content)
    return {"trials.parquet": content.getvalue()}


PARQUET = Format(name="parquet", files=files)
