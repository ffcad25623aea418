"""Columns of sides: those whose names say so, beside others' metrics, and what the rest of such a table is.

A key is no side: sizes, workloads and models tell rows apart. Columns are sides only where the names of some say so, or all are versions.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.tables.cell_lists import named
from perfproof.importers.pasted_text.words.alternatives import alternatives, implementation
from perfproof.importers.pasted_text.words.cells import Cell, unit_of
from perfproof.importers.pasted_text.words.column_names import KEY, SPREAD, Body, Column, is_whole, statistic, unbracketed, without_unit
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import better
from perfproof.model.scenarios.side_names import are_both_sides, describes, release, role, split, switched

_BETWEEN = re.compile(r"(?i)\s*(?:→|->|=>|➔|➜|⟶|/|\||\bvs\.?|\bversus\b)\s*")
_ORDERED = re.compile(r"(?P<one>[\w~^#]+)\s*(?:→|->|=>|➔|➜|⟶|/|\||\bvs\.?)\s*(?P<other>[\w~^#]+)(?!\s*/)")
"""Two words with an arrow between them, the sides of a cell's two numbers."""


def with_sides(found: Sequence[Column], body: Body) -> list[Column]:
    """The columns with their sides, [] where they name fewer than two."""
    numeric = [place for place, column in enumerate(found) if _numbered([row[place] for row in body])]
    pairs = _paired([found[place].name for place in numeric])
    plain = [place for place in numeric if not _sided(found[place].name) and found[place].kind not in ("key", "label", "claim")]
    states = [] if any(release(row[place].text) for row in body for place in plain) else [found[place].name for place in plain]
    states = states if alternatives([without_unit(name) for name in states]) else []
    runs = _numbered_runs(pairs)
    sides: dict[int, Column] = {}
    for place in numeric:
        column, rest = found[place], pairs.get(found[place].name)
        if _order(column.name) and any(row[place].kind in ("change", "versus") for row in body):
            sides[place] = _of_two(column.name)
        elif rest is not None and column.name in runs:
            sides[place] = Column(kind="side", name=column.name, side=rest[0], unit=unit_of(column.name), run=rest[1].lstrip("#"))
        elif rest is not None and not SPREAD.match(rest[1]):
            sides[place] = Column(
                kind="side", name=column.name, side=rest[0], metric=rest[1], unit=unit_of(rest[1]) or unit_of(column.name)
            )
        elif any(row[place].kind in ("change", "versus") for row in body) and _arrowed(column.name):
            sides[place] = _of_two(column.name)
        elif column.kind not in ("claim", "run", "unit") and (_sided(column.name) or column.name in states):
            sides[place] = _side(column.name)
    spreads = {place for place in numeric if (rest := pairs.get(found[place].name)) and SPREAD.match(rest[1])}
    sides = {place: column for place, column in sides.items() if place not in spreads}
    sides |= {
        place: column for place, column in _others(found, numeric, sides, body).items() if place not in sides and place not in spreads
    }
    if not _enough(list(sides.values())):
        return []
    sides = _by_units(sides)
    first = min(sides)
    metrics = {column.metric.casefold() for column in sides.values() if column.metric}
    if "time" in metrics:
        sides = {place: replace(column, metric="CPU time") if column.metric == "CPU" else column for place, column in sides.items()}
    return [
        sides.get(place)
        or (
            replace(column, kind="claim")
            if place in spreads or column.name.casefold() in metrics
            else _beside(column, [row[place] for row in body], place < first)
        )
        for place, column in enumerate(found)
    ]


def _order(name: str) -> re.Match[str] | None:
    """Where a name has the two sides of its numbers beside each other, None where it has not."""
    return next((found for found in _ORDERED.finditer(name) if are_both_sides((found["one"], found["other"]))), None)


def _of_two(name: str) -> Column:
    """A column of cells with two numbers: its sides in their order, and its metric where it has one beside them."""
    between, ordered = _arrowed(name), _order(name)
    if len(between) == 2 and all(half in name[len(unbracketed(name)) :] for half in between):
        whole = unbracketed(name)
        metric = without_unit(whole) if better(without_unit(whole)) is not None else whole
        return Column(kind="side", name=name, side=" → ".join(between), metric=metric, unit=unit_of(whole))
    rest = name.replace(ordered[0], "") if ordered else ""
    rest = re.sub(r"[(\[]\s*[)\]]", "", rest).strip(" -–—:,") or (unbracketed(name) if name.endswith(")") else "")
    metric = "" if any(half in rest for half in between) else without_unit(rest)
    return Column(kind="side", name=name, side=" → ".join(between), metric=metric, unit=unit_of(name) or (unit_of(rest) if metric else ""))


def _numbered(cells: Sequence[Cell]) -> bool:
    """Whether a column has values, or lists of them, or would have: what is missing may be."""
    if cells and all(named(cell.text) for cell in cells):
        return True
    return any(cell.kind in ("value", "change", "versus") for cell in cells) or (any(cell.numbered for cell in cells) and bool(cells))


def _sided(name: str) -> bool:
    return bool(role(name)) or release(without_unit(name)) is not None


def _enough(sides: Sequence[Column]) -> bool:
    names = list(dict.fromkeys(column.side for column in sides))
    if any(" → " in name for name in names):
        return True
    if alternatives(names):
        return True
    if len(names) > 1 and all(release(name) is not None for name in names):
        return True
    if len(names) < 2 or (len({re.sub(r"(?<![\w.#])[0-9]+(?![\w.])", "", name) for name in names}) == 1):
        return False
    said = {role(name) for name in names} - {""}
    return bool(said)


def _arrowed(name: str) -> list[str]:
    """The two sides that a name has for the numbers of its cells: "main → PR", "TTFT ms (main / PR)"."""
    bracket = re.search(r"[(\[]([^()\[\]]*)[)\]]$", name)
    halves = [half.strip() for half in _BETWEEN.split(bracket[1])] if bracket else []
    if are_both_sides(halves) and len(halves) == 2:
        return halves
    if found := _order(name):
        return [found["one"], found["other"]]
    for text in (unbracketed(name), bracket[1] if bracket else ""):
        halves = [half.strip() for half in _BETWEEN.split(text)]
        if len(halves) == 2 and any(role(half) for half in halves):
            return halves
    return []


def _paired(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Of names such as "main TTFT" and "PR TTFT" the side and the metric of each; a metric must be there for two sides."""
    ways = {name: split(name) for name in names}
    roles: dict[str, set[str]] = defaultdict(set)
    for pairs in ways.values():
        for side, rest in pairs:
            roles[rest.casefold()].add(side.casefold())
    shared = {rest for rest, sides in roles.items() if len(sides) > 1 and _measured(rest)}
    if len(shared) == 1 and (is_switched(next(iter(shared)), ways.values()) or _is_event(next(iter(shared)), names)):
        return {}
    found = {name: next(((side, rest) for side, rest in pairs if rest.casefold() in shared), None) for name, pairs in ways.items()}
    known_ = {name: pair for name, pair in found.items() if pair is not None}
    rests = {rest for _, rest in known_.values()} or {rest for pairs in ways.values() for _, rest in pairs if better(rest)}
    for name in names:
        if name not in known_ and (cut := _cut(name, rests)):
            known_[name] = cut
    known_ = known_ or _named_after(names)
    sides = {side.casefold() for side, _ in known_.values()}
    for name, pairs in ways.items():
        if name not in known_ and len(sides) > 1:
            known_ |= dict.fromkeys([name], pairs[0]) if pairs and pairs[0][0].casefold() in sides else {}
    return known_ if len(sides) > 1 else {}


def _is_event(rest: str, names: Sequence[str]) -> bool:
    """Whether what stands behind before and after alone is what happened, "Before rollout" and "After rollout", and no metric."""
    plain = not (better(rest) or unit_of(rest) or statistic(rest) or re.search(r"\d", rest))
    return plain and {name.casefold() for name in names} >= {f"before {rest}", f"after {rest}"}


def is_switched(rest: str, ways: Iterable[Sequence[tuple[str, str]]]) -> bool:
    """Whether what stands beside "off" and "on" alone is what was switched, "AITER off" and "AITER on", and no metric."""
    sides = {side.casefold() for pairs in ways for side, own in pairs if own.casefold() == rest}
    plain = not (better(rest) or unit_of(rest) or statistic(rest) or re.search(r"\d", rest))
    return plain and len(sides) == 2 and switched(*sorted(sides)) and all(len(side.split()) == 1 for side in sides)


def _named_after(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Of names such as "TRITON_ATTN tok/s" and "0.11.0 TTFT" the side, a version or an implementation, and the metric of each; {} where
    these are not two sides with the same metrics."""
    found: dict[str, tuple[str, str]] = {}
    for name in names:
        first, _, rest = name.partition(" ")
        start, _, last = name.rpartition(" ")
        for side, metric in ((first, rest), (last.strip("()"), start)):
            if (
                metric
                and metric[0] not in "(["
                and (implementation(side) or release(side) is not None)
                and (better(metric) or unit_of(metric) or known(metric))
            ):
                found.setdefault(name, (side, metric))
    metrics = {side: {metric.casefold() for own, metric in found.values() if own == side} for side, _ in found.values()}
    alike = len(metrics) == 2 and len({frozenset(each) for each in metrics.values()}) == 1
    return found if alike and (all(map(implementation, metrics)) or all(release(side) is not None for side in metrics)) else {}


def _numbered_runs(pairs: Mapping[str, tuple[str, str]]) -> frozenset[str]:
    """The names whose rest is the number of a run, "base_1" and "head_1", where either side has several."""
    numbered = {name: side for name, (side, rest) in pairs.items() if re.fullmatch(r"#?[0-9]{1,2}", rest)}
    several = Counter(side.casefold() for side in numbered.values())
    return frozenset(numbered) if len(several) > 1 and min(several.values()) > 1 else frozenset()


def _measured(rest: str) -> bool:
    """Whether what stands beside a side's name may be a metric or a case, rather than more of the name."""
    return bool(better(rest) or unit_of(rest) or statistic(rest) or re.search(r"\d", rest) or len(rest) > 2)


def _cut(name: str, rests: set[str]) -> tuple[str, str] | None:
    """A name that ends or begins with a metric that another side has: the side is what is left."""
    for rest in rests:
        if name.casefold().endswith(f" {rest.casefold()}"):
            return name[: -len(rest)].strip(" -–—:,_"), rest
        if name.casefold().startswith(f"{rest.casefold()} ") and not describes(name[len(rest) :]):
            return name[len(rest) :].strip(" -–—:,_"), rest
    return None


def _others(found: Sequence[Column], numeric: Sequence[int], sides: dict[int, Column], body: Body) -> dict[int, Column]:
    """Columns without a telling name that are sides beside one that has it; where both sides have one, such a column may be anything."""
    roles = {role(column.side) for column in sides.values() if not column.metric} - {""}
    if not roles or {"baseline", "candidate"} <= roles:
        return {}
    plain = [place for place in numeric if place and found[place].kind in ("unclear", "metric") and place not in sides]
    shares = {place for place in numeric if all(cell.unit == "%" for row in body if (cell := row[place]).kind == "value")}
    plain = [place for place in plain if place not in shares or set(sides) <= shares]
    return {place: _side(found[place].name) for place in plain if _may_be_side(found[place].name)}


def _side(name: str) -> Column:
    return Column(kind="side", name=name, side=without_unit(name), unit=unit_of(name))


def _may_be_side(name: str) -> bool:
    """Whether a name is of no metric, no key and no size."""
    plain = without_unit(name)
    known_ = better(plain) is not None or statistic(name) or bool(KEY.match(unbracketed(name)))
    return not known_ and bool(re.search(r"[^\W\d_]{2}|[A-Z]", plain))


def _by_units(sides: Mapping[int, Column]) -> dict[int, Column]:
    """The columns of sides; those of one side that differ in their units alone, "main (us)" and "main (GB/s)", have these as metrics."""
    units: dict[str, list[str]] = defaultdict(list)
    for column in sides.values():
        units[column.side.casefold()].append("" if column.metric or column.run else column.unit)
    told = {side for side, own in units.items() if len(own) > 1 and len(set(own)) == len(own) and all(own)}
    return {place: replace(column, metric=column.unit) if column.side.casefold() in told else column for place, column in sides.items()}


def _beside(column: Column, cells: Sequence[Cell], left: bool) -> Column:
    """A column that is no side, in a table that has them: to the left it is a key, to the right nobody knows whose its numbers are."""
    if column.kind == "claim" and left and KEY.match(column.name) and is_whole(cells) and len({cell.text for cell in cells}) > 1:
        return replace(column, kind="key")
    if column.kind == "metric" and left and all(cell.kind == "versus" for cell in cells):
        return replace(column, kind="label")  # cases such as 512/128 below the name of what was measured
    if column.kind in ("metric", "unclear"):
        return replace(column, kind="key" if left else "claim")
    return column
