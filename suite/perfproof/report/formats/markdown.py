"""GitHub markdown: text that shows as it reads, tables, fences and parts that fold."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from perfproof.model.base.untrusted import shorten

_SPECIAL = re.compile(r"[\\`*_\[\]|~#^$]")
_AT_START = re.compile(r"^([+\-=])|^(\d{1,9})(?=[.)](?:\s|$))")


def table(head: Sequence[str], align: str, rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are escaped already; `align` holds an `l` or `r` a column."""
    rule = ["---:" if side == "r" else "---" for side in align]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, rule, *rows])


def fence(text: str) -> str:
    """Code that nothing in it can end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    mark = "`" * max(3, longest + 1)
    return f"{mark}sh\n{text}\n{mark}"


def fold(title: str, body: str) -> str:
    """A part that opens when its title is clicked."""
    return f"<details><summary>{_unlinked(html.escape(title))}</summary>\n\n{body}\n\n</details>"


def few(listed: Sequence[str], most: int = 30) -> str:
    """A list of lines that are escaped already, the first so many of them."""
    more = [f"- and {len(listed) - most} more, in the HTML report"] if len(listed) > most else []
    return "\n".join([*(shorten(each, 400) for each in listed[:most]), *more])


def escape(text: str) -> str:
    """Text that shows as it reads: no markup, no HTML, no mention of anybody, no link."""
    shown = _SPECIAL.sub(_escaped, html.escape(text, quote=False))
    shown = _AT_START.sub(lambda found: f"\\{found[1]}" if found[1] else f"{found[2]}\\", shown)
    return _unlinked(shown)


def _unlinked(text: str) -> str:
    """HTML text in which GitHub finds nobody's name, no address and no number of an issue."""
    shown = re.sub(r"@(?=\w)", "@<!-- -->", text)
    shown = re.sub(r"(?i)(https?|ftp|www|mailto|xmpp)(?=[:.])", r"\1<!-- -->", shown)
    return re.sub(r"(?i)((?<=#)|(?<=\bgh-))(?=\d)", "<!-- -->", shown)


def _escaped(found: re.Match[str]) -> str:
    """A backslash before what markdown would act on; none before an underscore within a word, so that names stay readable."""
    text, at = found.string, found.start()
    inside = found[0] == "_" and text[at - 1 : at].isalnum() and text[at + 1 : at + 2].isalnum()
    return found[0] if inside else f"\\{found[0]}"
