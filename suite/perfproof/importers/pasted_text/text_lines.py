"""The lines of a pasted text without what only dresses them: quote marks, colours, tags, fences; tables in HTML become tables of bars."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from pathlib import Path

from perfproof.importers.pasted_text.cells import DIGITS, UNIT, unit_of
from perfproof.model.base.errors import BadInput
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import better_in

LARGEST_FILE = 10_000_000
LONGEST_LINE = 4_000
"""What is longer was written by a program for a program; its beginning is read."""
_ESCAPES = re.compile(r"\x1b\[[0-9;:?]*[A-Za-z]")
_QUOTE = re.compile(r"^(?:\s{0,3}>(?!=)\s?)+")
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_BETWEEN_TAGS = re.compile(r"(?i)\s+(?=</?t(?:r|h|d|head|body|able)\b)")
_ROW = re.compile(
    r"(?is)(?:</?t(?:head|body)\b[^>]*>)*<tr\b[^>]*>(?P<cells>.*?)(?=<tr\b|</t(?:r|head|body|able)\b|$)(?:</tr\s*>)?(?:</?t(?:head|body)\b[^>]*>)*"
)
_CELL = re.compile(r"(?i)<t[hd]\b[^>]*>")
_SUMMARY = re.compile(r"(?i)<summary\b[^>]*>(.*?)</summary\s*>", re.DOTALL)
_HEADER = re.compile(r"(?is)<h([1-6])\b[^>]*>(.*?)</h\1\s*>")
_BOLD = re.compile(r"(?i)</?(?:b|strong)\s*>")
_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9]{0,15}(?:\s[^<>]{0,200})?/?>")
_FENCE = re.compile(r"^\s*(?:```|~~~)\s*(?P<language>\w*)")
_CLOCK = r"\[?(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[ T])?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:\s?[AaPp][Mm])?\]?"
_SPOKEN = re.compile(rf"^\s*{_CLOCK}\s+[\w.@-]{{1,30}}(?: [\w.@-]{{1,20}})?:\s+")
"""The time and the name before what is said in a chat."""
_NICKNAME = re.compile(rf"(?m)^(?P<clock>[> \t]*{_CLOCK})[ \t]+<(?P<name>[\w.@-]{{1,30}}(?: [\w.@-]{{1,20}})?)>(?=\s)")
"""A name that stands between angles, as a tag would."""
LEAST_SPOKEN = 2
_OUTPUTS = (".txt", ".log", ".out", ".md", ".csv", ".tsv")
"""Files that hold what a run printed, whose diff has a before and an after."""
_UNDERSCORED = re.compile(r"(?<![\w.])[1-9][0-9]{0,2}(?:_[0-9]{3})+(?!\w)")
_THOUSANDS = re.compile(r"(?<=[0-9])\s?(?P<mark>[kKM])\s+(?=(?:tok\w*|req\w*|op|ops|it|iters?|steps?)(?:/|\s+per\s)s)")
_SIGNS = str.maketrans({"−": "-", "‒": "-", "\u00ad": None, "ǀ": "|", "｜": "|"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line: its text without blanks at either end, how far it is indented, and its number in the file."""

    text: str
    indent: int
    number: int

    @property
    def empty(self) -> bool:
        return not self.text


def load(path: Path) -> str:
    """A file's text. Raises `BadInput` where it can't be read, is too large, or is no text in UTF-8."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(LARGEST_FILE + 1)  # what is no file, such as a pipe, does not say its size
    except OSError as error:
        raise BadInput(f"{path}: can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not a text in UTF-8: {error}") from error
    if len(text) > LARGEST_FILE:
        raise BadInput(f"{path}: larger than {LARGEST_FILE // 1_000_000} MB")
    return text


def lines_of(text: str) -> list[Line]:
    """The lines in their order; a fence is an empty one, diffs of code are left out."""
    plain = _plain(text).splitlines()
    spoken = sum(bool(_SPOKEN.match(raw)) for raw in plain) >= LEAST_SPOKEN
    found, diff = [], ""
    for number, raw in enumerate(plain, 1):
        if not raw:
            found.append(Line(text="", indent=0, number=number))
            continue
        line = _QUOTE.sub("", raw)[:LONGEST_LINE]
        line = _SPOKEN.sub("", line) if spoken else line
        line = line if "\t" in line else line.expandtabs(4)
        stripped = line.strip(" ") if "\t" in line.strip() else line.strip()
        if fence := _FENCE.match(line):
            diff = "of output" if fence["language"].lower() in ("diff", "patch") and not diff else ""
            found.append(Line(text="", indent=0, number=number))
            continue
        diff = "of code" if diff and _of_code(stripped) else diff
        if diff != "of code":
            stripped = _side_of_diff(stripped) if diff else stripped
            found.append(Line(text=_numbers(stripped), indent=len(line) - len(line.lstrip()), number=number))
    return found


def _of_code(text: str) -> bool:
    """Whether a line of a diff names a file that is no output of a run."""
    found = re.match(r"(?:\+\+\+|---|diff --git)\s+\S*(?P<kind>\.\w+)$|diff --git ", text)
    return found is not None and found["kind"] not in _OUTPUTS


def _side_of_diff(text: str) -> str:
    """A line of a diff with its side: a metric that was taken away was before. A setting is of no side."""
    words = re.match(rf"(?P<sign>[-+])\s*(?P<text>(?P<name>[A-Za-z][^:=]{{0,80}}?)\s*[:=]\s*(?:{DIGITS})\s*(?P<unit>{UNIT})?.*)", text)
    if not words or not (better_in(words["name"], words["unit"] or "") or unit_of(words["name"]) or known(words["unit"] or "")):
        return text
    return f"{'before' if words['sign'] == '-' else 'after'} {words['text']}"


def _numbers(text: str) -> str:
    """A line whose numbers have no underscores between thousands, and whose thousands of a rate stand in its unit: "4.5 ktok/s"."""
    return _THOUSANDS.sub(r" \g<mark>", _UNDERSCORED.sub(lambda found: found[0].replace("_", ""), text))


def _plain(text: str) -> str:
    """The text with markup of HTML told in that of markdown."""
    text = _INVISIBLE.sub("", _ESCAPES.sub("", text)).translate(_SIGNS)
    if "<" not in text:
        return text
    text = _NICKNAME.sub(r"\g<clock> \g<name>:", text)
    text = _SUMMARY.sub(lambda found: f"\n\n##### {_bare(found[1])}\n\n", text)
    text = _HEADER.sub(lambda found: f"\n\n{'#' * int(found[1])} {_bare(found[2])}\n\n", text)
    return html.unescape(_TAG.sub(" ", _BOLD.sub("**", _tables(text))))


def _bare(text: str) -> str:
    return " ".join(_TAG.sub(" ", text).split())


def _tables(text: str) -> str:
    """Rows of HTML as rows of bars."""
    if not re.search(r"(?i)<tr\b", text):
        return text
    return _ROW.sub(lambda row: f"\n| {' | '.join(map(_bare, _CELL.split(row['cells'])[1:]))} |", _BETWEEN_TAGS.sub("", text))
