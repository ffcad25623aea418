"""What a blame found, in sentences and as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from perfproof.analysis.stats.number_format import count, counted, duration, percent, quantity
from perfproof.analysis.verdicts.exact_counts import judge_witness
from perfproof.changes.blame.difference import HUNK, PIECE
from perfproof.changes.blame.finding import Blame
from perfproof.changes.blame.other_packages import Beside, PackagesFactor
from perfproof.changes.blame.search import Guilty
from perfproof.model.base.name_lists import few
from perfproof.model.base.untrusted import line
from perfproof.model.scenarios.metrics import is_timed
from perfproof.model.scenarios.metrics import metric as row_of
from perfproof.model.scenarios.scenario import COUNT_MARGIN

SHOWN = 8
"""The functions of the table that are named."""


def change(metric: str, good: float, bad: float) -> str:
    """The change that is looked for, in words."""
    relative = f" ({percent(bad / good - 1)})" if good else ""
    before, after = (quantity(each, row_of(metric).unit) if is_timed(metric) else counted(each, "") for each in (good, bad))
    return f"{metric}: {before} to {after}{relative}"


def answer(metric: str, good: float, value: float | None) -> str:
    """The verdict on the bad build with the diff back against the good one."""
    row = row_of(metric)
    found = judge_witness([good], [value], row.better, margin=COUNT_MARGIN if row.kind == "count" else 0.0)
    return f"{found.outcome.value}: {found.reason}"


def sentences(found: Blame) -> Iterator[str]:
    """The answer, a sentence a line."""
    yield f"{found.scenario}, {change(found.metric, *found.values)}"
    for one in found.blamed.guilty:
        yield from _of_set(found, one)
    if not found.blamed.guilty:
        yield "no unit of vLLM's Python was found that brings the change"
    yield from _rest(found)
    yield from _table(found)
    if found.diff_back is not None:
        yield f"the smallest diff found that takes it back: {found.diff_back}"
        yield f"with it, {found.builds[1]} against {found.builds[0]}: {found.answer}"
    unresolved = sum(one.share is None for one in found.tried)
    yield f"{count(len(found.tried), 'mixture')} tried, {unresolved} of them unresolved, in {duration(found.seconds / 60)}"
    if not found.blamed.complete:
        yield "the search was ended before its end: the same command goes on from here"


def _of_set(found: Blame, one: Guilty) -> Iterator[str]:
    share = f"{_percent(one.share)} of the change{_ends(one.interval)}" if one.share is not None else "the change"
    if len(one.units) > 1:
        yield f"{share}: {'together' if one.divided else 'one of these, which could not be tested apart'}:"
    for unit in one.units:
        words = f"{_name(unit)} ({_place(found, one, unit)})"
        more = f", with {few([_name(other) for other in found.along[unit]], SHOWN)}" if found.along.get(unit) else ""
        yield f"  {words}{more}" if len(one.units) > 1 else f"{share}: {words}{more}"
    if one.brought is not None and one.share is not None and abs(one.brought - one.share) > 0.02:
        yield f"  brought into the good build: {_percent(one.brought)}"
    for known in found.known if _large(one) else ():
        yield f"  known: {known.version}{f', #{known.pull}' if known.pull else ''}: {line(known.words)}"
    for unit in one.units:
        for each in found.commits.get(unit, ()):
            yield f"  changed by {each.commit}{f', #{each.pull}' if each.pull else ''}: {line(each.subject)}"


def _rest(found: Blame) -> Iterator[str]:
    """What lies elsewhere, and what is only needed."""
    blamed = found.blamed
    if blamed.support:
        yield f"needed for these to run, and doing nothing by themselves: {', '.join(_name(unit) for unit in sorted(blamed.support))}"
    if found.lies_in or found.packages is not None:
        yield from _elsewhere(found)
    left = (blamed.reach if blamed.reach is not None else 1.0) - blamed.share
    if blamed.guilty and abs(left) >= 0.005:
        yield f"{_percent(left)} lies in smaller parts, or where nothing was tried"


def _elsewhere(found: Blame) -> Iterator[str]:
    """Where the part lies that vLLM's Python does not take back: what differs beside it can only be taken whole."""
    beside, factor = found.elsewhere, found.packages
    if found.blamed.reach is None:
        yield f"all of vLLM's Python together could not be tested; beside it differ: {few(beside.words(), SHOWN)}"
    else:
        yield f"{_percent(1 - found.blamed.reach)} of the change is not in vLLM's Python; beside it differ: {few(beside.words(), SHOWN)}"
    if factor is not None:
        yield _packages(factor, found.builds)
        for one in factor.guilty:
            share = "the change" if one.share is None else f"{_percent(one.share)} of the change"
            yield f"{share}: {_of_packages(one.packages, factor, beside)}"
    known = factor is not None and factor.share is not None
    left = [_PARTS[part] for part in found.lies_in if not (known and part == "packages")]
    if found.blamed.reach is not None and left:
        yield f"what is left lies in {' or '.join(left)}, which can only be taken whole"


_PARTS = {
    "packages": "a package",
    "compiled code": "vLLM's compiled code",
    "other files": "vLLM's files that are no Python",
    "Python": "Python itself",
}


def _of_packages(packages: Sequence[str], factor: PackagesFactor, beside: Beside) -> str:
    """Packages with both versions: `the package prometheus-client, 0.20.0 in the good build and 0.26.0 in the bad one`."""
    both = {name: beside.packages[name] for name in (one.partition("==")[0] for one in packages)}
    words = [f"{name}, {good} in the good build and {bad} in the bad one" for name, (good, bad) in both.items()]
    return f"the package {words[0]}" if len(words) == 1 else f"one of these packages, which could not be tested apart: {'; '.join(words)}"


def _packages(factor: PackagesFactor, builds: tuple[str, str]) -> str:
    whose, base = ("bad", builds[0]) if factor.side == "forth" else ("good", builds[1])
    beside = f"{base} beside the {whose} build's {few(factor.packages, SHOWN)}"
    if factor.share is None:
        return f"{beside} could not be tried: {factor.why}"
    share = f"{_percent(factor.share)} of the change{_ends(factor.interval)}"
    return f"{beside} has {share}" if factor.side == "forth" else f"with {beside} {share} is gone"


def _table(found: Blame) -> Iterator[str]:
    if found.metric.startswith("python_instructions") and found.shares:
        parts = [f"{line(one.function.partition(':')[2] or one.function)} {one.change:+,} ({_percent(one.share)})" for one in found.shares]
        yield f"by function: {few(parts, SHOWN)}"


def document(found: Blame) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "schema": 1,
        "scenario": found.scenario,
        "good": found.builds[0],
        "bad": found.builds[1],
        "metric": found.metric,
        "values": list(found.values),
        "guilty": [_entry(found, one, unit) for one in found.blamed.guilty for unit in one.units],
        "support": sorted(found.blamed.support),
        "unresolved": [{"side": one.side, "units": list(one.units), "why": one.why} for one in found.tried if one.share is None],
        "tried": len(found.tried),
        "trials": [
            {
                "side": one.side,
                "units": list(one.units),
                "share": one.share,
                "interval": None if one.interval is None else list(one.interval),
                "value": one.value,
                "blocks": one.blocks,
                "why": one.why,
                "seconds": round(one.seconds, 1),
            }
            for one in found.tried
        ],
        "functions": [{"function": one.function, "before": one.before, "change": one.change, "share": one.share} for one in found.shares],
        "elsewhere": found.elsewhere.words(),
        "lies_in": list(found.lies_in),
        "packages": None if found.packages is None else dataclasses.asdict(found.packages),
        "reach": found.blamed.reach,
        "taken_back": found.blamed.share,
        "brought": found.blamed.brought,
        "complete": found.blamed.complete,
        "diff_back": None if found.diff_back is None else str(found.diff_back),
        "answer": found.answer,
        "seconds": round(found.seconds, 1),
    }


def _entry(found: Blame, one: Guilty, unit: str) -> dict[str, Any]:
    path, _, function = unit.partition(PIECE)
    lines = found.lines.get(unit)
    hunks = [found.lines.get(hunk) for hunk in one.hunks if hunk.startswith(f"{unit}{HUNK}")]
    return {
        "unit": unit,
        "file": path,
        "function": function or None,
        "lines": None if lines is None else list(lines),
        "hunks": [list(each) for each in hunks if each is not None],
        "share": one.share,
        "interval": None if one.interval is None else list(one.interval),
        "along": list(found.along.get(unit, ())),
        "together": [other for other in one.units if other != unit],
        "brought": one.brought,
        "divided": one.divided,
        "known_as": _known_as(found, one, unit),
        "commits": [{"commit": each.commit, "pull": each.pull, "subject": each.subject} for each in found.commits.get(unit, ())],
    }


def _large(one: Guilty) -> bool:
    """Whether what is known of the whole change is said of a part: it has half of it."""
    return one.share is None or abs(one.share) >= 0.5


def _known_as(found: Blame, one: Guilty, unit: str) -> str | None:
    """What upstream knows it as: by the list of known changes, else the only commit that changed its lines."""
    commits = found.commits.get(unit, ())
    known = [(each.pull, each.words) for each in found.known] if _large(one) else []
    only = [(each.pull, each.subject) for each in commits] if len(commits) == 1 else []
    return "; ".join(f"{f'#{pull}: ' if pull else ''}{words}" for pull, words in known or only) or None


def _name(unit: str) -> str:
    return unit.partition(PIECE)[2] or unit


def _place(found: Blame, one: Guilty, unit: str) -> str:
    """The file of a unit, and the lines of its guilty hunks; those of the whole unit where no hunk is known."""
    path, hunks = unit.partition(PIECE)[0], [hunk for hunk in one.hunks if hunk.startswith(f"{unit}{HUNK}")]
    spans = [span for each in hunks or [unit] if (span := found.lines.get(each)) is not None]
    word = "line" if len(spans) == 1 and spans[0][0] == spans[0][1] else "lines"
    shown = ", ".join(f"{first}" if first == last else f"{first} to {last}" for first, last in spans)
    return f"{path}, {word} {shown}" if spans else path


def _ends(interval: tuple[float, float] | None) -> str:
    """An interval behind its share; "" where its ends are the share itself."""
    return "" if interval is None or interval[0] == interval[1] else f" [{', '.join(f'{100 * end:.3g}' for end in interval)}]"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
