"""What the sentences of a text say of a metric on both sides: "fell from 13 ms to 115 us", "190 ms on main vs 181 ms here"; and which of
them may say it without having been read.

It refuses to guess: two numbers of one kind, one metric, and words that say which number is whose. A range, a wish and a revert are none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from packaging.version import Version

from perfproof.importers.pasted_text.prose import paragraphs
from perfproof.importers.pasted_text.prose.paragraphs import Said
from perfproof.importers.pasted_text.words.cells import RATE, UNIT, spelt_unit
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.side_names import release

_DIGITS = r"[0-9][0-9,]{0,30}(?:\.[0-9]{1,30})?"
_VERSION = re.compile(
    r"(?i)\b(?P<lead>on|since|with|in|from|to|for|vs\.?|than|and|under)(?: vllm)? (?P<version>v?[0-9]+\.[0-9]+\.[0-9]+(?:\.?(?:post"
    r"|rc|dev)[0-9]+)?)(?![\w.]*\w)"
)
_SIDES = re.compile(r"(?i)\b(?:main|master|baseline|this (?:pr|patch|change|branch)|the (?:pr|patch)|patched)\b")
_END = re.compile(r"(?<=[.!?;])\s+|\n\s*\n")
_BULLET = re.compile(r"(?m)^\s*(?:[-*+•]|[0-9]{1,2}[.)])\s+")
_FROM_TO = re.compile(
    rf"(?i)(?<![\w.,#-])(?:(?P<from>\bfrom)\s+)?(?P<before>{_DIGITS})(?:\s?{UNIT})?\s*(?P<to>->|→|=>|\bto\b|\bvs\.?|\bversus\b)\s*"
    rf"(?P<after>{_DIGITS})\s?(?P<unit>{RATE})(?![\w/])"
)
LONGEST_QUOTED = 80


def read(text: str) -> list[Said]:
    """What the sentences of a text say; nothing of a metric of which two of them say different things. Two versions are sides, where there
    are no other words for these."""
    if versions := _versions(text):
        named = dict(zip(versions, ("baseline", "candidate"), strict=True))
        told = _once(_VERSION.sub(lambda found: f"{found['lead']} {named[found['version']]}", text))
        if told:
            return [replace(one, sides=versions) for one in told]
    return _once(text)


def _versions(text: str) -> tuple[str, str] | None:
    """The two versions of which a text speaks as of sides, the older first."""
    found = list(dict.fromkeys(match["version"] for match in _VERSION.finditer(text)))
    if len(found) != 2 or _SIDES.search(text):
        return None
    older, newer = sorted(found, key=lambda name: release(name) or Version("0"))
    return older, newer


def _once(text: str) -> list[Said]:
    """What sentences say, but for metrics of which two of them say different things: these with what they were measured at."""
    first, clashing = _first(paragraphs.read(text))
    plain = [one for name, one in first.items() if name not in clashing]
    if not clashing:
        return plain
    cased, still = _first(paragraphs.read(text, cased=True))
    return [*plain, *(one for name, one in cased.items() if name not in still and any(name.startswith(f"{each}, ") for each in clashing))]


def _first(found: Sequence[Said]) -> tuple[dict[str, Said], set[str]]:
    """What is said of each metric first, and the metrics of which something else is said too."""
    first: dict[str, Said] = {}
    for one in found:
        first.setdefault(one.metric.casefold(), one)
    return first, {name for one in found if (first[name := one.metric.casefold()].before, first[name].after) != (one.before, one.after)}


def unread(text: str, found: Sequence[Said]) -> list[str]:
    """The sentences that say from what to what something went, or that compare two quantities, and of which nothing was read."""
    numbers = {number for one in found for number in (one.before, one.after)}
    odd = []
    for sentence in _END.split(_BULLET.sub("\n\n", text)):
        pairs = [match for match in _FROM_TO.finditer(sentence) if _counts(match, sentence) and (match["from"] or match["to"] != "to")]
        values = {float(match[part].replace(",", "")) for match in pairs for part in ("before", "after")}
        if pairs and not values & numbers:
            odd.append(f"a sentence, whose metric or sides are not clear: {' '.join(sentence.split())[:LONGEST_QUOTED]}")
    return odd


def _counts(moved: re.Match[str], sentence: str) -> bool:
    """Whether two numbers are in a known unit, or say what a cache holds."""
    held = moved["unit"].lower() in paragraphs.COUNTED and re.search(r"(?i)\bcache\b", sentence)
    return bool(known(spelt_unit(moved["unit"])) or held)
