"""Counts of vLLM's host, as JSON has them, become what the panel shows: a row a feature and phase, the functions behind the worst.

A document may come from elsewhere: what is not what it should be is left out, and every text is made harmless.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from perfproof.model.base.untrusted import line
from perfproof.report.base.cause_model import FunctionView, HostWorkRow, HostWorkView

MOST_FUNCTIONS, MOST_LINES = 12, 12
"""Functions of a row, and new lines of a function, at most."""
MOST_BARS = 12
"""Rows whose functions are drawn."""
INSTRUCTIONS = "python_instructions"
ORDER = ("regressed", "untestable", "less", "equivalent", "identical")


def of_document(document: Mapping[str, Any], *, title: str = "") -> HostWorkView:
    """What a document of counts says. Rows come the worst first: of instructions all, of other metrics those whose verdict is another."""
    entries = [entry for entry in _mappings(document.get("comparisons")) if _is_entry(entry)]
    lines = document.get("source_lines")
    rows = sorted((_row(entry, lines if isinstance(lines, Mapping) else {}) for entry in _telling(entries)), key=_rank)
    builds = document.get("builds")
    named = [line(name, 160) for name in builds] if isinstance(builds, list) and len(builds) == 2 else ["before", "after"]
    return HostWorkView(
        title=line(title, 160),
        builds=(named[0], named[1]),
        rows=tuple(row for row in rows if row.verdict != "identical"),
        identical=tuple(row for row in rows if row.verdict == "identical"),
        numbers=len(entries),
        same=sum(entry["verdict"] == "identical" for entry in entries),
        drawn=MOST_BARS,
    )


def _mappings(found: Any) -> Iterator[Mapping[str, Any]]:
    yield from (one for one in found if isinstance(one, Mapping)) if isinstance(found, Sequence) and not isinstance(found, str) else ()


def _is_entry(entry: Mapping[str, Any]) -> bool:
    """Whether an entry has what a row needs."""
    numbers = all(type(entry.get(name)) is int for name in ("requests", "baseline", "candidate"))
    return numbers and entry.get("verdict") in ORDER and all(isinstance(entry.get(name), str) for name in ("feature", "phase", "metric"))


def _telling(entries: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Instructions of every phase, and other metrics where they say more than these do."""
    instructions = {_phase(entry): entry["verdict"] for entry in entries if entry["metric"] == INSTRUCTIONS}
    for entry in entries:
        beside = instructions.get(_phase(entry))
        if entry["metric"] == INSTRUCTIONS or (entry["verdict"] in ("regressed", "less") and entry["verdict"] != beside):
            yield entry


def _phase(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    return entry["feature"], entry["requests"], entry["phase"]


def _row(entry: Mapping[str, Any], lines: Mapping[str, Any]) -> HostWorkRow:
    base, now = int(entry["baseline"]), int(entry["candidate"])
    functions = [_function(one, lines) for one in _mappings(entry.get("functions")) if _is_function(one)]
    return HostWorkRow(
        feature=line(entry["feature"], 80),
        phase=line(entry["phase"], 80),
        requests=int(entry["requests"]),
        metric=line(entry["metric"], 80),
        before=base,
        after=now,
        change=now / base - 1 if base else None,
        verdict=entry["verdict"],
        reason=line(entry.get("reason") or ""),
        functions=tuple(functions[:MOST_FUNCTIONS]),
        further=len(functions[MOST_FUNCTIONS:]),
    )


def _is_function(one: Mapping[str, Any]) -> bool:
    return isinstance(one.get("function"), str) and all(type(one.get(name)) is int for name in ("base", "change"))


def _function(one: Mapping[str, Any], lines: Mapping[str, Any]) -> FunctionView:
    module, colon, name = one["function"].partition(":")
    said = lines.get(one["function"].partition(".<locals>.")[0])
    texts = list(said.items())[:MOST_LINES] if isinstance(said, Mapping) else []
    return FunctionView(
        name=line(name if colon else module, 160),
        module=line(module if colon else "", 160),
        before=one["base"],
        after=one["base"] + one["change"],
        lines=tuple(_dedented([(line(number, 12), line(text, 200)) for number, text in texts])),
    )


def _dedented(lines: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Lines of a source without the indentation that all of them share."""
    depth = min((len(text) - len(text.lstrip()) for _, text in lines if text.strip()), default=0)
    return ((number, text[depth:]) for number, text in lines)


def _rank(row: HostWorkRow) -> tuple[int, bool, float, str]:
    size = abs(row.change) if row.change is not None else float("inf")
    return ORDER.index(row.verdict), row.metric != INSTRUCTIONS, -size, row.feature


def all_of(counts: Mapping[str, Any] | None, scenarios: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[HostWorkView, ...]:
    """What a change cost, and what the scenarios that count say, each with its name."""
    own = [of_document(counts)] if counts else []
    views = [*own, *(of_document(document, title=name) for name, document in scenarios)]
    return tuple(view for view in views if view.numbers)
