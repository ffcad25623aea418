"""Lines in which a program logs many numbers, "Avg generation throughput: 812.3 tokens/s, Running: 64 reqs, ...": as a line of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.words.cells import DIGITS, UNIT, bare, is_digits
from perfproof.model.scenarios.side_names import names_a_side, role

LEAST = 3
"""Names with numbers in such a line, at least."""
_HEAD = re.compile(
    r"(?i)^(?P<head>(?=[^:.]{0,40}\b(?:metrics|stats|statistics|batch|summary|status|engine|worker|rank|step)\b)"
    r"[a-z][\w -]{1,40})[:.]\s+(?=[#\w])"
)
"""What a program says first: "SpecDecoding metrics: ", "Decode batch. "."""
_STAMP = re.compile(r"^\[?[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:.,]{5,15}Z?(?: \w{1,6})*\]?\s+(?:INFO:?\s+)?(?=[^\W\d])")
"""When it was said, and by which rank: "[2025-08-19 16:44:03 TP0] "."""
_PART = re.compile(
    rf"^(?P<name>#?[^\W\d][\w #/%()-]{{1,60}}?)\s*(?::|\s=)\s*(?:(?P<digits>{DIGITS})\s?(?P<unit>{UNIT}|%)?|(?P<word>[A-Za-z]+))$"
)
_MORE = re.compile(rf"^(?P<digits>{DIGITS})$")


_TIMINGS = re.compile(
    rf"^(?:(?:llama|ggml|slot|common|srv)_?\w*\s*:\s+)?(?P<name>[a-z][a-z ]{{2,30}} time)\s*=\s*"
    rf"(?P<time>{DIGITS})\s*ms\s*/\s*[0-9]+\s*(?:tokens|runs)"
    rf"(?:\s*\(\s*(?P<each>{DIGITS})\s*ms per token,\s*(?P<rate>{DIGITS})\s*tokens per second\s*\))?$"
)
"""What llama.cpp prints of a part of a run: "prompt eval time = 412.33 ms / 512 tokens (0.81 ms per token, 1241.73 tokens per second)"."""


def _timed(line: Line) -> list[Line]:
    """A line of llama.cpp's timings as a line of each of its numbers; [] for any other line."""
    found = _TIMINGS.match(line.text)
    if not found:
        return []
    texts = [f"{found['name']}: {found['time']} ms"]
    if found["rate"]:
        part = found["name"].removesuffix(" time")
        texts += [f"{found['name']} per token: {found['each']} ms", f"{part} speed: {found['rate']} tokens/s"]
    return [replace(line, text=text) for text in texts]


def told(lines: Sequence[Line]) -> list[Line]:
    """The lines; one that logs many numbers as a line of each, with what the line says first behind its name."""
    return [own for line in lines for own in _timed(line) or _own(line)]


def _own(line: Line) -> list[Line]:
    text = _STAMP.sub("", bare(line.text).rstrip(",; "))
    if (sided := _SIDED.match(text)) and names_a_side(sided["side"]):
        parts = _parts(re.split(r"[,;]\s+", text[sided.end() :]), 2)
        return [replace(line, text=f"{sided['side']}: {name}: {value}") for name, value in parts] or [line]
    if text.count(",") < LEAST - 1:
        return [line]
    head = _HEAD.match(text)
    for begin, first in ((head.end(), head["head"]), (0, "")) if head else ((0, ""),):
        parts = [] if role(first) else _parts(re.split(r",\s+", text[begin:]))
        if parts:
            return [replace(line, text=f"{name}{f', {first}' if first else ''}: {value}") for name, value in parts]
    return [line]


_SIDED = re.compile(
    r"^(?:[-*+•]\s+)?(?P<side>[^:=,|]{1,40}):\s+"
    r"(?=[^\W\d][^:=,|]{1,60}[:=]\s*[0-9][^,;]*[,;]\s+[^\W\d][^:=,|]{1,60}[:=])"
)
"""A side before several names with numbers: "main: acceptance length: 2.41, throughput: 310 tok/s"."""


def _parts(parts: Sequence[str], least: int = LEAST) -> list[tuple[str, str]]:
    """Each name of a line with its number, one of a list with its place in it; [] where a part is neither, or names a side."""
    found: list[tuple[str, str]] = []
    last, more, names = "", 0, 0
    for part in parts:
        if (one := _PART.match(part)) and not role(one["name"]):
            last, more, names = one["name"].lstrip("#") if one["digits"] else "", 1, names + 1
            found += [(last, f"{one['digits']} {one['unit'] or ''}".rstrip())] if last else []
        elif last and _MORE.match(part) and is_digits(part):
            more += 1
            found[-1:] = [(f"{last}, 1", found[-1][1])] if more == 2 else found[-1:]
            found.append((f"{last}, {more}", part))
        else:
            return []
    return found if len({name for name, _ in found}) == len(found) and names >= least else []
