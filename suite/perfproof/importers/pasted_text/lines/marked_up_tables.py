"""Tables in the markup of AsciiDoc and MediaWiki as rows of bars, a line for a line."""

from __future__ import annotations

import re
from collections.abc import Sequence

_ATTRIBUTES = re.compile(r"^\s*(?:[\w-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'|]+)\s*)+\|(?!\|)")
"""What a cell of MediaWiki begins with of how it looks."""


def told(plain: Sequence[str]) -> list[str]:
    """The lines, with tables of either markup as rows of bars."""
    return _of_mediawiki(_of_asciidoc(plain))


def _of_mediawiki(plain: Sequence[str]) -> list[str]:
    """The lines; a table of MediaWiki, from "{|" to "|}", as rows of bars, and its caption above."""
    found = list(plain)
    start = -1
    for at, raw in enumerate(plain):
        text = raw.strip()
        if re.match(r"\{\|(?!\|)", text):
            start = at
        elif start >= 0 and text.startswith("|}"):
            rows = _rows([each.strip() for each in plain[start + 1 : at]])
            found[start : at + 1] = [*rows, *[""] * (at + 1 - start - len(rows))]
            start = -1
    return found


def _rows(source: Sequence[str]) -> list[str]:
    """The caption and the rows of a table of MediaWiki; the cells of a row may stand in one line or in several."""
    caption, rows, fresh, ruled = "", list[list[str]](), True, False
    for text in source:
        if text.startswith("|+"):
            caption = text[2:].strip()
        elif text.startswith("|-"):
            fresh = True
        elif text[:1] in ("|", "!"):
            rows += [[]] if fresh or not rows else []
            ruled = ruled or (len(rows) == 1 and text[0] == "!")
            cells = re.split(r"\|\||!!" if text[0] == "!" else r"\|\|", text[1:])
            rows[-1] += [_ATTRIBUTES.sub("", each).strip().replace("'''", "") for each in cells]
            fresh = False
    wide = max(map(len, rows), default=0)
    barred = [f"| {' | '.join([*cells, *[''] * (wide - len(cells))])} |" for cells in rows]
    return [caption, *barred[:1], *(["|" + " --- |" * wide] if ruled else []), *barred[1:]]


def _of_asciidoc(plain: Sequence[str]) -> list[str]:
    """The lines; a table of AsciiDoc, "|===" above and below, as rows of bars with as many cells as its first line has."""
    found: list[str] = []
    cells: list[str] = []
    inside, wide = False, 0
    for raw in plain:
        if re.fullmatch(r"\s*\|={3,}\s*", raw):
            inside, wide, cells = not inside, 0, []
            found.append("")
        elif inside:
            own = [each.strip() for each in re.split(r"(?:^|\s)\|", raw.strip())[1:]]
            if not wide and own:
                wide = len(own)
                found += [f"| {' | '.join(own)} |", "|" + " --- |" * wide]
                continue
            cells += own
            if wide and len(cells) >= wide:
                found.append(f"| {' | '.join(cells)} |")
                cells = []
        else:
            found.append(raw)
    return found
