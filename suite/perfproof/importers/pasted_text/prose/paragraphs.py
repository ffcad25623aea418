"""What sentences say of a metric on two sides, in one of them or in several: "Before, it took 3.8 ms. Now it takes 1.1 ms"."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfproof.importers.pasted_text.prose import phrases
from perfproof.importers.pasted_text.values.named_values import Value
from perfproof.importers.pasted_text.words.nouns import METRIC
from perfproof.model.base import numerals
from perfproof.model.base.quantities import converted, known, scale
from perfproof.model.scenarios.evaluation_names import evaluates
from perfproof.model.scenarios.metric_directions import better_in
from perfproof.model.scenarios.side_names import release, role

_BULLET = re.compile(r"(?m)^\s*(?:[-*+•]|[0-9]{1,2}[.)])\s+")
STOP = re.compile(r"(?<=[.!?;])\s+|\n\s*\n")
LINES = re.compile(r"\n\s*\n")

COUNTED = ("tokens", "blocks")
"""What a cache holds: whole numbers, whose commas part thousands."""
_LENGTH = re.compile(r"(?i)\baccept\w* len(?:gth)?$|\b(?:perplexity|ppl)$")
"""Metrics that have no unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One metric with its two numbers as they were written, and their units."""

    metric: str
    before: float
    after: float
    unit: str
    sides: tuple[str, str] = ("before", "after")


def read(text: str, *, cased: bool = False) -> list[Said]:
    """The metrics of which sentences tell both sides, where that is asked for with what they were measured at; of numbers without a clear
    comma, or in two units, nothing."""
    whole = [
        (values, sentence)
        for paragraph in LINES.split(_BULLET.sub("\n\n", text))
        for sentence in _sentences(paragraph)
        if (values := phrases.read(sentence, cased=cased)) and all(value.side for value in values)
    ]
    by = numerals.convention([value.digits for values, _ in whole for value in values])
    if by == "mixed":
        return []
    found: list[Said] = []
    ones: list[Value] = []
    for values, _ in whole:
        if len(_ways(values)) > 1:
            found += _paired(values, by)
        else:
            ones += values
    return [*found, *_paired(_alike(ones), by)] if len(_ways(ones)) > 1 else found


def _sentences(paragraph: str) -> Iterator[str]:
    """The sentences of a paragraph; a part between semicolons alone where it names a side itself, or has both numbers."""
    lines = paragraph.split("\n")
    if len(lines) > 1 and all(any(value.side for value in phrases.read(line)) for line in lines if re.search(r"[0-9]\s?[a-zµ/]", line)):
        yield from (line for line in lines if line.strip())
        return
    for sentence in re.split(r"(?<=[.!?])(?<!\bvs\.)(?<!\bca\.)(?<!\bapprox\.)(?<!\bavg\.)\s+(?=[^\W\d_]|[`*])", paragraph):
        parts = re.split(r"\s*;\s+", sentence)
        whole = [(values := phrases.read(part)) and all(value.side for value in values) for part in parts]
        if len(parts) > 1 and all(whole):
            yield from parts
        else:
            yield sentence


def _ways(values: Sequence[Value]) -> set[str]:
    return {_way(value.side) for value in values}


def _way(side: str) -> str:
    return role(side) or side


def _paired(values: Sequence[Value], by: numerals.Convention) -> Iterator[Said]:
    """The values of one name, where two sides have one each."""
    named: dict[str, list[Value]] = defaultdict(list)
    for value in values:
        named[value.name.casefold()].append(value)
    for group in named.values():
        if len(group) != 2 or len(_ways(group)) != 2:
            continue
        before, after = sorted(group, key=_order)
        if _order(before) == _order(after) or (before.unit not in COUNTED and numerals.doubtful([value.digits for value in group])):
            continue
        label = group[0].name or (before.unit if "/" in before.unit else "")
        one, other = (numerals.value(value.digits, by) for value in (before, after))
        same = converted(other, after.unit, before.unit)
        measured = known(before.unit) or before.unit in ("$", "€", "£", "¥", *COUNTED) or _are_scores(label, before, after)
        if label and measured and same is not None and _is_metric(label, before.unit):
            yield Said(metric=label, before=one, after=same, unit=before.unit, sides=(before.side, after.side))


def _are_scores(label: str, *values: Value) -> bool:
    """Whether two numbers without a unit are what an evaluation gave, "GSM8K is 0.853 on main and 0.855 with this PR", or the length of
    what was accepted."""
    if _LENGTH.search(label):
        return not any(value.unit for value in values)
    fractions = all(not value.unit and re.fullmatch(r"(?:0?\.[0-9]+|1\.0+)", value.digits) for value in values)
    return fractions and evaluates(label) and better_in(label, "") == "higher"


def _is_metric(label: str, unit: str) -> bool:
    """Whether a number of this name and unit may be a measurement; of a size or a share nobody may know the direction."""
    return better_in(label, unit) is not None or scale(unit)[0] in ("bytes", "%")


def _order(value: Value) -> tuple[int, str]:
    """Where a side stands: the baseline's before the other, an older version before a newer one."""
    version = release(value.side)
    if version is not None and not role(value.side):
        return 1, ".".join(f"{part:08d}" for part in version.release)
    return {"baseline": 0, "candidate": 2}.get(role(value.side), 1), ""


def _alike(values: Sequence[Value]) -> list[Value]:
    """The values; where two sides call one metric by more and by fewer words, both by the same."""
    cores: dict[tuple[str, str], list[Value]] = defaultdict(list)
    for value in values:
        noun = list(METRIC.finditer(value.name))
        cores[(noun[-1]["label"].casefold() if noun else value.name.casefold()), _way(value.side)].append(value)
    named = {}
    for (core, way), own in cores.items():
        others = [value for (other, side), each in cores.items() if other == core and side != way for value in each]
        if len(own) == len(others) == 1 and len(own[0].name) < len(others[0].name):
            named[id(own[0])] = others[0].name
    for value in values:
        others = [
            each for each in values if _way(each.side) != _way(value.side) and each.name and scale(each.unit)[0] == scale(value.unit)[0]
        ]
        same = [each for each in others if each.name.casefold().endswith(f", {value.name.casefold()}")]
        if value.name and len(same) == 1:
            named[id(value)] = same[0].name
        if not value.name and len(others) == 1:
            named[id(value)] = others[0].name
    return [Value(name=named.get(id(value), value.name), digits=value.digits, unit=value.unit, side=value.side) for value in values]
