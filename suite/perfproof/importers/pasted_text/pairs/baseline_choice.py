"""Which of some sides is the baseline, and whether that is a guess: the names of either side decide, then versions, then the order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from perfproof.importers.pasted_text.headings import LETTERED
from perfproof.importers.pasted_text.readings import ORDINALS
from perfproof.model.scenarios.side_names import commit, implementation, leans, release, role, switched

_SUREST = ("before", "without", "baseline", "unpatched", "main", "master", "stock")
"""Of several names that are the baseline's, the one with the first of these words is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The baseline among some sides, and why that is a guess, "" where words say so."""

    side: str
    guessed: str


def choose(sides: Sequence[str]) -> Choice | None:
    """The baseline; None where nothing says that the names are sides at all: two workloads, or two sizes."""
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
    if (
        not any(roles.values())
        and not (set(sides) & set(ORDINALS))
        and not all(commit(side) or implementation(side) or _set(side) for side in sides)
    ):
        return None
    inner = [side for side in others if any(_holds(other, side) for other in sides if other not in others)]
    if len(inner) == 1:
        return Choice(side=inner[0], guessed=f"{inner[0]} is taken for the baseline, as the changed side is called {inner[0]} and more")
    first = (others or list(sides))[0]
    return Choice(
        side=first,
        guessed=f"no name says which side is the baseline (main, before or the like); it is taken to be what stands first: {first}",
    )


def _doubt(sides: Sequence[str], base: str, both: Sequence[str]) -> str:
    """Why a baseline with a name of its own may be none: another side's name has its words too, or is a version, or it is a switch."""
    if both:
        return f"{both[0]} names both sides; {base} is taken for the baseline"
    versions = [side for side in sides if release(side) is not None]
    if versions and len(versions) == len(sides) - 1:
        return f"{versions[0]} is a version, which may be older than {base}; {base} is taken for the baseline"
    if any(switched(base, side) for side in sides if side != base):
        return f"{base} is a switch that is off, which need not be how it was before; it is taken for the baseline"
    return ""


def _set(name: str) -> bool:
    """Whether a name is a variable and its value, a file, or a letter."""
    return bool(re.fullmatch(r"[A-Z][A-Z0-9_]*=\S+|\S+\.(?:log|txt|json|out|csv)", name) or LETTERED.fullmatch(name))


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
