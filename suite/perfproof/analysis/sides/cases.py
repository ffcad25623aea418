"""Which runs of two sides can be compared: those that were asked the same.

What one side was asked in all of its runs, and the other otherwise in all of its own, is what sets the sides apart: it is named first, and
makes no case. What else differs among the runs (a sweep's rates, a file's benchmarks) makes cases, compared each for itself.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from perfproof.model.base.name_lists import few
from perfproof.model.records.result_runs import ResultRun, Word

LITTLE = 0.01
"""How much more work one side may have done for it to be the same: outputs of other lengths by a few tokens."""
MACHINE = frozenset(
    ["machine", "host", "hostname", "node", "hardware", "device", "gpu", "gpu_name", "gpu_type", "cpu", "driver", "platform", "runner"]
)
"""Names of a setting that is no property of a build."""
MOST_NAMED = 6
UNSAID = "not said"
Key = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Runs of both sides that were asked the same, but for what `unequal` says.

    `section` is what tells the case from others, "" where there is one. `unequal` is work or a machine that differs, so that nothing is
    better or worse; `other` what else differs (versions, options, what was allowed) and may be what is compared, or is said by one side
    alone; in words.
    """

    section: str
    before: tuple[ResultRun, ...]
    after: tuple[ResultRun, ...]
    unequal: tuple[str, ...]
    other: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lone:
    """A load that one side alone has: how many runs of either side, and which."""

    section: str
    runs: tuple[int, int]
    sources: str

    @property
    def side(self) -> str:
        """Which side has it."""
        return "the baseline" if self.runs[0] else "the candidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """The cases that both sides have, and the loads that one side alone has."""

    cases: tuple[Case, ...]
    lone: tuple[Lone, ...]

    @property
    def left_out(self) -> tuple[str, ...]:
        """The lone loads in words."""
        return tuple(f"{one.section}: {one.side} alone has it ({one.sources})" for one in self.lone)


def match(before: Sequence[ResultRun], after: Sequence[ResultRun], allowed: Collection[str] = ()) -> Matched:
    """The cases of two sides; what is `allowed` to differ, by its name, is no other load. Source: none, the meaning of an equal load."""
    own = _own(before, after)
    sides = [_grouped(side, own) for side in (before, after)]
    varying = _varying([*sides[0], *sides[1]])
    shared = [key for key in sides[0] if key in sides[1]]
    cases = [_case(_section(key, varying), sides[0][key], sides[1][key], own, allowed) for key in shared]
    lone = [
        Lone(
            section=_section(key, varying) or "a load",
            runs=(len(sides[0].get(key, ())), len(sides[1].get(key, ()))),
            sources=few([run.source for side in sides for run in side.get(key, ())], MOST_NAMED),
        )
        for key in dict.fromkeys([*sides[0], *sides[1]])
        if key not in shared
    ]
    return Matched(cases=tuple(cases), lone=tuple(lone))


def _own(before: Sequence[ResultRun], after: Sequence[ResultRun]) -> dict[str, tuple[str, str]]:
    """What all runs of one side were asked in one way, and all of the other in another, by its name."""
    names = dict.fromkeys(name for run in (*before, *after) for name in run.asked)
    words = {name: tuple({_plain(run.asked.get(name)) for run in side} for side in (before, after)) for name in names}
    return {
        name: (first, second)
        for name, sides in words.items()
        if len(sides[0]) == len(sides[1]) == 1 and (first := min(sides[0])) != (second := min(sides[1]))
    }


def _plain(word: Word | None) -> str:
    """A word as it is compared and shown: a number is a number however it is spelt."""
    if word is None:
        return UNSAID
    try:
        number = float(word) if not isinstance(word, bool) else math.nan
    except ValueError:
        return str(word)
    return f"{number:,.10g}" if math.isfinite(number) else str(word)


def _grouped(side: Sequence[ResultRun], own: Iterable[str]) -> dict[Key, list[ResultRun]]:
    found: dict[Key, list[ResultRun]] = {}
    for run in side:
        load = sorted((name, _plain(word)) for name, word in run.asked.items() if name not in own)
        found.setdefault((("", run.benchmark), *load), []).append(run)
    return found


def _varying(keys: Iterable[Key]) -> set[str]:
    """The names that do not have one word in all cases."""
    found = [dict(key) for key in keys]
    names = {name for each in found for name in each}
    return {name for name in names if len({each.get(name) for each in found}) > 1}


def _section(key: Key, varying: set[str]) -> str:
    """The benchmark's name, and what varies among the cases."""
    return ", ".join(f"{name} {word}".strip() for name, word in key if word and (name in varying or not name))


def differing(before: Sequence[ResultRun], after: Sequence[ResultRun]) -> list[str]:
    """The names of what may be allowed to differ: what was asked, and where, where each side has one way. Source: none, bookkeeping."""
    return [name for name, words in _own(before, after).items() if UNSAID not in words] + [
        name for name in _settings(before, after) if _is_place(name)
    ]


def _is_place(name: str) -> bool:
    return name.lower().replace(" ", "_") in MACHINE


def _case(
    section: str, before: list[ResultRun], after: list[ResultRun], own: Mapping[str, tuple[str, str]], allowed: Collection[str]
) -> Case:
    told = {name: f"{name}: {first} against {second}" for name, (first, second) in own.items() if UNSAID not in (first, second)}
    loads = [words for name, words in told.items() if name not in allowed]
    unsaid = [f"{name}: {first} against {second}" for name, (first, second) in own.items() if UNSAID in (first, second)]
    done, varied = _done(before, after), list(_varied(before, after))
    places: list[str] = []
    other: list[str] = [*(f"{words} (allowed)" for name, words in told.items() if name in allowed), *unsaid, *varied]
    for name, words in _settings(before, after).items():
        if _is_place(name) and name not in allowed:
            places.append(f"{name}: {words}")
        else:
            other.append(f"{name}: {words} (allowed)" if _is_place(name) else f"{name}: {words}")
    return Case(section=section, before=tuple(before), after=tuple(after), unequal=(*loads, *done, *places), other=tuple(other))


def _done(before: Sequence[ResultRun], after: Sequence[ResultRun]) -> Iterable[str]:
    """The work that came out otherwise by more than a little, as means a run."""
    for name, sides in _work(before, after).items():
        means = [math.fsum(values) / len(values) for values in sides if values]
        if len(means) == 2 and _apart(means[0], means[1]):
            yield f"{name}: {means[0]:,.10g} against {means[1]:,.10g} a run"


def _varied(before: Sequence[ResultRun], after: Sequence[ResultRun]) -> Iterable[str]:
    """The work that came out otherwise from run to run of a side, as other seeds make it."""
    for name, sides in _work(before, after).items():
        for values, called in zip(sides, ("baseline", "candidate"), strict=True):
            if values and _apart(min(values), max(values)):
                yield f"{name} of the {called}'s runs: {min(values):,.10g} to {max(values):,.10g}"


def _work(before: Sequence[ResultRun], after: Sequence[ResultRun]) -> dict[str, list[list[float]]]:
    names = dict.fromkeys(name for run in (*before, *after) for name in run.done)
    return {
        name: [[float(run.done[name]) for run in side if isinstance(run.done.get(name), int | float)] for side in (before, after)]
        for name in names
    }


def _apart(one: float, other: float) -> bool:
    return abs(one - other) > LITTLE * max(abs(one), abs(other))


def _settings(before: Sequence[ResultRun], after: Sequence[ResultRun]) -> dict[str, str]:
    """Settings that are not one and the same on both sides, where both say them, with each side's words."""
    found: dict[str, str] = {}
    for name in dict.fromkeys(name for run in (*before, *after) for name in run.setting):
        sides = [list(dict.fromkeys(_plain(run.setting[name]) for run in side if name in run.setting)) for side in (before, after)]
        if sides[0] and sides[1] and (sides[0] != sides[1] or len(sides[0]) > 1):
            found[name] = " against ".join(few(words, MOST_NAMED) for words in sides)
    return found
