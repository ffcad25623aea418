"""What each column of a table is: the values of a side, a metric, a key, a unit, the number of a run, or a claim about the others.

A key is no side: sizes, workloads and models tell rows apart. Columns are sides only where the names of some say so, or all are versions.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from perfproof.importers.pasted_text.cells import Cell, unit_of
from perfproof.importers.pasted_text.headings import RUN
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import STATISTICS, better, better_in
from perfproof.model.scenarios.side_names import commit, describes, implementation, release, role, split, switched

Kind = Literal["side", "metric", "label", "key", "unit", "run", "claim", "unclear"]
_RUN = re.compile(r"(?i)^#?(?:run|trial|rep|repeat|repetition|iteration|iter|seed|attempt)\s*(?:#|no\.?|id|number|index)?$")
_UNITS = re.compile(r"(?i)^units?$")
_KEY = re.compile(
    r"(?i)^(?:#|n|m|k|b|h|d|bs|tp|pp|dp|ep|isl|osl|il|ol|gpus?|ngl|threads|size|params|level|shape|dim|hidden|heads?|experts?"
    r"|top.?[kp]|id|idx|index|qps|rps"
    r"|(?:\w+[ _-])?(?:batch|concurrency|conc|users|clients|streams|prompts|seqs?|sequences|length|lens?|tokens|context|ctx"
    r"|rate|size|sizes|count|num)"
    r"|(?:batch|num|max|input|output|prompt|seq|request|target|context|ctx|concurrent|model|number)[ _-].*)$"
)
_SURE_KEY = re.compile(
    r"(?i)^(?:size|model size|params|parameters|ngl|tp|pp|dp|ep|bs|isl|osl|batch|batch[ _-]?size|concurrency"
    r"|max[ _-]concurrency|num[ _-]prompts|(?:input|output)[ _-]len(?:gth)?)$"
)
_LOAD = re.compile(r"(?i)^(?:(?:target|request|max|input|offered)[ _-])?(?:qps|rps|rate)\b")
"""Names of metrics that are keys where their numbers are whole: what was asked of a run."""
_SIDE_HEAD = re.compile(
    r"(?i)^(?:branch|build|version|side|arm|variant|commit|code|ref|revision|implementation|impl|patch|state|command)s?$"
)
_PLAIN_VALUE = re.compile(r"(?i)^(?:value|result|number|measured|measurement)s?$")
_SPREAD = re.compile(r"(?i)^(?:±|\+/-|\+-)|^(?:std|stdev|stddev|sd|stderr|std\.? ?(?:dev|err)\w*|error|margin|iqr|cv|ci|confidence)\b")
_BETWEEN = re.compile(r"(?i)\s*(?:→|->|=>|➔|➜|⟶|/|\||\bvs\.?|\bversus\b)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column: its name; of values their side and metric, "" where rows or headings say these; its unit; the number of its run."""

    kind: Kind
    name: str
    side: str = ""
    metric: str = ""
    unit: str = ""
    run: str = ""


_ORDERED = re.compile(r"(?P<one>[\w~^#]+)\s*(?:→|->|=>|➔|➜|⟶|/|\||\bvs\.?)\s*(?P<other>[\w~^#]+)(?!\s*/)")
"""Two words with an arrow between them, the sides of a cell's two numbers."""
Body = Sequence[Sequence[Cell]]


def columns(head: Sequence[str], body: Body) -> list[Column]:
    """The columns of a table."""
    found = [_column(name, [row[place] for row in body], place) for place, name in enumerate(head)]
    by_side = _with_sides(found, body)
    if by_side:
        return by_side
    counted = sum(bool(RUN.fullmatch(column.name)) for column in found) > 1
    made_of_runs = {column.name for column in found if counted and statistic(column.name)}
    return [
        replace(column, kind="claim")
        if column.name in made_of_runs
        else replace(column, kind="metric")
        if column.kind == "unclear"
        else column
        for column in found
    ]


def _column(name: str, cells: Sequence[Cell], place: int) -> Column:
    """A column by itself, whatever the others are."""
    kinds = Counter(cell.kind for cell in cells)
    numbers, unit = kinds["value"] + kinds["change"] + kinds["versus"], unit_of(name)
    if _UNITS.match(name):
        return Column(kind="unit", name=name)
    if _RUN.match(name) and numbers and all(re.fullmatch(r"[0-9]{1,4}", cell.text) or statistic(cell.text) for cell in cells):
        return Column(kind="run", name=name)
    if (_claims(name) and (place or not _whole(cells))) or (kinds["claim"] and not numbers) or _SPREAD.match(name):
        return Column(kind="claim", name=name)
    if kinds["words"] > numbers or not numbers or (place == 0 and not (role(name) or better(name) or unit)):
        return Column(kind="label" if kinds["words"] or not _whole(cells) else "key", name=name, unit=unit)
    may_be_key = _KEY.match(_without_unit(name)) and _whole(cells) and (better_in(name, unit) is None or _LOAD.search(name))
    counted = re.match(r"(?i)(?:mean |avg )?concurrency", name) and any("." in cell.text for cell in cells)
    if (may_be_key or (_SURE_KEY.match(_without_unit(name)) and not counted)) and not role(name):
        return Column(kind="key", name=name)
    if better(name) or unit or statistic(name) or _PLAIN_VALUE.match(name):
        return Column(kind="metric", name=name, metric="" if _PLAIN_VALUE.match(name) else name, unit=unit)
    return Column(kind="unclear", name=name, metric=name)


def _claims(name: str) -> bool:
    """Whether a name is of what is claimed of the sides: "speedup", "PR / main", "Δ", but not "mean" or a size."""
    return (
        bool(name)
        and describes(name)
        and not statistic(name)
        and not _PLAIN_VALUE.match(name)
        and not re.fullmatch(r"[\W\d_]*\d[\W\d_]*[kKmM]?", name)
    )


def statistic(name: str) -> bool:
    words = re.sub(r"[()\[\]_]", " ", name.lower()).split()
    return bool(words) and all(word in STATISTICS or known(word) or re.fullmatch(r"p?\d{1,2}(?:\.\d+)?%?(?:th)?", word) for word in words)


def _whole(cells: Sequence[Cell]) -> bool:
    """Whether all values are sizes: whole numbers, or numbers of thousands such as 4k."""
    return all(re.fullmatch(r"[0-9][0-9,_']*\s?[kKmMgG]?i?B?|inf|∞|", cell.text) for cell in cells if cell.kind != "words")


def _without_unit(name: str) -> str:
    return re.sub(r"\s*[(\[][^()\[\]]*[)\]]$", "", name)


# --- columns of sides ---------------------------------------------------------------------------------------------


def _with_sides(found: Sequence[Column], body: Body) -> list[Column]:
    """The columns with their sides, [] where they name fewer than two."""
    numeric = [place for place, column in enumerate(found) if _numbered([row[place] for row in body])]
    pairs = _paired([found[place].name for place in numeric])
    states = [found[place].name for place in numeric if not _sided(found[place].name)]
    states = states if len(states) == 2 and (switched(*states) or _lettered(states) or all(map(implementation, states))) else []
    runs = _numbered_runs(pairs)
    sides: dict[int, Column] = {}
    for place in numeric:
        column, rest = found[place], pairs.get(found[place].name)
        if _order(column.name) and any(row[place].kind in ("change", "versus") for row in body):
            sides[place] = _of_two(column.name)
        elif rest is not None and column.name in runs:
            sides[place] = Column(kind="side", name=column.name, side=rest[0], unit=unit_of(column.name), run=rest[1].lstrip("#"))
        elif rest is not None and not _SPREAD.match(rest[1]):
            sides[place] = Column(
                kind="side", name=column.name, side=rest[0], metric=rest[1], unit=unit_of(rest[1]) or unit_of(column.name)
            )
        elif any(row[place].kind in ("change", "versus") for row in body) and _arrowed(column.name):
            sides[place] = _of_two(column.name)
        elif column.kind not in ("claim", "run", "unit") and (_sided(column.name) or column.name in states):
            sides[place] = _side(column.name)
    spreads = {place for place in numeric if (rest := pairs.get(found[place].name)) and _SPREAD.match(rest[1])}
    sides = {place: column for place, column in sides.items() if place not in spreads}
    sides |= {
        place: column for place, column in _others(found, numeric, sides, body).items() if place not in sides and place not in spreads
    }
    if not _enough(list(sides.values())):
        return []
    first = min(sides)
    metrics = {column.metric.casefold() for column in sides.values() if column.metric}
    if "time" in metrics:
        sides = {place: replace(column, metric="CPU time") if column.metric == "CPU" else column for place, column in sides.items()}
    return [
        sides.get(place)
        or (replace(column, kind="claim") if place in spreads or column.name.casefold() in metrics else _beside(column, place < first))
        for place, column in enumerate(found)
    ]


def _order(name: str) -> re.Match[str] | None:
    """Where a name has the two sides of its numbers beside each other, None where it has not."""
    return next(
        (found for found in _ORDERED.finditer(name) if {role(found["one"]), role(found["other"])} == {"baseline", "candidate"}), None
    )


def _of_two(name: str) -> Column:
    """A column of cells with two numbers: its sides in their order, and its metric where it has one beside them."""
    between, ordered = _arrowed(name), _order(name)
    rest = name.replace(ordered[0], "") if ordered else ""
    rest = re.sub(r"[(\[]\s*[)\]]", "", rest).strip(" -–—:,") or (_without_unit(name) if name.endswith(")") else "")
    metric = "" if any(half in rest for half in between) else without_unit(rest)
    return Column(kind="side", name=name, side=" → ".join(between), metric=metric, unit=unit_of(name) or (unit_of(rest) if metric else ""))


def _numbered(cells: Sequence[Cell]) -> bool:
    """Whether a column has values, or would have: what is missing may be."""
    return any(cell.kind in ("value", "change", "versus") for cell in cells) or (any(cell.numbered for cell in cells) and bool(cells))


def _sided(name: str) -> bool:
    return bool(role(name)) or release(without_unit(name)) is not None


def _enough(sides: Sequence[Column]) -> bool:
    names = list(dict.fromkeys(column.side for column in sides))
    if any(" → " in name for name in names):
        return True
    if len(names) == 2 and (switched(*names) or _lettered(names) or all(map(implementation, names))):
        return True
    if len(names) > 1 and all(release(name) is not None for name in names):
        return True
    if len(names) < 2 or (len({re.sub(r"(?<![\w.#])[0-9]+(?![\w.])", "", name) for name in names}) == 1):
        return False
    said = {role(name) for name in names} - {""}
    return bool(said)


def _arrowed(name: str) -> list[str]:
    """The two sides that a name has for the numbers of its cells: "main → PR", "TTFT ms (main / PR)"."""
    if found := _order(name):
        return [found["one"], found["other"]]
    bracket = re.search(r"[(\[]([^()\[\]]*)[)\]]$", name)
    for text in (_without_unit(name), bracket[1] if bracket else ""):
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


def _named_after(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Of names such as "TRITON_ATTN tok/s" and "0.11.0 TTFT" the side, a version or an implementation, and the metric of each; {} where
    these are not two sides with the same metrics."""
    found: dict[str, tuple[str, str]] = {}
    for name in names:
        first, _, rest = name.partition(" ")
        start, _, last = name.rpartition(" ")
        for side, metric in ((first, rest), (last.strip("()"), start)):
            if metric and (implementation(side) or release(side) is not None) and (better(metric) or unit_of(metric) or known(metric)):
                found.setdefault(name, (side, metric))
    metrics = {side: {metric.casefold() for own, metric in found.values() if own == side} for side, _ in found.values()}
    alike = len(metrics) == 2 and len({frozenset(each) for each in metrics.values()}) == 1
    return found if alike and (all(map(implementation, metrics)) or all(release(side) is not None for side in metrics)) else {}


def _lettered(names: Sequence[str]) -> bool:
    """Whether two names are A and B, or of commits: sides, though nothing says which is which."""
    plain = [re.sub(r"(?i)^(?:arm|variant|side|group|build|version)\s+", "", name).casefold() for name in names]
    return plain == ["a", "b"] or all(map(commit, names))


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
    known_ = better(plain) is not None or statistic(name) or bool(_KEY.match(_without_unit(name)))
    return not known_ and bool(re.search(r"[^\W\d_]{2}|[A-Z]", plain))


def _beside(column: Column, left: bool) -> Column:
    """A column that is no side, in a table that has them: to the left it is a key, to the right nobody knows whose its numbers are."""
    if column.kind in ("metric", "unclear"):
        return replace(column, kind="key" if left else "claim")
    return column


def without_unit(name: str) -> str:
    """A name without the unit in brackets at its end."""
    bracket = re.search(r"\s*[(\[]([^()\[\]]*)[)\]]$", name)
    plain = name[: bracket.start()] if bracket and unit_of(name) else name
    words = plain.split()
    return " ".join(words[:-1]) if len(words) > 1 and known(words[-1]) and not bracket else plain


# --- rows of sides ------------------------------------------------------------------------------------------------


def side_column(found: Sequence[Column], body: Body) -> int | None:
    """The place of the column whose cells are sides, None where there is none."""
    ways = [
        (_row_roles([row[place].text for row in body], column.name), place)
        for place, column in enumerate(found)
        if column.kind in ("label", "key")
    ]
    best = max(ways, default=(0, -1), key=lambda way: (way[0], -way[1]))
    return best[1] if best[0] else None


def is_switch(head: str, states: Sequence[str]) -> bool:
    """Whether a column holds the two states of a switch: 0 and 1 below the name of a variable, True and False below any but a metric."""
    words = {state.casefold() for state in states}
    variable = re.fullmatch(r"(?:--)?[A-Za-z][\w.-]*[_-][\w.-]+", head.strip("`")) and not unit_of(head)
    return (words == {"0", "1"} and bool(variable) and not _KEY.match(head)) or words in ({"true", "false"}, {"yes", "no"})


def _row_roles(names: Sequence[str], head: str) -> int:
    """How surely the cells of a column are sides: 0 where they are none."""
    distinct = list(dict.fromkeys(name for name in names if name))
    if is_switch(head, distinct):
        return 1
    if len(distinct) < 2 or any(better(name) for name in distinct) or any(_claims(name) and release(name) is None for name in distinct):
        return 0
    said = {role(name) for name in distinct} - {""}
    if said & {"baseline"} or (said and len(distinct) == 2) or (len(said) and _SIDE_HEAD.match(head)):
        return 3
    if all(release(name) is not None for name in distinct):
        return 2
    if len(distinct) == 2 and all(map(implementation, distinct)):
        return 1
    return 1 if _SIDE_HEAD.match(head) and len(distinct) == 2 and head.lower() not in ("command", "state", "code") else 0
