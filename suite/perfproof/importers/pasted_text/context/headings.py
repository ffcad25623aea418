"""Which lines are headings: marked ones, short ones, and sentences that introduce a side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.importers.pasted_text.words.cells import DIGITS, UNIT, bare
from perfproof.importers.pasted_text.words.run_numbers import RUN, run_of
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import better
from perfproof.model.scenarios.side_names import names_a_side, release, role

BOLD, COLON, PLAIN, BULLET = 7, 8, 9, 10
"""Levels of headings, below the six of markdown's own."""
_PART = 99
"""The level of a heading within what a client printed: below any that names a side."""
HEADING_WORDS = 4
"""A line of more words is a sentence, unless it is marked as a heading or ends with a colon."""
COLON_WORDS, SIDE_WORDS = 12, 6
LONGEST = 100
SENTENCES = (
    ("main", "master", "before", "baseline", "as released", "upstream", "without", "stock", "vanilla", "unpatched"),
    ("after", "this pr", "patched", "candidate"),
)
"""Words of a sentence that name a side: the baseline's, and the other's."""
ENDING = ("stock", "vanilla", "unpatched")
"""Of these, the ones that do so only where the sentence ends with a colon."""
_MIXING = re.compile(
    r"(?i)\b(merg\w+|rebas\w+|cherry\W?pick\w*|top of|compared|against|versus|vs|than|into|onto|remov\w+|drop\w+|delet\w+|appl(y|ied)"
    r"|differ\w*)\b"
)
"""Words with which a sentence that names the baseline may be of the other side, or of both."""
_CALLS = re.compile(
    r"(?i)\bbaseline(?: here)? is (?!below\b|here\b|this\b|as follows\b)"
    r"|(?<!\bthis )(?<!\bhere )(?<!\bbelow )(?<!\bfollowing )\bis (?:the|our|my) (?:current )?(?:baseline|default)\b"
)
"""What says of a side that stands elsewhere that it is the baseline: "Baseline is the CUDA column"."""
_APPLIED = re.compile(
    r"(?i)\bwith (?P<patch>(?:your|my|this|our|the) (?:pr|patch|change|fix|branch|commit)\w*)(?: applied)?(?: on top| (?=of main\b))?"
    r"(?: of (?:the )?(?:current |latest )?(?:main|master))?(?=\s|[,:])"
)
"""What says that a side is the one with the change, wherever that was put: "with your patch applied on top"."""
_MARK = re.compile(r"^(?P<mark>#{1,6})(?:\s+|(?=[A-Za-z]))(?P<text>.*?)\s*#*$")
_COMMENT = re.compile(r"^(?://|;;|%%|--(?!.*--$))\s+(?P<text>[^\W\d][^:=|]{1,40}?):?$")
_BOLD = re.compile(r"^(?P<mark>\*\*|__)(?P<text>[^*]+)(?P=mark)\s*:?\s*$|^(?P<early>\*\*|__)(?P<colon>[^*]+):(?P=early)$")
_BULLET = re.compile(r"^(?:[-*+•]|[0-9]{1,2}[.)])\s+(?:\[[ xX]\]\s+)?(?P<text>.+)$")
_ENTRY = re.compile(r"^(?:name|side|branch|build|variant|label|config|commit|version|arm|ref):\s*[\"']?(?P<side>[^\"':,{}]{2,60})[\"']?$")
"""What an entry of a list of YAML says of whose it is."""
_KEYED = re.compile(
    r"(?i)(?:run|side|branch|build|variant|label|config|version|arm|ref|mode|name|commit|sha|impl)\s*[:=]\s*"
    r"[\"'`]?(?P<side>[\w .#/+@()-]{2,40}?)[\"'`]?"
)
"""A line that says whose the numbers below it are: "run=before"."""
_FRAMED = re.compile(r"^(?:={2,}|-{2,}|\*{3,}|~{2,}|>{2,})\s*(?P<text>[^=~*-](?:[^=~]|=(?=\w))*?)\s*(?:={2,}|-{2,}|\*{3,}|~{2,}|<{2,})$")
_BRACKETED = re.compile(r"^(?:\[(?P<square>[^\[\]\"',]{2,60})\]|\((?P<round>[^()\"',=]{2,60})\)|«(?P<quoted>[^»]{2,60})»)\s*:?$")
"""A line in brackets alone: [before], as files of settings have them."""
SETUP = re.compile(r"(?i)^(?:config\w*|case|setup|scenario|test|workload|model|experiment|section|part)\b[^:]{0,20}: ")
SETTING = re.compile(r"^[-*+•·]?\s*[\"'`]?(?:export |no )?(?P<variable>[A-Z][A-Z0-9]*_[A-Z0-9_]*)=\S*(?:\s+\([^()]*\))?:?$")
"""A line with a variable of the environment and its value alone: the heading of what was measured with it."""
_QUANTITY = re.compile(r"(?i)[0-9]\s?(?:ns|us|µs|μs|ms|s|tok(?:ens)?/s|req(?:uests)?/s|[kmg]i?b)\b.*(?:->|→|=>|\bto\b|\bvs\b)")
_OF_PATCH = (
    r"(?=\W*$|\s*[(:,;.]|\s+(?:(?:this|the|that|my|our|your|these|those)\s+)*"
    r"(?:pr|patch\w*|chang\w+|fix\w*|commit\w*|branch|optimi[sz]\w+|refactor\w*|rewrit\w+|rework\w*|migrat\w+|updat\w+|upgrad\w+"
    r"|it|this|that|i|we|you|they|#[0-9]+|(?!warm|run|start|load|boot|wait|soak)\w+ing)\b)"
)
"""What may stand behind "before" and "after" in a sentence for them to name a side."""
_BOTH = re.compile(
    r"(?i)\b(?:before|after|old|new|main|master|base\w*|pr|patch\w*)\s*(?:/|\||->|→|=>)\s*(?:before|after|old|new|main|master"
    r"|base\w*|pr|patch\w*)\b"
)
"""Words for either side beside each other: these say the order of numbers."""
_AND = re.compile(
    r"(?<![\w#~^])(?P<one>(?:(?:this|my|our) )?[\w#~^]{1,40})(?: (?:and|then|vs\.?|versus) |\s*(?:/|->|→|=>)\s*)"
    r"(?P<other>(?:(?:this|my|our) (?=(?i:pr|patch|branch|change|fix|commit)\b))?[\w#~^]+)"
)
_PRINTED = re.compile(rf"^[A-Za-z][^:]{{1,60}}:\s+{DIGITS}\s*\S*$")
_REMARK = re.compile(r"^(?P<side>[^():,;]{2,40}?)(?:\s*\((?P<inside>[^()]*(?:\([^()]*\)[^()]*)?)\)|(?:,|;|\s[–—-])\s+(?P<behind>[^:]+)):?$")
"""A side and what is remarked of it: "PR (I forgot the flag for main)"."""
REMARK_WORDS = 4
_REMARKS = re.compile(
    r"(?i)\b(?:i|we|my|it|its|so|because|since|as|same|like|unlike|forgot|only|does|did|has|had|have|is|was|are|were|isn't|wasn't|doesn't"
    r"|didn't|not|identical|also|than|compare[ds]?|see)\b"
)
"""Words of a remark in which another side is no part of the name."""
_UNDERLINE = re.compile(r"^(?:={3,}|-{3,})$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading with its level, 1 the highest; `weak` where it may as well be a remark. `run` is the number of a run, "" for none; `said`
    the whole sentence of which `text` is the word for a side."""

    text: str
    level: int
    number: int
    weak: bool = False
    run: str = ""
    said: str = ""


def marked_heading(lines: Sequence[Line], at: int) -> tuple[Heading, int] | None:
    """A heading that is marked as one: # or bold or framed or underlined, or a bullet that ends with a colon or is a side's name."""
    line = lines[at]
    if found := _MARK.match(line.text):
        return _heading(found["text"], len(found["mark"]), line), at + 1
    if (found := _COMMENT.match(line.text)) and names_a_side(found["text"]):
        return _heading(found["text"], BOLD, line), at + 1
    if (found := _BOLD.match(line.text)) and len(line.text) <= LONGEST:
        return _heading(found["text"] or found["colon"], BOLD, line), at + 1
    if (found := _FRAMED.match(line.text)) and len(line.text) <= 2 * LONGEST:
        remark = line.text.startswith("-") and not SETUP.match(f"{found['text']}: ")
        if remark and _is_part(lines, at, found["text"]):
            return _heading(found["text"], _PART, line, weak=True), at + 1
        return _heading(found["text"], BOLD, line, weak=remark), at + 1
    if found := _BRACKETED.match(line.text):
        text = next(filter(None, found.groups()))
        return (_heading(text, BOLD, line, weak=not found["square"]), at + 1) if found["square"] or role(text) else None
    if (keyed := _KEYED.fullmatch(line.text)) and names_a_side(keyed["side"]):
        return Heading(text=keyed["side"], level=BOLD, number=line.number), at + 1
    below = lines[at + 1].text if at + 1 < len(lines) else ""
    if _UNDERLINE.match(below) and len(line.text) <= LONGEST and re.match(r"[^\W\d_]", line.text) and ": " not in line.text:
        return _heading(line.text, 2, line), at + 2
    bullet = _BULLET.match(line.text)
    if bullet and (entry := _ENTRY.match(bullet["text"])) and names_a_side(entry["side"]):
        return Heading(text=entry["side"], level=BULLET + line.indent, number=line.number), at + 1
    text = bare(bullet["text"]) if bullet else ""
    sided = (
        role(text)
        and len(text.split()) <= HEADING_WORDS
        and not re.search(rf"[:=]|{DIGITS}\s?[A-Za-z%/]", text)
        and not re.search(r"\s{2,}[0-9.,]+$", line.text)
    )
    counted = re.match(r"[0-9]{1,2}[.)]\s", line.text) and len(text.split()) <= HEADING_WORDS and not re.search(r"[0-9:=|,.!?]", text)
    group = bool(bullet) and at + 1 < len(lines) and lines[at + 1].indent > line.indent and bool(_BULLET.match(below))
    if group and not re.search(r"[:=]", text.rstrip(":")) and not _measures(text) and len(text) <= LONGEST:
        return _heading(text, BULLET + line.indent, line), at + 1
    alone = counted and not re.match(r"[0-9]{1,2}[.)]\s", below)
    if bullet and len(text) <= LONGEST and (text.endswith(":") or sided or alone):
        return _heading(text, BULLET + line.indent, line), at + 1
    return None


def _is_part(lines: Sequence[Line], at: int, text: str) -> bool:
    """Whether a metric in a frame stands between numbers that a client printed, "---End-to-end Latency---": these are all of one side."""
    around = (lines[at - 1].text if at else "", lines[at + 1].text if at + 1 < len(lines) else "")
    return better(re.sub(r"\([^()]*\)", "", text)) is not None and all(
        _PRINTED.match(each) and not role(each.split(":")[0]) for each in around
    )


def _measures(text: str) -> bool:
    """Whether a text has a number with a unit; "8B" is a model's size."""
    return any(known(found[1]) and found[1] != "B" for found in re.finditer(rf"{DIGITS}\s?({UNIT})", text))


def plain_heading(lines: Sequence[Line], at: int) -> tuple[Heading, int] | None:
    """A short line of plain words, one that ends with a colon, or the one word for a side that a sentence has."""
    line = lines[at]
    text = bare(line.text)
    words = text.strip(":").split()
    if re.search(rf"{DIGITS}\s?(?:{UNIT})?\s*(?:->|→|=>)", text):
        return None
    if len(words) == 1 and release(text.strip(":")) is not None:
        return _heading(text, PLAIN, line), at + 1
    if remarked(text.strip(": ")) and not line.text.startswith(("$", "|", "{")):
        return _heading(text, PLAIN, line), at + 1
    if line.text.startswith(("-", "=", "$", "|", "{", "}", "[")) or not words or not re.search(r"[^\W\d_]", text):
        return None
    if ": " in text and not SETUP.match(text):
        return None
    if SETUP.match(text) and len(words) <= COLON_WORDS and len(text) <= LONGEST and not role(text):
        return _heading(text, PLAIN, line), at + 1
    if len(re.sub(r"\([^()]*\)", "", text).split()) > SIDE_WORDS and (side := _said(text) or role(text)):
        return (replace(_heading(side, PLAIN, line), said=text), at + 1) if _said(text) else None
    if text.endswith(":") and len(words) <= COLON_WORDS and len(text) <= LONGEST:
        return _heading(text, COLON, line), at + 1
    bracketed = not role(text) and bool(re.fullmatch(r"\S+ \([^()]*\)", text)) and len(words) <= SIDE_WORDS
    short = len(words) <= HEADING_WORDS or bracketed
    if short and len(text) <= LONGEST and not text.endswith((".", "!", "?", ",")) and not _QUANTITY.search(text):
        return _heading(text, PLAIN, line, weak=not SETUP.match(f"{text}: ")), at + 1
    if role(text) and len(words) <= 2 * HEADING_WORDS and not re.search(rf"\s{DIGITS}\s?[a-z]", text) and not text.endswith("."):
        return _heading(text, PLAIN, line), at + 1
    side = _said(text)
    return (replace(_heading(side, PLAIN, line), said=text), at + 1) if side else None


def _heading(text: str, level: int, line: Line, weak: bool = False) -> Heading:
    plain = bare(text).strip(": \t")
    if side := remarked(plain):
        return Heading(text=side, level=level, number=line.number, weak=weak, said=plain)
    run = RUN.search(plain)
    if not run:
        return Heading(text=plain, level=level, number=line.number, weak=weak)
    return Heading(
        text=plain[: run.start()].strip(" ,:(-–—"),
        level=level,
        number=line.number,
        weak=weak,
        run=run_of(run),
    )


def remarked(text: str) -> str:
    """The side of a heading with a remark behind it that speaks of the other side too, "" for any other heading."""
    if not (found := _REMARK.match(text)) or not names_a_side(found["side"]):
        return ""
    if role(text) != "both" and not (found["inside"] and len(text.split()) > 2 * HEADING_WORDS and any(map(role, found["inside"].split()))):
        return ""
    remark = found["inside"] or found["behind"]
    if (
        len(remark.split()) < REMARK_WORDS
        or not _REMARKS.search(remark)
        or re.search(r"(?i)\b(?:vs|versus)\b|->|→|[0-9]\s?(?:%|x\b)", remark)
    ):
        return ""
    return found["side"].strip()


def _said(words: str) -> str:
    """The one word for a side that a sentence has, "" where it has none, or words for both."""
    if (
        words.rstrip().endswith(":")
        and not _BOTH.search(words)
        and len(words.split()) > SIDE_WORDS
        and (named := _introduced(words)) is not None
    ):
        return named
    if _CALLS.search(words) and not words.rstrip().endswith(":"):
        return ""
    if _MIXING.search(words) or _BOTH.search(words) or _measures(words) or re.search(r"[0-9]\s?(?:ms|us|µs|s|tok/s|req/s|%|x)\b", words):
        return ""
    base, other = ([word for word in named if _says(words, word)] for named in SENTENCES)
    first = next((word for word in (*base, *other) if words.lower().startswith(word)), "")
    return first or ("" if bool(base) == bool(other) else (base or other)[0])


_UNAPPLIED = re.compile(
    r"(?i)\bbefore (?:i |we |you )?(?:appl|cherry|merg|chang|touch|patch)\w*(?:[ -](?:pick\w*|in))?"
    r"(?: (?:anything|it|this|that|(?:the|this|your|my|our) (?:pr|patch|change|fix|branch|series|commits?)\w*))?"
)
"""What was done after the numbers were taken: "before I apply anything"."""


def _introduced(words: str) -> str | None:
    """The side of what a sentence introduces, "With my fix (commit a90c3b5), the same reproducer:"; "" where it names both or a word for
    one stands elsewhere ("was not supported upstream"), None where the words alone may decide."""
    sentence = _APPLIED.sub(r"with \g<patch>", _UNAPPLIED.sub("before", re.split(r"(?<=[.!?])\s+", words)[-1].rstrip(": ")))
    if _MIXING.search(sentence):
        return ""
    tokens = sentence.split()
    found: dict[str, str] = {}
    end = 0
    for at, token in enumerate(tokens):
        if at < end:
            continue
        before = tokens[at - 1].lower() if at else ""
        first = token.lower().strip("(,")
        if first in _WITH and not re.match(_OF_PATCH, f" {' '.join(tokens[at + 1 :])}".rstrip("(,")):
            continue
        if at and first not in _WITH and before not in _INTRODUCING:
            continue
        if first not in _WITH and not (role(first) and first not in ("on", "off", "here")) and first not in ("this", "my", "our"):
            continue
        ways = [" ".join(tokens[at : at + size]).strip(" ,;()") for size in range(1, min(4, len(tokens) - at) + 1)]
        ways = [way for way in ways if way.split()[-1].lower() not in (*_INTRODUCING, "off", "it") and role(way.split()[-1])]
        ways = [way for way in ways if way.lower() not in ("these", "this", "my", "our", "those")]
        end = at + max((len(way.split()) for way in ways if first in _WITH), default=0)
        ways = [first] if ways and first in ("before", "after") else ways
        named = next((way for way in ways if names_a_side(way)), "")
        bracket = re.match(rf"{re.escape(named)} (\([^()]{{2,30}}\))", " ".join(tokens[at:]))
        named = f"{named} {bracket[1]}" if named and bracket and role(f"{named} {bracket[1]}") == role(named) else named
        found |= {role(named): named} if named and role(named) not in found else {}
    if len(found) == 1:
        return next(iter(found.values()))
    return "" if found or re.search(r"\b(?:not|n't|no)\b", words) else None


_WITH = ("with", "without", "before", "after", "w/o", "w/")
_INTRODUCING = (
    *_WITH,
    "on",
    "in",
    "for",
    "from",
    "using",
    "of",
    "at",
    "is",
    "are",
    "the",
    "my",
    "our",
    "your",
    "and",
    "to",
    "then",
    "now",
    "this",
)
"""Words before a side's name in a sentence that introduces its numbers."""


def _says(text: str, word: str) -> bool:
    """Whether a sentence has a word for a side; before and after are of the patch, or of nothing, rather than of a warm-up."""
    if word in ENDING and not text.rstrip().endswith(":"):
        return False
    behind = _OF_PATCH if word in ("before", "after") else ""
    return bool(re.search(rf"\b{re.escape(word)}\b{behind}", text.lower()))


# --- what holds below them ---------------------------------------------------------------------------------------


def both(text: str) -> str:
    """The words of a line that name both sides in their order, "without and with the flag", "" for none."""
    found = (match for match in _AND.finditer(text) if {role(match["one"]), role(match["other"])} == {"baseline", "candidate"})
    return next((match[0] for match in found), "")
