"""What people say of themselves before a colon, "I could reproduce it here: on main the mean TTFT is ...": the lines without it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.words.nouns import measured_in
from perfproof.model.scenarios.side_names import role

_OPENING = re.compile(r"(?P<said>(?:I|[Ww]e|[Yy]ou|[Tt]hey)\s[^:;.()|0-9]{3,80}):\s+(?=\S)")
"""No metric and no side begins with a person."""


def told(lines: Sequence[Line]) -> list[Line]:
    """The lines; one that begins with what a person does, and goes on with numbers, as what goes on, unless the beginning itself names a
    side or a metric."""
    return [replace(line, text=_told(line.text)) for line in lines]


def _told(text: str) -> str:
    found = _OPENING.match(text)
    rest = text[found.end() :] if found else ""
    if not found or not re.search(r"[0-9]", rest):
        return text
    named = measured_in(found["said"]) or any(role(word) for word in found["said"].split() if word != "here")
    return text if named else rest[:1].upper() + rest[1:]
