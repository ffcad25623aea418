"""What people paste into pull requests, read in three steps: items, readings, pairs.

The text is cut into items: headings, tables, blocks of clients, lines with a name and a number, sentences (`text_items`). Each item but
headings is read into readings (`readings`): a number, its side, its section, what it measures. Readings are paired section by section
(`pairing`): the names of the sides say which is the baseline, and what they don't say is a guess, which is told.

It refuses to guess where a sign may be turned round: workloads, sizes, ratios and claims are no sides, a comma that may be either is asked
about. What it does not pair is named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from perfproof.importers.pasted_text import left_over, refusals, sentences, text_items
from perfproof.importers.pasted_text.cells import unit_of
from perfproof.importers.pasted_text.clients.client_blocks import Block
from perfproof.importers.pasted_text.clients.client_setup import Setup
from perfproof.importers.pasted_text.clients.json_values import Structure
from perfproof.importers.pasted_text.headings import Context, Heading, both, contexts
from perfproof.importers.pasted_text.lines import side_letters
from perfproof.importers.pasted_text.lines.text_lines import lines_of, load
from perfproof.importers.pasted_text.named_values import OF_TWO, Named, arrowed, in_order
from perfproof.importers.pasted_text.pairs import pairing
from perfproof.importers.pasted_text.pairs.pair_sections import plain_name
from perfproof.importers.pasted_text.readings import Found, Paste, Reading, Score, ordinal
from perfproof.importers.pasted_text.tables import captions, lm_eval_tables, table_readings
from perfproof.importers.pasted_text.tables.table_shapes import Table
from perfproof.importers.pasted_text.text_items import Data, Item, Sentence
from perfproof.model.base import numerals
from perfproof.model.base.errors import BadInput
from perfproof.model.base.quantities import known, scale
from perfproof.model.records.eval_items import Total
from perfproof.model.scenarios.metric_directions import better, better_in
from perfproof.model.scenarios.side_names import role

__all__ = ["parse", "read"]

LEAST_SIDES = 2
NEAR = 0.02
"""How far a number of a sentence may be from one of a table and still be the same, rounded."""


def read(path: Path) -> Paste:
    """The pairs of a file. Raises `BadInput`, in three lines at most, where it can't be read or holds none."""
    found = parse(load(path))
    if why := refusals.why(found):
        raise BadInput(*(f"{path}: {reason}" for reason in why))
    return found


def parse(text: str) -> Paste:
    """What a text holds."""
    lines = side_letters.told(lines_of(text))
    paste = _read(text, text_items.items_of(lines))
    if not paste.pairs and not paste.scores:
        return paste
    read = [*((one.digits, one.unit or one.named) for one in paste.readings), *((repr(total.value), "") for total in paste.totals)]
    over = left_over.unread(lines, read, [*paste.left_out, *paste.faults])
    return replace(paste, left_out=tuple(dict.fromkeys([*paste.left_out, *over])))


def _read(text: str, items: Sequence[Item]) -> Paste:
    """What the items of a text hold: numbers with their sides, or else what its sentences say."""
    found = _found(items)
    paste = pairing.pair(found)
    if not paste.pairs and not paste.scores:
        paste = _of_two_models(items, found) or paste
    words = _words(items)
    said = sentences.read(words)
    unclear = sentences.unread(words, said)
    if paste.pairs or paste.scores:
        more = pairing.pair(_of_sentences([one for one in said if _is_more(one, paste)]))
        beside = [f"a sentence: {one.metric} {one.before:g} to {one.after:g} {one.unit}" for one in said if not _is_more(one, paste)]
        left_out = tuple(dict.fromkeys([*paste.left_out, *beside, *unclear, *more.faults]))
        return replace(paste, pairs=[*paste.pairs, *more.pairs], readings=[*paste.readings, *more.readings], left_out=left_out)
    if not said or paste.faults or paste.scores:
        return replace(paste, reasons=(*paste.reasons, *refusals.unread(text))) if not paste.reasons else paste
    return replace(pairing.pair(_of_sentences(said)), left_out=tuple(dict.fromkeys([*paste.left_out, *unclear])))


def _of_two_models(items: Sequence[Item], found: Found) -> Paste | None:
    """The pairs of a text that ran one model before and another after, told as unequal work; None for any other text."""
    models = {item.model for item in items if isinstance(item, Setup)}
    ran: dict[str, set[str]] = {}
    for side, context in [*((one.side, one.context) for one in found.readings), *((one.total.side, one.context) for one in found.scores)]:
        ran.setdefault(side, set()).update(models & set(context.section))
    if len(ran) < LEAST_SIDES or any(len(own) != 1 for own in ran.values()):
        return None
    paste = pairing.pair(_found(items, apart=False))
    own = {side: next(iter(each)) for side, each in ran.items()}
    scores = [replace(one, before=_asked(one.before, own), after=_asked(one.after, own)) for one in paste.scores]
    told = f"not the same work: {', '.join(f'{side} ran {model}' for side, model in own.items())}; another model alone changes the numbers"
    pairs = [replace(pair, same_work=False) for pair in paste.pairs]
    return replace(paste, pairs=pairs, scores=scores, left_out=(told, *paste.left_out)) if pairs or scores else None


def _asked(total: Total, models: Mapping[str, str]) -> Total:
    return replace(total, asked={**total.asked, "model": models.get(total.side, "")})


def _is_more(said: sentences.Said, paste: Paste) -> bool:
    """Whether a sentence says more than the numbers beside it: neither of its own is about one of theirs, and no metric is theirs."""
    own = [value * scale(said.unit)[1] for value in (said.before, said.after)]
    theirs = [
        numerals.value(one.digits, "") * scale(one.unit or one.named)[1]
        for one in paste.readings
        if scale(one.unit or one.named)[0] in (scale(said.unit)[0], "")
    ]
    near = any(abs(value - other) <= NEAR * max(abs(value), abs(other)) for value in own for other in theirs)
    return not near and not any(plain_name(said.metric) == plain_name(pair.label) for pair in paste.pairs)


def _words(items: Sequence[Item]) -> str:
    """The sentences of a text: what is neither a table nor a line with a name and a number; parted where something else stands between."""
    found, last = [], 0
    for item in items:
        if isinstance(item, Sentence):
            found += ["" if item.number > last + 1 else None, item.text]
            last = item.number
    return "\n".join(text for text in found if text is not None)


def _found(items: Sequence[Item], *, apart: bool = True) -> Found:
    """What all readers find, each item below its headings; models `apart`, or as if they were one."""
    found = Found()
    models = _models(items, apart=apart)
    data: list[Data] = [item for item in items if not isinstance(item, Setup)]
    around = iter(contexts([item if isinstance(item, Heading) else not isinstance(item, Sentence) for item in data]))
    by = numerals.convention([each for item in items if isinstance(item, Table) for row in item.rows for each in row])
    said = next((one for item in items if isinstance(item, Sentence | Heading) and (one := both(item.text))), "")
    sides, caption, remark = _Sides(), "", ""
    unit = next((one for item in items if isinstance(item, Sentence | Heading) and (one := captions.unit_of_all(item.text))), "")
    for place, item in enumerate(data):
        if isinstance(item, Heading):
            continue
        context = next(around)
        if isinstance(item, Sentence):
            caption = item.text if captions.captions(item.text) or item.text.endswith(":") else ""
            remark = item.text if captions.WAY.search(item.text) else remark
            sides.remark()
            continue
        context = replace(context, section=(*context.section, *models[place]), caption=caption, remark=remark)
        caption = caption if isinstance(item, Named) else ""
        if isinstance(item, Block):
            found.add(_block(item, sides.of_block(context, item), place))
            found.conditions[place] = dict(item.conditions)
        elif isinstance(item, Structure):
            found.add(_structure(item, sides, context, place))
        elif isinstance(item, Named):
            found.add(_named(item, context, place, said))
        elif lm_eval_tables.is_scores(item):
            context = sides.of_scores(context)
            found.add(lm_eval_tables.read(item, context, context.side, by))
        else:
            found.add(table_readings.read(item, context, place))
    below = next((one for item in items if isinstance(item, Sentence) and (one := _metric_in_brackets(item.text))), "")
    found.readings = [
        replace(each, label=below, measure=below) if below and each.label == "value" and not each.measure else each
        for each in found.readings
    ]
    found.readings = [_without_its_unit(reading) for reading in found.readings]
    found.order = said
    found.readings = [_in_unit(reading, unit) for reading in found.readings] if unit else found.readings
    return found


def _metric_in_brackets(text: str) -> str:
    """The metric that a line in brackets says all numbers are, "(mean TTFT over 3 runs)"."""
    found = re.fullmatch(r"[(\[](.{3,60})[)\]]\.?", text.strip()) or re.match(r"(?:This is|These are) (?:the )?(.{3,80})", text.strip())
    match = sentences.METRIC.match(found[1]) if found else None
    return match["label"] if match else ""


def _without_its_unit(reading: Reading) -> Reading:
    """A number below "Before (tok/s)": of the side Before, in that unit."""
    unit = unit_of(reading.side) if reading.side.endswith((")", "]")) else ""
    if not unit or not (side := re.sub(r"\s*[(\[][^()\[\]]*[)\]]$", "", reading.side)):
        return reading
    return replace(reading, side=side, unit=reading.unit or ("" if reading.named else unit))


def _in_unit(reading: Reading, unit: str) -> Reading:
    """A number without a unit of its own in the one that the text says of all; what can't be in it stays as it is."""
    if (
        reading.unit
        or reading.named
        or better_in(reading.measure, unit) is None
        or (better(reading.measure) == "higher" and "/" not in unit)
    ):
        return reading
    return replace(reading, unit=unit)


def _models(items: Sequence[Item], *, apart: bool) -> list[tuple[str, ...]]:
    """The model of each item that is no setup, where the text has several. One named above a side holds for the sides below, one named
    below a side for that side alone."""
    several = apart and len({item.model.casefold() for item in items if isinstance(item, Setup)}) > 1
    found: list[tuple[str, ...]] = []
    own: tuple[str, ...] = ()
    fresh = outer = False
    for item in items:
        if isinstance(item, Setup):
            own, fresh, outer = ((item.model,) if several else ()), True, False
            continue
        if isinstance(item, Heading) and role(item.text):
            outer = outer or fresh
            own = own if outer else ()
        fresh = fresh and isinstance(item, Heading | Sentence)
        found.append(own)
    return found


class _Sides:
    """The sides of blocks and score tables: after a remark, a second one below the same heading is no longer of the side it names."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, object]] = set()
        self._remarked = False
        self._unnamed = 0

    def remark(self) -> None:
        self._remarked = True

    def of_block(self, context: Context, block: Block) -> Context:
        if block.side:
            return replace(context, side=block.side)
        return self._own(context, "block")

    def of_scores(self, context: Context) -> Context:
        context = self._own(context, "scores")
        if context.side:
            return context
        self._unnamed += 1
        return replace(context, side=ordinal(self._unnamed))

    def _own(self, context: Context, kind: str) -> Context:
        seen = (kind, (context.side, context.section, context.weak, context.run))
        again = seen in self._seen and self._remarked and not context.run
        self._seen.add(seen)
        self._remarked = False
        return replace(context, side="") if again else context


def _block(block: Block, context: Context, place: int) -> Found:
    """One run of a client."""
    readings = [
        Reading(
            side=side or context.side,
            context=context,
            label=name,
            measure=name.replace(".", " "),
            digits=digits,
            named=unit_of(name),
            run=block.run or context.run,
            runs=block.runs,
            place=place,
            number=block.number,
            kind="block",
        )
        for whole, digits in dict(block.values).items()
        for side, name in [_inside(whole)]
    ]
    return Found(readings=readings, left_out=[f"{name}: {text[:40]}" for name, text in block.unread if unit_of(name)])


def _structure(item: Structure, sides: _Sides, context: Context, place: int) -> Found:
    """The numbers and the scores of an object."""
    context = replace(context, side=item.side) if item.side else context
    scored = sides.of_scores(context) if item.scores else context
    readings = [
        Reading(
            side=one.side or context.side,
            context=context,
            label=one.name or context.above or "value",
            measure=one.name.replace(".", " ") or context.above,
            digits=one.digits,
            unit=one.unit,
            named=unit_of(one.name),
            run=one.run or context.run,
            place=place,
            number=item.number,
            kind="block",
        )
        for one in item.numbers
    ]
    scores = [Score(total=replace(total, side=total.side or scored.side), context=scored) for total in item.scores]
    return Found(readings=readings, scores=scores, left_out=list(item.left_out))


def _inside(name: str) -> tuple[str, str]:
    """The side and the name of a number within JSON: "main.ttft" is main's, "p99.9" is of no side."""
    side, dot, rest = name.partition(".")
    return (side, rest) if dot and role(side) in ("baseline", "candidate") else ("", name)


def _named(item: Named, context: Context, place: int, order_of_all: str) -> Found:
    """The numbers of one line."""
    above = context.above
    own_names = dict.fromkeys(value.name for value in item.values if value.side in OF_TWO)
    texts = (*own_names, context.caption, context.side, *reversed(context.section), *reversed(context.weak), order_of_all)
    order = next((sides for text in texts if (sides := in_order(text))), None)
    ran = {one: "" if order or not context.side else str(at) for at, one in enumerate(OF_TWO, 1)}
    said = next((sides for text in (context.side, *context.section, *context.weak) if (sides := arrowed(text))), ("before", "after"))
    named = {**dict(zip(("before", "after"), said, strict=True)), **dict(zip(OF_TWO, order or ("", ""), strict=True))}
    whose = [value for value in item.values if not order and not context.side and value.side in OF_TWO]
    readings = [
        Reading(
            side=named.get(value.side, value.side) or context.side,
            context=context,
            label=value.name or above or "value",
            measure=value.name or above,
            digits=value.digits,
            unit=value.unit or _unit_above(value.name, texts),
            named=unit_of(value.name) or ("" if value.name else unit_of(above)),
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


def _unit_above(name: str, texts: Sequence[str]) -> str:
    """The one unit of a rate or a time that the words above a line name, "tok/s per client", where its own name is no metric."""
    if not name or better(name) is not None or unit_of(name):
        return ""
    for text in texts:
        units = {word for word in re.split(r"[\s,;:()\[\]]+", text) if known(word) and ("/" in word or word in ("ms", "us", "µs", "ns"))}
        if len(units) == 1 and (unit := units.pop()) and better_in(name, unit):
            return unit
    return ""


def _of_sentences(said: Sequence[sentences.Said]) -> Found:
    """Sentences as readings of two sides; where they call these by several names, of before and after."""
    one_way = len({tuple(side.casefold() for side in one.sides) for one in said}) == 1
    return Found(
        readings=[
            Reading(
                side=side,
                context=Context(),
                label=one.metric,
                measure=one.metric,
                digits=repr(value),
                unit=one.unit,
                place=place,
                kind="line",
            )
            for place, one in enumerate(said)
            for side, value in zip(one.sides if one_way else ("before", "after"), (one.before, one.after), strict=True)
        ]
    )
