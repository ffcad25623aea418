"""The numbers of one item as readings: a client's block, an object of JSON, a line, each with the side and the words around it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.clients.client_blocks import Block
from perfproof.importers.pasted_text.clients.json_values import Structure
from perfproof.importers.pasted_text.context.contexts import Context
from perfproof.importers.pasted_text.context.readings import Found, Reading, Score
from perfproof.importers.pasted_text.values.named_values import OF_TWO, Named, Value, arrowed, in_order
from perfproof.importers.pasted_text.words.cells import unit_of
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import STATISTICS, better, better_in
from perfproof.model.scenarios.side_names import names_a_side

_CHANGED = re.compile(r"(before|after) (?=\S)")
"""What begins the name of a number within a diff."""


def of_block(block: Block, context: Context, place: int) -> Found:
    """One run of a client. Of a frame within a diff, what was not changed is of neither side."""
    values = dict(block.values)
    sided = {name for name in values if _inside(name)[0]}
    of_both = [f"{name}: {values[name]} on both sides" for name in values if sided and name not in sided and not context.side]
    values = {name: digits for name, digits in values.items() if not of_both or name in sided}
    names = {_inside(name)[1] for name in values}
    readings = [
        Reading(
            side=side or context.side,
            context=context,
            label=name,
            measure=_above_share(name, names) or _measure(name),
            digits=digits,
            named=unit_of(name) or unit_of(_key(name)) or unit_of(_above_share(name, names)),
            run=block.run or context.run,
            runs=block.runs,
            place=place,
            number=block.number,
            kind="block",
        )
        for whole, digits in values.items()
        for side, name in [_inside(whole) if not (context.side and _CHANGED.match(whole)) else ("", whole)]
    ]
    return Found(readings=readings, left_out=[*of_both, *(f"{name}: {text[:40]}" for name, text in block.unread if unit_of(name))])


def of_structure(item: Structure, of_scores: Callable[[Context], Context], context: Context, place: int) -> Found:
    """The numbers and the scores of an object."""
    context = replace(context, side=item.side) if item.side else context
    scored = of_scores(context) if item.scores else context
    names = {one.name for one in item.numbers}
    readings = [
        Reading(
            side=one.side or context.side,
            context=context,
            label=one.name or context.above or "value",
            measure=_above_share(one.name, names) or _measure(one.name) or context.above,
            digits=one.digits,
            unit=one.unit or _unit_above(one.name, (context.caption, *reversed(context.section), *reversed(context.weak))),
            named=unit_of(one.name) or unit_of(_key(one.name)) or unit_of(_above_share(one.name, names)),
            run=one.run or context.run,
            place=place,
            number=item.number,
            kind="block",
        )
        for one in item.numbers
    ]
    scores = [Score(total=replace(total, side=total.side or scored.side), context=scored) for total in item.scores]
    return Found(readings=readings, scores=scores, left_out=list(item.left_out))


def _key(name: str) -> str:
    """The innermost key of a nested name that says what was measured, "ttft_s" of "results.ttft_s.quantiles.p50"; "" for no such name."""
    keys = name.split(".")
    if len(keys) < 2 or not all(re.fullmatch(r"[A-Za-z_][\w ()/%-]*", key) for key in keys):
        return ""
    return next((key for key in reversed(keys[:-1]) if better_in(key, unit_of(key)) is not None), "")


def _measure(name: str) -> str:
    """What a nested name measures: its own words, or the key within it that is a metric's, where the last one is a statistic."""
    plain = name.replace(".", " ")
    return _key(name) or plain if _is_statistic(name.rpartition(".")[2]) and better(plain) is None else plain


_SHARE = re.compile(
    r"(?:(?P<above>.+?)\.)??(?:(?P<key>(?:\w+_)?(?:percentiles?|quantiles?|pct))\.)?[Pp]?[0-9]{1,3}(?:\.[0-9]{1,3})?(?:th|%)?"
)
"""A nested name whose innermost key is a percentile's number, "percentiles.99", "ttft_ms.p99.9"."""


def _above_share(name: str, names: Iterable[str]) -> str:
    """The metric of a percentile whose own name says none: the nearest key above it, or the one of which a mean stands beside it."""
    found = _SHARE.fullmatch(name)
    if not found or not (found["above"] or found["key"]):
        return ""
    keys = [key for key in (found["above"] or "").split(".") if key] + ([found["key"]] if found["key"] else [])
    if of_key := next((key for key in reversed(keys) if better_in(key, unit_of(key)) is not None), ""):
        return of_key
    prefix = f"{found['above']}." if found["above"] else ""
    beside = {each[len(prefix) :] for each in names if each.startswith(prefix)} if found["key"] else set[str]()
    means = [
        each for each in beside if re.match(r"(?i)(?:avg|average|mean|median)[_ ]", each) and better_in(each, unit_of(each)) is not None
    ]
    return means[0] if len({re.sub(r"(?i)^[a-z]+[_ ]", "", each) for each in means}) == 1 else ""


def _is_statistic(name: str) -> bool:
    """Whether a name says no more than what was made of many numbers: "p50", "mean", "quantile_99"."""
    words = name.lower().split()
    plain = r"p[0-9]{1,2}(?:[._][0-9]{1,2})?|(?:quantile|percentile)_?[0-9]{1,2}|std\w*"
    return bool(words) and all(word in STATISTICS or re.fullmatch(plain, word) for word in words)


def _inside(name: str) -> tuple[str, str]:
    """The side and the name of a number within JSON: "main.ttft" is main's, "p99.9" is of no side; within a diff, "before TTFT (ms)"."""
    if changed := _CHANGED.match(name):
        return changed[1], name[changed.end() :]
    side, dot, rest = name.partition(".")
    return (side, rest) if dot and names_a_side(side) else ("", name)


_ARTICLE = re.compile(r"(?i)^(?:the|our)\s+(?=\S)")


def of_line(item: Named, context: Context, place: int, order_of_all: str) -> Found:
    """The numbers of one line."""
    above = context.above
    own_names = dict.fromkeys(value.name for value in item.values if value.side in OF_TWO)
    texts = (*own_names, context.caption, context.side, *reversed(context.section), *reversed(context.weak), order_of_all)
    order = next((sides for text in texts if (sides := in_order(text))), None)
    ran = {one: "" if order or not context.side else str(at) for at, one in enumerate(OF_TWO, 1)}
    said = next((sides for text in (context.side, *context.section, *context.weak) if (sides := arrowed(text))), ("before", "after"))
    named = {**dict(zip(("before", "after"), said, strict=True)), **dict(zip(OF_TWO, order or ("", ""), strict=True))}
    whose = [value for value in item.values if not order and not context.side and value.side in OF_TWO]
    alone = item.values[0] if len(item.values) == 1 else None
    if alone and alone.side and alone.name == alone.unit:
        item = replace(item, values=(replace(alone, name=""),))  # its unit is no name
    readings = [
        Reading(
            side=named.get(value.side, value.side) or context.side,
            context=context,
            label=_ARTICLE.sub("", value.name) or above or (value.unit if "/" in value.unit and len(item.values) > 1 else "value"),
            measure=above if _is_below(value, above) else value.name or above,
            digits=value.digits,
            unit=value.unit or _unit_above(value.name, texts),
            named=unit_of(value.name) or (unit_of(above) if not value.name or _is_below(value, above) else ""),
            run=value.run or ran.get(value.side, "") or context.run,
            place=place,
            number=item.number,
            kind="line",
        )
        for value in item.values
        if value not in whose
    ]
    odd = [f"{value.name}: {value.digits} {value.unit}: nothing says whose it is, the first or the second number" for value in whose]
    return Found(readings=readings, left_out=[*(f"{name}: {text}" for name, text in item.unread), *odd])


def _is_below(value: Value, above: str) -> bool:
    """Whether a number is a statistic without a unit of the metric above it: "p50: 12.1" below "ttft_ms:"."""
    return not value.unit and _is_statistic(value.name) and better_in(above, unit_of(above)) is not None


def _unit_above(name: str, texts: Sequence[str]) -> str:
    """The one unit of a rate or a time that the words above a line name, "tok/s per client", where its own name is no metric."""
    if better(name) is not None or unit_of(name):
        return ""
    for text in texts:
        units = {word for word in re.split(r"[\s,;:()\[\]]+", text) if known(word) and ("/" in word or word in ("ms", "us", "µs", "ns"))}
        if len(units) == 1 and (unit := units.pop()) and better_in(name or text, unit):
            return unit
    return ""
