"""Lines that are lists of names and numbers, each with a mark between: "Engine 000: throughput: 12 tok/s, Running: 3 reqs, hits: 4 %"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.values.named_values import Named, Value
from perfproof.importers.pasted_text.words.cells import BULLET, DIGITS, bare, is_digits, unit_of
from perfproof.importers.pasted_text.words.column_names import KEY
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import better_in
from perfproof.model.scenarios.side_names import names_a_side, role

LEAST, LEAST_OF_CASE = 3, 2
"""Names and numbers of such a line, at least, and of one that begins with a size."""
_CASE = re.compile(r"^(?P<case>[^:=,;|]{1,40}):\s+(?=[^,;|]*[^:=,;|\s]\s*[:=])")
_PART = re.compile(rf"^(?P<name>[^\W\d][^:=]{{1,40}}?)\s*[:=]\s*(?P<digits>{DIGITS})\s?(?P<unit>[A-Za-zµ%][\w/µ%]{{0,20}})?$")


def listed_line(lines: Sequence[Line], at: int) -> tuple[Named, int] | None:
    """The numbers of a list, each with its name, the case or the side before all of them, and the sizes among them as its case."""
    text = BULLET.sub("", bare(lines[at].text))
    case = _CASE.match(text)
    parts = [_PART.match(part.strip()) for part in re.split(r"[,;]\s+|\s\|\s", text[case.end() if case else 0 :].rstrip(" ."))]
    found = [part for part in parts if part and is_digits(part["digits"]) and not role(part["name"])]
    keys = [part for part in found if KEY.match(part["name"].strip()) and part["digits"].isdigit() and not known(part["unit"] or "")]
    if len(found) < len(parts) or len(found) == len(keys) or len(found) < (LEAST if not keys else LEAST_OF_CASE):
        return None
    if keys and not all(better_in(part["name"], part["unit"] or unit_of(part["name"])) for part in found if part not in keys):
        return None
    before = case["case"].strip() if case else ""
    side = before if names_a_side(before) else ""
    cases = [*([before] if before and not side else []), *(f"{part['name'].strip()} {part['digits']}" for part in keys)]
    values = tuple(
        Value(
            name=", ".join((part["name"].strip(), *cases)),
            digits=part["digits"],
            unit=part["unit"] if known(part["unit"] or "") else "",
            side=side,
        )
        for part in found
        if part not in keys
    )
    return Named(values=values, unread=(), number=lines[at].number), at + 1
