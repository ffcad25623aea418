"""Numbers beside each other whose names stand above them, "latency (p50/p95/p99, s)" above "main: 2.1 / 4.9 / 7.7": each with its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.words.cells import BULLET, DIGITS, UNIT, bare
from perfproof.importers.pasted_text.words.nouns import METRIC
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import STATISTICS

_NAMES = re.compile(r"(?<![\w/])(?P<names>[A-Za-z][\w.]{1,9}(?:\s?/\s?[A-Za-z][\w.]{1,9}){1,7})(?![\w/])")
_NUMBERS = re.compile(
    rf"^(?P<side>[-*•+\s]*[^\s:=|/][^:=|/]{{0,60}}?)\s*[:=]\s*(?P<numbers>{DIGITS}(?:\s*/\s*{DIGITS})+)\s*(?P<unit>{UNIT})?$"
)


_BESIDE = re.compile(
    r"(?P<metric>[A-Za-z][\w-]{1,20}(?: [A-Za-z][\w-]{1,20}){0,3}) [(\[]?"
    r"(?P<names>[A-Za-z][\w.]{1,9}(?:\s?/\s?[A-Za-z][\w.]{1,9}){1,7})[)\]]?"
    rf"\s*(?:[:=]\s*|\s)(?P<numbers>{DIGITS}(?:\s*/\s*{DIGITS}){{1,7}})"
    rf"(?:\s*(?:->|→|=>)\s*(?P<later>{DIGITS}(?:\s*/\s*{DIGITS}){{1,7}}))?\s?(?P<unit>{UNIT})?(?![\w/])"
)
"""Statistics and as many numbers in one line: "TTFT mean/p99 = 88/210 ms"."""


def _beside(found: re.Match[str]) -> list[str]:
    """Each statistic of a line with its own number, or what this became; [] where there are not as many of both."""
    names = _statistics(found["names"])
    values, later = (re.split(r"\s*/\s*", found[each] or "") for each in ("numbers", "later"))
    if not names or len(names) != len(values) or (found["later"] and len(later) != len(names)) or not METRIC.search(found["metric"]):
        return []
    numbers = [f"{one} -> {other}" for one, other in zip(values, later, strict=True)] if found["later"] else values
    mark = ":" if found["later"] else ""
    return [f"{found['metric']} {name}{mark} {number} {found['unit'] or ''}".rstrip() for name, number in zip(names, numbers, strict=True)]


def _own(line: Line) -> list[Line]:
    """A line with the names of its statistics beside its numbers; one of changes alone as a line of each."""
    whole = _BESIDE.fullmatch(BULLET.sub("", bare(line.text))) if "/" in line.text else None
    if whole and whole["later"] and (parts := _beside(whole)):
        return [replace(line, text=part) for part in parts]
    if "/" not in line.text or "|" in line.text or (whole and whole["later"]):
        return [line]
    text = _BESIDE.sub(lambda found: found[0] if found["later"] else ", ".join(_beside(found)) or found[0], line.text)
    return [replace(line, text=text)]


def told(lines: Sequence[Line]) -> list[Line]:
    """The lines; one with as many numbers as statistics are listed in a line above it, with their names."""
    found: list[Line] = []
    names: list[str] = []
    rest = unit = ""
    for line in (own for each in lines for own in _own(each)):
        listed = next((each for one in _NAMES.finditer(line.text) if (each := _statistics(one["names"]))), [])
        numbers = _NUMBERS.match(bare(line.text))
        if listed and not numbers:
            names = listed
            rest = _metric(_NAMES.sub(" ", line.text))
            unit = next((word for word in re.split(r"[\s,;:()\[\]/]+", line.text) if known(word)), "")
        values = re.split(r"\s*/\s*", numbers["numbers"]) if numbers else []
        if numbers and len(values) == len(names) > 1:
            own = numbers["unit"] or unit
            parts = [f"{name} {rest}".strip() + f" {value} {own}".rstrip() for name, value in zip(names, values, strict=True)]
            found.append(replace(line, text=f"{numbers['side']}: {', '.join(parts)}"))
        else:
            found.append(line)
    return found


def _metric(text: str) -> str:
    """The words of a line from its first metric's to its last one's, "" without any."""
    nouns = list(METRIC.finditer(text))
    return text[nouns[0].start() : nouns[-1].end()] if nouns else ""


def _statistics(text: str) -> list[str]:
    names = re.split(r"\s*/\s*", text)
    return names if all(name.lower() in STATISTICS or re.fullmatch(r"(?i)p\d{1,2}(?:\.\d+)?", name) for name in names) else []
