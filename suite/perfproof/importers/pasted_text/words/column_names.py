"""What the name of a column says by itself, and the column that comes of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from perfproof.importers.pasted_text.words.cells import Cell, unit_of
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import STATISTICS
from perfproof.model.scenarios.side_names import describes, role

Kind = Literal["side", "metric", "label", "key", "unit", "run", "claim", "unclear"]
KEY = re.compile(
    r"(?i)^(?:#|n|m|k|b|h|d|bs|tp|pp|dp|ep|isl|osl|il|ol|gpus?|ngl|fa|mmap|nkvo|threads|size|params|level|shape|dim|hidden|heads?|experts?"
    r"|top.?[kp]|id|idx|index|qps|rps|models?"
    r"|(?:\w+[ _-])?(?:batch|concurrency|conc|users|clients|streams|prompts|seqs?|sequences|length|lens?|tokens|context|ctx"
    r"|rate|size|sizes|count|num)"
    r"|(?:batch|num|max|input|output|prompt|seq|request|target|context|ctx|concurrent|model|number)[ _-].*)$"
)
SIDE_HEAD = re.compile(
    r"(?i)^(?:branch|build|version|side|arm|variant|commit|code|ref|revision|implementation|impl|patch|state|command)s?$"
)
PLAIN_VALUE = re.compile(r"(?i)^(?:value|result|number|measured|measurement)s?$")
SPREAD = re.compile(r"(?i)^(?:±|\+/-|\+-)|^(?:std|stdev|stddev|sd|stderr|std\.? ?(?:dev|err)\w*|error|margin|iqr|cv|ci|confidence)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column: its name; of values their side and metric, "" where rows or headings say these; its unit; the number of its run."""

    kind: Kind
    name: str
    side: str = ""
    metric: str = ""
    unit: str = ""
    run: str = ""


Body = Sequence[Sequence[Cell]]


def claims_of_sides(name: str) -> bool:
    """Whether a name is of what is claimed of the sides: "speedup", "PR / main", "Δ", but not "mean" or a size."""
    return (
        bool(name)
        and describes(name)
        and not statistic(name)
        and not PLAIN_VALUE.match(name)
        and not re.fullmatch(r"[\W\d_]*\d[\W\d_]*[kKmM]?", name)
    )


def statistic(name: str) -> bool:
    words = re.sub(r"[()\[\]_]", " ", name.lower()).split()
    return bool(words) and all(word in STATISTICS or known(word) or re.fullmatch(r"p?\d{1,2}(?:\.\d+)?%?(?:th)?", word) for word in words)


def is_whole(cells: Sequence[Cell]) -> bool:
    """Whether all values are sizes: whole numbers, 128.0 too, or numbers of thousands such as 4k."""
    return all(re.fullmatch(r"[0-9][0-9,_']*(?:\.0)?\s?[kKmMgG]?i?B?|inf|∞|", cell.text) for cell in cells if cell.kind != "words")


def unbracketed(name: str) -> str:
    return re.sub(r"\s*[(\[][^()\[\]]*[)\]]$", "", name)


def without_unit(name: str) -> str:
    """A name without the unit in brackets at its end."""
    bracket = re.search(r"\s*[(\[]([^()\[\]]*)[)\]]$", name)
    plain = name[: bracket.start()] if bracket and unit_of(name) else name
    snake = re.fullmatch(r"(?P<rest>.+)_(?P<unit>[a-z]{1,4})", plain)
    if snake and known(snake["unit"]) and role(snake["rest"]) and unit_of(plain):
        return snake["rest"]
    words = plain.split()
    return " ".join(words[:-1]) if len(words) > 1 and known(words[-1]) and not bracket else plain
