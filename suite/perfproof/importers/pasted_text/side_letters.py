"""Letters that a text gives its sides, "A = main, B = this PR": the lines with the sides' names in their place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.text_lines import Line
from perfproof.model.scenarios.side_names import role

_KEY = r"(?:(?:arm|side|variant|setup|config|configuration|build|group|option|case|version)\s[A-Z0-9]|(?-i:[A-Z]))"
_GIVEN = re.compile(
    rf"(?:^|[\s,;(|])[(\[`*]*(?P<key>{_KEY})[)\]`*]*\s*(?:=|:|->|→|–|-|\bis\b)\s*(?P<name>[^,;|=\n]{{2,60}}?)"
    rf"(?=\s*(?:[,;|]|\.\s|\.?$)|\s+and\s+[(\[`*]*{_KEY}\b|\s+vs\.?\s)",
    re.IGNORECASE,
)
LONGEST = 7
"""Words of a side's name, at most."""


def spelt_out(lines: Sequence[Line]) -> list[Line]:
    """The lines; where some of them give letters to both sides, those are empty, and the others have the names for the letters."""
    given: dict[str, str] = {}
    places: set[int] = set()
    for line in lines:
        own = {" ".join(found["key"].split()).casefold(): found["name"].strip(" `*().") for found in _GIVEN.finditer(line.text)}
        own = {key: name for key, name in own.items() if role(name) and len(name.split()) <= LONGEST and not re.search(r"[0-9]\s?[a-z%]+/?s?$", name)}
        if own and all(key not in given or given[key] == name for key, name in own.items()) and not re.search(r"\d\s?(?:ms|us|µs|s|tok/s|req/s)\b", line.text):
            given |= own
            places.add(line.number)
    if len(given) < 2 or len({role(name) for name in given.values()}) < 2:
        return list(lines)
    names = "|".join(sorted((re.escape(key).replace("\\ ", r"\s") for key in given), key=len, reverse=True))
    used = re.compile(rf"(?i)(?P<before>^(?:[\W_]*)|[|│\t]\s*|\s{{2,}}|\b(?:run|arm|side|variant|setup|config|build|group)\s)(?P<key>{names})(?=\s*(?:[|│\t:=(→,]|->|\s-\s|\s{{2,}}|$|\s[\d#]))")
    told = [
        replace(line, text="") if line.number in places else replace(line, text=used.sub(lambda found: f"{found['before']}{given[' '.join(found['key'].split()).casefold()]}", line.text))
        for line in lines
    ]
    return told if any(one.text != line.text for one, line in zip(told, lines, strict=True) if line.number not in places) else list(lines)
