"""Why a paste is refused, in three lines at most: the reason, what can be read, and an example; never the text itself."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perfproof.importers.pasted_text.context.readings import Paste
from perfproof.importers.pasted_text.words.cells import unit_of
from perfproof.model.base.untrusted import line
from perfproof.model.scenarios.metric_directions import better

MOST, LONGEST = 3, 200
FORMS = (
    "what can be read: tables, blocks or lines under headings such as '# main' and '# this PR', columns such as before and after "
    "(docs/judge.md)"
)
_CLAIM = re.compile(r"(?i)[0-9]\s?(?:%|percent)|[0-9]\s?[x×]\b|\b(?:half|third|quarter|twice|double)\b")

_DIFF = re.compile(r"(?m)^[> \t]*(?:diff --git |@@ -[0-9]|\+\+\+ [ab]/)")
_LOGGED = re.compile(r"(?m)^[> \t]*(?:\(\w{1,40} pid=[0-9]+\)[ \t]*)?(?:[0-9:., -]{8,30}[ \t])?(?:INFO|WARNING|DEBUG|ERROR)\b[: ].*[0-9]")
LEAST_LOGGED = 2
"""How many lines of a log make a text one of a log."""


def why(found: Paste) -> list[str]:
    """The reasons for which nothing can be compared, [] where something can."""
    if found.pairs or found.scores:
        return []
    if found.faults:
        return _few(found.faults)
    if found.reasons:
        return [*_few(found.reasons)[: MOST - 1], FORMS]
    if len(found.sides) == 1 and (better(found.sides[0]) or unit_of(found.sides[0]) or unit_of(found.sides[0].rpartition(",")[2].strip())):
        return [f"no column and no row names a side, and {line(found.sides[0], 60)!r} above them is none, or one side alone", FORMS]
    if len(found.sides) == 1:
        return [f"two sides are needed, only {line(found.sides[0], 60)!r} was found; put a heading such as '# main' above each", FORMS]
    if found.sides:
        return [_apart(found), FORMS]
    return ["nothing that can be compared was found: no number stands beside the name of a side, such as main or before", FORMS]


def unread(text: str) -> list[str]:
    """What a text without a comparison holds instead: a diff of code, lines of a server's log, or claims alone."""
    if _DIFF.search(text):
        return ["a diff of code or settings holds no measurements"]
    if len(_LOGGED.findall(text)) >= LEAST_LOGGED:
        return ["lines of a log are not read: write their numbers below each side as 'name: value unit', or in a table"]
    return ["no before and no after was found: per cents and factors alone are claims"] if _CLAIM.search(text) else []


def _apart(found: Paste) -> str:
    """That the sides have no number in common: not in one section, or not under one name."""
    sections = {reading.side: " / ".join(reading.context.section) for reading in found.readings}
    if len(set(sections.values())) > 1:
        told = [f"{line(side, 40)} stands under {line(section, 40) or 'no heading'}" for side, section in list(sections.items())[:2]]
        return f"no number stands on both sides in one section: {', '.join(told)}"
    return f"no number stands on both sides under one name: {', '.join(line(side, 40) for side in found.sides[:3])}"


def _few(sentences: Sequence[str]) -> list[str]:
    told = [line(sentence, LONGEST) for sentence in sentences[:MOST]]
    return told if len(sentences) <= MOST else [*told[: MOST - 1], f"and {len(sentences) - MOST + 1} more such faults"]
