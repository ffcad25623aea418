"""What two counts of a change say: compared, confirmed by a second process of each side, and whether the change ran at all.

What is counted of the first process is handed in or counted here; where the sides differ, a second process of each counts that again and
looks at the lines of the functions behind it. What does not agree is told and left out. Where the time for counting ends before that, the
answer says that nothing confirmed it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfproof.analysis.verdicts.count_comparison import Comparisons, Where, compare, disagreeing, ran
from perfproof.analysis.verdicts.count_growth import growths
from perfproof.analysis.verdicts.python_share import python_shares
from perfproof.changes.count_sources import Sides, idle_lines, new_lines, touched_functions
from perfproof.changes.count_words import ranges
from perfproof.child.engine.features import FEATURES, NAMES, POSITIONS
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, BadInput, CannotRun
from perfproof.model.base.name_lists import few
from perfproof.model.records.counts import Count, Lines, outermost
from perfproof.run.trials.engine_counting import Cells, Runner, Wanted, count

CLOSELY = 40
"""Functions whose lines are looked at, at most."""
SHARES = 3
"""Cells whose step's time is put beside their counts, at most."""
NAMED = 6
"""Functions that are named in a sentence, at most."""
UNCONFIRMED = "what differs was not confirmed by a second process of each side, or not all of it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Where counts are kept, the smallest change that matters, who is told, how many seconds are left (None: all that it takes), and
    the model runner."""

    builds: Path
    margin: float
    say: Callable[[str], object]
    left: Callable[[], float | None] = lambda: None
    runner: Runner = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """All that was found out. `lines` are new lines that ran, by function; `idle` those that never did, by file, `reached` whether any did.
    `never_ran` are functions that the change touches and that no feature called; `tried` are the features."""

    labels: tuple[str, str]
    comparisons: Comparisons
    lines: Lines
    idle: Lines
    reached: bool
    never_ran: tuple[str, ...]
    touched: tuple[str, ...]
    tried: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def unreached(self) -> bool:
        """Whether the change touches functions and none of them ran, or none of the lines that it brings."""
        return bool(self.touched) and (len(self.never_ran) == len(self.touched) or not self.reached)

    @property
    def code(self) -> int:
        """More Python work fails; other work, nothing to compare and a change that nothing ran are no pass."""
        verdicts = {one.verdict for one in self.comparisons.compared}
        if "regressed" in verdicts:
            return EXIT_REGRESSED
        return EXIT_UNTESTABLE if "untestable" in verdicts or not verdicts or self.unreached or self.comparisons.lost else EXIT_PASS


def cells_of(features: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The features that are asked for with their numbers of requests. Raises `BadInput` for names that are none."""
    names = [name.strip() for word in features for name in word.split(",") if name.strip()]
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise BadInput(*(f"--features: {name!r} is no feature; there are {', '.join(NAMES)}" for name in unknown))
    return {feature.name: feature.sizes for feature in FEATURES if not names or feature.name in names}


def found_out(sides: Sides, cells: Cells, setting: Setting, notes: Sequence[str] = ()) -> Told:
    """Counts both sides, compares them and confirms what differs."""
    setting.say(f"counting {sides[0].label} and {sides[1].label}: {', '.join(cells)}")
    touched = touched_functions(*sides)
    first = count(wanted(sides, cells, touched, setting.runner), setting.builds, setting.say, seconds=setting.left())
    return concluded(sides, first, cells, touched, setting, notes)


def wanted(sides: Sides, cells: Cells, touched: frozenset[str], runner: Runner = "default") -> list[Wanted]:
    """What the first process of each side counts: of the candidate, the lines of the functions that it changes as well."""
    closely = tuple(sorted(touched))
    return [Wanted(build=sides[0], cells=cells, runner=runner), Wanted(build=sides[1], cells=cells, closely=closely, runner=runner)]


def concluded(
    sides: Sides, first: Sequence[Count], cells: Cells, touched: frozenset[str], setting: Setting, notes: Sequence[str] = ()
) -> Told:
    """What the counts of the first process of each side come to."""
    comparisons = compare(*first, margin=setting.margin, touched=touched)
    lines, more = new_lines(sides, first[1:]), list(notes)
    if differing := comparisons.differing:
        second = _second(sides, comparisons, touched, _cells(differing), setting)
        if not all(one.cell(key) for key in differing for one in second) or not second:
            more.append(UNCONFIRMED)
        comparisons = compare(*first, margin=setting.margin, touched=touched, unsteady=_unsteady(first, second))
        lines = new_lines(sides, [first[1], *second[1:]])
    idle, reached_lines = idle_lines(sides, first[1:])
    return Told(
        labels=(sides[0].label, sides[1].label),
        comparisons=comparisons,
        lines=lines,
        idle=idle,
        reached=reached_lines,
        never_ran=tuple(sorted(touched - ran(first, touched))),
        touched=tuple(sorted(touched)),
        tried=tuple(cells),
        notes=(*more, *growths(first[0], first[1], POSITIONS), *python_shares(first[1], _timed(comparisons, first[1]))),
    )


def _timed(comparisons: Comparisons, candidate: Count) -> list[tuple[str, int]]:
    """The cells whose time is put beside their counts: those that differ, else all, the first ones of the matrix."""
    keys = comparisons.differing or [cell.key for cell in candidate.cells]
    return sorted(keys, key=lambda key: (NAMES.index(key[0]), key[1]))[:SHARES]


def _cells(keys: Sequence[tuple[str, int]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for feature, requests in keys:
        found.setdefault(feature, []).append(requests)
    return found


def _second(sides: Sides, comparisons: Comparisons, touched: frozenset[str], cells: Cells, setting: Setting) -> Sequence[Count]:
    """What a second process of each side counts of the cells that differ; nothing where the time is over."""
    setting.say("the two sides differ; a second process of each confirms it")
    closely = behind(comparisons, touched)
    asked = [Wanted(build=side, cells=cells, closely=closely, process=2, runner=setting.runner) for side in sides]
    seconds = setting.left()
    try:
        return count(asked, setting.builds, setting.say, seconds=seconds)
    except CannotRun:
        if seconds is None:
            raise
        return ()


def _unsteady(first: Sequence[Count], second: Sequence[Count]) -> Mapping[Where, frozenset[str]]:
    """What two processes of a side count otherwise."""
    found: dict[Where, frozenset[str]] = {}
    for before, after in zip(first, second, strict=False):
        for where, names in disagreeing(before, after).items():
            found[where] = found.get(where, frozenset()) | names
    return found


def behind(comparisons: Comparisons, touched: frozenset[str]) -> tuple[str, ...]:
    """The functions to look at closely: those whose code differs, then those that changed most anywhere."""
    most: dict[str, int] = {}
    for one in comparisons.compared:
        for changed in one.changed if one.metric == "python_instructions" else ():
            most[changed.name] = max(most.get(changed.name, 0), abs(changed.change))
    ordered = sorted(most, key=lambda name: (outermost(name) not in touched, -most[name], name))
    return tuple(sorted(dict.fromkeys(outermost(name) for name in ordered[:CLOSELY])))


# --- what is said beside ---------------------------------------------------------------------------------------


def warnings(told: Told) -> list[str]:
    """What is to be known beside the comparisons, in sentences."""
    found = [*told.notes, *told.comparisons.warnings]
    idle = "; ".join(f"{path}: {ranges(lines)}" for path, lines in told.idle.items())
    if told.unreached and len(told.never_ran) == len(told.touched):
        found.insert(
            0, f"no feature that was tried calls what the change touches ({few(told.never_ran, NAMED)}); tried: {', '.join(told.tried)}"
        )
    elif told.unreached:
        found.insert(0, f"no feature that was tried runs a line of the change ({idle}); tried: {', '.join(told.tried)}")
    elif told.never_ran:
        found.append(f"never called by what was tried: {few(told.never_ran, NAMED)}")
    if idle and not told.unreached:
        found.append(f"lines of the change that nothing ran: {idle}")
    return found
