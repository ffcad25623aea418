"""GitHub markdown: escaped text, tables, code fences and parts that fold."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from perfproof.model.base.untrusted import shorten
from perfproof.report.text.shown_rows import Shown

LONGEST = 400
"""The most characters of a line of a list."""
_SPECIAL = re.compile(r"[\\`*_\[\]|~#^$]")
_COMMAND = ": perfproof "
_AT_START = re.compile(r"^([+\-=])|^(\d{1,9})(?=[.)](?:\s|$))")


def table(head: Sequence[str], align: str, rows: Iterable[Sequence[str]]) -> str:
    """A table of escaped cells; `align` holds one `l` or `r` per column."""
    rule = ["---:" if side == "r" else "---" for side in align]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, rule, *rows])


def fence(text: str) -> str:
    """A code block with a fence that its text can't end."""
    mark = _backquotes(text, 3)
    return f"{mark}sh\n{text}\n{mark}"


def code(text: str) -> str:
    """A span of code that its text can't end. GitHub finds no mention in it, so its text can be copied as it is."""
    mark = _backquotes(text, 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{mark}{pad}{text}{pad}{mark}"


def _backquotes(text: str, least: int) -> str:
    """A run of backquotes that is longer than any in the text."""
    return "`" * max(least, max(map(len, re.findall(r"`+", text)), default=0) + 1)


def sentence(text: str) -> str:
    """An escaped sentence; a command of perfproof that it ends in is code, to be copied from the raw text too.

    Not in a line that will be cut: a span of code that lost its end would leave text that is not escaped.
    """
    words, sign, command = text.partition(_COMMAND)
    told = f"{escape(words)}: {code(sign.removeprefix(': ') + command)}" if sign else ""
    return told if told and len(told) <= LONGEST - len("- ") else escape(text)


def fold(title: str, body: str) -> str:
    """A part that opens when its title is clicked."""
    return f"<details><summary>{_unlinked(html.escape(title))}</summary>\n\n{body}\n\n</details>"


def few(listed: Sequence[str], most: int = 30) -> str:
    """A list of escaped lines, at most `most` of them."""
    more = [f"- and {len(listed) - most} more, in the HTML report"] if len(listed) > most else []
    return "\n".join([*(shorten(each, LONGEST) for each in listed[:most]), *more])


SIGNS = {
    "regressed": "❌",
    "untestable": "🚫",
    "inconclusive": "❔",
    "improved": "✅",
    "less": "➖",
    "equivalent": "🟰",
    "identical": "🟰",
    "suggests": "〰️",
}
"""The sign of each look of a verdict."""
CONTROL = "🧪"
"""The sign of what was planted on purpose."""


def verdict_of(one: Shown) -> str:
    """A verdict's word with its sign, and that it is a control's; the word alone where it is not judged."""
    if one.row.verdict is None:
        return one.word
    sign = SIGNS[one.look] if one.plain else CONTROL if one.planted else SIGNS["less"] if one.turned and not one.note else SIGNS[one.look]
    return f"{sign} **{one.word}**{' (planted)' if one.planted else ''}"


def escape(text: str) -> str:
    """Text that is shown literally: no markup, no HTML, no mention of a user, no link."""
    shown = _SPECIAL.sub(_escaped, html.escape(text, quote=False))
    shown = _AT_START.sub(lambda match: f"\\{match[1]}" if match[1] else f"{match[2]}\\", shown)
    return _unlinked(shown)


def _unlinked(text: str) -> str:
    """HTML text in which GitHub finds no user name, no address and no issue number."""
    shown = re.sub(r"@(?=\w)", "@<!-- -->", text)
    shown = re.sub(r"(?i)(https?|ftp|www|mailto|xmpp)(?=[:.])", r"\1<!-- -->", shown)
    return re.sub(r"(?i)((?<=#)|(?<=\bgh-))(?=\d)", "<!-- -->", shown)


def _escaped(match: re.Match[str]) -> str:
    """A backslash before a character of markdown; none before an underscore within a word, so that names stay readable."""
    text, at = match.string, match.start()
    inside = match[0] == "_" and text[at - 1 : at].isalnum() and text[at + 1 : at + 2].isalnum()
    return match[0] if inside else f"\\{match[0]}"
