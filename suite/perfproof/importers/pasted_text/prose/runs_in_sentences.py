"""Runs in running words, "Three runs on main: 102.1, 99.8, 101.0 tok/s. Three runs with this PR: ...": each side's as a line of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.prose.side_mentions import mentions
from perfproof.importers.pasted_text.words.cells import BULLET, DIGITS, UNIT, bare
from perfproof.importers.pasted_text.words.nouns import METRIC

_RUNS = re.compile(
    rf"(?:[^\d:;]{{3,60}}:\s+)?(?P<lead>[^:;]{{3,120}}?)(?:\s*[:=]|\s(?:gave|give|gives|are|were|is|was|got|measured|showed"
    rf"|came out at|landed at|yielded))\s+"
    rf"(?P<runs>[~≈]?{DIGITS}(?:\s?{UNIT})?(?:(?:,\s+and|,|\s+and|;|\s/)\s+{DIGITS}(?:\s?{UNIT})?){{1,19}})(?P<made>\s*[(\[][^()\[\]]{{3,40}}[)\]])?[.,;]?"
)
_END = re.compile(
    r"(?i)(?<=[0-9a-z/)][.;])\s+(?=[^\W\d])|,?\s+(?:and|while|versus|vs\.?)\s+(?=(?:[\w ]{0,20}\b)?(?:on|with|for)\s)|,\s+(?:and\s+"
    r"|while\s+)?"
    r"(?=(?:on|with|without|after|before|main|master|baseline|(?:the|this|my|our)\s+(?:pr|patch|branch|change|fix|new|old))\b)"
)
_SEVERAL = re.compile(r"(?i)\b(?:runs?|trials?|reps|repeats|repetitions|times|attempts|seeds)\b")
LEAST = 3
"""Runs of a side, at least, where nothing says that they are runs."""


def told(lines: Sequence[Line]) -> list[Line]:
    """The lines; one of sentences that each have one side and its runs as a line a side, where all that have runs name their side."""
    ways = [_sides(line.text) for line in lines]
    if len({role for own in ways for _, role in own}) < 2:
        return list(lines)
    return [
        each for line, own in zip(lines, ways, strict=True) for each in ([replace(line, text=text) for text, _ in own] if own else [line])
    ]


def _sides(text: str) -> list[tuple[str, str]]:
    """The sentences of a line as "side metric: runs" with the roles of their sides, other sentences as they are; [] for any other line."""
    if len(text) > 600 or "|" in text or text.count(",") < 1:
        return []
    found: list[tuple[str, str]] = []
    several = False
    for part in _END.split(BULLET.sub("", bare(text))):
        runs = _RUNS.fullmatch(part)
        named = {side.role: side for side in mentions(runs["lead"] + ":")} if runs else {}
        count = len(re.split(r",|\sand\s|;|\s/", runs["runs"])) if runs else 0
        if not runs or len(named) != 1 or "" in named or count < (2 if _SEVERAL.search(text) else LEAST):
            if re.search(rf"{DIGITS}\s?(?:{UNIT})?,\s+{DIGITS}", part):
                return []
            found.append((part, ""))
            continue
        several = True
        ((role, side),) = named.items()
        metric = METRIC.search(runs["lead"])
        numbers = re.sub(r",?\s+and\s+|;\s+|\s/\s+", ", ", runs["runs"])
        found.append((f"{f'{metric[0]} ({side.name})' if metric else side.name}: {numbers}{runs['made'] or ''}", role))
    return [one for one in found if one[0]] if several and (len(found) > 1 or _SEVERAL.search(text)) else []
