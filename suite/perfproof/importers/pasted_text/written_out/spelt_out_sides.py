"""Letters that a text gives its sides, "A = main, B = this PR": the lines with the sides' names in their place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.words.alternatives import LETTERED
from perfproof.model.scenarios.side_names import are_both_sides, commit, names_a_side, role

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
        re.sub(r"^(?:the|our|my) ", "", name.casefold()).rstrip(".")
        for line in lines
        for found in _DECLARED.finditer(line.text)
        if (name := next(filter(None, found.groups()), ""))
    ]
    said = [name for name in said if not role(name)]
    if not said:
        return list(lines)
    return [replace(line, text=_with_baseline(line.text, said)) for line in lines]


def _with_baseline(text: str, said: Sequence[str]) -> str:
    if (first := re.match(r"[\w.+/-]+(?=,|\s{2,}|:\s)", text)) and first[0].casefold() in said:
        return f"{first[0]} (baseline){text[first.end() :]}"
    if not re.search(r"[|│\t]", text):
        plain = text.strip("#*_`: ").casefold()
        return f"{text.rstrip(':* ')} (baseline)" if plain in said else text
    cells = re.split(r"([|│\t])", text)
    return "".join(f" {cell.strip()} (baseline) " if _is_said(cell, said) else cell for cell in cells)


def _is_said(cell: str, said: Sequence[str]) -> bool:
    plain = cell.strip(" *_`").casefold()
    return bool(re.search(r"[^\W\d_]", plain)) and any(plain == name or plain in name.split() for name in said)


_TAGGED = re.compile(r"^[\[(](?P<side>[^\[\]()]{2,30})[\])]\s*:?\s+(?P<rest>[^\W\d].*[:].*[0-9].*)$")
"""A side in brackets before a line of its own: "[main] Mean TTFT (ms): 88.2"."""
_MARKED = re.compile(r"^(?P<rest>[^\W\d][^|\[\]]{1,100}[0-9][^|\[\]]{0,40})\s\[(?P<side>[^\[\]]{2,30})\]$")
"""A number with its side in square brackets behind it: "Throughput: 9.81 req/s [main]"."""
_LEADS = re.compile(r"^(?P<side>[^:=|<>]{2,40}?)\s*(?:->|→|=>)\s+(?P<rest>(?:[^\W\d].*)?[0-9].*)$")
"""A side before an arrow and words with numbers: "off -> TTFT 310 ms, ITL 41 ms"."""
_SIGNED = re.compile(r"^(?P<rest>[^\W\d][^|()]*[0-9][^|()]*,[^|()]*[0-9][^|()]*)\s\((?P<side>[^()]{2,30})\)$")
"""Several numbers and, behind all of them, their side in brackets."""
LONGEST_SIGNED = 200
"""Letters of such a line, at most: a longer one takes long to search."""


_HASHED = re.compile(
    r"^(?P<mark>(?:[-*+•]|[0-9]{1,2}[.)])\s+)?[`*]*(?P<hash>[0-9a-f]{7,40})[`*]*\s*(?:[(\[](?P<side>[^()\[\]:]{2,40})[)\]]"
    r"|[,–—-]\s*(?P<late>[^()\[\]:,]{2,40}?))[`*]*(?=\s*:|\s+[-–—=]|\s{2,}|\s*->|\s*→)"
)
"""A commit before the side that it is: "4f1c9e2 (before the refactor): 41.7 req/s"."""


def _begun(text: str) -> str:
    """A line that names its side in brackets as one that begins with it."""
    if (of_commit := _HASHED.match(text)) and commit(of_commit["hash"]):
        named = (of_commit["side"] or of_commit["late"]).strip()
        if names_a_side(named):
            when = re.match(r"(?i)(?:before|after)\b", named)
            name = when[0] if when else f"{named} ({of_commit['hash']})"
            return f"{of_commit['mark'] or ''}{name}{text[of_commit.end() :]}"
    behind = {")": _SIGNED, "]": _MARKED}.get(text[-1:]) if len(text) <= LONGEST_SIGNED else None
    found = _TAGGED.match(text) or _LEADS.match(text) or (behind.match(text) if behind else None)
    sided = found and names_a_side(found["side"]) and not role(found["rest"].split(":")[0])
    return f"{found['side']}: {found['rest']}" if found and sided else text


_ORDERED = re.compile(
    r"[^:.]{2,60}(?:[(\[][^()\[\]]{3,30}[)\]]|\s\w+\s?(?:/|->|→)\s?\w+)\s*:\s*[0-9.,]+\s?\w*\s*(?:/|->|→|vs\.?)\s*[0-9.,]+"
)
"""A name with its sides in their order, and their two numbers."""


_TWICE = re.compile(
    r"^(?P<one>(?P<name>[^\W\d][^:=|]{0,60}?(?:=[^:=|\s]{1,20}(?=\s*:))?)\s*[:=]\s*[-+]?[0-9].*?)(?:\s*[|<>]\s*|\s{3,})(?P<other>(?P=name)\s*[:=]\s*[-+]?[0-9].*)$"
)
"""A line with the same name twice, as two outputs beside each other have it."""
_COLUMNS = re.compile(
    r"(?i)\bleft(?: (?:side|column|half))?\s*(?:is|=|:)?\s*(?P<one>\w+)\b.{0,20}?"
    r"\bright(?: (?:side|column|half))?\s*(?:is|=|:)?\s*(?P<other>\w+)"
)
_FILES = re.compile(r"\b(?:s?diff|paste|pr)\b.*?\s(?P<one>[\w./-]+\.\w+) (?P<other>[\w./-]+\.\w+)")


def side_by_side(lines: Sequence[Line]) -> list[Line]:
    """The lines; where two sides' outputs stand beside each other, "TTFT: 41 ms | TTFT: 39 ms", one below the other: below "main | PR", or
    where words or a command say which is on the left."""
    named = next((match for line in lines for way in (_COLUMNS, _FILES) if (match := way.search(line.text))), None)
    of_all = [named["one"], named["other"]] if named else []
    found: list[Line] = []
    at = 0
    while at < len(lines):
        above = [each.strip(" *_`:") for each in re.split(r"\s*\|\s*|\s{3,}", lines[at].text)]
        headed = _are_sides(above)
        end = begin = at + headed
        while end < len(lines) and _TWICE.match(lines[end].text):
            end += 1
        heads = above if headed else of_all
        if _are_sides(heads) and end > begin + (not headed):
            for half, head in zip(("one", "other"), heads, strict=True):
                found.append(replace(lines[at], text=f"{head}:"))
                found += [replace(line, text=match[half].strip()) for line in lines[begin:end] if (match := _TWICE.match(line.text))]
            at = end
        else:
            found.append(lines[at])
            at += 1
    return found


def _are_sides(heads: Sequence[str]) -> bool:
    return len(heads) == 2 and are_both_sides(heads)


def _of_case(line: Line) -> list[Line]:
    """A line that says a case and then fields of each side, "rps=8  main: ttft=88.1  pr: ttft=79.9", as a line a side; else as it is."""
    first, *parts = re.split(r"\s{2,}(?=[^\s:=][^:=]{1,30}:\s+\S+=)", line.text)
    sided = are_both_sides(part.split(":")[0] for part in parts) and "=" in first
    return [replace(line, text=f"{part} {first}") for part in parts] if sided else [line]


def one_each(lines: Sequence[Line]) -> list[Line]:
    """The lines; of one that says a number of each side between semicolons, "new: 5.1 us; old: 9.8 us", the parts."""
    found: list[Line] = []
    for line in (replace(part, text=_begun(part.text)) for each in lines for part in _of_case(each)):
        parts = [part.strip(" .") for part in re.split(r";|\s\|\s", line.text)]
        names = [part.split(":")[0].strip(" -*") for part in parts if re.match(r"[^:]{2,40}:\s+\S.*[0-9]", part)]
        sided = len(parts) == len(names) > 1 and are_both_sides(names)
        ordered = re.split(r"(?<=[\w%)])[.,;]\s+(?=[^\W\d])", line.text)
        if len(ordered) > 1 and all(_ORDERED.match(part) for part in ordered):
            parts, sided = [part.rstrip(" .") for part in ordered], True
        found += [replace(line, text=part) for part in parts] if sided else [line]
    return found


def told(lines: Sequence[Line]) -> list[Line]:
    """The lines with each side's name where its numbers are."""
    return one_each(side_by_side(declared(lettered(spelt_out(lines)))))


_LETTERED = re.compile(rf"^\W*(?P<name>(?:{LETTERED.pattern.removeprefix('(?i)')}))\s*[:=]\s+(?P<rest>[^\W\d].*[0-9].*)$", re.IGNORECASE)
_QUANTITY = re.compile(r"[^\W\d][^:=,;]{1,50}? [0-9][0-9.,]* ?[A-Za-zµ%/]{1,12}")


def lettered(lines: Sequence[Line]) -> list[Line]:
    """The lines; where two of them give the numbers of a side without a name, "Config A: TTFT 9 ms, 12 req/s", that is a heading."""
    found = {line.number: match for line in lines if (match := _LETTERED.match(line.text))}
    parts = {number: re.split(r"[,;]\s+", match["rest"].rstrip(" .")) for number, match in found.items()}
    letters = [match["name"].casefold() for match in found.values()]
    if len(set(letters)) != 2 or len(letters) != 2 or not all(_QUANTITY.fullmatch(each) for own in parts.values() for each in own):
        return list(lines)
    return [
        replace(line, text=text)
        for line in lines
        for text in ([f"{found[line.number]['name']}:", *parts[line.number]] if line.number in found else [line.text])
    ]


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
