"""The line that llama-bench ends its table with, "build: 2c3f6a81 (5510)": whose the table above it is, where nothing else says so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.words.cells import bare
from perfproof.model.scenarios.side_names import names_a_side

_BUILD = re.compile(r"^build:\s+(?P<name>[0-9a-f]{7,40}(?: \([0-9]{1,6}\))?)$")
NEAR = 3
"""Empty lines between a table and its build, at most."""
MOST_WORDS = 6
"""Words of a line that may be a side's heading, at most."""


def told(lines: Sequence[Line]) -> list[Line]:
    """The lines; builds as headings of the tables above them where the text has several and calls no side by name, else without them."""
    builds = {at: build["name"] for at, line in enumerate(lines) if (build := _BUILD.match(line.text))}
    if not builds:
        return list(lines)
    apart = len(set(builds.values())) > 1 and not any(_is_side(line.text) for line in lines)
    tops = {top: at for at in builds if apart and (top := _top(lines, at)) is not None}
    found: list[Line] = []
    for at, line in enumerate(lines):
        found += [replace(lines[tops[at]], text=f"### {builds[tops[at]]}")] if at in tops else []
        found.append(replace(line, text="") if at in builds else line)
    return found


def _is_side(text: str) -> bool:
    plain = bare(text.strip("#*:= "))
    return "|" not in text and 0 < len(plain.split()) <= MOST_WORDS and names_a_side(plain)


def _top(lines: Sequence[Line], at: int) -> int | None:
    """The first line of the table that ends right above a line, None where there is none."""
    end = next((place for place in range(at - 1, max(-1, at - 2 - NEAR), -1) if not lines[place].empty), -1)
    if end < 0 or not lines[end].text.startswith("|"):
        return None
    return next((place + 1 for place in range(end, -1, -1) if not lines[place].text.startswith("|")), 0)
