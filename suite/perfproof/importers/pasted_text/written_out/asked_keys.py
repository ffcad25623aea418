"""Numbers that a command took out of a file by their keys, "jq .mean_ttft_ms main.json": each with its key before it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.words.cells import is_digits

_ASKED = re.compile(
    r"^(?:[$%+>] ?)?(?:cat\s+\S+\s*\|\s*)?jq(?:\s-\w+)*\s+"
    r"[\"']?(?P<keys>\.[A-Za-z_]\w*(?:\s*,\s*\.[A-Za-z_]\w*)*)[\"']?(?:\s+(?:<\s?)?\S+)?$"
)


def told(lines: Sequence[Line]) -> list[Line]:
    """The lines; as many bare numbers as a command asks for, right below it, with their keys."""
    found = list(lines)
    for at, line in enumerate(lines):
        asked = _ASKED.match(line.text)
        keys = re.findall(r"\w+", asked["keys"]) if asked else []
        below = lines[at + 1 : at + 1 + len(keys)]
        more = lines[at + 1 + len(keys)] if at + 1 + len(keys) < len(lines) else None
        if len(below) == len(keys) and all(is_digits(each.text) for each in below) and not (more and is_digits(more.text)):
            found[at + 1 : at + 1 + len(keys)] = [replace(each, text=f"{key}: {each.text}") for key, each in zip(keys, below, strict=True)]
    return found
