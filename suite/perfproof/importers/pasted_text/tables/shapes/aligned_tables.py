"""Tables without marks: columns aligned by blanks, or told apart by their places alone, or one blank apart below the names of sides."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.tables.shapes import grouped_heads
from perfproof.importers.pasted_text.tables.shapes.table_shapes import LEAST_ROWS, MOST_ROWS, RULE, SPLIT, Table, headed
from perfproof.importers.pasted_text.words.cells import cell, unit_of
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import better
from perfproof.model.scenarios.side_names import describes, release, role

MOST_LINES = 300
"""Lines of a table without marks, at most."""
_GAP = re.compile(r"\S\s{2,}\S")
LEAST_COLUMNS = 3
"""Columns of a table without marks, at least: a label and two sides."""


def aligned_table(lines: Sequence[Line], at: int) -> tuple[Table, int] | None:
    """Columns aligned by blanks: a head of words, then lines with numbers, with as many columns; the head may lack the first."""
    rows: list[tuple[str, ...]] = []
    place, ruled, first = at, False, lines[at]
    if not _may_be_head(lines, at):
        return None
    while place < len(lines) and len(rows) < MOST_ROWS and (text := lines[place].text):
        if RULE.match(text) or re.fullmatch(r"[-= ]{3,}", text):
            ruled = ruled or len(rows) == 1
        elif rows and ((":" in text and re.match(r"^[A-Z]\w+:", text)) or (len(rows) >= LEAST_ROWS and _ends(text, rows))):
            break
        else:
            cells = re.split(r"\s{2,}|\t+", text)
            first = lines[place] if len(rows) == 1 else first
            cells = [*[""] * _groups(first, lines[place], len(rows[1]) - len(cells)), *cells] if len(rows) > 1 else cells
            if len(rows) == 1 and len(cells) == 1 and _names_rows(lines, place, len(rows[0])):
                rows[0] = (text, *rows[0])
                place += 1
                continue
            remark = rows and len(cells) == len(rows[0]) + 1 and re.fullmatch(r"\(.*\)", cells[-1])
            rows.append(tuple([*cells[:-2], f"{cells[-2]} {cells[-1]}"] if remark else cells))
            if not _goes_on_aligned(rows, ruled):
                return _loose(lines, at, at + MOST_ROWS)  # no line below can make it a table
        place += 1
    if len(rows) < LEAST_ROWS:
        return None
    width = len(rows[1])
    claimed = all(cell(row[-1]).kind == "claim" for row in rows[1:] if len(row) == width)
    rows = [(*row, "") if claimed and len(row) == width - 1 and row is not rows[0] else row for row in rows]
    head = ("", *rows[0]) if len(rows[0]) == width - 1 else rows[0]
    body = [row for row in rows[1:] if len(row) == width]
    if len(head) == width and len(body) == len(rows) - 1 and headed([head, *body]) and width > (2 if not ruled else 1):
        return Table(rows=(head, *body), ruled=True, drawn=False, number=lines[at].number), place
    return _loose(lines, at, place)


def _groups(first: Line, line: Line, lacking: int) -> int:
    """How many cells at the beginning of a line are those of the line above: as many as it lacks, where it is indented so far that the
    cells of the first line end before it; else none."""
    ends = [found.end() for found in re.finditer(r"\S+(?: \S+)*", first.text)]
    fits = 0 < lacking < len(ends) - 1 and "\t" not in line.text and line.indent >= first.indent + ends[lacking - 1]
    return lacking if fits else 0


def _names_rows(lines: Sequence[Line], at: int, width: int) -> bool:
    """Whether a line of one word below a head is the name of the column without a head, as pandas prints it."""
    below = re.split(r"\s{2,}", lines[at + 1].text) if at + 1 < len(lines) else []
    return len(below) == width + 1 and re.fullmatch(r"[A-Za-z_]\w*", lines[at].text) is not None and any(map(_is_value, below))


def _is_value(text: str) -> bool:
    return cell(text).kind == "value"


def _goes_on_aligned(rows: Sequence[Sequence[str]], ruled: bool) -> bool:
    """Whether rows may be the first of a table: the second fits the head, and the last has as many cells, or lacks one."""
    if len(rows) < LEAST_ROWS:
        return True
    if len(rows[1]) <= (1 if ruled else 2):
        return False
    width = len(rows[1])
    head = ("", *rows[0]) if len(rows[0]) == width - 1 else rows[0]
    return len(head) == width and len(rows[-1]) in (width, width - 1) and (len(rows) > LEAST_ROWS or headed([head, rows[1]]))


def _ends(text: str, rows: Sequence[Sequence[str]]) -> bool:
    """Whether a line of one cell ends a table: a side's name, or a remark behind a table of several columns."""
    return not re.search(r"\s{2,}|\t", text) and (bool(role(text)) or (len(rows[-1]) > 2 and not re.search(r"[0-9]$", text)))


def _may_be_head(lines: Sequence[Line], at: int) -> bool:
    """Whether a line has several words and no value, and one of the two below it has numbers."""
    cells = re.split(r"\s{2,}|\t+", lines[at].text)
    words = cells if len(cells) > 1 else lines[at].text.split()
    below = " ".join(line.text for line in lines[at + 1 : at + 3])
    return len(words) > 1 and ": " not in lines[at].text and bool(re.search(r"[0-9]", below)) and not lines[at].text.endswith(":")


def gutter_table(lines: Sequence[Line], at: int) -> tuple[Table, int] | None:
    """Columns that only their places tell apart, with empty cells: each gap that all lines have is one between columns."""
    if not any(_GAP.search(line.text) for line in lines[at : at + 2]) or (at and _GAP.search(lines[at - 1].text)):
        return None  # no columns, or lines of which the first was tried
    if not _GAP.search(lines[at].text) and lines[at].indent < lines[at + 1].indent and (better(lines[at].text) or unit_of(lines[at].text)):
        return None  # a caption
    end = next((place for place in range(at, len(lines)) if lines[place].empty or place - at >= MOST_LINES), len(lines))
    block = [" " * line.indent + line.text for line in lines[at:end] if not RULE.match(line.text)]
    if len(block) <= LEAST_ROWS or any(SPLIT.search(text) or "\t" in text for text in block):
        return None
    rows = _by_gutters(block)
    width = len(rows[0])
    values = [[cell(each).kind in ("value", "change", "missing") and bool(each) for each in row] for row in rows]
    first = next((place for place, row in enumerate(values) if sum(row) > 1), 0)
    if not 0 < first <= grouped_heads.MOST_LINES or width < LEAST_COLUMNS:
        return None
    numeric = [column for column in range(width) if all(row[column] for row in values[first:])]
    head = tuple(" ".join(row[column] for row in rows[:first] if row[column]) for column in range(width))
    sided = sum(
        bool(role(head[column]) or release(head[column])) and not known(head[column].split(" ")[-1].strip("()")) for column in numeric
    )
    if len(numeric) < 2 or not sided or any(sum(row) for row in values[:first] if not any(map(release, head))):
        return None
    return Table(rows=(head, *rows[first:]), ruled=True, drawn=False, number=lines[at].number), end


def _by_gutters(block: Sequence[str]) -> list[tuple[str, ...]]:
    """The cells of lines between the gaps of two blanks or more that all of them have."""
    width = max(map(len, block))
    blank = [all(place >= len(text) or text[place] == " " for text in block) for place in range(width)]
    begins, ends = [], []
    for place in range(width):
        if not blank[place] and (not place or blank[place - 1]):
            begins.append(place)
        if not blank[place] and (place + 1 == width or blank[place + 1]):
            ends.append(place + 1)
    cuts: list[tuple[int, int]] = []
    for begin, end in zip(begins, ends, strict=True):
        narrow = bool(cuts) and sum(not re.search(r"\s{2}|^\s*$", f"{text[cuts[-1][1] - 1 : begin + 1]:4}") for text in block) > 1
        cuts = [*cuts[:-1], (cuts[-1][0], end)] if narrow else [*cuts, (begin, end)]
    return [tuple(text[begin:end].strip() for begin, end in cuts) for text in block]


def _loose(lines: Sequence[Line], at: int, end: int) -> tuple[Table, int] | None:
    """Columns one blank apart, where the head's last words name sides and every line ends with as many numbers."""
    head = lines[at].text.split()
    sided = len(head)
    while sided and (role(head[sided - 1]) or release(head[sided - 1]) or describes(head[sided - 1])):
        sided -= 1
    count = len(head) - sided
    if count < 2 or sum(bool(role(word)) for word in head[sided:]) < 1:
        return None
    rows = []
    for line in lines[at + 1 : end]:
        words = line.text.split()
        if len(words) <= count or not all(cell(word).kind in ("value", "claim", "missing") for word in words[-count:]):
            break
        rows.append((" ".join(words[:-count]), *words[-count:]))
    if not rows:
        return None
    return Table(rows=((" ".join(head[:sided]), *head[sided:]), *rows), ruled=True, drawn=False, number=lines[at].number), at + 1 + len(
        rows
    )
