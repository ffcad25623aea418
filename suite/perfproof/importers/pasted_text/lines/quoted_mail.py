"""A mail that quotes the one it answers: the quoted one's numbers were before, wherever it stands."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perfproof.model.scenarios.side_names import role

_WROTE = re.compile(r"(?i)^\s*(?:on .{6,80}|le .{6,80}|am .{6,80}|.{2,60}) (?:wrote|writes|a écrit|schrieb)\s?:\s*$")
_QUOTED = re.compile(r"^\s{0,3}>\s?(?P<text>.*)$")
_NUMBERED = re.compile(r"^\W*(?P<name>[^\W\d][^:=|]{1,60}?)\s*[:=]\s*[-+]?[0-9]")
ORDER = "before / after"
"""The words for both sides that stand above all numbers then."""


_SIDED = re.compile(r"(?i)\b(?:main|master|before|after|baseline|base|without|old|new|stock|patched|pr|patch|branch|revert\w*|unpatched)\b")
_PATCHED = re.compile(r"(?i)\bwith (?:the|this|your|my|our) (?:pr|patch|change|fix|branch|commit)\b")


def _patched(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether an answer alone says whose its numbers are, the change's: the quoted ones were before it."""
    answer = "\n".join(new)
    return bool(_PATCHED.search(answer)) and not any(_SIDED.search(_PATCHED.sub(" ", text)) for text in ("\n".join(old), answer))


def earlier_first(plain: Sequence[str]) -> list[str]:
    """The lines; of an answer that has numbers of the same names as the mail which it quotes, and no side's name before one of them, the
    quoted lines first, below words for both sides; what leads to numbers is a sentence then, and no heading."""
    quoted = [_QUOTED.match(raw) for raw in plain]
    if not any(quoted):
        return list(plain)
    old = [found["text"] for found in quoted if found]
    new = ["" if found or _WROTE.match(raw) else raw for raw, found in zip(plain, quoted, strict=True)]
    patched = not any(_WROTE.match(raw) for raw in plain)
    if patched and not _patched(old, new):
        return list(plain)
    ways = [[found["name"].casefold() for line in lines if (found := _NUMBERED.match(line))] for lines in (old, new)]
    if not set(ways[0]) & set(ways[1]) or any(role(name) for own in ways for name in own):
        return list(plain)
    old, new = ([f"{line.rstrip()[:-1]}." if line.rstrip().endswith(":") else line for line in lines] for lines in (old, new))
    return ["before:", "", *old, "", "after:", "", *new] if patched else [f"{ORDER}.", "", *old, "", *new]
