"""The findings of two counts of a change: the comparison, its confirmation by a second process, and whether the change ran at all.

The counts of the first process are passed in or made here. Where the sides differ, a second process of each counts again, with the lines
of the functions behind the difference. Counts that do not agree are reported and left out. Where the time for counting ends before that,
the findings say that nothing confirmed the difference.
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
from perfproof.changes.counting.count_sources import Sides, idle_lines, new_lines, texts_of, touched_functions
from perfproof.changes.counting.count_words import line_of, ranges
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
UNCONFIRMED = "a second process of each side did not confirm the differences, or not all of them"
NOT_BEGUN = "a second process of each side, which would confirm the differences, was not begun"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Where counts are kept, the smallest change that matters, the function that prints, the seconds left (None: no limit), and the model
    runner."""

    builds: Path
    margin: float
    say: Callable[[str], object]
    left: Callable[[], float | None] = lambda: None
    runner: ModelRunner = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """All that was found out. `lines` are new lines that ran, by function, and `texts` what they read; `idle` those that never did, by
    file, `reached` whether any did. `never_ran` are functions that the change touches and that no feature called; `tried` the features."""

    labels: tuple[str, str]
    comparisons: Comparisons
    lines: Lines
    idle: Lines
    reached: bool
    never_ran: tuple[str, ...]
    touched: tuple[str, ...]
    tried: tuple[str, ...]
    notes: tuple[str, ...]
    texts: Mapping[str, Mapping[int, str]] = field(default_factory=dict)

    @property
    def unreached(self) -> bool:
        """Whether the change touches functions, but none of them ran or none of its new lines did."""
        return bool(self.touched) and (len(self.never_ran) == len(self.touched) or not self.reached)

    @property
    def code(self) -> int:
        """The exit code: more Python work fails; different work, nothing to compare and a change that nothing ran are not a pass."""
        verdicts = {one.verdict for one in self.comparisons.compared}
        if "regressed" in verdicts:
            return EXIT_REGRESSED
        return EXIT_UNTESTABLE if "untestable" in verdicts or not verdicts or self.unreached or self.comparisons.lost else EXIT_PASS


def cells_of(features: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """These features with their numbers of requests. Raises `BadInput` for unknown names."""
    names = [name.strip() for word in features for name in word.split(",") if name.strip()]
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise BadInput(*(f"--features: {name!r} is not a feature; there are {', '.join(NAMES)}" for name in unknown))
    return {feature.name: feature.sizes for feature in FEATURES if not names or feature.name in names}


def found_out(sides: Sides, cells: Cells, setting: Setting, notes: Sequence[str] = ()) -> Findings:
    """Counts both sides, compares them and confirms what differs."""
    setting.say(f"counting {sides[0].label} and {sides[1].label}: {', '.join(cells)}")
    touched = touched_functions(*sides)
    first = count(wanted(sides, cells, touched, setting.runner), setting.builds, setting.say, seconds=setting.left())
    return concluded(sides, first, cells, touched, setting, notes)


def wanted(sides: Sides, cells: Cells, touched: frozenset[str], runner: ModelRunner = "default") -> list[Wanted]:
    """What the first process of each side counts; for the candidate also the lines of the functions that it changes."""
    closely = tuple(sorted(touched))
    return [Wanted(build=sides[0], cells=cells, runner=runner), Wanted(build=sides[1], cells=cells, closely=closely, runner=runner)]


def concluded(
    sides: Sides, first: Sequence[Count], cells: Cells, touched: frozenset[str], setting: Setting, notes: Sequence[str] = ()
) -> Findings:
    """The findings from the counts of the first process of each side."""
    comparisons = compare(*first, margin=setting.margin, touched=touched)
    lines, more = new_lines(sides, first[1:]), list(notes)
    if differing := comparisons.differing:
        if late := _too_late(first, differing, setting):
            more.append(f"{NOT_BEGUN}: {late}")
        second = () if late else _second(sides, comparisons, touched, _cells(differing), setting)
        if not late and (not second or not all(one.cell(key) for key in differing for one in second)):
            more.append(UNCONFIRMED)
        comparisons = compare(*first, margin=setting.margin, touched=touched, unsteady=_unsteady(first, second))
        lines = new_lines(sides, [first[1], *second[1:]])
    idle, reached_lines = idle_lines(sides, first[1:])
    return Findings(
        labels=(sides[0].label, sides[1].label),
        comparisons=comparisons,
        lines=lines,
        idle=idle,
        reached=reached_lines,
        never_ran=tuple(sorted(touched - ran(first, touched))),
        touched=tuple(sorted(touched)),
        tried=tuple(cells),
        notes=(*more, *growths(first[0], first[1], POSITIONS), *python_shares(first[1], _timed(comparisons, first[1]))),
        texts=texts_of(sides[1], lines),
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
    setting.say("the two sides differ; a second process of each confirms it")
    closely = behind(comparisons, touched)
    requests = [Wanted(build=side, cells=cells, closely=closely, process=2, runner=setting.runner) for side in sides]
    seconds = setting.left()
    try:
        return count(requests, setting.builds, setting.say, seconds=seconds)
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


def headline(findings: Findings) -> str:
    """What came out, in a clause: the gravest verdict, with its largest number."""
    if findings.unreached:
        return warnings(findings)[0]
    compared = findings.comparisons.compared
    if not compared:
        return "nothing could be compared"
    worst = min(compared, key=lambda one: (list(WORDS).index(one.verdict), -abs(one.change or 0.0)))
    if worst.verdict == "identical":
        return f"all {len(compared)} counts are identical to the last instruction, call and byte"
    return f"{WORDS[worst.verdict]}: {line_of(worst, findings.lines, 1)}"


def document_of(findings: Findings) -> dict[str, Any]:
    """All that was found out, as JSON has it."""
    return document(findings.comparisons, findings.lines, warnings(findings), builds=findings.labels, texts=findings.texts)


def warnings(findings: Findings) -> list[str]:
    """What is to be known beside the comparisons, in sentences."""
    sentences = [*findings.notes, *findings.comparisons.warnings]
    idle = "; ".join(f"{path}: {ranges(lines)}" for path, lines in findings.idle.items())
    if findings.unreached and len(findings.never_ran) == len(findings.touched):
        sentences.insert(
            0, f"no tried feature calls what the change touches ({few(findings.never_ran, NAMED)}); tried: {', '.join(findings.tried)}"
        )
    elif findings.unreached:
        sentences.insert(0, f"no tried feature runs a line of the change ({idle}); tried: {', '.join(findings.tried)}")
    elif findings.never_ran:
        sentences.append(f"no tried feature calls {few(findings.never_ran, NAMED)}")
    if idle and not findings.unreached:
        sentences.append(f"lines of the change that nothing ran: {idle}")
    return sentences
