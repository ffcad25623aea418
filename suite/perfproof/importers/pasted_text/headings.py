"""Which lines are headings, and what holds below them: the side that was named last, and the section.

A heading that names a side (main, this PR, before) holds until another one does, or until a section of a higher level begins. Any other is
a section. Numbered runs ("Run 2") are neither: they count runs of what stands above.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from perfproof.importers.pasted_text.cells import DIGITS, UNIT, bare, unit_of
from perfproof.importers.pasted_text.lines.text_lines import Line
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.metric_directions import better
from perfproof.model.scenarios.side_names import commit, release, role, split

BOLD, COLON, PLAIN, BULLET = 7, 8, 9, 10
"""Levels of headings, below the six of markdown's own."""
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
RUN = re.compile(
    r"(?i)(?:^|[\s,(_-]+)\(?(?:(?:run|trial|rep|repeat|repetition|attempt|pass|seed|round|iteration|iter|it)\s*(?:no\.?|number|#|="
    r"|_)?\s*#?(?P<number>[0-9]{1,4})"
    r"(?:\s*(?:/|of)\s*[0-9]{1,4})?|(?P<ordinal>first|second|third|fourth|fifth|1st|2nd|3rd|[4-9]th) (?:run|trial|attempt"
    r"|time|repetition)|(?:lauf|durchlauf|essai|ejecución|corrida|prova|проход|запуск)\s*(?:n[o°]\.?|nr\.?"
    r"|#)?\s*(?P<foreign>[0-9]{1,4}))\)?\s*$"
    r"|(?:第\s?)(?P<counted>[0-9]{1,4}|[一二三四五六七八九十])\s?(?:次|回|轮|輪)(?:运行|运转|跑|测试|計測|測定)?\s*$"
)
FILE = re.compile(r"\S+\.(?:log|txt|jsonl?|out|csv)")
LETTERED = re.compile(r"(?i)(?:config|configuration|setup|variant|arm|build|group|option|version|case|system)\s+[ab]")
"""What two sides are called that have no names."""
_MARK = re.compile(r"^(?P<mark>#{1,6})(?:\s+|(?=[A-Za-z]))(?P<text>.*?)\s*#*$")
_BOLD = re.compile(r"^(?P<mark>\*\*|__)(?P<text>[^*]+)(?P=mark)\s*:?\s*$|^(?P<early>\*\*|__)(?P<colon>[^*]+):(?P=early)$")
_BULLET = re.compile(r"^(?:[-*+•]|[0-9]{1,2}[.)])\s+(?P<text>.+)$")
_ENTRY = re.compile(r"^(?:name|side|branch|build|variant|label|config|commit|version|arm|ref):\s*[\"']?(?P<side>[^\"':,{}]{2,60})[\"']?$")
"""What an entry of a list of YAML says of whose it is."""
_FRAMED = re.compile(r"^(?:={2,}|-{2,}|\*{3,}|~{2,}|>{2,})\s*(?P<text>[^=~*-][^=~]*?)\s*(?:={2,}|-{2,}|\*{3,}|~{2,}|<{2,})$")
_BRACKETED = re.compile(r"^(?:\[(?P<square>[^\[\]\"',]{2,60})\]|\((?P<round>[^()\"',=]{2,60})\)|«(?P<quoted>[^»]{2,60})»)\s*:?$")
"""A line in brackets alone: [before], as files of settings have them."""
SETUP = re.compile(r"(?i)^(?:config\w*|case|setup|scenario|test|workload|model|experiment|section|part)\b[^:]{0,20}: ")
SETTING = re.compile(r"^[-*+•·]?\s*[\"'`]?(?:export )?(?P<variable>[A-Z][A-Z0-9]*_[A-Z0-9_]*)=\S*(?:\s+\([^()]*\))?:?$")
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
_AND = re.compile(r"(?P<one>[\w#~^]+)(?: (?:and|then|vs\.?|versus) |\s*(?:/|->|→|=>)\s*)(?P<other>[\w#~^]+)")
_UNDERLINE = re.compile(r"^(?:={3,}|-{3,})$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading with its level, 1 the highest; `weak` where it may as well be a remark. `run` is the number of a run, "" for none."""

    text: str
    level: int
    number: int
    weak: bool = False
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What holds at a place: the side, "" for none; its section, outermost name first; weak names apart; the run's number, "" for
    none; the sentence right above that says what the numbers are; an earlier remark that says which way is better."""

    side: str = ""
    section: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()
    run: str = ""
    caption: str = ""
    remark: str = ""

    @property
    def above(self) -> str:
        """The nearest heading that names no side, "" for none."""
        return next(iter([*reversed(self.weak), *reversed(self.section)]), "")


def marked_heading(lines: Sequence[Line], at: int) -> tuple[Heading, int] | None:
    """A heading that is marked as one: # or bold or framed or underlined, or a bullet that ends with a colon or is a side's name."""
    line = lines[at]
    if found := _MARK.match(line.text):
        return _heading(found["text"], len(found["mark"]), line), at + 1
    if (found := _BOLD.match(line.text)) and len(line.text) <= LONGEST:
        return _heading(found["text"] or found["colon"], BOLD, line), at + 1
    if (found := _FRAMED.match(line.text)) and len(line.text) <= 2 * LONGEST:
        remark = line.text.startswith("-") and not SETUP.match(f"{found['text']}: ")
        return _heading(found["text"], BOLD, line, weak=remark), at + 1
    if found := _BRACKETED.match(line.text):
        text = next(filter(None, found.groups()))
        return (_heading(text, BOLD, line, weak=not found["square"]), at + 1) if found["square"] or role(text) else None
    below = lines[at + 1].text if at + 1 < len(lines) else ""
    if _UNDERLINE.match(below) and len(line.text) <= LONGEST and re.match(r"[^\W\d_]", line.text) and ": " not in line.text:
        return _heading(line.text, 2, line), at + 2
    bullet = _BULLET.match(line.text)
    if bullet and (entry := _ENTRY.match(bullet["text"])) and role(entry["side"]) in ("baseline", "candidate"):
        return Heading(text=entry["side"], level=BULLET + line.indent, number=line.number), at + 1
    text = bare(bullet["text"]) if bullet else ""
    sided = role(text) and len(text.split()) <= HEADING_WORDS and not re.search(rf"[:=]|{DIGITS}\s?[A-Za-z%/]", text)
    counted = re.match(r"[0-9]{1,2}[.)]\s", line.text) and len(text.split()) <= HEADING_WORDS and not re.search(r"[0-9:=|,.!?]", text)
    group = bool(bullet) and at + 1 < len(lines) and lines[at + 1].indent > line.indent and bool(_BULLET.match(below))
    if group and not re.search(r"[:=]", text.rstrip(":")) and not _measures(text) and len(text) <= LONGEST:
        return _heading(text, BULLET + line.indent, line), at + 1
    alone = counted and not re.match(r"[0-9]{1,2}[.)]\s", below)
    if bullet and len(text) <= LONGEST and (text.endswith(":") or sided or alone):
        return _heading(text, BULLET + line.indent, line), at + 1
    return None


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
    if line.text.startswith(("-", "=", "$", "|", "{", "}", "[")) or not words or not re.search(r"[^\W\d_]", text):
        return None
    if ": " in text and not SETUP.match(text):
        return None
    if SETUP.match(text) and len(words) <= COLON_WORDS and len(text) <= LONGEST and not role(text):
        return _heading(text, PLAIN, line), at + 1
    if len(re.sub(r"\([^()]*\)", "", text).split()) > SIDE_WORDS and (side := _said(text) or role(text)):
        return (_heading(side, PLAIN, line), at + 1) if _said(text) else None
    if text.endswith(":") and len(words) <= COLON_WORDS and len(text) <= LONGEST:
        return _heading(text, COLON, line), at + 1
    if len(words) <= HEADING_WORDS and len(text) <= LONGEST and not text.endswith((".", "!", "?", ",")) and not _QUANTITY.search(text):
        return _heading(text, PLAIN, line, weak=not SETUP.match(f"{text}: ")), at + 1
    if role(text) and len(words) <= 2 * HEADING_WORDS and not re.search(rf"\s{DIGITS}\s?[a-z]", text) and not text.endswith("."):
        return _heading(text, PLAIN, line), at + 1
    side = _said(text)
    return (_heading(side, PLAIN, line), at + 1) if side else None


def _heading(text: str, level: int, line: Line, weak: bool = False) -> Heading:
    plain = bare(text).strip(": \t")
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


def run_of(found: re.Match[str]) -> str:
    """The number of a run that `RUN` found, as it is written."""
    return str(next(filter(None, found.groups()))).lower()


def _said(words: str) -> str:
    """The one word for a side that a sentence has, "" where it has none, or words for both."""
    if (
        words.rstrip().endswith(":")
        and not _BOTH.search(words)
        and len(words.split()) > SIDE_WORDS
        and (named := _introduced(words)) is not None
    ):
        return named
    if _MIXING.search(words) or _BOTH.search(words) or _measures(words) or re.search(r"[0-9]\s?(?:ms|us|µs|s|tok/s|req/s|%|x)\b", words):
        return ""
    base, other = ([word for word in named if _says(words, word)] for named in SENTENCES)
    first = next((word for word in (*base, *other) if words.lower().startswith(word)), "")
    return first or ("" if bool(base) == bool(other) else (base or other)[0])


def _introduced(words: str) -> str | None:
    """The side of what a sentence introduces, "With my fix (commit a90c3b5), the same reproducer:";"
    " "" where it names both or a word for one
    stands elsewhere ("was not supported upstream"), None where the words alone may decide."""
    sentence = re.split(r"(?<=[.!?])\s+", words)[-1].rstrip(": ")
    if _MIXING.search(sentence):
        return ""
    tokens = sentence.split()
    found: dict[str, str] = {}
    for at, token in enumerate(tokens):
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
        ways = [first] if ways and first in ("before", "after") else ways
        named = next((way for way in ways if role(way) in ("baseline", "candidate")), "")
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


def contexts(marks: Iterable[Heading | bool]) -> list[Context]:
    """What holds at each place that is no heading, of a text's headings and other places in order: False for a remark."""
    marks = _raised(list(marks))
    texts = [mark.text.casefold() for mark in marks if isinstance(mark, Heading)]
    repeated = frozenset(text for text, count in Counter(texts).items() if count > 1)
    plain = any(role(mark.text) and not _sets(mark.text) for mark in marks if isinstance(mark, Heading))
    open_ = _Open(repeated=repeated, shared=_shared_rests(texts), adopted=_adopted(marks, repeated), settings=not plain)
    lettered = {text for text in texts if LETTERED.fullmatch(text)}
    open_.lettered = len(lettered) == 2 and not plain
    open_.files = len({text for text in texts if FILE.fullmatch(text)}) == 2 and not plain
    open_.two = len({text.strip("`:*_ ") for text in texts if SETTING.match(text.upper())}) == 2
    found = []
    for mark in marks:
        if isinstance(mark, Heading):
            open_.take(mark)
        else:
            found.append(open_.context(remark=not mark))
    return found


def _raised(marks: Sequence[Heading | bool]) -> list[Heading | bool]:
    """The headings; one of a setup that is there once, "Config 2: TP=4", stands above the sides below it."""
    setups = Counter(mark.text.casefold() for mark in marks if isinstance(mark, Heading) and SETUP.match(mark.text))
    return [
        replace(mark, level=min(mark.level, BOLD)) if isinstance(mark, Heading) and setups[mark.text.casefold()] == 1 else mark
        for mark in marks
    ]


def _adopted(marks: Sequence[Heading | bool], repeated: frozenset[str]) -> frozenset[int]:
    """The headings (by line) that name no side and are the other one nonetheless: all those that do name one side, and these stand on its
    level, right above data."""
    sided = [mark for mark in marks if isinstance(mark, Heading) and role(mark.text)]
    if len({role(mark.text) for mark in sided}) != 1 or len({mark.text.casefold() for mark in sided}) != 1:
        return frozenset()
    levels = {mark.level for mark in sided}
    return frozenset(
        mark.number
        for mark, after in pairwise(marks)
        if isinstance(mark, Heading)
        and mark.level in levels
        and after is True
        and not role(mark.text)
        and mark.text.casefold() not in repeated
    )


def both(text: str) -> str:
    """The words of a line that name both sides in their order, "without and with the flag", "" for none."""
    found = (match for match in _AND.finditer(text) if {role(match["one"]), role(match["other"])} == {"baseline", "candidate"})
    return next((match[0] for match in found), "")


def _sets(text: str) -> bool:
    """Whether a heading says how something was set: of a side only where no other heading names one."""
    return bool(SETTING.match(text) or SETUP.match(text))


def _shared_rests(texts: Sequence[str]) -> frozenset[str]:
    """What stands beside either side in headings that name a side and a case: "main, 8 users" and "PR, 8 users"."""
    roles: dict[str, set[str]] = {}
    for text in texts:
        for side, rest in split(text):
            roles.setdefault(rest.casefold(), set()).add(role(side))
    return frozenset(rest for rest, found in roles.items() if {"baseline", "candidate"} <= found)


class _Open:
    """The headings that hold, and whether anything was read since the side was named."""

    def __init__(self, repeated: frozenset[str], shared: frozenset[str], adopted: frozenset[int], *, settings: bool) -> None:
        self._repeated, self._shared, self._adopted, self._settings = repeated, shared, adopted, settings
        self.two = self.lettered = self.files = False
        self._side: Heading | None = None
        self._sections: list[Heading] = []
        self._run, self._read = "", False
        self._fresh: set[int] = set()
        self._around: set[int] = set()

    def take(self, heading: Heading) -> None:
        """One heading more."""
        if heading.run:
            self._run = heading.run
        if not heading.text:
            return
        self._run = heading.run
        side, rest = self._sided(heading.text)
        if not side and heading.number in self._adopted and not (self._side and not self._read):
            side = heading.text
        if side:
            self._close(heading.level, of_side=True)
            self._around = {each.number for each in self._sections if each.number in self._fresh | self._around}
            self._side = Heading(text=side, level=heading.level, number=heading.number, weak=heading.weak)
            self._sections += [Heading(text=rest, level=heading.level + 1, number=heading.number)] if rest else []
            self._read = False
            return
        if (
            self._side
            and self._read
            and (heading.level < self._side.level or (heading.level == self._side.level and not self._again(heading)))
        ):
            self._side = None
        self._close(heading.level, of_side=False)
        self._sections.append(heading)
        self._fresh.add(heading.number)

    def _again(self, heading: Heading) -> bool:
        return heading.text.casefold() in self._repeated

    def _sided(self, text: str) -> tuple[str, str]:
        """A heading as a side and the case beside it; "" where it names no side."""
        if (_sets(text) and not self._settings) or both(text):
            return "", ""
        for side, rest in split(text):
            if rest.casefold() in self._shared and role(side):
                return side, rest
        if (self.lettered and LETTERED.fullmatch(text)) or (self.files and FILE.fullmatch(text)):
            return text, ""
        if SETTING.match(text) and self.two:
            return text.strip("`:*_ "), ""
        return (text, "") if role(text) or release(text) is not None or commit(text) else ("", "")

    def _close(self, level: int, *, of_side: bool) -> None:
        """Ends the sections that a heading of this level ends: those of its own level and below; of a side, those that stand inside the
        last side alone. What stands right above the first side, or this one, is around them, unless markdown says otherwise."""
        if of_side and self._side is not None:
            self._sections = [
                each
                for each in self._sections
                if each.level < level
                or (level >= BOLD and each.level >= BOLD and each.number in self._fresh | self._around)
                or (each.number < self._side.number and (each.level <= level or bool(better(each.text) or unit_of(each.text))))
            ]
        elif of_side:
            self._sections = [
                each for each in self._sections if each.level <= level or each.weak or (level >= BOLD and each.number in self._fresh)
            ]
        else:
            self._sections = [each for each in self._sections if each.level < level]

    def context(self, *, remark: bool) -> Context:
        """What holds here; a remark is no data."""
        self._read = self._read or not remark
        self._fresh = self._fresh if remark else set()
        return Context(
            side=self._side.text if self._side else "",
            section=tuple(each.text for each in self._sections if not each.weak),
            weak=tuple(each.text for each in self._sections if each.weak),
            run=self._run,
        )
