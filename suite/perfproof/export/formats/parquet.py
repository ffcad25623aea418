"""The table of trials as Parquet. Needs the extra `perfproof[parquet]`."""

from __future__ import annotations

import io

from perfproof.export.format import Exported, Files, Format
from perfproof.export.trial_rows import COLUMNS, rows
from perfproof.model.installed.extras import need


def files(exported: Exported) -> Files:
    need("parquet", "export --format parquet")
    import pyarrow
    from pyarrow import parquet

    columns = zip(COLUMNS, zip(*rows(exported.trials), strict=True), strict=True)
    table = pyarrow.table({name: list(cells) for name, cells in columns})
    content = io.BytesIO()
    parquet.write_table(table, content)
    return {"trials.parquet": content.getvalue()}


PARQUET = Format(name="parquet", files=files)
