"""What people paste into pull requests, read in three steps: items, readings, pairs.

The text is cut into items: headings, tables, blocks of clients, lines with numbers, sentences (`text_items`); commands that differ in one
thing are headings too (`commands`). Each item but headings is read into readings (`readings`): a number, its side, its section, what it
measures. Headings say side and section of what stands below (`contexts`), columns and rows those of a table (`tables`), and of running
words each number has the side and the metric beside it (`prose`). Readings are paired section by section (`pairs`): the names of the sides
say which is the baseline (`baseline_choice`), and what they don't say is a guess, which the answer names. What no reading holds is named
(`left_over`).

It refuses to guess where a sign may be turned round: workloads, sizes, ratios and claims are no sides, a comma that may be either is asked
about. What it does not pair is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from perfproof.importers.pasted_text import item_readings, left_over, refusals, text_items, text_units
from perfproof.importers.pasted_text.block_sides import BlockSides
from perfproof.importers.pasted_text.clients.client_blocks import Block
from perfproof.importers.pasted_text.clients.client_setup import Setup
from perfproof.importers.pasted_text.clients.json_values import Structure
from perfproof.importers.pasted_text.context.contexts import Context, contexts
from perfproof.importers.pasted_text.context.headings import Heading, both
from perfproof.importers.pasted_text.context.readings import ORDINALS, Found, Paste, Reading
from perfproof.importers.pasted_text.lines.text_lines import lines_of, load, with_sides
from perfproof.importers.pasted_text.pairs import label_sides, pairing, side_spellings
from perfproof.importers.pasted_text.pairs.pair_sections import plain_name
from perfproof.importers.pasted_text.prose import runs_in_sentences, sentences
from perfproof.importers.pasted_text.prose.paragraphs import Said
from perfproof.importers.pasted_text.tables import captions, cell_legends, lm_eval_tables, table_readings
from perfproof.importers.pasted_text.tables.shapes.table_shapes import Table
from perfproof.importers.pasted_text.tables.sides import sides_elsewhere
from perfproof.importers.pasted_text.text_items import Data, Item, Sentence
from perfproof.importers.pasted_text.values.named_values import Named
from perfproof.importers.pasted_text.written_out import (
    asked_keys,
    build_lines,
    call_profiles,
    listed_runs,
    listed_statistics,
    load_tools,
    logged_numbers,
    spelt_out_sides,
    spoken_openings,
    timed_calls,
    timed_expressions,
)
from perfproof.model.base import numerals
from perfproof.model.base.errors import BadInput
from perfproof.model.base.quantities import scale
from perfproof.model.records.eval_items import Total
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
    spoken = spoken_openings.told(lines_of(text))
    printed = with_sides(logged_numbers.told(asked_keys.told(load_tools.told(call_profiles.told(build_lines.told(spoken))))))
    lines = listed_statistics.told(
        spelt_out_sides.told(listed_runs.told(runs_in_sentences.told(timed_expressions.told(timed_calls.told(printed)))))
    )
    paste = _read(text, text_items.items_of(lines))
    if not paste.pairs and not paste.scores:
        return paste
    read = [*((one.digits, one.unit or one.named) for one in paste.readings), *((repr(total.value), "") for total in paste.totals)]
    names = dict.fromkeys(name for one in paste.readings for name in (*one.context.section, one.label))
    over = left_over.unread(lines, read, [*paste.left_out, *paste.faults, *names])
    return replace(paste, left_out=tuple(dict.fromkeys([*paste.left_out, *over])))


def _read(text: str, items: Sequence[Item]) -> Paste:
    """What the items of a text hold: numbers with their sides, or else what its sentences say."""
    found = _found(items)
    paste = pairing.pair(found)
    if not _has_names(paste):
        paste = next((told for told in (_of_two_ways(items), _of_two_models(items, found)) if told), paste)
    words = _words(items)
    said = sentences.read(words)
    unclear = sentences.unread(words, said)
    if paste.pairs or paste.scores:
        more = pairing.pair(_of_sentences([one for one in said if _is_more(one, paste)], words))
        beside = [f"a sentence: {one.metric} {one.before:g} to {one.after:g} {one.unit}" for one in said if not _is_more(one, paste)]
        left_out = tuple(dict.fromkeys([*paste.left_out, *beside, *unclear, *more.faults]))
        return replace(paste, pairs=[*paste.pairs, *more.pairs], readings=[*paste.readings, *more.readings], left_out=left_out)
    if not said or paste.faults or paste.scores:
        return replace(paste, reasons=(*paste.reasons, *refusals.unread(text))) if not paste.reasons else paste
    return replace(pairing.pair(_of_sentences(said, words)), left_out=tuple(dict.fromkeys([*paste.left_out, *unclear])))


def _has_names(paste: Paste) -> bool:
    """Whether something was paired whose sides have names."""
    return bool(paste.scores) or any({pair.baseline, pair.candidate} - set(ORDINALS) for pair in paste.pairs)


def _of_two_ways(items: Sequence[Item]) -> Paste | None:
    """The pairs of a text whose headings are two ways to do one thing, "TP4" and "TP2xDP2"; None for any other text."""
    paste = pairing.pair(_found(items, ways=True))
    return paste if _has_names(paste) else None


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


def _is_more(said: Said, paste: Paste) -> bool:
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


def _found(items: Sequence[Item], *, apart: bool = True, ways: bool = False) -> Found:
    """What all readers find, each item below its headings; models `apart`, or as if they were one; headings of two `ways` as sides."""
    found = Found()
    models = _models(items, apart=apart)
    data: list[Data] = [item for item in items if not isinstance(item, Setup)]
    places = contexts([item if isinstance(item, Heading) else not isinstance(item, Sentence) for item in data], ways=ways)
    below_sides = _below_sides(data, places)
    around = iter(places)
    by = numerals.convention([each for item in items if isinstance(item, Table) for row in item.rows for each in row])
    said = next((one for item in items if isinstance(item, Sentence | Heading) and (one := both(item.text))), "")
    sides, caption, remark = BlockSides(), "", ""
    order = cell_legends.order_of(map(_whole, items))
    unit = next((one for item in items if (one := captions.unit_of_all(_whole(item)))), "")
    for place, item in enumerate(data):
        if isinstance(item, Heading):
            caption = item.said if item.said and captions.captions(item.said) else caption
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
            found.add(item_readings.of_block(item, sides.of_block(context, item), place))
            found.conditions[place] = dict(item.conditions)
        elif isinstance(item, Structure):
            found.add(item_readings.of_structure(item, sides.of_scores, context, place))
        elif isinstance(item, Named):
            found.add(item_readings.of_line(item, context, place, said))
        elif lm_eval_tables.is_scores(item):
            context = sides.of_scores(context)
            found.add(lm_eval_tables.read(item, context, context.side, by))
        else:
            found.add(table_readings.read(item, context, place, sided=item.number in below_sides, order=order))
    below = next((told for item in items if (told := text_units.metric_in_brackets(_whole(item)))), None)
    found.readings = [text_units.measured(reading, *below) if below else reading for reading in found.readings]
    found.readings = label_sides.adopted(label_sides.told_apart([text_units.without_its_unit(reading) for reading in found.readings]))
    side_spellings.alike(found)
    found.order = said
    found.words = "\n".join(map(_whole, items))
    found.readings = [text_units.in_unit(reading, unit) for reading in found.readings] if unit else found.readings
    found.readings = text_units.as_scores(found.readings, found.words)
    return found


def _below_sides(data: Sequence[Data], places: Sequence[Context]) -> frozenset[int]:
    """The tables (by line) whose side the heading above them names, as others like them stand below another's."""
    others = [item for item in data if not isinstance(item, Heading)]
    return sides_elsewhere.below_headings(
        [(item, place.side) for item, place in zip(others, places, strict=True) if isinstance(item, Table)]
    )


def _whole(item: Item) -> str:
    """The words of a heading or a sentence, "" for anything else."""
    return (item.said or item.text) if isinstance(item, Heading) else item.text if isinstance(item, Sentence) else ""


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


def _of_sentences(said: Sequence[Said], words: str) -> Found:
    """Sentences as readings of two sides; where they call these by several names, of before and after."""
    one_way = len({tuple(side.casefold() for side in one.sides) for one in said}) == 1
    return Found(
        words=words,
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
        ],
    )
