"""Cells that list several numbers with their names, "TTFT 31 ms, TPOT 6.1 ms"."""

from __future__ import annotations

import re
from functools import lru_cache

from perfproof.importers.pasted_text.values.inline_values import values_in
from perfproof.importers.pasted_text.values.named_values import Value

LEAST, LONGEST = 2, 200


@lru_cache(maxsize=1024)
def named(text: str) -> tuple[Value, ...]:
    """The numbers of a cell, each with its own name and of no side; () for any other cell."""
    if len(text) > LONGEST or not re.match(r"[^\W\d].*?[0-9].*[,;/].*?[^\W\d].*?[0-9]", text):
        return ()
    found = values_in(text)
    names = {value.name for value in found if value.name and not value.side}
    return tuple(found) if len(names) == len(found) >= LEAST else ()
