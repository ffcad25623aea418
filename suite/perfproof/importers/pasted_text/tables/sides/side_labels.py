"""Which column of a table names sides, a row each: "main" and "PR", versions, the two states of a switch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.words.alternatives import alternatives
from perfproof.importers.pasted_text.words.cells import unit_of
from perfproof.importers.pasted_text.words.column_names import KEY, SIDE_HEAD, Body, Column, claims_of_sides, is_whole, without_unit
from perfproof.model.scenarios.metric_directions import better
from perfproof.model.scenarios.side_names import commit, release, role


def side_column(found: Sequence[Column], body: Body) -> int | None:
    """The place of the column whose cells are sides, None where there is none."""
    ways = [
        (_row_roles([row[place].text for row in body], column.name), place)
        for place, column in enumerate(found)
        if column.kind in ("label", "key")
    ]
    best = max(ways, default=(0, -1), key=lambda way: (way[0], -way[1]))
    return best[1] if best[0] else None


_HOW = re.compile(
    r"(?i)^(?:(?:attention|attn|moe|gemm|quant\w*)[ _-])?(?:kernels?|backend|engine|impl\w*|method|algorithm|precision|dtype|quant\w*"
    r"|format|flags?|args|arguments|options?|settings?|config\w*|notes?|remarks?|comments?|description|author|date|day|image|container)$"
)
"""Heads of columns that say how a side does its work, rather than which work it does."""


def beside_sides(columns: Sequence[Column], body: Body, at: int) -> list[Column]:
    """The columns of a table whose column `at` names sides: what is each side's own tells of it, as versions do and the words of how it
    works, or was measured, as sizes that are no whole numbers were; it parts no rows."""
    own = {
        place
        for place, column in enumerate(columns)
        if column.kind in ("label", "key") and body and _is_own([(row[at].text, row[place].text) for row in body])
    }
    versions = {place for place, column in enumerate(columns) if column.kind in ("label", "key") and body and _are_versions(body, place)}
    told = versions | {place for place in own if columns[place].kind == "label" and _HOW.match(columns[place].name)}
    sizes = {place for place in own - told if columns[place].kind == "key" and not is_whole([row[place] for row in body])}
    plain = {at for at, column in enumerate(columns) if column.kind == "metric" and not column.unit and better(column.name) is None}
    return [
        replace(column, kind="claim")
        if place in told or (versions and place in plain)
        else replace(column, kind="metric", metric=column.name, unit=unit_of(column.name))
        if place in sizes
        else column
        for place, column in enumerate(columns)
    ]


def _is_own(pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether each side has one value, and no other side has it."""
    values: dict[str, set[str]] = {}
    for side, value in pairs:
        values.setdefault(side, set()).add(value)
    alone = [next(iter(each)) for each in values.values() if len(each) == 1]
    return len(alone) == len(values) == len(set(alone))


def _are_versions(body: Body, place: int) -> bool:
    """Whether a column holds versions, commits or days: of sides, and no cases of their own."""
    return all(
        release(text) is not None or commit(text) or re.fullmatch(r"20[0-9]{2}-[01][0-9]-[0-3][0-9]", text)
        for text in (row[place].text for row in body)
    )


def claims(name: str) -> bool:
    """Whether the name of a row is of what is said of the sides: "change", "speedup"."""
    return claims_of_sides(name) and release(name) is None and not role(name)


def is_switch(head: str, states: Sequence[str]) -> bool:
    """Whether a column holds the two states of a switch: 0 and 1 below the name of a variable, True and False below any but a metric."""
    words = {state.casefold() for state in states}
    variable = re.fullmatch(r"(?:--)?[A-Za-z][\w.-]*[_-][\w.-]+", head.strip("`")) and not unit_of(head)
    switch = (variable and not KEY.match(head)) or _SWITCH.fullmatch(head.strip("`"))
    return (words == {"0", "1"} and bool(switch)) or words in ({"true", "false"}, {"yes", "no"})


_SWITCH = re.compile(
    r"(?i)(?:--)?(?:fa|mmap|nkvo|apc|graphs?|cudagraphs?|compiled?|eager|async|overlap|chunked|fused|fusion|caching|prefix cach(?:e|ing)"
    r"|flash(?:[ _-]?attn)?|enabled?)"
)
"""Heads of columns that hold whether something was on: llama-bench's fa, a graph, a fusion."""


def _row_roles(names: Sequence[str], head: str) -> int:
    """How surely the cells of a column are sides: 0 where they are none."""
    distinct = [name for name in dict.fromkeys(names) if name and not claims(name)]
    if is_switch(head, distinct):
        return 1
    if len(distinct) < 2 or any(better(name) for name in distinct if not role(without_unit(name))):
        return 0
    said = {role(name) for name in distinct} - {""}
    if said & {"baseline"} or (said and len(distinct) == 2) or (len(said) and SIDE_HEAD.match(head)):
        return 3
    if all(release(name) is not None for name in distinct):
        return 2
    if alternatives(distinct):
        return 1
    return 1 if SIDE_HEAD.match(head) and len(distinct) == 2 and head.lower() not in ("command", "state", "code") else 0
