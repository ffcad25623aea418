"""A text cut into its items, in order: headings, tables, blocks of clients, JSON, lines with a name and a value, sentences.

Each shape has a recogniser, which takes the lines from one place on and says what stands there and where it ends. A new shape is one more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from perfproof.importers.pasted_text.case_lines import case_line
from perfproof.importers.pasted_text.clients.client_blocks import Block, json_block, serving_block
from perfproof.importers.pasted_text.clients.client_setup import Setup, setup_line
from perfproof.importers.pasted_text.clients.json_values import Structure, structure
from perfproof.importers.pasted_text.clients.timing_blocks import google_benchmark, hyperfine_block
from perfproof.importers.pasted_text.context import headings
from perfproof.importers.pasted_text.context.commands import COMMAND, command_of_side
from perfproof.importers.pasted_text.context.headings import Heading
from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.prose import phrases, sentences
from perfproof.importers.pasted_text.prose.several_arms import several_arms
from perfproof.importers.pasted_text.tables import captions
from perfproof.importers.pasted_text.tables.shapes import aligned_tables, case_titles, named_columns, table_shapes
from perfproof.importers.pasted_text.tables.shapes.benchstat_tables import benchstat_table
from perfproof.importers.pasted_text.tables.shapes.table_shapes import Table
from perfproof.importers.pasted_text.values import inline_values
from perfproof.importers.pasted_text.values.field_lines import fields_line
from perfproof.importers.pasted_text.values.listed_values import listed_line
from perfproof.importers.pasted_text.values.named_values import Named, Value
from perfproof.importers.pasted_text.words.cells import DIGITS, UNIT
from perfproof.importers.pasted_text.words.run_numbers import RUN, run_of
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import better_in
from perfproof.model.scenarios.side_names import role

MOST_ITEMS = 50_000
LEAST_WORDS = 9
"""Words of a line of prose that the next line goes on with, at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A line of words that is no heading."""

    text: str
    number: int


Data = Heading | Table | Block | Structure | Named | Sentence
Item = Data | Setup
Found = tuple[Item, int] | None
"""What stands at a place, and the place after it."""
_LOG = re.compile(
    r"(?i)^(?:\(\w+ pid=\d+\)\s*)?(?:INFO|WARNING|DEBUG|ERROR)\b[: ]|^namespace\(|\d+%\|[^|]*\||\bit/s\]|\bs/it\]|^warming up"
    r"|^starting (?:initial|main)"
    r"|^initial test run|^profiling iterations|^burstiness factor|^processed prompts|^benchmarking\b.*\.\.\.$"
    r"|^(?:traffic request rate|maximum request concurrency): *(?:inf|none)\b|^rendering prompts|^adding requests"
    r"|^capturing\b|^load average:"
    r"|^already on '|^switched to (?:a new )?branch '|^note: switching to|^(?:previous )?head (?:position was|is now at) |^your branch is "
)
"""Lines that clients and servers print of themselves: commands, logs, progress bars."""


def items_of(lines: Sequence[Line]) -> list[Item]:
    """The items of a text. Lines that clients print of themselves are none."""
    lines = _without_settings(lines)
    found: list[Item] = []
    at = 0
    while at < len(lines) and len(found) < MOST_ITEMS:
        if lines[at].empty:
            at += 1
            continue
        item, after = next((each for shape in _SHAPES if (each := shape(lines, at))), (None, at + 1))
        if isinstance(item, Named) and _is_caption(lines, at, sided=any(value.side for value in item.values)):
            item = Sentence(text=lines[at].text, number=lines[at].number)
        at = max(after, at + 1)
        found += [item] if item is not None else []
    return found


def _without_settings(lines: Sequence[Line]) -> list[Line]:
    """The lines but those that set a variable which the text sets to one value alone: these tell nothing apart."""
    values: dict[str, set[str]] = {}
    ways = {line.number: found["variable"] for line in lines if (found := headings.SETTING.match(line.text))}
    for line in lines:
        if line.number in ways:
            values.setdefault(ways[line.number], set()).add(line.text.split("=")[1].split(" ")[0].strip(":\"'`"))
    return [line for line in lines if line.number not in ways or len(values[ways[line.number]]) > 1]


def _noise(lines: Sequence[Line], at: int) -> tuple[None, int] | None:
    text = lines[at].text
    plain = text.strip("*_`#> ")
    if (
        not re.search(r"\w", text)
        or (_LOG.search(plain) and not text.startswith("#"))
        or (COMMAND.search(text) and not text.startswith(("|", "#", "**")) and not headings.SETTING.match(text))
    ):
        return None, at + 1
    return None


def _arms(lines: Sequence[Line], at: int) -> tuple[Named, int] | None:
    """A line of several arms that names no other way to read it."""
    text = lines[at].text
    return None if phrases.of_line(text) else several_arms(lines, at, sentence=phrases.is_sentence(text))


def _paragraph(lines: Sequence[Line], at: int) -> Found:
    """A line of a paragraph that goes on from the line above, or into the line below."""
    if _goes_on(lines, at) or (at and _goes_on(lines, at - 1) and not lines[at].empty):
        return Sentence(text=lines[at].text, number=lines[at].number), at + 1
    return None


def _goes_on(lines: Sequence[Line], at: int) -> bool:
    """Whether a line is one of prose that the next one goes on with: many words, no end, and small letters or a number below."""
    text, below = lines[at].text, lines[at + 1] if at + 1 < len(lines) else None
    if below is None or below.empty or len(text.split()) < LEAST_WORDS or text.endswith((".", ":", ";", "!", "?", "|")) or "  " in text:
        return False
    if re.search(r":\s*[-+]?[0-9.,]+\s?\S*$", below.text) or re.match(r"[^:]{1,40}:\s+\S*[0-9]", text):
        return False
    if role(below.text.split(" ")[0].strip(",.:")) and not re.match(r"(?:with|after|before|without)\b", below.text):
        return False
    loose = r"|[0-9][\w.,]* ?[a-zµ]" if re.search(r"\b(?:to|from|of|at|by|than|about|and|or|with|the|a|is|was|over|for)$", text) else ""
    return (
        bool(re.match(rf"[a-z(]{loose}", below.text))
        and not re.search(r"[|\t=]|\s{2}", below.text)
        and not re.match(r"[\w ()./+-]{1,40}:\s", below.text)
    )


def _named(lines: Sequence[Line], at: int) -> tuple[Item, int] | None:
    """A line with a name and its numbers, or what it says as a sentence where they are not read as that."""
    if values := phrases.of_line(lines[at].text):
        return Named(values=_of_run(values), unread=(), number=lines[at].number), at + 1
    if phrases.is_sentence(lines[at].text):
        return _sentence(lines, at)
    found = inline_values.named_line(lines, at)
    if found and not any(map(_is_measured, found[0].values)) and sentences.read(lines[at].text):
        return _sentence(lines, at)
    return (replace(found[0], values=_of_run(found[0].values)), found[1]) if found else None


def _is_caption(lines: Sequence[Line], at: int, *, sided: bool) -> bool:
    """Whether a line says what the numbers of the table below it are, and how it was run: "Throughput (tok/s), TP=4, 16 users:". One with
    words of a side ends with a colon."""
    text = lines[at].text
    if sided and not text.endswith(":"):
        return False
    if (
        not captions.captions(text)
        or _ENDS.search(text)
        or any(known(one["unit"]) and one["unit"] != "B" for one in _NUMBER.finditer(text))
    ):
        return False
    return case_titles.above_table(lines, at)


_ENDS = re.compile(rf":\s*{DIGITS}\W*$")
"""The number of a line that is a name and its number."""
_NUMBER = re.compile(rf"(?<![\w.=])(?<!at )(?<!@ ){DIGITS}\s?(?P<unit>{UNIT})")
"""A number with a unit, but one of what was asked for, "at 16 req/s"."""


def _is_measured(value: Value) -> bool:
    """Whether a number of a line may be a measurement, rather than how something was run: "on 2 nodes with DP=16"."""
    return bool(value.side or value.unit) or better_in(value.name, value.unit) is not None


def _of_run(values: Sequence[Value]) -> tuple[Value, ...]:
    """The numbers of a line; of one that begins with the number of a run, "run 1: 12.4 req/s, mean TTFT 141 ms", all are of that run."""
    run = RUN.fullmatch(values[0].name) if len(values) > 1 else None
    if not run or any(value.run for value in values):
        return tuple(values)
    first, *others = (replace(value, run=run_of(run)) for value in values)
    return replace(first, name=first.unit if "/" in first.unit else ""), *others


def _title(lines: Sequence[Line], at: int) -> Found:
    """A line without a measurement above lines that are indented below it: the case of what stands there, "top_k=50, vocab=151936"."""
    line, below = lines[at], lines[at + 1] if at + 1 < len(lines) else None
    if below is None or below.empty or below.indent <= line.indent or len(line.text) > headings.LONGEST or line.text[0] in "|{[-$":
        return None
    plain = line.text.rstrip(": ")
    named = role(re.split(r"[:=]", below.text, maxsplit=1)[0].strip(" -*"))
    if not re.search(r"[0-9]", plain) or inline_values.count(plain) or not named or role(plain):
        return None
    return Heading(text=plain, level=headings.BULLET + line.indent, number=line.number), at + 1


def _sentence(lines: Sequence[Line], at: int) -> Found:
    """A line of words; what stands in the next line may go on with it."""
    return Sentence(text=lines[at].text, number=lines[at].number), at + 1


_SHAPES: tuple[Callable[[Sequence[Line], int], tuple[Item | None, int] | None], ...] = (
    serving_block,
    structure,
    json_block,
    hyperfine_block,
    google_benchmark,
    benchstat_table,
    table_shapes.barred_table,
    named_columns.commented_table,
    command_of_side,
    setup_line,
    _noise,
    _arms,
    _paragraph,
    case_titles.case_title,
    table_shapes.separated_table,
    named_columns.named_table,
    aligned_tables.aligned_table,
    aligned_tables.gutter_table,
    fields_line,
    case_line,
    listed_line,
    headings.marked_heading,
    _title,
    _named,
    headings.plain_heading,
    _sentence,
)
