"""Tables as they stand in a text: rows of bars, drawn frames, values separated by commas or tabs, columns aligned by blanks."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

from perfproof.importers.pasted_text.cells import cell
from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.tables import grouped_heads
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.side_names import describes, release, role

LEAST_ROWS = 2
MOST_ROWS = 5_000
MOST_LINES = 300
"""Lines of a table without marks, at most."""
_GAP = re.compile(r"\S\s{2,}\S")
LEAST_COLUMNS = 3
"""Columns of a table without marks, at least: a label and two sides."""
_BARS = "|│┃║┆┊"
_RULE = re.compile(r"^[\s|:+=\-─━═┄┈┌┐└┘├┤┬┴┼┏┓┗┛┣┫┳┻╋┡┩╇╈╭╮╰╯╞╡╪╔╗╚╝╠╣╦╩╬╟╢╫╤╧┠┨┯┷╂┢┪]{3,}$")
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")
_THREADS = re.compile(r"^[0-9]+ threads?: -+$")
"""A line that torch.utils.benchmark prints within its tables."""
_FRAME = re.compile(r"^[+┌┏╭╔├┡└┗╰╚┣┢╞╟╠]")
_SPLIT = re.compile(rf"(?<!\\)[{_BARS}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table: its rows of cells; `ruled` says that the first is a head, as a rule stands below it, `drawn` that a program made it, `cut`
    that its first line has lost its beginning. `heads` are the lines of its head that stand above a rule."""

    rows: tuple[tuple[str, ...], ...]
    ruled: bool
    drawn: bool
    number: int
    cut: bool = False
    heads: int = 1


def barred_table(lines: Sequence[Line], at: int) -> tuple[Table, int] | None:
    """Rows of bars, with or without one at either end, framed or not."""
    if not _barred(lines, at):
        return None
    rows: list[tuple[str, ...]] = []
    bars: list[list[int]] = []
    ruled, drawn, place, heads = False, False, at, 0
    while place < len(lines) and len(rows) < MOST_ROWS and (text := lines[place].text):
        if _THREADS.match(text):
            ruled = ruled or len(rows) == 1
        elif _is_rule(text):
            grouped = any(len(own) < len(bars[-1]) for own in bars[:heads])
            if (not heads or grouped or "=" in text) and grouped_heads.is_head(rows):
                heads = len(rows)
            ruled = ruled or len(rows) == 1
            drawn = drawn or bool(_FRAME.match(text))
        elif _SPLIT.search(text):
            if rows and ruled and place + 1 < len(lines) and _is_rule(lines[place + 1].text) and _starts_anew(rows, text, drawn):
                break
            rows.append(tuple(each.strip().replace("\\|", "|") for each in _SPLIT.split(_unframed(text))))
            bars.append(_bars(text))
        else:
            break
        place += 1
    if not rows:
        return None
    if 1 < heads < len(rows):
        widest = max(bars, key=len)
        rows[:heads] = [grouped_heads.spread(row, own, widest) for row, own in zip(rows[:heads], bars, strict=False)]
    begins = [line.text[0] in _BARS for line in lines[at:place] if not _FRAME.match(line.text) and not _THREADS.match(line.text)]
    cut = not begins[0] and any(begins[1:])
    if begins[0] and len(begins) > 1 and not any(begins[1:]) and len(rows[0]) == len(rows[1]) - 1:
        rows[0] = ("", *rows[0])  # the blanks before its first bar were its first cell
    rows = [row for row in rows if not _typed(row)] if drawn else rows
    rows = _joined(rows) if drawn else rows
    heads = heads if 1 < heads < len(rows) and len({len(row) for row in rows[: heads + 1]}) == 1 else 1
    return Table(rows=tuple(rows), ruled=ruled or heads > 1, drawn=drawn, number=lines[at].number, cut=cut, heads=heads), place


def _typed(row: Sequence[str]) -> bool:
    """Whether a row of a frame of data holds the types of its columns, or the line above these."""
    return all(re.fullmatch(r"-{2,4}|str|cat|bool|date|[fiu](?:8|16|32|64)", each) for each in row if each) and any(row)


def _barred(lines: Sequence[Line], at: int) -> bool:
    text = lines[at].text
    below = lines[at + 1].text if at + 1 < len(lines) else ""
    if text[0] in _BARS:
        return len(_SPLIT.findall(text)) > 1 and (text[-1] in _BARS or below != "")
    if _is_rule(text):
        return bool(_FRAME.match(text)) and below[:1] in tuple(_BARS) and below != ""
    if len(_SPLIT.findall(text)) > 1 and _SPLIT.search(below) and not _is_rule(below):
        below = next(
            (line.text for line in lines[at + 2 : at + 1 + grouped_heads.MOST_LINES] if not _SPLIT.sub("", line.text).strip(" -=+:")), ""
        )
        return _is_rule(below) and bool(set(below) & set("|+┼"))
    return " | " in text and _is_rule(below) and bool(set(below) & set("|+┼"))


def _is_rule(text: str) -> bool:
    return bool(_RULE.match(text)) and bool(re.search(r"-:?\||\|:?-(?!\s)|[-=─━═]{2}", text))


def _starts_anew(rows: Sequence[Sequence[str]], text: str, drawn: bool) -> bool:
    """Whether a second head stands in the middle of bars: its rule below it, and no number in it."""
    cells = [each.strip() for each in _SPLIT.split(_unframed(text))]
    return not drawn and len(rows) > 1 and not any(cell(each).kind in ("value", "change") for each in cells)


def _bars(text: str) -> list[int]:
    """Where the bars of a line stand, with those that it has at neither end."""
    found = [bar.start() for bar in _SPLIT.finditer(text)]
    return [*([] if text[0] in _BARS else [-1]), *found, *([] if text[-1] in _BARS else [len(text)])]


def _unframed(text: str) -> str:
    text = text[1:] if text[0] in _BARS else text
    return text[:-1] if text and text[-1] in _BARS and not text.endswith("\\|") else text


def _joined(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Rows of a drawn table with the lines that go on in the next row."""
    found: list[tuple[str, ...]] = []
    for row in rows:
        if found and len(row) == len(found[-1]) and _goes_on(found[-1], row):
            found[-1] = tuple(f"{one}{'' if more.startswith('/') else ' '}{more}".strip() for one, more in zip(found[-1], row, strict=True))
        else:
            found.append(row)
    return found


def _goes_on(above: Sequence[str], row: Sequence[str]) -> bool:
    """Whether a row is the rest of the one above: words in brackets or in small letters, half of a bracket, what "per" wants."""
    filled = [(one, more) for one, more in zip(above, row, strict=True) if more]
    return bool(filled) and all(
        cell(more).kind == "words"
        and bool(re.match(r"[(\[a-z/]", more) or more.count("(") != more.count(")") or re.search(r"(?i)\b(?:per|of|to|for|by)$", one))
        for one, more in filled
    )


def separated_table(lines: Sequence[Line], at: int) -> tuple[Table, int] | None:
    """Two lines or more with as many tabs, commas or semicolons each, the first a head of words and the others with numbers."""
    for mark in ("\t", ",", ";"):
        if mark not in lines[at].text or at + 1 >= len(lines) or not re.search(r"[0-9]", lines[at + 1].text):
            continue
        if not _headed([lines[at].text.split(mark), lines[at + 1].text.split(mark)]) and '"' not in lines[at].text + lines[at + 1].text:
            continue
        place = at
        while place < len(lines) and lines[place].text.count(mark) and place - at < MOST_ROWS:
            place += 1
        if mark == "," and not any("," in _THOUSANDS.sub("", line.text) for line in lines[at:place]):
            continue
        if any(re.match(r"[-*+•]\s", line.text) for line in lines[at + 1 : at + 2]) or _unclosed(lines[at].text.split(mark)):
            continue
        try:
            rows = [
                tuple(each.strip() for each in row)
                for row in csv.reader([line.text for line in lines[at:place]], delimiter=mark, strict=True)
            ]
        except csv.Error:
            continue
        rows = rows[: next((place for place, row in enumerate(rows) if len(row) != len(rows[0])), len(rows))]
        if _headed(rows) and (mark != "," or not any(" " in each and len(each.split()) > 6 for each in rows[0])):
            return Table(rows=tuple(rows), ruled=True, drawn=False, number=lines[at].number), at + len(rows)
    return None


def _unclosed(cells: Sequence[str]) -> bool:
    """Whether a bracket goes on from one cell to the next: then the marks between are those of a sentence."""
    return any(each.count("(") != each.count(")") for each in cells) and not any('"' in each for each in cells)


def aligned_table(lines: Sequence[Line], at: int) -> tuple[Table, int] | None:
    """Columns aligned by blanks: a head of words, then lines with numbers, with as many columns; the head may lack the first."""
    rows: list[tuple[str, ...]] = []
    place, ruled = at, False
    if not _may_be_head(lines, at):
        return None
    while place < len(lines) and len(rows) < MOST_ROWS and (text := lines[place].text):
        if _RULE.match(text) or re.fullmatch(r"[-= ]{3,}", text):
            ruled = ruled or len(rows) == 1
        elif rows and ((":" in text and re.match(r"^[A-Z]\w+:", text)) or (len(rows) >= LEAST_ROWS and _ends(text, rows))):
            break
        else:
            cells = re.split(r"\s{2,}|\t+", text)
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
    if len(head) == width and len(body) == len(rows) - 1 and _headed([head, *body]) and width > (2 if not ruled else 1):
        return Table(rows=(head, *body), ruled=True, drawn=False, number=lines[at].number), place
    return _loose(lines, at, place)


def _goes_on_aligned(rows: Sequence[Sequence[str]], ruled: bool) -> bool:
    """Whether rows may be the first of a table: the second fits the head, and the last has as many cells, or lacks one."""
    if len(rows) < LEAST_ROWS:
        return True
    if len(rows[1]) <= (1 if ruled else 2):
        return False
    width = len(rows[1])
    head = ("", *rows[0]) if len(rows[0]) == width - 1 else rows[0]
    return len(head) == width and len(rows[-1]) in (width, width - 1) and (len(rows) > LEAST_ROWS or _headed([head, rows[1]]))


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
    end = next((place for place in range(at, len(lines)) if lines[place].empty or place - at >= MOST_LINES), len(lines))
    block = [" " * line.indent + line.text for line in lines[at:end] if not _RULE.match(line.text)]
    if len(block) <= LEAST_ROWS or any(_SPLIT.search(text) or "\t" in text for text in block):
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


def _headed(rows: Sequence[Sequence[str]]) -> bool:
    """Whether rows are a table: a head without values, and a value in every other row."""
    if len(rows) < LEAST_ROWS or len(rows[0]) < 2:
        return False
    if any(
        (one := cell(each)).kind in ("value", "change")
        and release(each) is None
        and not (role(each) and not known(one.unit))
        and not re.fullmatch(r"[0-9]{1,6}", each)
        for each in rows[0]
    ):
        return False
    if not any(re.search(r"[^\W\d_]", each) for each in rows[0]):
        return False
    return all(any(cell(each).kind in ("value", "change") for each in row) for row in rows[1:])
