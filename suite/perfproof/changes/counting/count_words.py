"""Comparisons of counts as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfproof.analysis.counts.count_comparison import WORDS, Changed, Compared, Comparisons, CountVerdict
from perfproof.child.engine.features import END, START
from perfproof.model.base.name_lists import few, few_lines
from perfproof.model.base.unit_prefix import places
from perfproof.model.records.counts import METRICS, Lines, Metric, of_requests, outermost, short_name

MOST = 6
"""The most lines of one kind."""
NAMED = 3
"""The most functions that a feature's line names."""
RANGES = 4
"""The most ranges of new lines shown of a function."""
NOT_TIME = (
    "A count is not a time: a C call counts as one, whatever it does, and so does work inside a single instruction (slices, `in`, "
    "concatenation); fewer instructions alone do not mean faster code."
)
ONE_SIDED: tuple[Metric, ...] = (
    "c_calls",
    "torch_operators",
    "kernel_launches",
    "host_to_device_copies",
    "device_to_host_copies",
    "synchronisations",
)
"""Metrics whose names are listed where only one side has them."""
ORDER: tuple[CountVerdict, ...] = ("regressed", "untestable", "less", "equivalent", "identical")
"""Verdicts, the gravest first."""


def sentences(
    summary: str, labels: tuple[str, str], comparisons: Comparisons, lines: Lines, top: int, warnings: Sequence[str]
) -> Iterator[str]:
    """The result in lines: the summary, then by verdict, the worst first, a line for each feature; features in which the same functions
    changed have one together."""
    yield summary
    yield f"{labels[0]} to {labels[1]}: the work of vLLM's host, counted"
    for verdict in ORDER[:-1]:
        shown = [one for one in sorted(comparisons.compared, key=gravity) if one.verdict == verdict and _tells(one, comparisons)]
        groups = _alike(shown, top)
        if groups:
            yield f"{WORDS[verdict]}:"
        for group in groups[:MOST]:
            yield f"  {_line_for(group, shown, lines, top)}"
            if len(group) > 1:
                yield f"    the same functions, {_span(group[1:])}: {', '.join(one.feature for one in group[1:])}"
        if len(groups) > MOST:
            yield f"  and {len(groups) - MOST} more features (--json has all)"
    yield from few_lines(list(one_sided(comparisons)), MOST, " (--json has all)")
    same = sum(one.verdict == "identical" for one in comparisons.compared)
    if any(one.verdict != "untestable" for one in comparisons.compared):
        yield f"identical to the last instruction, call and byte: {same} of {len(comparisons.compared)} numbers"
    yield from (warning for warning in warnings if warning != summary)
    yield NOT_TIME


def _alike(shown: Sequence[Compared], top: int) -> list[list[Compared]]:
    """The worst number of each feature, those with the same metric and functions together, the worst first."""
    worst: dict[str, Compared] = {}
    for one in shown:
        worst.setdefault(one.feature, one)
    groups: dict[tuple[object, ...], list[Compared]] = {}
    for one in worst.values():
        names = tuple(changed.name for changed in one.changed[:top])
        groups.setdefault((one.metric, names, one.reason), []).append(one)
    return list(groups.values())


def _line_for(group: Sequence[Compared], shown: Sequence[Compared], lines: Lines, top: int) -> str:
    """The line of the worst number of a feature, with how many more of its numbers are alike."""
    first = group[0]
    others = sum((one.feature, one.metric) == (first.feature, first.metric) for one in shown) - 1
    return f"{line_of(first, lines, top)}{_and_more(first, others)}"


def _and_more(one: Compared, others: int) -> str:
    return f" (and in {others} more phases or sizes)" if others and one.verdict != "untestable" else ""


def _span(group: Sequence[Compared]) -> str:
    texts = list(dict.fromkeys(percent(one.change) for one in (group[0], group[-1])))
    return " to ".join(texts)


def answer_of(feature: str, comparisons: Comparisons, lines: Lines) -> str:
    """What came out of one feature, in a line: `plain: more Python work: decode, plain, 32 requests: ...`."""
    own = [one for one in comparisons.compared if one.feature == feature]
    if not own:
        return f"{feature}: nothing could be compared"
    worst = min(own, key=gravity)
    if worst.verdict == "identical":
        return f"{feature}: identical to the last instruction, call and byte"
    return f"{feature}: {line_about(worst, own, lines)}"


def line_about(worst: Compared, own: Sequence[Compared], lines: Lines) -> str:
    """The line of a feature's worst number, with its verdict and how many of its other numbers are alike."""
    others = sum((one.verdict, one.metric) == (worst.verdict, worst.metric) for one in own) - 1
    return f"{WORDS[worst.verdict]}: {line_of(worst, lines, NAMED)}{_and_more(worst, others)}"


def gravity(one: Compared) -> tuple[int, int, float, int]:
    """The order of numbers: the gravest verdict first, instructions before others, the largest change, the most requests."""
    size = abs(one.change) if one.change is not None else float("inf") if one.candidate else 0.0
    return ORDER.index(one.verdict), list(METRICS).index(one.metric), -size, -one.requests


def _tells(one: Compared, comparisons: Comparisons) -> bool:
    """Whether a number has its own line: instructions do; another metric only where it adds information.

    A cell that can't be compared has one line.
    """
    if one.metric == "python_instructions":
        first = next(each for each in comparisons.compared if (each.feature, each.requests) == (one.feature, one.requests))
        return one.verdict != "untestable" or one is first
    beside = next(each for each in comparisons.compared if _same_phase(each, one) and each.metric == "python_instructions")
    return one.verdict in ("regressed", "less") and beside.verdict != one.verdict


def _same_phase(one: Compared, other: Compared) -> bool:
    return (one.feature, one.requests, one.phase) == (other.feature, other.requests, other.phase)


def line_of(one: Compared, lines: Lines, top: int) -> str:
    """`decode, plain, 32 requests: 84,563 to 96,851 Python instructions a step (+14.5 %): Scheduler.update_from_output +12,288 (...)`."""
    where = f"{one.phase}, {one.feature}{of_requests(one.requests)}"
    if one.verdict == "untestable":
        return f"{one.feature}{of_requests(one.requests)}: {one.reason}"
    numbers = f"{one.baseline:,} to {one.candidate:,} {METRICS[one.metric][0]}{_each(one)} ({percent(one.change)})"
    behind = few([_behind(changed, lines) for changed in one.changed], top)
    makers = ", ".join(_behind(one, lines) for one in one.makers[:top])
    return f"{where}: {numbers}" + (f": {behind}" if behind else "") + (f", made by {makers}" if makers else "")


def _each(one: Compared) -> str:
    if one.phase in ("admission", START, END):
        return " in all"
    return " a step" if one.steps == 1 else f" in {one.steps} steps"


def percent(change: float | None) -> str:
    """A change of a count, in per cent; what is left of it is never rounded away."""
    if change is None:
        return "there was none"
    return f"{100 * change:+.{places(change, 1)}f} %" if abs(change) >= 0.0005 else f"{100 * change:+.4f} %" if change else "±0"


def _behind(changed: Changed, lines: Lines) -> str:
    text = f"{short_name(changed.name)} {changed.change:+,}"
    notes = []
    if changed.touched and abs(changed.inclusive) > abs(changed.change):
        notes.append(f"{changed.inclusive:+,} with what it calls")
    if ran := lines.get(outermost(changed.name)):
        notes.append(f"new lines {ranges(ran, RANGES)}" if len(ran) > 1 else f"new line {ran[0]}")
    return f"{text} ({'; '.join(notes)})" if notes else text


def ranges(lines: Sequence[int], most: int = 100) -> str:
    """`2080 to 2082, 2090` for 2080, 2081, 2082 and 2090; at most `most` ranges."""
    found: list[list[int]] = []
    for line in lines:
        if found and line == found[-1][1] + 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    more = f" and {len(found) - most} more places" if len(found) > most else ""
    return ", ".join(str(first) if first == last else f"{first} to {last}" for first, last in found[:most]) + more


def one_sided(comparisons: Comparisons) -> Iterator[str]:
    """C calls and operators that only one side makes, each once with the phase in which it makes most."""
    most: dict[tuple[str, str, bool], tuple[int, Compared]] = {}
    for one in comparisons.compared:
        if one.metric in ONE_SIDED and one.verdict != "untestable":
            for changed in one.changed:
                if not changed.base or not changed.base + changed.change:
                    key, size = (METRICS[one.metric][0], changed.name, not changed.base), abs(changed.change)
                    if size > most.get(key, (0, one))[0]:
                        most[key] = (size, one)
    for (kind, name, new), (size, one) in sorted(most.items(), key=lambda item: -item[1][0]):
        side = "the candidate" if new else "the base"
        yield f"{kind} of {side} alone: {name}, {size:,} ({one.phase}, {one.feature}{of_requests(one.requests)})"
