"""Lines whose name is a case alone, a shape, sizes or settings: "M=1 N=4096: 11.4 us", "(16, 4096)  5.2 us", "2048x2048 -> 31 ms"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.prose import phrases
from perfproof.importers.pasted_text.values.inline_values import named_line, values_in
from perfproof.importers.pasted_text.values.named_values import Named, Value, values_of
from perfproof.importers.pasted_text.words.alternatives import kind
from perfproof.importers.pasted_text.words.cells import BULLET, DIGITS, UNIT, bare
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import STATISTICS, better
from perfproof.model.scenarios.side_names import names_a_side, role, split

_SIZE = r"[0-9][0-9_]*[kKMG]?"
_PART = (
    r"(?:[A-Za-z_][\w.]*\s?=\s?[^\s=,;:|()]+"
    rf"|[\[(]\s*{_SIZE}(?:\s*[,x×]\s*{_SIZE}){{0,7}}\s*,?\s*[\])]|{_SIZE}(?:\s?[x×]\s?{_SIZE}){{1,5}})"
)
"""What a case is made of: "M=16", "(16, 4096)", "2048x2048"."""
_NAME = (
    rf"^(?P<name>(?:[A-Za-z_][\w.]*[\s,]+){{0,3}}{_PART}(?:[\s,;|/]+(?:{_PART}|[A-Za-z_][\w.]*)){{0,12}}?)"
    r"(?P<mark>\s*(?::|->|→|=>|\||\s[-–—=]\s)\s*|\s+)"
)
_CASE = re.compile(rf"{_NAME}(?P<rest>{DIGITS}\s?(?P<unit>{UNIT}).*)$")
_OF_NAMED = re.compile(rf"{_NAME}(?P<rest>(?!{_PART})[^\W\d].*:\s*[0-9].*)$")
"""A case before numbers that have names of their own: "bs=8  eager: 33.9 ms  compiled: 24.8 ms"."""

_TAG = re.compile(r"(?:^|(?<=\s))(?:\[\s*(?P<tag>[A-Za-z][\w .+-]{1,30}?)\s*\]):?(?=\s|$)")
"""Whose a line of a script is: "[baseline] bs=1  18.4 us", "bs=1 [fused]  11.1 us"."""
MOST_TAGS = 4
_NO_SIDE = re.compile(
    r"(?i)(?:warm[ -]?up|info|warn(?:ing)?|debug|error|config|setup|result|results|log|note|skip(?:ped)?|done|ok|pass(?:ed)?|fail(?:ed)?"
    r"|total|mean|median|(?:rank|gpu|worker|node|step|run|iter|tp|pp|dp)[ _-]?[0-9]*)"
)
"""Tags that scripts and loggers print of themselves."""


def case_line(lines: Sequence[Line], at: int) -> tuple[Named, int] | None:
    """The numbers of a line behind a case; of a side too, where words of one stand in its name."""
    text = BULLET.sub("", lines[at].text)
    if (tag := _tag(text)) and _sided(_tags(lines, at)):
        return _of_tag(lines, at, tag)
    ways = [found for found in (_CASE.match(bare(text)), _OF_NAMED.match(text)) if found and _is_case(found["name"])]
    values = next((values for found in ways if (values := list(_values(found)))), [])
    if not values or phrases.is_sentence(text):
        return None
    return Named(values=tuple(values), unread=(), number=lines[at].number), at + 1


def _tag(text: str) -> re.Match[str] | None:
    """The one tag in brackets of a line with numbers."""
    found = list(_TAG.finditer(text))
    return (
        found[0]
        if len(found) == 1
        and not _NO_SIDE.fullmatch(found[0]["tag"])
        and re.search(r"[0-9]", text[: found[0].start()] + text[found[0].end() :])
        else None
    )


def _tags(lines: Sequence[Line], at: int) -> set[str]:
    """The tags of the lines around one, up to an empty line."""
    first = last = at
    while first and not lines[first - 1].empty:
        first -= 1
    while last + 1 < len(lines) and not lines[last + 1].empty:
        last += 1
    return {tag["tag"].casefold() for line in lines[first : last + 1] if (tag := _tag(BULLET.sub("", line.text)))}


def _sided(tags: set[str]) -> bool:
    """Whether tags are sides: one of them is the baseline, and no other is."""
    return (
        1 < len(tags) <= MOST_TAGS and [role(tag) for tag in tags].count("baseline") == 1 and not any(role(tag) == "both" for tag in tags)
    )


def _of_tag(lines: Sequence[Line], at: int, tag: re.Match[str]) -> tuple[Named, int] | None:
    """The numbers of a line without its tag, of the side that this is."""
    rest = f"{tag.string[: tag.start()].rstrip()} {tag.string[tag.end() :].strip(' :')}".strip()
    found = case_line([replace(lines[at], text=rest)], 0) or named_line([replace(lines[at], text=rest)], 0)
    if not found or any(value.side for value in found[0].values):
        return None
    return replace(found[0], values=tuple(replace(value, side=tag["tag"].strip()) for value in found[0].values)), at + 1


def _is_case(name: str) -> bool:
    """Whether a name is no way to do a thing, ends as no metric does, and has no metric among its keys."""
    keys = re.findall(r"([A-Za-z_][\w.]*)\s?=", name)
    return not kind(name) and better(name) is None and not any(better(key) or key.lower() in STATISTICS for key in keys)


def _values(found: re.Match[str]) -> Iterator[Value]:
    """The numbers behind a case, in a known unit, or each with its own words; of a side where words of one stand in the case."""
    name, unit = found["name"].strip(" ,;|"), found.groupdict().get("unit")
    ways = [(side, rest) for side, rest in split(name) if re.search(r"[0-9]", rest) and names_a_side(side)]
    side, case = ways[0] if ways else ("", name)
    if unit is not None:
        values = list(values_of("", found["rest"])) if known(unit) and unit != "%" else []
    else:
        values = values_in(found["rest"]) if found["mark"].strip() or len(found["mark"]) > 1 else []
    for value in values:
        own = value.name.strip(", ")
        yield replace(value, name=f"{own}, {case}" if own and own != value.unit else case, side=value.side or side)
