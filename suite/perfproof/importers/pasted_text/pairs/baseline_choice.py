"""Which of some sides is the baseline, and whether that is a guess: the names of either side decide, then versions, then the order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from perfproof.importers.pasted_text.context.readings import ORDINALS
from perfproof.importers.pasted_text.words.alternatives import full_precision, kind
from perfproof.model.scenarios.side_names import leans, release, role, switched

_SUREST = ("before", "without", "baseline", "unpatched", "main", "master", "stock")
"""Of several names that are the baseline's, the one with the first of these words is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The baseline among some sides, and why that is a guess, "" where words say so."""

    side: str
    guessed: str


def choose(sides: Sequence[str], words: str = "", led: Sequence[tuple[str, str]] = ()) -> Choice | None:
    """The baseline; None where nothing says that the names are sides at all: two workloads, or two sizes. `words` are the text's own
    sentences, which may say it where the names do not: "upgraded from 0.10.2 to 0.11.0"; `led` are sides of which changes beside their
    numbers lead from the first to the second."""
    found = _chosen(sides)
    if (found is None or found.guessed) and len(called := {one for one in sides if _called_base(one, words)}) == 1:
        return Choice(side=called.pop(), guessed="")
    if found is not None and found.guessed and len(sides) == 2 and _off_before(found.side, sides, words):
        return Choice(side=found.side, guessed="")
    if (
        found is not None
        and found.guessed
        and not any(map(role, sides))
        and len(sides) == 2
        and set(map(frozenset, led)) == {frozenset(sides)}
    ):
        firsts = {one for one, _ in led}
        return Choice(side=firsts.pop(), guessed="") if len(firsts) == 1 else found
    if found is not None and found.guessed and not any(map(role, sides)) and (first := _said_first(sides, words)):
        return Choice(side=first, guessed="") if release(first) is None or first == found.side else found
    return found


def _called_base(side: str, words: str) -> bool:
    """Whether a text says in so many words that a side is the baseline: "4f1c2e9 is the merge-base", "Baseline is the CUDA column"."""
    if not (told := _calling(words)):
        return False
    name = rf"(?<![\w.])`?v?{re.escape(side.removeprefix('v'))}`?(?!\w|\.[0-9])"
    ways = (
        rf"{name}(?: (?:column|side|numbers?|run|build|row))? (?:is|are|was|=) (?:the |our )?(?:current )?(?:baseline|merge[- ]base)\b",
        rf"{name}(?: (?:column|side|numbers?|run|build|row))? (?:is|are|was|=) (?:the |our )?(?:current )?(?:plain )?(?:main|master)\b"
        r"(?!\s*(?:\+|&|and\b|with\b|plus\b|after\b|branch with\b))",
        rf"\bbaseline(?: here)?(?: is|:| =) (?:the |our )?{name}(?!\s*(?:\+|&|and\b|with\b|plus\b|or\b|vs))",
    )
    return any(re.search(way, told, re.IGNORECASE) for way in ways)


_CALLING = re.compile(r"(?i)\bbaseline\b|\bmerge[- ]base\b|(?:\b(?:is|are|was)\b|=)[^\n]*\b(?:main|master)\b")


@lru_cache(maxsize=4)
def _calling(words: str) -> str:
    """The lines of a text that may say what its baseline is."""
    return "\n".join(line for line in words.splitlines() if _CALLING.search(line))


_DEFAULT_OFF = re.compile(
    r"(?i)\b(?:off|disabled)\b (?:is|was|=) (?:the |our |still )*(?:current )?(?:default|baseline)\b|\b(?:off|disabled) by default\b"
    r"|\bdefaults?(?: is| to|:| stays| remains)? (?:off|disabled)\b"
)
_DEFAULT_ON = re.compile(
    r"(?i)\b(?:on|enabled)\b (?:is|was) (?:the )?(?:current )?default\b|\b(?:on|enabled) by default\b|\bdefaults?(?: is| to|:)? on\b"
)


_NOT_OFF = re.compile(r"(?i)(?:\bnot|\bno longer|n't|\bnever)\b[^.;\n]{0,20}\b(?:off|disabled)\b")


def _off_before(base: str, sides: Sequence[str], words: str) -> bool:
    """Whether a text says that the switch of two sides is off by default, and the baseline has it off."""
    other = next((side for side in sides if side != base), base)
    off = switched(base, other) or re.sub(r"^(?:no --|--no-)", "--", base) == other
    return off and bool(_DEFAULT_OFF.search(words)) and not _DEFAULT_ON.search(words) and not _NOT_OFF.search(words)


def _said_first(sides: Sequence[str], words: str) -> str:
    """The side that a text says all the others came from, "" for none."""
    firsts = {one for one in sides for other in sides if one != other and _led(one, other, words)}
    return firsts.pop() if len(firsts) == 1 and len(sides) > 1 else ""


def _led(one: str, other: str, words: str) -> bool:
    """Whether a text leads from one side to another: "from 12 ms in A to 9 ms in B", "replaces A with B", "B instead of A"; of versions
    "upgraded from A to B", "upgrading to B from A", "downgrading back to A", where A is the older one."""
    if None not in (older := release(one), newer := release(other)) and older != newer:
        return _upgraded(one, other, words)
    first, second = (rf"(?<![\w.])v?{re.escape(name.removeprefix('v'))}(?![\w]|\.[0-9])" for name in (one, other))
    ways = (
        rf"\bfrom\b{'' if release(one) is None else ' [~≈]?[0-9]'}[^;\n]{{0,60}}?{first}[^;\n]{{0,30}}?\bto\b[^;\n]{{0,60}}?{second}",
        rf"\breplac\w+ (?:the )?{first}[^.;\n]{{0,30}}? (?:with|by) (?:the |a )?{second}",
        rf"{second}[^.;\n]{{0,30}}? (?:instead of|rather than|in place of) (?:the )?{first}",
        rf"{first}\s*(?:->|→|=>)\s*{second}",
        rf"{first} (?:is|was) (?:what|how|the one) (?:we|i|they|everybody) (?:have|had|uses?|used|run|ran|ship)\b",
    )
    return any(re.search(way, words, re.IGNORECASE) for way in ways)


_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)+[\w.+-]*")


def _upgraded(one: str, other: str, words: str) -> bool:
    """Whether a sentence leads from one version up to another, or back to it."""
    found = [_VERSION.search(name) for name in (one, other)]
    if None in found:
        return False
    first, second = (rf"(?<![\w.])(?:vllm\s*(?:==|@)?\s*)?v?{re.escape(each[0])}(?!\w|\.[0-9])" for each in found if each)
    near = r"(?:[^.;:!?\n]|\.(?=[0-9])){0,40}?"
    ways = (
        rf"\b(?P<how>\w+(?:\s+(?:it|vllm|to|the|our|\w+))?{near})\bfrom\s+(?:the )?{first}{near}\bto\s+(?:the )?{second}",
        rf"\b(?P<how>(?:upgrad|updat|bump|mov|switch|migrat)\w*{near})\bto\s+{second}{near}\bfrom\s+{first}",
        rf"(?P<how>){first}\s*(?:->|→|=>)\s*{second}",
        rf"\b(?P<how>)(?:(?:downgrad|go|roll|revert|switch|mov)\w*{near}\s)?back\s+to\s+{first}",
    )
    return any(not _DOWN.search(match["how"]) for way in ways for match in re.finditer(way, words, re.IGNORECASE))


_DOWN = re.compile(r"(?i)\b(?:downgrad|revert|roll\w* back|n't|not|never)")
"""Words of a move that led to an older version, or that was none."""


def _chosen(sides: Sequence[str]) -> Choice | None:
    roles = {side: role(side) for side in sides}
    named = [side for side in sides if roles[side] == "baseline"]
    others = [side for side in sides if roles[side] != "candidate"]
    both = [side for side in sides if roles[side] == "both"]
    if len(named) == 1:
        return Choice(side=named[0], guessed=_doubt(sides, named[0], both))
    if named:
        return Choice(side=_surest(named), guessed=f"several sides are called like a baseline; it is taken to be {_surest(named)}")
    if all(release(side) is not None for side in sides):
        return _oldest(sides)
    likely = [side for side in both if leans(side) == "baseline"]
    if len(likely) == 1 and len(sides) > 1:
        return Choice(side=likely[0], guessed=f"{likely[0]} may name both sides; it is taken for the baseline, as it speaks of no change")
    unchanged = [side for side in others if leans(side) != "candidate"]
    if both and len(unchanged) == 1:
        return Choice(side=unchanged[0], guessed=f"{both[0]} names both sides, and a change; {unchanged[0]} is taken for the baseline")
    if len(others) == 1:
        guessed = f"{others[0]} names both sides; it is taken for the baseline, as every other is the changed one" if both else ""
        if others[0] in ORDINALS:
            guessed = f"the {others[0]} side has no name; it is taken for the baseline, as every other is the changed one"
        return Choice(side=others[0], guessed=guessed)
    if not any(roles.values()) and not (set(sides) & set(ORDINALS)) and not all(map(kind, sides)):
        return None
    inner = [side for side in others if any(_holds(other, side) for other in sides if other not in others)]
    if len(inner) == 1:
        return Choice(side=inner[0], guessed=f"{inner[0]} is taken for the baseline, as the changed side is called {inner[0]} and more")
    if builds := _builds(sides):
        oldest = min(builds, key=lambda side: builds[side])
        return Choice(side=oldest, guessed=f"no name says which side is the baseline; it is taken to be the oldest build: {oldest}")
    full = [side for side in sides if full_precision(side)]
    first = full[0] if len(full) == 1 else (others or list(sides))[0]
    return Choice(
        side=first,
        guessed="no name says which side is the baseline (main, before or the like); it is taken to be "
        + (f"the one of full precision: {first}" if full == [first] else f"what stands first: {first}"),
    )


def _builds(sides: Sequence[str]) -> dict[str, int]:
    """The number of each side's build, {} where not all have one: "2c3f6a81 (5510)"."""
    found = {side: int(build["number"]) for side in sides if (build := re.fullmatch(r"[0-9a-f]{7,40} \((?P<number>[0-9]+)\)", side))}
    return found if len(found) == len(sides) else {}


def _doubt(sides: Sequence[str], base: str, both: Sequence[str]) -> str:
    """Why a baseline with a name of its own may be none: another side's name has its words too, or is a version, or it is a switch."""
    if both:
        return f"{both[0]} names both sides; {base} is taken for the baseline"
    versions = [side for side in sides if release(side) is not None and not role(side)]
    if versions and len(versions) == len(sides) - 1:
        return f"{versions[0]} is a version, which may be older than {base}; {base} is taken for the baseline"
    if (base.startswith("no ") and kind(base) == "setting") or any(switched(base, side) for side in sides if side != base):
        return f"{base} is a switch that is off, which need not be how it was before; it is taken for the baseline"
    return ""


def _holds(name: str, base: str) -> bool:
    """Whether a name begins with another's: "0.11.0 + PR" with "0.11.0"."""
    return name.casefold().startswith(base.casefold()) and not name[len(base) :][:1].isalnum()


def _surest(named: Sequence[str]) -> str:
    ranked = [next((place for place, word in enumerate(_SUREST) if word in side.casefold()), len(_SUREST)) for side in named]
    return named[ranked.index(min(ranked))]


def _oldest(sides: Sequence[str]) -> Choice:
    versions = {side: version for side in sides if (version := release(side)) is not None}
    oldest = min(versions, key=lambda side: versions[side])
    return Choice(
        side=oldest,
        guessed=f"no name says which side is the baseline (main, before or the like); it is taken to be the oldest version: {oldest}",
    )
