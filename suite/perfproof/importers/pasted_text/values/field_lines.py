"""Lines of `key=value` fields, one of which says the side, the run or a case: `branch=main run=1 total_ms=42.7`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.values.named_values import Named, Value
from perfproof.importers.pasted_text.words.cells import BULLET, UNIT, bare, cell, unit_of
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import STATISTICS, better, better_in, word_set
from perfproof.model.scenarios.side_names import names_a_side, role, split

SIDE_KEYS = word_set("side branch build version commit arm variant label name tag rev revision ref patch impl config mode")
RUN_KEYS = word_set("run trial rep repeat iteration iter seed attempt round")
SIZES = word_set(
    "size sz bytes msg msg_size message_size msgsize payload payload_size block_size chunk chunk_size buffer buffer_size count"
)
"""Keys of what was worked on where others stand beside them: "size=8MB time_us=61.2"."""
LOADS = word_set("rps qps")
"""Metrics that are what was asked of a run where their numbers are whole and stand beside others."""
_FIELD = re.compile(r"(?<![\w.])(?P<key>[A-Za-z_][\w./%-]{0,40}(?:\([0-9.]{1,5}\))?)=(?P<value>\"[^\"]*\"|[^\s,;]+)")


def fields_line(lines: Sequence[Line], at: int) -> tuple[Named, int] | None:
    """A line of `key=value` fields, one of which says the side, the run or a case."""
    text = BULLET.sub("", lines[at].text)
    fields = {found["key"]: found["value"].strip('"') for found in _FIELD.finditer(text)}
    left = re.sub(r"[\s,;|\[\]()-]+", " ", _FIELD.sub(" ", text)).strip()
    inside = re.search(rf"[(\[](?P<unit>{UNIT})[)\]]", text)
    of_line = inside["unit"] if inside and known(inside["unit"]) else ""
    left = left.replace(of_line, "").strip() if of_line else left
    named = bare(left.strip(" :")) if names_a_side(left) else ""
    parted = _parted(left) if not of_line else None
    named = parted[0] if parted else named
    if sided := _sides_in_keys(fields, left):
        return Named(values=sided, unread=(), number=lines[at].number), at + 1
    if len(fields) < (1 if named else 2) or len(left.split()) > 2 or any(names_a_side(key) for key in fields):
        return None
    of_all = _FIELD.split(text)[0].strip(" .:-|") if not named and len(left.split()) == 1 else parted[1] if parted else ""
    numbers = {key: value for key, value in fields.items() if cell(value).kind == "value"}
    side = next((value for key, value in fields.items() if key.lower() in SIDE_KEYS and key not in numbers), named)
    run = next((value for key, value in fields.items() if key.lower() in RUN_KEYS), "")
    metrics = [
        key
        for key in numbers
        if key.lower() not in RUN_KEYS | SIDE_KEYS
        and not (key.lower() in SIZES and len(numbers) > 1)
        and not (key.lower() in LOADS and numbers[key].isdigit() and len(numbers) > 1)
        and (unit_of(key) or better(key) or cell(fields[key]).unit or (key.lower() in STATISTICS and len(numbers) > 1))
    ]
    cases = [f"{key}={fields[key]}" for key in fields if key not in metrics and key.lower() not in RUN_KEYS and fields[key] != side]
    if not metrics:
        return None
    values = tuple(
        Value(
            name=", ".join([*(_of_all(of_all, key) if of_all else [key]), *cases]),
            digits=cell(fields[key]).digits,
            unit=cell(fields[key]).unit or unit_of(key) or (of_line if key.lower() in STATISTICS else ""),
            side=side,
            run=run,
        )
        for key in metrics
    )
    return Named(values=values, unread=(), number=lines[at].number), at + 1


def _of_all(name: str, key: str) -> list[str]:
    """What all fields are of and the key of one, the key first where it alone says what was measured: "all_reduce busbw_gbps=80.8"."""
    return (
        [key, name] if better(key) is not None and better(f"{name}, {key}") is None and not better_in(name, unit_of(key)) else [name, key]
    )


def _parted(words: str) -> tuple[str, str] | None:
    """Words before fields as a side and what was measured, "main: all_reduce"; None where they are not both."""
    side, colon, rest = words.partition(":")
    if not colon or not names_a_side(side) or not re.fullmatch(r"\s*[A-Za-z_][\w.-]*\s*", rest) or role(rest):
        return None
    return side.strip(), rest.strip()


def _sides_in_keys(fields: Mapping[str, str], left: str) -> tuple[Value, ...]:
    """The numbers of fields whose keys name both sides, "before=41.6us after=17.1us", "time_old=12ms time_new=11ms"; other fields are the
    case."""
    ways: dict[str, tuple[str, str]] = {}
    for key, value in fields.items():
        whole = (key, "") if names_a_side(key) and better(key) is None else None
        found = next((way for way in split(key) if better_in(way[1], unit_of(key) or cell(value).unit)), whole)
        if found and cell(value).kind == "value":
            ways[key] = found
    roles: dict[str, set[str]] = {}
    for side, rest in ways.values():
        roles.setdefault(rest.casefold(), set()).add(role(side))
    ways = {key: way for key, way in ways.items() if {"baseline", "candidate"} <= roles[way[1].casefold()]}
    cases = [f"{key}={value}" for key, value in fields.items() if key not in ways and cell(value).kind != "claim"]
    name = ", ".join([*([left] if left else []), *cases])
    return tuple(
        Value(
            name=", ".join(part for part in (rest, name) if part),
            digits=cell(fields[key]).digits,
            unit=cell(fields[key]).unit or unit_of(key),
            side=side,
        )
        for key, (side, rest) in ways.items()
    )
