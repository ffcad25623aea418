"""What wrk, hey, ab, k6 and sglang print of a run: latencies without the word beside them, rows of a mean, a deviation and a maximum, names
that lead to their statistics with points."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.lines.text_lines import Line

_STATS = re.compile(r"^Thread Stats\s+Avg\s+Stdev\s+Max\b")
_ROW = re.compile(r"^(?P<name>Latency|Req/Sec)\s+(?P<mean>\S+)\s+\S+\s+(?P<max>\S+)\s+\S+%$")
_TITLE = re.compile(r"(?i)^latency distribution\b|^percentage of the requests served within a certain time \((?P<unit>\w+)\)$")
_SHARE = re.compile(r"^(?P<share>[0-9]{1,3}(?:\.[0-9]+)?)%{1,2}\s+(?:in\s+)?(?P<digits>[0-9.]+)\s?(?P<unit>us|ms|s|secs|m)?(?:\s\(.*\))?$")
_VALUE = re.compile(r"^(?P<digits>[0-9.]+)(?P<unit>us|ms|s|k|M)?$")
_LETTERS = {"k": 1e3, "M": 1e6}
_DOTTED = re.compile(r"^(?P<name>[a-z]\w{0,60}(?:\.\w{1,60}){0,6}(?:\s?\{[^{}]*\})?)\.{3,}:\s+(?P<rest>\S.*)$")
_TREND = re.compile(r"(?P<what>avg|min|med|max|count|p\([0-9.]+\))=(?P<digits>[0-9.]+)(?P<unit>[a-zµ]*)(?:\s+|$)")
_SHARED = re.compile(r"^(?P<share>[0-9.]+)%\s+(?:\S\s)?[0-9]+\s+(?:\S\s|out of )?[0-9]+$")
_HELD = re.compile(r"^(?P<value>[0-9]+)\s+min=[0-9]+\s+max=[0-9]+$")
"""What k6 prints of a time, of a share of what was asked, and of how many users there were."""
_PHASE = re.compile(
    r"^(?P<what>Prefill|Decode|Total)\.\s+(?P<rest>[a-z ]{3,30}:\s+[0-9.]+ [A-Za-z/]+(?:,\s+[a-z ]{3,30}:\s+[0-9.]+ [A-Za-z/]+)*)$"
)
"""What sglang prints of each part of one batch."""


def told(lines: Sequence[Line]) -> list[Line]:
    """The lines; a share of a distribution as "Latency 99%: 4.1 ms", a row of threads as its mean and its maximum."""
    found: list[Line] = []
    threads = shares = False
    unit = ""
    for line in lines:
        if title := _TITLE.match(line.text):
            shares, unit = True, title["unit"] or ""
            found.append(replace(line, text=""))
        elif (dotted := _DOTTED.match(line.text)) and (own := list(_of_k6(dotted["name"], dotted["rest"]))):
            found += [replace(line, text=text) for text in own]
        elif phase := _PHASE.match(line.text):
            found += [replace(line, text=f"{phase['what']} {part}") for part in re.split(r",\s+", phase["rest"])]
        elif _STATS.match(line.text):
            threads = True
            found.append(replace(line, text=""))
        elif threads and (row := _ROW.match(line.text)):
            found += [replace(line, text=text) for text in _of_threads(row)] or [line]
        elif shares and (share := _SHARE.match(line.text)):
            found.append(replace(line, text=f"Latency {share['share']}%: {share['digits']} {share['unit'] or unit}".rstrip()))
        else:
            shares, threads = shares and line.empty, threads and not line.empty
            found.append(line)
    return found


def _of_threads(row: re.Match[str]) -> Iterator[str]:
    """The mean and the maximum of a row of wrk's."""
    name = "Latency" if row["name"] == "Latency" else "Requests of a thread"
    for what in ("mean", "max"):
        value = _VALUE.match(row[what])
        if value is None:
            return
        factor = _LETTERS.get(value["unit"] or "")
        digits = f"{float(value['digits']) * factor:.10g}" if factor else value["digits"]
        yield f"{name}, {what}: {digits} {'req/s' if name != 'Latency' else value['unit'] or ''}".rstrip()


def _of_k6(name: str, rest: str) -> Iterator[str]:
    """The numbers behind a name of k6's, a line each; nothing for those that are read as they stand."""
    if share := _SHARED.match(rest):
        yield f"{name}: {share['share']} %"
    elif held := _HELD.match(rest):
        yield f"{name}: {held['value']}"
    elif not _TREND.sub("", rest):
        yield from (f"{name}, {one['what']}: {one['digits']} {one['unit']}".rstrip() for one in _TREND.finditer(rest))
