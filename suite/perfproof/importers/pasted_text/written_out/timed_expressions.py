"""Times that `timeit` printed below the expressions which it timed: each with its expression as the metric's name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.model.scenarios.side_names import role, split

_PROMPT = r"(?:In \[[0-9]{1,4}\]:\s*|>>>\s*|\$\s*)?"
_TIMED = re.compile(
    rf"^{_PROMPT}(?:%%?timeit\b(?:\s+-[a-z]\s?[0-9]*)*\s*(?P<code>[^#]*?)"
    r"|(?:python[0-9.]*\s+)?-m timeit\b.*?(?P<quote>[\"'])(?P<last>(?:(?!(?P=quote)).)+)(?P=quote))"
    r"\s*(?:#\s*(?P<comment>.*))?$"
)
"""A line that times an expression; that of a whole cell stands in the next line."""
_PRINTED = "time per loop: "
_LONGEST = 60


def told(lines: Sequence[Line]) -> list[Line]:
    """The lines; where every expression of the text was timed more than once, and none has a word for a side, the times with their
    expressions, which are no headings."""
    timed: dict[int, str] = {}
    code, cell = "", False
    for at, line in enumerate(lines):
        if found := _TIMED.match(line.text):
            code, cell = found["code"] or found["last"] or "", not (found["code"] or found["last"])
        elif cell and not line.empty and not line.text.startswith("#"):
            code, cell = line.text, False
        elif line.text.startswith(_PRINTED) and code:
            timed[at] = code
    times = Counter(timed.values())
    if not timed or min(times.values()) < 2 or any(role(_called(code)) or split(f"time per loop of {_called(code)}") for code in times):
        return list(lines)
    return [_named(line, timed.get(at, ""), frozenset(times)) for at, line in enumerate(lines)]


def _named(line: Line, code: str, all_: frozenset[str]) -> Line:
    if code:
        return replace(line, text=f"time per loop of {_called(code)}: {line.text.removeprefix(_PRINTED)}")
    if found := _TIMED.match(line.text):
        return replace(line, text=f"# {found['comment']}" if found["comment"] else "")
    return replace(line, text="") if line.text in all_ else line


def _called(code: str) -> str:
    """An expression as a name: without what ends one."""
    return re.sub(r"\s*,\s*", ",", " ".join(re.sub(r"[:|;\"'`]", " ", re.sub(r"\s*=+\s*", ".", code)).split()))[:_LONGEST]
