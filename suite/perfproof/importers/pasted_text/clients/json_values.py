"""JSON, or what Python prints of its dictionaries, that holds both sides, several runs, a list of rows, or lm_eval's results.

A key that names a side is one, wherever it stands; the other keys are the name of a number. Numbers in a list are runs, but not those of
requests. An object whose numbers are all of one run of a client is `client_blocks`'.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from perfproof.importers.pasted_text.clients.client_blocks import RUN_KEYS
from perfproof.importers.pasted_text.clients.literals import DEEPEST, parsed
from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.values.named_values import Value
from perfproof.importers.pasted_text.words.alternatives import told_apart
from perfproof.importers.pasted_text.words.cells import UNIT, cell, unit_of
from perfproof.model.base.number_range import is_number
from perfproof.model.base.quantities import known
from perfproof.model.records.eval_items import Total
from perfproof.model.scenarios.eval_metrics import direction
from perfproof.model.scenarios.metric_directions import better
from perfproof.model.scenarios.side_names import names_a_side, release, role, split

LARGEST, MOST_LINES, MOST_RUNS = 2_000_000, 20_000, 100
_NAME = re.compile(r"^(?P<name>[^\W\d_][^{}\[\]:=]{0,60}?)(?:\s*[:=]\s*|\s(?=\{))(?=[{\[])")
_IDENTITY = ("side", "branch", "build", "version", "commit", "arm", "variant", "label", "tag", "name", "config", "mode", "ref", "revision")
_METRIC = ("metric", "name", "benchmark", "test", "case", "task")
_UNIT = ("unit", "units")
_OF_REQUESTS = re.compile(
    r"(?i)^(?:ttfts|itls|latencies|queue_times|start_times|(?:input|output)_lens|errors|generated_texts|percentiles?|.*_per_request)$"
)
_NO_ARM = re.compile(
    r"(?i)(?:^|[_ .-])(?:stderr|std\w*|error|diff\w*|delta|ratio|speedup|change|gain|improvement|p|pvalue|n|count|num|samples?"
    r"|limit|shots?|fewshot"
    r"|version|seed|epochs?|steps?|threshold|target|id|index|len|length|size|tokens|requests|value|pct|percent)(?:$|[_ .-])"
)
"""Keys of numbers beside a baseline's that are no side's."""
MOST_ARMS = 4
_SCORE = re.compile(r"^(?P<metric>[^,]+),(?P<filter>[^,]+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """The numbers and scores of an object, its own side ("" for none), and what was left out of it, in words."""

    numbers: tuple[Value, ...]
    scores: tuple[Total, ...]
    left_out: tuple[str, ...]
    number: int
    side: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a number stands: the keys above it, the side, the run and the unit that they say."""

    keys: tuple[str, ...] = ()
    side: str = ""
    run: str = ""
    unit: str = ""
    depth: int = 0

    def below(self, **told: Any) -> _Place:
        return _Place(**{**{name: getattr(self, name) for name in self.__slots__}, "depth": self.depth + 1, **told})


def structure(lines: Sequence[Line], at: int) -> tuple[Structure, int] | None:
    """An object or a list that is more than one run of a client."""
    named = _NAME.match(lines[at].text)
    begins = named.end() if named else 0
    if lines[at].text[begins : begins + 1] not in ("{", "["):
        return None
    text = "\n".join(line.text for line in lines[at : at + MOST_LINES])[begins:LARGEST]
    found, end = parsed(text)
    if not isinstance(found, Mapping | Sequence) or not end or re.match(r"\s*(?::|->|=)", text[end:]):
        return None
    place = at + text[:end].count("\n") + 1
    own = named["name"].strip(" *`'\"-") if named else ""
    behind = re.match(rf"[ ]?(?P<unit>{UNIT})(?=[\s,;.(]|$)", text[end:])
    unit = behind["unit"] if behind and known(behind["unit"]) else ""
    side = next((str(found[key]) for key in _IDENTITY if isinstance(found.get(key), str)), "") if isinstance(found, Mapping) else ""
    side = side if _is_side(side) else ""
    apart = next(((side, rest) for side, rest in split(own) if better(rest)), None)
    start = (
        _Place(side=apart[0], keys=(apart[1],), unit=unit)
        if apart
        else _Place(side=own, unit=unit)
        if told_apart(own) and len(own) <= 80
        else _Place(side=side, keys=(own,) if own else (), unit=unit)
    )
    if not named and isinstance(found, Mapping) and _one_run(found):
        return None
    leaves = list(_of_rows([found], start) if isinstance(found, Mapping) and _is_row(found) else _walk(found, start))
    numbers = tuple(each for each in leaves if isinstance(each, Value))
    scores = tuple(each for each in leaves if isinstance(each, Total))
    left = tuple(each for each in leaves if isinstance(each, str))
    if not numbers and not scores:
        return None
    return Structure(numbers=numbers, scores=scores, left_out=left, number=lines[at].number, side=side), place


def _is_row(found: Mapping[Any, Any]) -> bool:
    """Whether an object names a metric, and has a number of each side: a row of a list that has no brackets."""
    sized = bool(_arms(found)) and any(_is_size(str(key), [value]) for key, value in found.items())
    return sized or (_sides_inside(found) and any(isinstance(found.get(key), str) for key in _METRIC))


def _one_run(found: Mapping[Any, Any]) -> bool:
    """Whether an object is one run of a client: no side, no run and no score in it."""
    every = list(_items(found, 0))
    sided = any(_is_side(str(key)) or (isinstance(value, list) and _runs(str(key), value)) for key, value in every)
    scored = bool(_scores(found)) or any(isinstance(value, Mapping) and _scores(value) for _, value in every)
    return (
        not sided
        and not scored
        and not any(isinstance(value, list) and any(isinstance(each, Mapping) for each in value) for _, value in every)
    )


def _items(found: Any, depth: int) -> Iterator[tuple[Any, Any]]:
    if isinstance(found, Mapping) and depth < DEEPEST:
        for key, value in found.items():
            yield key, value
            yield from _items(value, depth + 1)


def _is_side(name: str) -> bool:
    return names_a_side(name) and len(name) <= 80


def _walk(found: Any, place: _Place) -> Iterator[Value | Total | str]:
    if place.depth > DEEPEST:
        yield f"{'.'.join(place.keys)}: is nested too deeply"
    elif isinstance(found, Mapping):
        yield from _of_object(found, place)
    elif isinstance(found, list | tuple):
        yield from _of_list(found, place)
    elif is_number(found):
        yield Value(name=".".join(place.keys), digits=repr(found), unit=place.unit, side=place.side, run=place.run)
    elif isinstance(found, str) and (one := cell(found)).kind == "value" and known(one.unit):
        yield Value(name=".".join(place.keys), digits=one.digits, unit=one.unit, side=place.side, run=place.run)


def _of_object(found: Mapping[Any, Any], place: _Place) -> Iterator[Value | Total | str]:
    if "results" in found and any(isinstance(each, Mapping) and _scores(each) for each in _values(found["results"])):
        found = {"results": found["results"]}
        place = place.below(keys=place.keys)
    scores = _scores(found)
    place = place.below(unit=next((str(found[key]) for key in _UNIT if isinstance(found.get(key), str)), place.unit))
    arms = _arms(found) if not place.side else frozenset()
    for name, value in found.items():
        key = str(name)
        if key in arms:
            yield from _walk(value, place.below(side=key)) if value is not None else [f"{'.'.join((*place.keys, key))}: null"]
        elif key in scores:
            yield _total(key, found, place)
        elif (matched := _SCORE.match(key)) and matched["metric"].endswith("_stderr"):
            continue
        elif _is_side(key) and not place.side:
            yield from _walk(value, place.below(side=key))
        else:
            yield from _walk(value, place.below(keys=place.keys if key == "results" and not place.keys else (*place.keys, key)))


def _arms(found: Mapping[Any, Any]) -> frozenset[str]:
    """The keys of an object that are sides beside the one that is a baseline's, {"baseline": 0.667, "mtp": 0.663}, and that: numbers, or
    nothing, whose names are no metrics and no sizes; none where the object has other numbers too."""
    own = {str(key): value for key, value in found.items() if (is_number(value) or value is None) and not _is_size(str(key), [value])}
    bases = [key for key in own if role(key) == "baseline"]
    others = [key for key in own if key not in bases]
    plain = all(
        role(key) == "candidate" or (better(key) is None and not unit_of(key) and not _NO_ARM.search(key) and key not in RUN_KEYS)
        for key in others
    )
    return frozenset(own) if len(bases) == 1 and 0 < len(others) <= MOST_ARMS and plain and is_number(own[bases[0]]) else frozenset()


def _values(found: Any) -> Sequence[Any]:
    return list(found.values()) if isinstance(found, Mapping) else []


def _scores(found: Mapping[Any, Any]) -> frozenset[str]:
    """The keys of an object that are scores of lm_eval with their standard errors: "acc,none" beside "acc_stderr,none"."""
    ways = [match for key in found if (match := _SCORE.match(str(key)))]
    return frozenset(
        match[0] for match in ways if is_number(found[match[0]]) and is_number(found.get(f"{match['metric']}_stderr,{match['filter']}"))
    )


def _total(key: str, found: Mapping[Any, Any], place: _Place) -> Total:
    metric, _, which = key.partition(",")
    return Total(
        side=place.side,
        task=".".join(place.keys) or "task",
        filter=which,
        metric=metric,
        value=float(found[key]),
        error=float(found[f"{metric}_stderr,{which}"]),
        better=direction(metric),
    )


def _runs(key: str, found: Sequence[Any]) -> bool:
    """Whether a list holds a number a run."""
    return bool(found) and len(found) <= MOST_RUNS and all(map(is_number, found)) and not _OF_REQUESTS.match(key)


def _of_list(found: Sequence[Any], place: _Place) -> Iterator[Value | Total | str]:
    key = place.keys[-1] if place.keys else ""
    if _runs(key, found):
        for run, value in enumerate(found, 1):
            yield from _walk(value, place.below(run=str(run)))
    elif found and all(isinstance(each, Mapping) for each in found):
        yield from _of_rows(list(found), place)
    elif any(map(is_number, found)):
        yield f"{key or 'a list'}: {len(found)} numbers, which are no runs"


def _of_rows(rows: Sequence[Mapping[Any, Any]], place: _Place) -> Iterator[Value | Total | str]:
    """The rows of a list: each of a side, of a metric, or a run of the side above; two without anything that tells them apart are sides."""
    sides = [_side_of(row) for row in rows]
    nameless = not any(sides) and not place.side and len(rows) == 2 and not any(_sides_inside(row) for row in rows)
    alike = (
        nameless and set(rows[0]) == set(rows[1]) and all(rows[0][key] == rows[1][key] for key in rows[0] if isinstance(rows[0][key], str))
    )
    numbers = count(1)
    for row, side in zip(rows, sides, strict=True):
        told = {name for name, value in row.items() if isinstance(value, str)}
        named = next((key for key in _METRIC if key in told and row[key] != side), "")
        run = next((str(row[key]) for key in RUN_KEYS if key in row), "")
        cases = [
            f"{key}={row[key]}"
            for key in row
            if key in told and key not in (named, *_UNIT) and row[key] != side and not cell(row[key]).unit
        ]
        sizes = [f"{key}={row[key]}" for key in row if _is_size(str(key), [other.get(key) for other in rows])]
        rest = {key: value for key, value in row.items() if key not in (*RUN_KEYS, named) and f"{key}={value}" not in (*cases, *sizes)}
        rest = {str(row[named]) if key == "value" and named else key: value for key, value in rest.items() if row[key] != side}
        own = (*place.keys, *([str(row[named])] if named and "value" not in row else []), *cases, *sizes)
        ordinal = ("first", "second")[next(numbers) - 1] if alike else ""
        again = not side and not alike and not cases and not sizes and not named and not run
        yield from _walk(
            rest, place.below(keys=own, side=place.side or side or ordinal, run=run or place.run or (str(next(numbers)) if again else ""))
        )


def _is_size(key: str, values: Sequence[Any]) -> bool:
    """Whether a number of each row is a size, which tells rows apart, and no result: a batch of 1 and of 8."""
    size = re.search(
        r"(?i)(?:^|_)(?:batch(?:_size)?|bs|concurrency|clients|users|len|length|isl|osl|tp|qps|rps|request_rate|num_prompts)$", key
    )
    return bool(size) and all(isinstance(value, int) or value is None for value in values)


def _side_of(row: Mapping[Any, Any]) -> str:
    """The side that a row names itself."""
    named = [str(row[key]) for key in _IDENTITY if isinstance(row.get(key), str)]
    return next((each for each in named if _is_side(each) or release(each) is not None), "")


def _sides_inside(row: Mapping[Any, Any]) -> bool:
    return any(_is_side(str(key)) for key, _ in _items(row, 0))
