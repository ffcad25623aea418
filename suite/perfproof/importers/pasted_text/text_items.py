"""A text cut into its items, in order: headings, tables, blocks of clients, JSON, lines with a name and a value, sentences.

Each shape has a recogniser, which takes the lines from one place on and says what stands there and where it ends. A new shape is one more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perfproof.importers.pasted_text import headings, inline_values, named_values, sentences
from perfproof.importers.pasted_text.clients.client_blocks import Block, json_block, serving_block
from perfproof.importers.pasted_text.clients.client_setup import Setup, setup_line
from perfproof.importers.pasted_text.clients.json_values import Structure, structure
from perfproof.importers.pasted_text.clients.timing_blocks import google_benchmark, hyperfine_block
from perfproof.importers.pasted_text.headings import Heading
from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.named_values import Named
from perfproof.importers.pasted_text.tables import table_shapes
from perfproof.importers.pasted_text.tables.benchstat_tables import benchstat_table
from perfproof.importers.pasted_text.tables.table_shapes import Table
from perfproof.model.scenarios.side_names import role

MOST_ITEMS = 50_000
FEW_WORDS = 4
_SHOWN = re.compile(r"^\$\s*(?:cat|tail|head|grep|less)\b.*?\s(?P<file>[\w./-]+\.(?:log|txt|json|out|csv))$")
_SET = re.compile(r"^\$\s*(?P<set>[A-Z][A-Z0-9]*_[A-Z0-9_]*=\S+)\s+\S")
"""Commands that show a file, or that run with a variable: the headings of what they printed."""
NEAR = 200
"""Lines above and below a command in which the others stand."""
_CHECKOUT = re.compile(r"\bgit (?:checkout|switch) (?:-\w+ )?(?P<name>[\w./@^~-]+)")
"""A command that goes to a branch, of which the numbers below are."""
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
_COMMAND = re.compile(r"(?:^|\s)--[A-Za-z][\w-]*(?:[= `]|$)|^\$\s|^(?:export|pip|uv|git|cd|python3?|VLLM_[A-Z_]+=\S+)\s")
_LOG = re.compile(
    r"(?i)^(?:\(\w+ pid=\d+\)\s*)?(?:INFO|WARNING|DEBUG|ERROR)\b[: ]|^namespace\(|\d+%\|[^|]*\||\bit/s\]|\bs/it\]|^warming up"
    r"|^starting (?:initial|main)"
    r"|^initial test run|^profiling iterations|^burstiness factor|^processed prompts|^benchmarking\b.*\.\.\.$"
    r"|^(?:traffic request rate|maximum request concurrency): *(?:inf|none)\b|^rendering prompts|^adding requests"
    r"|^capturing\b|^load average:"
)
"""Lines that clients and servers print of themselves: commands, logs, progress bars."""


_OF_SIDE = re.compile(r"(?:\s#\s*|\()([^()#]{2,40})\)?\W*$")
"""What a command says behind it of whose it is."""


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


def _command_of_side(lines: Sequence[Line], at: int) -> tuple[Heading, int] | None:
    """A command behind which stands whose it is: `vllm serve m --flag` (main)."""
    text = lines[at].text
    near = lines[max(0, at - NEAR) : at + NEAR]
    if (out := _CHECKOUT.search(text)) and sum(bool(_CHECKOUT.search(line.text)) for line in near) > 1:
        return Heading(text=out["name"], level=headings.BOLD, number=lines[at].number), at + 1
    for way in (_SHOWN, _SET):
        if (shown := way.search(text)) and len({one[1] for line in near if (one := way.search(line.text))}) > 1:
            return Heading(text=shown[1], level=headings.BOLD, number=lines[at].number), at + 1
    found = _OF_SIDE.search(text)
    if not found or not _says_whose(found[1], near) or text.startswith("|") or headings.SETTING.match(text):
        return None
    return (Heading(text=found[1].strip(), level=headings.BOLD, number=lines[at].number), at + 1) if _COMMAND.search(text) else None


def _says_whose(comment: str, lines: Sequence[Line]) -> bool:
    """Whether what stands behind a command says whose it is: a side, or what stands beside one in the same place behind another."""
    if role(comment) in ("baseline", "candidate"):
        return True
    others = [found[1] for line in lines if _COMMAND.search(line.text) and (found := _OF_SIDE.search(line.text))]
    return len(comment.split()) <= FEW_WORDS and any(role(other) in ("baseline", "candidate") for other in others)


def _noise(lines: Sequence[Line], at: int) -> tuple[None, int] | None:
    text = lines[at].text
    plain = text.strip("*_`#> ")
    if (
        not re.search(r"\w", text)
        or (_LOG.search(plain) and not text.startswith("#"))
        or (_COMMAND.search(text) and not text.startswith(("|", "#", "**")) and not headings.SETTING.match(text))
    ):
        return None, at + 1
    return None


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
    found = inline_values.named_line(lines, at)
    if found and not found[0].values and sentences.read(lines[at].text):
        return _sentence(lines, at)
    return found


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
    _command_of_side,
    setup_line,
    _noise,
    _paragraph,
    table_shapes.separated_table,
    table_shapes.aligned_table,
    table_shapes.gutter_table,
    named_values.fields_line,
    headings.marked_heading,
    _named,
    headings.plain_heading,
    _sentence,
)
