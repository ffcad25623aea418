"""The findings of two counts of a change: the comparison, its confirmation by a second process, and whether the change ran at all.

The counts of the first process are passed in or made here, part by part: the plain engine first, long outputs last, each feature told as
soon as both sides have it. Where the sides differ, a second process of each counts again, with the lines of the functions behind the
difference. Counts that do not agree are reported and left out. Where the time for counting ends before that, the findings say that
nothing confirmed the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfproof.analysis.counts.count_comparison import WORDS, Comparisons, Where, compare, disagreeing, ran
from perfproof.analysis.counts.count_document import document
from perfproof.analysis.counts.count_growth import growths
from perfproof.analysis.counts.python_share import python_shares
from perfproof.changes.counting.count_sources import (
    Reach,
    Sides,
    code_files,
    new_lines,
    only_functions,
    reach,
    texts_of,
    touched_functions,
)
from perfproof.changes.counting.count_words import answer_of, gravity, line_of, ranges
from perfproof.changes.selection_rules import module_of
from perfproof.child.engine.features import FEATURES, NAMES, POSITIONS
from perfproof.model.base.errors import EXIT_PASS, EXIT_REGRESSED, EXIT_UNTESTABLE, BadInput, CannotRun
from perfproof.model.base.name_lists import few
from perfproof.model.records.counts import Count, Lines, outermost
from perfproof.model.scenarios.model_runner import ModelRunner
from perfproof.run.trials.engine_counting import Cells, Wanted, count

CLOSELY = 40
"""The most functions whose lines are counted."""
SHARES = 3
"""The most cells whose step's time stands beside their counts."""
NAMED = 6
"""The most functions that a sentence names."""
PLACES = 8
"""The most ranges of lines that a sentence names of a file."""
OTHER_WORK = (
    "other tokens or other steps are other work, and its counts say nothing of the change; if the change means to alter them, measure it "
    "with perfproof pr, whose times and answers show what that costs; if not, it has a fault"
)
UNCONFIRMED = "a second process of each side did not confirm the differences, or not all of them"
NOT_BEGUN = "a second process of each side, which would confirm the differences, was not begun"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Where counts are kept, the smallest change that matters, the function that prints, the seconds left (None: no limit), the model
    runner, how many seconds pass here for one of the processor, and whether `others` are known to run the change if no feature does."""

    builds: Path
    margin: float
    say: Callable[[str], object]
    left: Callable[[], float | None] = lambda: None
    runner: ModelRunner = "default"
    slowness: float = 1.0
    others: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """All that was found out. `lines` are new lines that ran, by function, and `texts` what they read; `reach` says how far the processes
    came into the change, whose Python files are `files`. `never_ran` are functions that the change touches and that no feature called;
    `tried` the features, `callers` those of them that called such a function. `alone`: the change is in functions and nowhere else."""

    labels: tuple[str, str]
    comparisons: Comparisons
    lines: Lines
    reach: Reach
    files: tuple[str, ...]
    never_ran: tuple[str, ...]
    touched: tuple[str, ...]
    tried: tuple[str, ...]
    notes: tuple[str, ...]
    texts: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    callers: tuple[str, ...] = ()
    alone: bool = False

    @property
    def elsewhere(self) -> bool:
        """Whether what differs has another cause than the change, which is in functions alone that no feature called."""
        return self.alone and bool(self.touched) and len(self.never_ran) == len(self.touched) and not self.comparisons.lost

    @property
    def unreached(self) -> bool:
        """Whether it is known that the change did not run: none of the functions that it touches, or none of its new lines; of a change
        outside functions no file was imported, or no new line of it ran then. A feature that failed with the change may have run it."""
        if self.comparisons.lost:
            return False
        if self.touched:
            return len(self.never_ran) == len(self.touched) or not self.reach.lines
        return bool(self.files) and not self.reach.outside

    @property
    def code(self) -> int:
        """The exit code: more Python work fails; different work, nothing to compare and a change that nothing ran are not a pass."""
        verdicts = set() if self.elsewhere else {one.verdict for one in self.comparisons.compared}
        if "regressed" in verdicts:
            return EXIT_REGRESSED
        return EXIT_UNTESTABLE if "untestable" in verdicts or not verdicts or self.unreached or self.comparisons.lost else EXIT_PASS


def cells_of(features: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """These features with their numbers of requests. Raises `BadInput` for unknown names."""
    names = [name.strip() for word in features for name in word.split(",") if name.strip()]
    unknown = [name for name in names if name not in NAMES]
    if features and not names:
        raise BadInput(f"--features: names no feature; there are {', '.join(NAMES)}")
    if unknown:
        raise BadInput(*(f"--features: {name!r} is not a feature; there are {', '.join(NAMES)}" for name in unknown))
    return {feature.name: feature.sizes for feature in FEATURES if not names or feature.name in names}


def found_out(sides: Sides, cells: Cells, setting: Setting, notes: Sequence[str] = ()) -> Findings:
    """Counts both sides, part by part, compares them and confirms what differs. Each part's answer is said as soon as it is known."""
    touched, modules = touched_functions(*sides), modules_of(sides)
    counted: list[Counted] = []
    for part in parts(cells):
        telling = Telling(sides, part, setting, touched)
        first = count(
            wanted(sides, part, touched, modules, setting.runner),
            setting.builds,
            setting.say,
            seconds=setting.left(),
            enough=telling,
            about=f"counting {sides[0].label} and {sides[1].label}: {', '.join(part)}",
        )
        telling(first)
        counted.append(confirmed(sides, first, touched, setting))
    return _findings(sides, joined(counted), cells, touched, setting, notes)


def parts(cells: Cells) -> list[Cells]:
    """The features in the order in which they are counted: the cheapest alone, for an answer within a minute; the others; long outputs."""
    long = {feature.name for feature in FEATURES if feature.positions}
    first = next(iter(cells), "")
    groups = [
        [first],
        [name for name in cells if name != first and name not in long],
        [name for name in cells if name != first and name in long],
    ]
    return [{name: cells[name] for name in group} for group in groups if any(name in cells for name in group)]


class Telling:
    """Says what came out of each feature as soon as both sides have counted it. Called with the counts so far; never enough."""

    def __init__(self, sides: Sides, cells: Cells, setting: Setting, touched: frozenset[str]) -> None:
        self._sides, self._cells, self._setting, self._touched = sides, cells, setting, touched
        self._told: set[str] = set()

    def __call__(self, counts: Sequence[Count]) -> bool:
        for name, sizes in self._cells.items():
            if name not in self._told and all(one.cell((name, size)) for one in counts for size in sizes):
                self._told.add(name)
                found = compare(*(one.only({name: sizes}) for one in counts), margin=self._setting.margin, touched=self._touched)
                more = " (to be confirmed by a second process)" if found.differing else ""
                self._setting.say(f"{answer_of(name, found, new_lines(self._sides, counts[1:]))}{more}")
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The counts of the first process of each side, those of the second of what differed, none where that was not counted; `doubt` says so
    in a sentence."""

    first: tuple[Count, Count]
    second: tuple[Count, ...]
    doubt: str = ""


def joined(parts: Sequence[Counted]) -> Counted:
    """The parts of a count as one."""
    whole = parts[0]
    for part in parts[1:]:
        second = part.second if not whole.second else whole.second
        if whole.second and part.second:
            second = tuple(one.plus(other) for one, other in zip(whole.second, part.second, strict=True))
        first = (whole.first[0].plus(part.first[0]), whole.first[1].plus(part.first[1]))
        whole = Counted(first=first, second=second, doubt=whole.doubt or part.doubt)
    return whole


def modules_of(sides: Sides) -> tuple[str, ...]:
    """The modules that the change touches."""
    return tuple(sorted(module_of(path) for path in code_files(*sides)))


def wanted(
    sides: Sides, cells: Cells, touched: frozenset[str], modules: tuple[str, ...] = (), runner: ModelRunner = "default"
) -> list[Wanted]:
    """What the first process of each side counts; for the candidate also the lines of the functions that it changes, and what of its
    modules runs on import."""
    candidate = Wanted(build=sides[1], cells=cells, closely=tuple(sorted(touched)), modules=modules, runner=runner)
    return [Wanted(build=sides[0], cells=cells, runner=runner), candidate]


def concluded(
    sides: Sides, first: Sequence[Count], cells: Cells, touched: frozenset[str], setting: Setting, notes: Sequence[str] = ()
) -> Findings:
    """The findings from the counts of the first process of each side."""
    return _findings(sides, confirmed(sides, first, touched, setting), cells, touched, setting, notes)


def confirmed(sides: Sides, first: Sequence[Count], touched: frozenset[str], setting: Setting) -> Counted:
    """The counts of the first process of each side, and those of a second one where they differ."""
    base, candidate = first
    comparisons = compare(base, candidate, margin=setting.margin, touched=touched)
    differing = [key for key in comparisons.differing if not _untestable(comparisons, key)]
    if not differing:
        return Counted(first=(base, candidate), second=())
    if late := _too_late(first, differing, setting):
        return Counted(first=(base, candidate), second=(), doubt=f"{NOT_BEGUN}: {late}")
    second = _second(sides, comparisons, touched, _cells(differing), setting)
    lacks = not second or not all(one.cell(key) for key in differing for one in second)
    return Counted(first=(base, candidate), second=tuple(second), doubt=UNCONFIRMED if lacks else "")


def _untestable(comparisons: Comparisons, key: tuple[str, int]) -> bool:
    """Whether a cell did other work: no second process makes it comparable."""
    return all(one.verdict == "untestable" for one in comparisons.compared if (one.feature, one.requests) == key)


def _findings(sides: Sides, counted: Counted, cells: Cells, touched: frozenset[str], setting: Setting, notes: Sequence[str]) -> Findings:
    base, candidate = counted.first
    comparisons = compare(base, candidate, margin=setting.margin, touched=touched, unsteady=_unsteady(counted.first, counted.second))
    lines = new_lines(sides, [candidate, *counted.second[1:]])
    shares = python_shares(candidate, _timed(comparisons, candidate))
    return Findings(
        labels=(sides[0].label, sides[1].label),
        comparisons=comparisons,
        lines=lines,
        reach=reach(sides, [candidate]),
        files=code_files(*sides),
        never_ran=tuple(sorted(touched - ran(counted.first, touched))),
        touched=tuple(sorted(touched)),
        tried=tuple(cells),
        notes=(*notes, *filter(None, [counted.doubt]), *growths(base, candidate, POSITIONS), *shares),
        texts=texts_of(sides[1], lines),
        callers=tuple(name for name, sizes in cells.items() if ran([one.only({name: sizes}) for one in counted.first], touched)),
        alone=only_functions(*sides),
    )


def _too_late(first: Sequence[Count], differing: Sequence[tuple[str, int]], setting: Setting) -> str:
    """Why a second process of each side can't end in the time that is left, by what the first took; "" if it can."""
    seconds = setting.left()
    if seconds is None:
        return ""
    needs = max(one.importing + sum(cell.took for key in differing if (cell := one.cell(key)) is not None) for one in first)
    return f"it takes about {needs:.0f} s here, and {seconds:.0f} s were left for counting" if needs > seconds else ""


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
    """The counts of a second process of each side for the cells that differ; none where the time is over."""
    closely = behind(comparisons, touched)
    requests = [Wanted(build=side, cells=cells, closely=closely, process=2, runner=setting.runner) for side in sides]
    seconds = setting.left()
    try:
        return count(
            requests, setting.builds, setting.say, seconds=seconds, about="the two sides differ: a second process of each confirms it"
        )
    except CannotRun:
        if seconds is None:
            raise
        return ()


def _unsteady(first: Sequence[Count], second: Sequence[Count]) -> Mapping[Where, frozenset[str]]:
    """The names that two processes of a side count differently."""
    found: dict[Where, frozenset[str]] = {}
    for before, after in zip(first, second, strict=False):
        for where, names in disagreeing(before, after).items():
            found[where] = found.get(where, frozenset()) | names
    return found


def behind(comparisons: Comparisons, touched: frozenset[str]) -> tuple[str, ...]:
    """The functions whose lines to count: those whose code differs, then those that changed most anywhere."""
    most: dict[str, int] = {}
    for one in comparisons.compared:
        for changed in one.changed if one.metric == "python_instructions" else ():
            most[changed.name] = max(most.get(changed.name, 0), abs(changed.change))
    ordered = sorted(most, key=lambda name: (outermost(name) not in touched, -most[name], name))
    return tuple(sorted(dict.fromkeys(outermost(name) for name in ordered[:CLOSELY])))


# --- warnings --------------------------------------------------------------------------------------------------


def headline(findings: Findings, top: int = 1) -> str:
    """What came out, in a clause: the gravest verdict, with its largest number."""
    if findings.unreached:
        return warnings(findings)[0]
    compared = findings.comparisons.compared
    if not compared:
        return f"nothing could be compared: {findings.comparisons.warnings[0] if findings.comparisons.warnings else 'nothing was counted'}"
    worst = min(compared, key=gravity)
    if worst.verdict == "identical":
        return f"all {len(compared)} counts are identical to the last instruction, call and byte"
    return f"{WORDS[worst.verdict]}: {line_of(worst, findings.lines, top)}"


def document_of(findings: Findings) -> dict[str, Any]:
    """All that was found out, as JSON has it."""
    return document(findings.comparisons, findings.lines, warnings(findings), builds=findings.labels, texts=findings.texts)


def warnings(findings: Findings) -> list[str]:
    """What is to be known beside the comparisons, in sentences."""
    sentences, reach = [*findings.notes, *findings.comparisons.warnings], findings.reach
    idle, unread = (_places(lines) for lines in (reach.idle, reach.unread))
    tried = f"tried: {', '.join(findings.tried)}"
    if findings.unreached and not findings.touched:
        outside = f"runs a line of the change ({unread})" if unread else f"imports what the change touches ({few(reach.absent, NAMED)})"
        return [f"no tried feature {outside}; {tried}", *sentences]
    if findings.unreached and len(findings.never_ran) == len(findings.touched):
        sentences.insert(0, f"no tried feature calls what the change touches ({few(findings.never_ran, NAMED)}); {tried}")
    elif findings.unreached:
        sentences.insert(0, f"no tried feature runs a line of the change ({idle}); {tried}")
    elif findings.never_ran and not findings.comparisons.lost:
        sentences.append(f"no tried feature calls {few(findings.never_ran, NAMED)}")
    if idle and not findings.unreached and not findings.comparisons.lost:
        sentences.append(f"lines of the change that nothing ran: {idle}")
    if unread and not findings.comparisons.lost:
        sentences.append(f"lines of the change that nothing ran on import: {unread}")
    if reach.absent:
        sentences.append(f"files of the change that nothing imported: {few(reach.absent, NAMED)}")
    if not findings.touched and reach.loaded:
        sentences.append(f"the change touches no function; its new lines ran on import: {_places(reach.loaded)}")
    if any(one.verdict == "untestable" for one in findings.comparisons.compared):
        sentences.append(OTHER_WORK)
    return sentences


def unseen(findings: Findings) -> str:
    """The new lines within functions that no feature ran, though features call every function that the change touches; "" where there are
    none, or more is unknown: a feature that failed, or a function that only a scenario may call."""
    return "" if findings.comparisons.lost or findings.never_ran else _places(findings.reach.idle)


def _places(lines: Lines) -> str:
    return "; ".join(f"{path}: {ranges(numbers, PLACES)}" for path, numbers in lines.items())
