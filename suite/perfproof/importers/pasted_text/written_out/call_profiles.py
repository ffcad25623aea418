"""What cProfile prints: a row a function, as its name with its own time and that of what it called."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.lines.text_lines import Line

_HEAD = re.compile(r"^ncalls\s+tottime\s+percall\s+cumtime\s+percall\s+filename:lineno\(function\)$")
_ROW = re.compile(r"^[0-9]+(?:/[0-9]+)?\s+(?P<own>[0-9.]+)\s+[0-9.]+\s+(?P<all>[0-9.]+)\s+[0-9.]+\s+(?P<name>\S.*)$")
_PLACE = re.compile(r":[0-9]+(?=\()")
"""The number of a function's line, which moves with every change."""


def told(lines: Sequence[Line]) -> list[Line]:
    """The lines; the rows of a profile as a table of names and two times, in seconds."""
    found: list[Line] = []
    inside = False
    for line in lines:
        row = _ROW.match(line.text) if inside else None
        if _HEAD.match(line.text):
            inside = True
            found.append(replace(line, text="function    tottime (s)    cumtime (s)"))
        elif row:
            found.append(replace(line, text=f"{_PLACE.sub('', row['name'])}    {row['own']}    {row['all']}"))
        else:
            inside = False
            found.append(line)
    return found
