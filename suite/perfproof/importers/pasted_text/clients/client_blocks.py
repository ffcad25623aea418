"""What serving clients print in a frame, and what they save as JSON: one run each, by the names of its numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perfproof.importers.pasted_text.clients.literals import parsed
from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.words.cells import DIGITS, is_digits
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import better_in
from perfproof.model.scenarios.metrics import Better
from perfproof.model.scenarios.side_names import names_a_side

_TITLE = re.compile(r"^=+[\w ().:-]*\b(?:benchmark|bench)\w* results?\b[\w ().:-]*=+$", re.IGNORECASE)
_NAMED_BY = re.compile(r"(?i)\b(?:serving|offline|online|benchmark\w*|bench|results?|for|of)\b")
"""Words of a title that name no side."""
_RULE = re.compile(r"^=+(?: [\w ().-]+ )?=+$")
_PART = re.compile(r"^-{3,}\s?(?P<name>[^-].*?)\s?-{3,}$")
_VALUE = re.compile(rf"^(?P<name>[A-Za-z][^:]{{0,80}}?):\s+(?P<value>{DIGITS})\s*(?P<unit>[A-Za-z%/]{{1,16}})?\s*$")
_UNREAD = re.compile(r"^(?P<name>[A-Za-z][^:]{0,80}?):\s+(?P<value>\S.*)$")
WORK = re.compile(
    r"(?i)^(?:successful requests|completed|num[_ ]prompts|total (?:input|generated|num prompt|num output)(?: \w+)? tokens"
    r"(?: \(retokenized\))?"
    r"|total[_ ](?:input|output)[_ ]tokens"
    r"|max(?:imum)?[_ ](?:request )?concurrency|traffic request rate|request rate configured.*|request[_ ]rate|burstiness"
    r"|random[_ ](?:input|output)[_ ]len"
    r"|number of (?:prompts|requests)|input[_ ]len\w*|output[_ ]len\w*|concurrency|batch(?:[_ ]size)?|bs|users|clients|isl|osl"
    r"|tp|num[_ ]gpus)$"
)
"""Names of what was asked of a run; it is no result."""
CONDITION = re.compile(
    r"(?i)^(?:max(?:imum)?[_ ](?:request )?concurrency|traffic request rate|request rate configured.*|request[_ ]rate|num[_ ]prompts"
    r"|concurrency|batch(?:[_ ]size)?|bs|users|clients|isl|osl|input[_ ]len|output[_ ]len|tp|num[_ ]gpus)$"
)
"""Of these, what makes another run of it where it differs."""
_IDENTITY = ("side", "branch", "build", "version", "commit", "label", "name", "variant", "arm", "tag")
RUN_KEYS = ("run", "run_number", "trial", "rep", "repeat", "iteration", "seed", "attempt")
LARGEST_JSON = 2_000_000
DEEPEST = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """What a client printed of its `runs`, None where it does not say how many: names and digits in their order, `conditions` under which
    it ran, what could not be read as (name, text), `side` where the block itself names it."""

    values: tuple[tuple[str, str], ...]
    conditions: tuple[tuple[str, str], ...]
    unread: tuple[tuple[str, str], ...]
    number: int
    side: str = ""
    run: str = ""
    runs: int | None = 1


def serving_block(lines: Sequence[Line], at: int) -> tuple[Block, int] | None:
    """A frame of equals signs with `name: number` inside; one that was cut short ends where a heading or another begins."""
    if not _TITLE.match(lines[at].text):
        return None
    values, unread, place = [], [], at + 1
    while place < len(lines):
        text = lines[place].text
        if _TITLE.match(text) or re.match(r"#+\s|\*\*|<", text):
            break
        place += 1
        if _RULE.match(text):
            break
        if (found := _VALUE.match(text)) and is_digits(found["value"]) and (not found["unit"] or known(found["unit"])):
            values.append((found["name"].strip(), found["value"]))
        elif odd := _UNREAD.match(text):
            unread.append((odd["name"].strip(), odd["value"].strip()))
    conditions = [*_announced(lines, at), *(pair for pair in (*values, *unread) if CONDITION.match(pair[0]))]
    named = _NAMED_BY.sub(" ", lines[at].text).strip(" =:-()")
    side = named if names_a_side(named) else ""
    return Block(values=tuple(values), conditions=tuple(conditions), unread=tuple(unread), number=lines[at].number, side=side), place


def _announced(lines: Sequence[Line], at: int) -> Iterator[tuple[str, str]]:
    """What the client said above its frame of how it would ask."""
    for line in lines[max(0, at - 12) : at]:
        found = _UNREAD.match(line.text)
        if found and CONDITION.match(found["name"]):
            yield found["name"].strip(), found["value"].strip()


def json_block(lines: Sequence[Line], at: int) -> tuple[Block, int] | None:
    """An object whose values are numbers, in JSON or as Python prints it, on one line or several."""
    if not lines[at].text.startswith(("{", "[")):
        return None
    text = "\n".join(line.text for line in lines[at : at + 5_000])[:LARGEST_JSON]
    found, end = parsed(text)
    place = at + text[:end].count("\n") + 1
    flat = dict(_flat(found)) if isinstance(found, dict) else {}
    if not flat:
        return None
    side = next((str(found[key]) for key in _IDENTITY if isinstance(found.get(key), str)), "")
    run = next((name for name in flat if name.lower() in RUN_KEYS), "")
    values = tuple((name, value) for name, value in flat.items() if is_digits(value) and name != run)
    asked = [name for name, value in flat.items() if CONDITION.match(name) or (name.lower() in ("qps", "rps") and value.isdigit())]
    conditions = tuple((name, flat[name]) for name in asked)
    return Block(values=values, conditions=conditions, unread=(), number=lines[at].number, side=side, run=flat.get(run, "")), place


def better(label: str, unit: str = "") -> Better | None:
    """Which direction of a printed number is better, as far as its name or its unit says; what was asked of a run has none."""
    return None if WORK.match(label) else better_in(label, unit)


def _flat(found: Mapping[str, Any], before: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """The numbers of an object by their names; of nested ones with the names above, "ttft.mean"."""
    for key, value in found.items():
        name = f"{before}{key}"
        if isinstance(value, dict) and depth < DEEPEST:
            yield from _flat(value, f"{name}.", depth + 1)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield name, repr(value)
        elif isinstance(value, str) and CONDITION.match(name):
            yield name, value
