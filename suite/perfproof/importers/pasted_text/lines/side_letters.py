"""Letters that a text gives its sides, "A = main, B = this PR": the lines with the sides' names in their place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.model.scenarios.side_names import role

_KEY = r"(?:(?:arm|side|variant|setup|config|configuration|build|group|option|case|version)\s[A-Z0-9]|(?-i:[A-Z]))"
_GIVEN = re.compile(
    rf"(?:^|[\s,;(|])[(\[`*]*(?P<key>{_KEY})[)\]`*]*\s*(?:=|:|->|→|–|-|\bis\b)\s*(?P<name>[^,;|=\n]{{2,60}}?)"
    rf"(?=\s*(?:[,;|]|\.\s|\.?$)|\s+and\s+[(\[`*]*{_KEY}\b|\s+vs\.?\s)",
    re.IGNORECASE,
)
LONGEST = 7
"""Words of a side's name, at most."""


_DECLARED = re.compile(
    r"(?i)(?P<name>(?<![\w.])\w[\w.+/-]*(?: [\w.+/-]+){0,3}?)[\"'`]? (?:is|as|was) (?:the |our |my )?(?:baseline|reference|control)\b"
    r"|\b(?:the |our )?baseline (?:is|=|here is|run is"
    r"|was)\s*:?\s*(?:the )?[`\"']?(?P<late>[\w.+/-]+(?: [\w.+/-]+){0,3}?)[`\"']?(?=[.,;:)]|$)"
    r"|\b(?:compared (?:to|with)|relative to|against|over) (?:the |our )?(?P<last>[\w.+/-]+) baseline\b"
)
"""What a sentence says of which side is the baseline: "BF16 KV cache is the baseline here"."""


def declared(lines: Sequence[Line]) -> list[Line]:
    """The lines; a cell or a heading that a sentence calls the baseline says so itself."""
    said = [
        name.casefold() for line in lines for found in _DECLARED.finditer(line.text) if (name := next(filter(None, found.groups()), ""))
    ]
    said = [name for name in said if not role(name)]
    if not said:
        return list(lines)
    return [replace(line, text=_with_baseline(line.text, said)) for line in lines]


def _with_baseline(text: str, said: Sequence[str]) -> str:
    if (first := re.match(r"[\w.+/-]+(?=,|\s{2,})", text)) and first[0].casefold() in said:
        return f"{first[0]} (baseline){text[first.end() :]}"
    if not re.search(r"[|│\t]", text):
        plain = text.strip("#*_`: ").casefold()
        return f"{text.rstrip(':* ')} (baseline)" if plain in said else text
    cells = re.split(r"([|│\t])", text)
    return "".join(f" {cell.strip()} (baseline) " if _is_said(cell, said) else cell for cell in cells)


def _is_said(cell: str, said: Sequence[str]) -> bool:
    plain = cell.strip(" *_`").casefold()
    return bool(re.search(r"[^\W\d_]", plain)) and any(plain == name or plain in name.split() for name in said)


_TAGGED = re.compile(r"^\[(?P<side>[^\[\]]{2,30})\]\s*:?\s+(?P<rest>[^\W\d].*[:].*[0-9].*)$")
"""A side in brackets before a line of its own: "[main] Mean TTFT (ms): 88.2"."""
_SIGNED = re.compile(r"^(?P<rest>[^\W\d][^|()]*[0-9][^|()]*,[^|()]*[0-9][^|()]*)\s\((?P<side>[^()]{2,30})\)$")
"""Several numbers and, behind all of them, their side in brackets."""


def _begun(text: str) -> str:
    """A line that names its side in brackets as one that begins with it."""
    found = _TAGGED.match(text) or _SIGNED.match(text)
    sided = found and role(found["side"]) in ("baseline", "candidate") and not role(found["rest"].split(":")[0])
    return f"{found['side']}: {found['rest']}" if found and sided else text


_ORDERED = re.compile(r"[^:.]{2,60}[(\[][^()\[\]]{3,30}[)\]]\s*:\s*[0-9.,]+\s?\w*\s*(?:/|->|→|vs\.?)\s*[0-9.,]+")
"""A name with its sides in their order, and their two numbers."""


def side_by_side(lines: Sequence[Line]) -> list[Line]:
    """The lines; where two sides' outputs stand beside each other, "main | PR" above "TTFT: 41 ms | TTFT: 39 ms", one below the other."""
    found: list[Line] = []
    at = 0
    while at < len(lines):
        heads = [each.strip(" *_`:") for each in lines[at].text.split("|")]
        end = at + 1
        while end < len(lines) and _named_twice(lines[end].text):
            end += 1
        if len(heads) == 2 and {role(head) for head in heads} == {"baseline", "candidate"} and end > at + 1:
            for column, head in enumerate(heads):
                found.append(replace(lines[at], text=f"{head}:"))
                found += [replace(line, text=line.text.split("|")[column].strip()) for line in lines[at + 1 : end]]
            at = end
        else:
            found.append(lines[at])
            at += 1
    return found


def one_each(lines: Sequence[Line]) -> list[Line]:
    """The lines; of one that says a number of each side between semicolons, "new: 5.1 us; old: 9.8 us", the parts."""
    found: list[Line] = []
    for line in (replace(each, text=_begun(each.text)) for each in lines):
        parts = [part.strip(" .") for part in re.split(r";|\s\|\s", line.text)]
        names = [part.split(":")[0].strip(" -*") for part in parts if re.match(r"[^:]{2,40}:\s+\S.*[0-9]", part)]
        sided = len(parts) == len(names) > 1 and {role(name) for name in names} == {"baseline", "candidate"}
        ordered = re.split(r"(?<=[\w%)])\.\s+(?=[^\W\d])", line.text)
        if len(ordered) > 1 and all(_ORDERED.match(part) for part in ordered):
            parts, sided = [part.rstrip(" .") for part in ordered], True
        found += [replace(line, text=part) for part in parts] if sided else [line]
    return found


def _named_twice(text: str) -> bool:
    halves = text.split("|")
    return len(halves) == 2 and all(re.match(r"\s*[^\W\d][^:=]{1,60}[:=]\s*[-+]?[0-9]", half) for half in halves)


def told(lines: Sequence[Line]) -> list[Line]:
    """The lines with each side's name where its numbers are."""
    return one_each(side_by_side(declared(spelt_out(lines))))


def spelt_out(lines: Sequence[Line]) -> list[Line]:
    """The lines; where some of them give letters to both sides, those are empty, and the others have the names for the letters."""
    given: dict[str, str] = {}
    places: set[int] = set()
    for line in lines:
        own = {" ".join(found["key"].split()).casefold(): found["name"].strip(" `*().") for found in _GIVEN.finditer(line.text)}
        own = {
            key: name
            for key, name in own.items()
            if role(name) and len(name.split()) <= LONGEST and not re.search(r"[0-9]\s?[a-z%]+/?s?$", name)
        }
        if (
            own
            and all(key not in given or given[key] == name for key, name in own.items())
            and not re.search(r"\d\s?(?:ms|us|µs|s|tok/s|req/s)\b", line.text)
        ):
            given |= own
            places.add(line.number)
    if len(given) < 2 or len({role(name) for name in given.values()}) < 2:
        return list(lines)
    names = "|".join(sorted((re.escape(key).replace("\\ ", r"\s") for key in given), key=len, reverse=True))
    used = re.compile(
        rf"(?i)(?P<before>^(?:[\W_]*)|[|│\t]\s*|\s{{2,}}|\b(?:run|arm|side|variant|setup|config|build"
        rf"|group)\s)(?P<key>{names})(?=\s*(?:[|│\t:=(→,]|->|\s-\s|\s{{2,}}|$|\s[\d#]))"
    )
    told = [
        replace(line, text="")
        if line.number in places
        else replace(line, text=used.sub(lambda found: f"{found['before']}{given[' '.join(found['key'].split()).casefold()]}", line.text))
        for line in lines
    ]
    return told if any(one.text != line.text for one, line in zip(told, lines, strict=True) if line.number not in places) else list(lines)
