"""Tables as they stand in a text: rows of bars, drawn frames, values separated by commas or tabs."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.tables.shapes import grouped_heads
from perfproof.importers.pasted_text.words.cells import cell, unit_of
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.side_names import release, role

LEAST_ROWS = 2
MOST_ROWS = 5_000
_BARS = "|│┃║┆┊"
RULE = re.compile(r"^[\s|│┃║:+=\-─━═┄┈┌┐└┘├┤┬┴┼┏┓┗┛┣┫┳┻╋┡┩╇╈╭╮╰╯╞╡╪╔╗╚╝╠╣╦╩╬╟╢╫╤╧┠┨┯┷╂┢┪]{3,}$")
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")
_THREADS = re.compile(r"^[0-9]+ threads?: -+$")
"""A line that torch.utils.benchmark prints within its tables."""
_FRAME = re.compile(r"^[+┌┏╭╔├┡└┗╰╚┣┢╞╟╠]")
SPLIT = re.compile(rf"(?<!\\)[{_BARS}]")


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
        elif SPLIT.search(text):
            if rows and ruled and place + 1 < len(lines) and _is_rule(lines[place + 1].text) and _starts_a_table(rows, text, drawn):
                break
            rows.append(tuple(each.strip().replace("\\|", "|") for each in SPLIT.split(_unframed(text))))
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
    if begins[0] and len(begins) > 1 and not any(begins[1:]) and len(rows) > 1 and len(rows[0]) == len(rows[1]) - 1:
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
        return len(SPLIT.findall(text)) > 1 and (text[-1] in _BARS or below != "")
    if _is_rule(text):
        return bool(_FRAME.match(text)) and below[:1] in tuple(_BARS) and below != ""
    if len(SPLIT.findall(text)) > 1 and SPLIT.search(below) and not _is_rule(below):
        below = next(
            (line.text for line in lines[at + 2 : at + 1 + grouped_heads.MOST_LINES] if not SPLIT.sub("", line.text).strip(" -=+:")), ""
        )
        return (_is_rule(below) and bool(set(below) & set("|+┼"))) or _sides_above_values(lines, at)
    return " | " in text and _is_rule(below) and bool(set(below) & set("|+┼"))


def _sides_above_values(lines: Sequence[Line], at: int) -> bool:
    """Whether a line of bars without a rule names both sides, above as many values."""
    head, below = ([each.strip() for each in SPLIT.split(line.text)] for line in lines[at : at + 2])
    values = [cell(each).kind in ("value", "missing") for each in below[1:]]
    return len(head) == len(below) and all(values) and {role(each) for each in head} >= {"baseline", "candidate"}


def _is_rule(text: str) -> bool:
    return bool(RULE.match(text)) and bool(re.search(r"-:?\||\|:?-(?!\s)|[-=─━═]{2}", text))


def _starts_a_table(rows: Sequence[Sequence[str]], text: str, drawn: bool) -> bool:
    """Whether a second head stands in the middle of bars: its rule below it, and no number in it."""
    cells = [each.strip() for each in SPLIT.split(_unframed(text))]
    return not drawn and len(rows) > 1 and not any(cell(each).kind in ("value", "change") for each in cells)


def _bars(text: str) -> list[int]:
    """Where the bars of a line stand, with those that it has at neither end."""
    found = [bar.start() for bar in SPLIT.finditer(text)]
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
    """Whether a row is the rest of the one above: words in brackets or in small letters, half of a bracket, what "per" wants, the end of a
    name with its unit."""
    filled = [(one, more) for one, more in zip(above, row, strict=True) if more]
    if row[0] and not any(row[1:]) and any(above[1:]) and unit_of(row[0]) and not unit_of(above[0]) and cell(row[0]).kind == "words":
        return True
    return bool(filled) and all(
        cell(more).kind == "words"
        and bool(re.match(r"[(\[a-z/]", more) or more.count("(") != more.count(")") or re.search(r"(?i)\b(?:per|of|to|for|by)$", one))
        for one, more in filled
    )


def separated_table(lines: Sequence[Line], at: int) -> tuple[Table, int] | None:
    """Two lines or more with as many tabs, commas or semicolons each, the first a head of words and the others with numbers."""
    for mark in ("\t", ",", ";"):
        if grouped := _grouped(lines, at, mark):
            return grouped
        if mark not in lines[at].text or at + 1 >= len(lines) or not re.search(r"[0-9]", lines[at + 1].text):
            continue
        if not headed([lines[at].text.split(mark), lines[at + 1].text.split(mark)]) and '"' not in lines[at].text + lines[at + 1].text:
            continue
        place = at
        while place < len(lines) and lines[place].text.count(mark) and place - at < MOST_ROWS:
            place += 1
        told = [bool(re.search(r"\w\s?:(?:\s|$)", line.text)) for line in lines[at : at + 2]]
        if mark == "," and all(told):
            continue  # names and values: "before: TTFT 12 ms, TPOT 3 ms"
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
        if headed(rows) and (mark != "," or not any(" " in each and len(each.split()) > 6 for each in rows[0])):
            return Table(rows=tuple(rows), ruled=True, drawn=False, number=lines[at].number), at + len(rows)
    return None


def _grouped(lines: Sequence[Line], at: int, mark: str) -> tuple[Table, int] | None:
    """A table whose head has a line of groups, with empty cells behind each, above the line of its columns."""
    if at + 2 >= len(lines):
        return None
    above, names = ([each.strip() for each in line.text.split(mark)] for line in lines[at : at + 2])
    filled = [each for each in above if each]
    if len(filled) < 2 or above[0] or len(names) < len(above) or not all(names[1:]) or not grouped_heads.is_head([above, names]):
        return None
    if not any(one == "" for one in above[1:]) or len({name.casefold() for name in names[1:]}) == len(names) - 1:
        return None
    found = separated_table(lines, at + 1) if mark in lines[at + 1].text else None
    if found is None or len(found[0].rows[0]) != len(names):
        return None
    rows = ((*above, *[""] * (len(names) - len(above))), *found[0].rows)
    return Table(rows=rows, ruled=True, drawn=False, number=lines[at].number, heads=2), found[1]


def _unclosed(cells: Sequence[str]) -> bool:
    """Whether a bracket goes on from one cell to the next: then the marks between are those of a sentence."""
    return any(each.count("(") != each.count(")") for each in cells) and not any('"' in each for each in cells)


def headed(rows: Sequence[Sequence[str]]) -> bool:
    """Whether rows are a table: a head without values, and a value in every other row."""
    if len(rows) < LEAST_ROWS or len(rows[0]) < 2:
        return False
    described = bool({"mean", "avg", "average", "median", "std", "min", "max"} & {each.casefold() for each in rows[0]})
    if any(
        (one := cell(each)).kind in ("value", "change")
        and release(each) is None
        and not (role(each) and not known(one.unit))
        and not re.fullmatch(r"[0-9]{1,6}", each)
        and not (described and re.fullmatch(r"[0-9]{1,2}(?:\.[0-9]+)?%", each))
        for each in rows[0]
    ):
        return False
    if not any(re.search(r"[^\W\d_]", each) for each in rows[0]) and (rows[0][0] or not all(role(row[0]) for row in rows[1:])):
        return False  # sizes alone, but above rows of sides
    return all(any(cell(each).kind in ("value", "change") for each in row) for row in rows[1:])
