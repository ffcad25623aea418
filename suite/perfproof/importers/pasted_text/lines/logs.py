"""Lines of programs' logs: without what a logger writes before its words, where these say something that can be compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from perfproof.importers.pasted_text.lines import timing_lines
from perfproof.importers.pasted_text.words.cells import DIGITS, UNIT
from perfproof.model.scenarios.metric_directions import better_in
from perfproof.model.scenarios.side_names import names_a_side, role

_LOGGED = re.compile(
    r"^(?:\(\w{1,40} pid=[0-9]+\)\s*)?(?:\[?[0-9][0-9T:., /+Z-]{5,30}\]?\s+)?\[?(?:INFO|WARNING|WARN|DEBUG|ERROR)"
    r"(?:\]?(?:\s*[:|-])?\s+|:[A-Za-z_][\w.]{0,40}:\s*)"
    r"(?:[0-9][0-9T:., -]{4,25}\s+)?(?:\[[\w./:-]{1,60}\]:?\s*)?"
    r"(?:[A-Za-z_](?:[\w.]|::){0,60}(?::[0-9]+)?(?::|\s[-–|])\s+(?=\S+.*[:=]))?(?P<text>\S.*)$"
)
"""A line of a program's log, and what it says."""
_FIELDS = re.compile(r"^(?:[\w.-]{1,40}\s)?[A-Za-z_][\w./-]{0,40}=\S+(?:[\s,;]+[A-Za-z_][\w./-]{0,40}=\S+)*(?:\s+[A-Za-z]+)?\s*$")
"""Words that are `key=value` alone."""
_NUMBERED = re.compile(r"[A-Za-z][\w %()-]{2,40}: [0-9]")
"""A name and its number within a line of a log."""
_SIDE_FIELD = re.compile(r"(?i)\b(?:side|branch|build|arm|variant|version|label|impl|config)=[\"']?(?P<side>[\w./-]+)")
_QUANTITY = re.compile(rf"(?P<name>[A-Za-z][\w %()/-]{{2,60}}): {DIGITS}\s?(?P<unit>{UNIT})?")


_TAGGED = re.compile(r"^\s*[\[(](?P<side>[^\[\]():]{2,30})[\])]\s+(?=[\[(]?[0-9]|(?:INFO|WARNING|DEBUG|ERROR)\b)(?P<rest>.*)$")
"""A line of a log behind the side that wrote it: "[main] 11:04:31 INFO step took 3 ms"."""


def _untagged(raw: str) -> str:
    """A line of a log behind its side as the side and what the line says; any other line as it is."""
    found = _TAGGED.match(raw)
    logged = _LOGGED.match(found["rest"]) if found and names_a_side(found["side"]) else None
    return f"{found['side']}: {logged['text']}" if found and logged else raw


def without_prefixes(plain: Sequence[str]) -> Sequence[str]:
    """The lines; of a log whose own words name sides, what each line says; of one below headings of sides, or of two logs with other lines
    between them, what those lines say that hold measurements."""
    if any(map(_TAGGED.match, plain)):
        plain = [_untagged(raw) for raw in plain]
    logged = [_LOGGED.match(raw.strip(" \t`").lstrip("> \t-*`")) for raw in plain]
    if any(found and _names_side(found["text"]) for found in logged):
        return [found["text"] if found else raw for raw, found in zip(plain, logged, strict=True)]
    several = sum(is_log for is_log, _ in groupby(found is not None for found, raw in zip(logged, plain, strict=True) if raw.strip())) > 1
    headed = any(not found and names_a_side(raw.strip(" :#*[]=-")) for raw, found in zip(plain, logged, strict=True))
    if not several and not headed:
        return plain
    return [found["text"] if found and _measures(found["text"]) else raw for raw, found in zip(plain, logged, strict=True)]


def said(text: str) -> str:
    """What one line of a log says, where it holds a measurement; any other line as it is."""
    found = _LOGGED.match(text)
    return found["text"] if found and _measures(found["text"]) else text


def _names_side(text: str) -> bool:
    named = _SIDE_FIELD.search(text)
    return bool(role(re.split(r"[:=]", text, maxsplit=1)[0].strip(" -#*[]"))) or bool(named and role(named["side"]))


def _measures(text: str) -> bool:
    """Whether what a line says holds a measurement: fields alone, several numbers with their names, or one of a metric that is known."""
    return (
        _FIELDS.match(text) is not None
        or len(_NUMBERED.findall(text)) > 1
        or timing_lines.told(text) != text
        or any(better_in(found["name"], found["unit"] or "") for found in _QUANTITY.finditer(text))
    )
