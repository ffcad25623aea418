"""What hyperfine prints of each command: a mean over runs, its range, and how many runs they were."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from perfproof.importers.pasted_text.clients.client_blocks import Block
from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.words.cells import DIGITS, UNIT
from perfproof.model.scenarios.side_names import role

_TITLE = re.compile(r"^Benchmark\s+#?[0-9]{1,3}:\s+(?P<name>\S.*)$")
_TIME = re.compile(rf"^Time \((?:mean|abs)[^()]*\):\s+(?P<mean>{DIGITS}) (?P<unit>{UNIT})")
_PARTS = re.compile(rf"(?P<name>User|System):\s+(?P<digits>{DIGITS}) (?P<unit>{UNIT})")
_RANGE = re.compile(rf"^Range \([^()]*\):\s+(?P<min>{DIGITS}) (?P<unit>{UNIT})\s+\S+\s+(?P<max>{DIGITS}) (?P<late>{UNIT})")
_RUNS = re.compile(r"\b(?P<runs>[0-9]{1,6}) runs\b")
_GOOGLE = re.compile(r"^Benchmark\s+Time\s+CPU\s+Iterations\s+UserCounters")
_GOOGLE_ROW = re.compile(
    r"^(?P<name>\S+)\s+(?P<time>[0-9.]+) (?P<unit>ns|us|ms|s)\s+(?P<cpu>[0-9.]+) (?P<cpu_unit>ns|us|ms|s)\s+(?P<iterations>[0-9]+)"
    r"(?P<counters>(?:\s+\S+=\S+)*)$"
)
_GOOGLE_TIMES = (("Time", "time", "unit"), ("CPU time", "cpu", "cpu_unit"))
_COUNTER = re.compile(r"(?P<key>\S+)=(?P<digits>[0-9.]+(?:e[+-]?[0-9]+)?)(?P<letter>[kMGT])?(?:/s)?(?=\s|$)")
_LETTERS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
NEAR = 200
"""Lines above and below a command in which the others stand."""
MOST_LINES = 4
"""Lines of a command below its name, at most."""


def hyperfine_block(lines: Sequence[Line], at: int) -> tuple[Block, int] | None:
    """One command with its times. Its side is its name without what all commands of the text end with; a name that is there several times
    is a case, and the headings say the sides."""
    title = _TITLE.match(lines[at].text)
    own = _own(lines, at)
    if not title or not any(_TIME.match(line.text) for line in own):
        return None
    runs = next((int(found["runs"]) for line in own if (found := _RUNS.search(line.text))), None)
    near = lines[max(0, at - NEAR) : at + NEAR]
    names = [found["name"] for line in near if line.text.startswith("Benchmark") and (found := _TITLE.match(line.text))]
    case = f"{title['name']}, " if names.count(title["name"]) > 1 and len(set(names)) > 1 else ""
    return Block(
        values=tuple((f"{case}{name}", digits) for line in own for name, digits in _values(line.text)),
        conditions=(),
        unread=(),
        number=lines[at].number,
        side=apart(title["name"], names) if len(set(names)) == len(names) > 1 else "",
        runs=runs,
    ), at + 1 + len(own)


def google_benchmark(lines: Sequence[Line], at: int) -> tuple[Block, int] | None:
    """What Google Benchmark prints, where its rows end with counters: those stand behind the number of iterations, one blank apart."""
    if not _GOOGLE.match(lines[at].text):
        return None
    values: list[tuple[str, str]] = []
    place = at + 1
    while place < len(lines) and (lines[place].text.startswith("---") or (row := _GOOGLE_ROW.match(lines[place].text))):
        if not lines[place].text.startswith("---") and row:
            values += [(f"{row['name']}, {what} ({row[unit]})", row[digits]) for what, digits, unit in _GOOGLE_TIMES]
            values.append((f"{row['name']}, Iterations", row["iterations"]))
            values += [(f"{row['name']}, {each['key']}", _multiplied(each)) for each in _COUNTER.finditer(row["counters"])]
        place += 1
    found = Block(values=tuple(values), conditions=(), unread=(), number=lines[at].number, runs=None)
    return (found, place) if values else None


def _multiplied(counter: re.Match[str]) -> str:
    """A counter's digits, with the letter of its thousands as zeros."""
    return f"{float(counter['digits']) * _LETTERS[counter['letter'] or '']:.12g}"


def _own(lines: Sequence[Line], at: int) -> Sequence[Line]:
    """The lines of one command: up to the next blank one."""
    below = lines[at + 1 : at + 1 + MOST_LINES]
    return below[: next((place for place, line in enumerate(below) if line.empty or _TITLE.match(line.text)), len(below))]


def _values(text: str) -> Iterator[tuple[str, str]]:
    if found := _TIME.match(text):
        yield f"Time, mean ({found['unit']})", found["mean"]
    for part in _PARTS.finditer(text):
        yield f"{part['name']} time ({part['unit']})", part["digits"]
    if found := _RANGE.match(text):
        yield f"Time, min ({found['unit']})", found["min"]
        yield f"Time, max ({found['late']})", found["max"]


def apart(name: str, names: Sequence[str]) -> str:
    """What tells a command from the others: its words but those that all of them begin or end with; a part of a path is a word."""
    words = [re.findall(r"[^\s/:]+|[/:]", each) for each in names]
    begin, end = _alike(words), _alike([each[::-1] for each in words])
    own = re.findall(r"[^\s/:]+|[/:]", name)
    apart = " ".join(word for word in own[begin : len(own) - end] if word not in "/:")
    if role(apart) or (apart and len(names) > 1 and begin + end < min(map(len, words))):
        return apart
    return name


def _alike(words: Sequence[Sequence[str]]) -> int:
    """How many words all begin with."""
    return len(list(takewhile(lambda each: len(set(each)) == 1, zip(*words, strict=False))))
