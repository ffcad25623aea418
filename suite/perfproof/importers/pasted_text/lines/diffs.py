"""Diffs of what two runs printed: each line that differs with its side before it; diffs of code hold no measurements."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perfproof.importers.pasted_text.lines import logs
from perfproof.importers.pasted_text.words.cells import DIGITS, UNIT, unit_of
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import better_in
from perfproof.model.scenarios.side_names import role

_OUTPUTS = (".txt", ".log", ".out", ".md", ".csv", ".tsv", ".json", ".jsonl")
"""Files that hold what a run printed, whose diff has a before and an after."""
_PERCENTILE = re.compile(
    rf"(?P<sign>[-+])\s*(?:(?P<share>[0-9][0-9.]{{0,4}})%|[Pp](?P<name>[0-9][0-9.]{{0,4}}))(?:\s+percentile)?(?:\s*[:=]\s*|\s{{2,}}|\t)(?P<rest>{DIGITS}(?:\s?{UNIT})?)$"
)
"""A line of a diff with a percentile and its number, "-  50%  2.410"."""
_FILE = re.compile(r"^(?:diff --git .*|(?:\+\+\+|---)\s+\S*?)(?P<kind>\.\w+)(?:\t.*|\s+[0-9]{4}-.*)?$")
"""A line that names a file of a diff, perhaps with its time."""
_PLACE = re.compile(r"^(?:@@ .* @@.*|(?:\+\+\+|---) \S.*|diff --git .*|index [0-9a-f]+\.\.[0-9a-f]+.*|\\ No newline.*)$")
"""A line that says where the lines below it stand."""
_CHANGED = re.compile(r"^[0-9]+(?:,[0-9]+)?[acd][0-9]+(?:,[0-9]+)?$")
"""The same of a diff whose lines begin with < and >."""
_LEGEND = re.compile(
    r"(?i)(?:\bminus\b|(?<![\w-])[\"'`(]?-[\"'`)]?(?=\s*(?:is|are|=|:)))(?:\s+(?:lines?|rows?))?\s*(?:is|are|=|:)?\s*"
    r"(?:the |this |my |our )?(?P<name>\w+)"
)
"""What a text says of whose the lines with a minus are."""
_OF_FILES = re.compile(r"(?:^|[\s`$])diff(?: -\S+| [0-9]+)* (?P<one>[\w./~-]+) (?P<other>[\w./~-]+)|^--- (?P<minus>\S+)")
_VALUE = re.compile(
    rf"(?P<sign>[-+])\s*(?P<quote>[\"']?)"
    rf"(?P<name>(?:[0-9.]{{1,5}}% )?[A-Za-z][^:=\"']{{0,80}}?)(?P=quote)\s*[:=]\s*(?P<digits>{DIGITS})\s*(?P<unit>{UNIT})?(?P<rest>.*)"
)
_SET = re.compile(
    r"(?i)(?:\bgpu[ _-]memory[ _-]utilization|(?:^|[_.-])(?:temperature|top_?p|min_?p|penalty|fraction|threshold|alpha|version))$"
)
"""Names of numbers with points that are set, rather than measured."""
_ROW = re.compile(r"(?P<sign>[-+])\s?(?P<bar>\|\s*)(?P<name>[^|]*[A-Za-z0-9][^|]*)(?P<rest>\|.*[0-9].*)")


def signs(plain: Sequence[str]) -> tuple[str, str]:
    """The sides of the lines of a diff with a minus and with a plus: before and after, unless the text calls the minus the change's, or the
    first file is the change's."""
    turned = any((found := _LEGEND.search(raw)) and role(found["name"]) == "candidate" for raw in plain)
    files = next((found for raw in plain if (found := _OF_FILES.search(raw))), None)
    turned = turned or bool(files and role(files["one"] or files["minus"]) == "candidate" and role(files["other"] or "") != "candidate")
    return ("after", "before") if turned else ("before", "after")


def of_code(text: str) -> bool:
    """Whether a line of a diff names a file that is no output of a run."""
    found = _FILE.match(text)
    return (found is not None and found["kind"] not in _OUTPUTS) or (found is None and text.startswith("diff --git "))


def normal(plain: Sequence[str], sides: tuple[str, str]) -> list[str]:
    """The lines; those of a diff that begin with < and > as those of a side."""
    if not any(_CHANGED.match(raw.strip()) for raw in plain):
        return list(plain)
    found = []
    for raw in plain:
        marked = re.match(r"\s*(?P<mark>[<>]) (?P<text>.*)$", raw)
        place = _CHANGED.match(raw.strip()) or raw.strip() == "---"
        found.append(told(f"{'-' if marked['mark'] == '<' else '+'}{marked['text']}", sides) if marked else "" if place else raw)
    return found


_SIGN = re.compile(r"(?P<sign>[-+])\s*(?P<text>[^\W\d_].*)$")
_MEASURED = re.compile(rf"(?<![\w.,+=-]){DIGITS}\s?(?P<unit>{UNIT})")
MOST_WORDS = 6
"""Words of each part of a line that a tool prints, at most."""
_FURTHER = re.compile(rf"^(?:[,;|]\s*|\s+and\s).*?(?<![\w.]){DIGITS}")
"""What stands behind a number that others follow, ", 4102.33 total tokens/s"."""


def several(text: str, sides: tuple[str, str]) -> tuple[str, str]:
    """The side and the words of a line of a diff that holds several values, or one in a sentence; "" and the line for any other."""
    found = _SIGN.match(text)
    if not found or _PLACE.match(text) or _PERCENTILE.match(text) or _ROW.fullmatch(text):
        return "", text
    said = logs.said(found["text"])
    named = _VALUE.match(f"{found['sign']}{said}")
    wordy = any(len(re.findall(r"[A-Za-z]{2,}", part)) > MOST_WORDS for part in re.split(r"[,;|]", said))
    if wordy or re.search(r"\w\(|[={}#]|\b(?:[Ww]e|I|you|it|should|the|an?|this)\b", said):
        return "", text  # code, or a sentence
    if (named and not _FURTHER.match(named["rest"])) or not any(known(one["unit"]) for one in _MEASURED.finditer(said)):
        return "", text
    return sides[found["sign"] == "+"], said


def told(text: str, sides: tuple[str, str]) -> str:
    """A line of a diff with its side: a metric that was taken away was before. A setting, a whole number without a unit, is of no side."""
    if _PLACE.match(text):
        return ""
    if found := _PERCENTILE.match(text):
        said = f" ({found['share']}%)" if found["share"] else ""
        return f"{sides[found['sign'] == '+']}: p{found['share'] or found['name']}{said}: {found['rest']}"
    if row := _ROW.fullmatch(text):
        return f"{row['bar']}{sides[row['sign'] == '+']} {row['name']}{row['rest']}"
    words = _VALUE.match(text.rstrip(","))
    if not words or not (
        ("." in words["digits"] and not _SET.search(words["name"]))
        or better_in(words["name"], words["unit"] or "")
        or unit_of(words["name"])
        or known(words["unit"] or "")
    ):
        return text
    return f"{sides[words['sign'] == '+']} {words['name']}: {words['digits']} {words['unit'] or ''}{words['rest']}".rstrip()
