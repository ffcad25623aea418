"""What people paste into pull requests: lm_eval's markdown tables, the blocks of `vllm bench serve`, and tables of before and after.

Cells of one row are compared in one unit, or refused where they have none in common. Of a text without tables and blocks those sentences
are read that say what a metric was and is.

A heading is the last short line of plain words before a table or block ("# main", "This PR", "Before:") and names its side; of a longer
sentence only a word that names a side counts. Such a paste is one run a side: it has no error bars of its own, and what it could not have
seen is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from packaging.version import InvalidVersion, Version

from perfproof.model.base import numerals
from perfproof.model.base.errors import BadInput
from perfproof.model.base.quantities import changes, converted, known
from perfproof.model.records.eval_items import Total
from perfproof.model.scenarios import metric_directions
from perfproof.model.scenarios.eval_metrics import direction
from perfproof.model.scenarios.side_names import describes, role

LARGEST_FILE = 10_000_000
SENTENCES = (("main", "master", "before", "baseline", "as released", "upstream", "without"), ("after", "this pr", "patched", "candidate"))
"""Words of a sentence that name a side: the baseline's, and the other's."""
MIXING = re.compile(
    r"(?i)\b(merg\w+|rebas\w+|cherry\W?pick\w*|top of|compared|against|versus|vs|than|into|onto|remov\w+|drop\w+|delet\w+|appl(y|ied)"
    r"|differ\w*)\b"
)
"""Words with which a sentence that names the baseline may be of the other side, or of both."""
HEADING_WORDS = 4
"""A line of more words is a sentence, unless it is marked as a heading."""
LONGEST_HEADING = 60
ORDINALS = ("first", "second", "third")
FORMS = """what can be read:
  lm_eval's markdown tables, and the blocks that `vllm bench serve` prints, each below a heading that names its side ('# main', '# this PR')
  a markdown table with a column a side, such as
    | metric             | before | after |
    | ------------------ | ------ | ----- |
    | throughput (tok/s) | 2447   | 2553  |
  sentences that name a metric and its change, such as 'mean TTFT dropped from 190 ms to 188 ms'
several runs a side can be judged: as a CSV with the columns block,arm,value, by `perfproof judge`"""
"""What a paste may look like, for whoever pasted something else."""
ARROWS = {"↑": True, "↓": False}
"""How lm_eval's tables say whether higher is better."""
_RULE = re.compile(r"^=+(?: [\w ().-]+ )?=+$")
_DIGITS = rf"-?[0-9][0-9.,]{{0,40}}(?:[{numerals.MARKS}][0-9]{{3}}(?![0-9])[0-9.,]{{0,40}}){{0,6}}(?:[eE][-+]?[0-9]{{1,2}})?"
_VALUE = re.compile(rf"^(?P<name>[A-Za-z][^:]*):\s+(?P<value>{_DIGITS})\s*$")
_NUMBER = re.compile(r"^-?[0-9]{1,30}(?:[.,][0-9]+)?(?:[eE][-+]?[0-9]{1,2})?$")
_UNIT = r"[A-Za-zµμ%][\w/µμ%]*"
_CELL = re.compile(rf"^[*_`]*(?P<value>{_DIGITS})\s*(?P<own>{_UNIT})?(?:\s*(?:±|\+/-|\+-)\s*[0-9.,]+\s*(?P<late>{_UNIT})?)?[*_`]*$")
"""A number with its unit, and how far it scatters, if that is told."""
_NUMBERED = re.compile(r"^[*_`~≈<>≤≥+ -]*\.?[0-9]")
"""A cell that begins as a number does."""
_ESCAPES = re.compile(r"\x1b\[[0-9;:?]*[A-Za-z]")
_RELEASE = re.compile(r"(?i)(?:vllm )?v?(?P<version>[0-9]+\.[0-9]+\S*)")
ASKED = {"Version": "task version", "n-shot": "shots"}
"""Columns of lm_eval's tables that say what was asked."""
_LAST_UNIT = re.compile(r"[(\[](?P<unit>[A-Za-zµμ%][\w/µμ%]*)[)\]]$")
_METRIC = re.compile(
    r"(?i)throughput|goodput|/s\b|latency|time|\b(ttft|tpot|itl|acc|[rqt]ps)\b|memory|error|loss|\((ns|us|µs|μs|ms|s|sec|[kmg]i?b)\)"
)
"""Names of columns that are metrics rather than sides."""
_UNUSED = re.compile(r" \([0-9]+\)$")
_WORK = re.compile(r"(?i)^(successful requests|total (input|generated) tokens|maximum request concurrency|request rate configured.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """One side's numbers as they were printed (milliseconds, tokens per second), by their labels."""

    side: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paste:
    """Everything found in a paste, in its order; `faults` are rows that can't be compared, in sentences, `left_out` what is no number of a
    side's."""

    totals: tuple[Total, ...]
    blocks: tuple[Printed, ...]
    faults: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def named(self) -> bool:
        """Whether the names of the sides say which is the baseline: one does, and no other."""
        return len({_UNUSED.sub("", side) for side in self._found() if role(side) == "baseline"}) == 1

    @property
    def oldest(self) -> str:
        """The oldest version, where the sides are versions and nothing else; "" where they are not."""
        found = {side: version for side in self._found() if (version := _release(side)) is not None}
        return min(found, key=lambda side: found[side]) if len(set(found.values())) > 1 and len(found) == len(self._found()) else ""

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides, the baseline first: the one whose name says so, else the oldest version, else the first."""
        found = self._found()
        base = next((side for side in found if role(side) == "baseline"), self.oldest or (found[0] if found else ""))
        return tuple(sorted(found, key=lambda side: side != base))

    def _found(self) -> list[str]:
        return list(dict.fromkeys([*(total.side for total in self.totals), *(block.side for block in self.blocks)]))


def _release(side: str) -> Version | None:
    """The version that a side's name is, such as v0.9.0."""
    found = _RELEASE.fullmatch(side)
    try:
        return Version(found["version"]) if found else None
    except InvalidVersion:
        return None


def better(label: str) -> Literal["lower", "higher"] | None:
    """Which direction of a printed number is better, as far as its label says."""
    return None if _WORK.match(label) else metric_directions.better(label)


def is_work(label: str) -> bool:
    """Whether a number says what was asked of a run, not how it fared."""
    return bool(_WORK.match(label))


def read(path: Path) -> Paste:
    """The tables and blocks of a file, or its sentences. Raises `BadInput` where it can't be read, has none, names fewer than two sides, or
    compares what has no unit in common."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(LARGEST_FILE + 1)  # what is no file, such as a pipe, does not say its size
        if len(text) > LARGEST_FILE:
            raise BadInput(f"{path}: larger than {LARGEST_FILE // 1_000_000} MB")
    except OSError as error:
        raise BadInput(f"{path}: can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not a text in UTF-8: {error}") from error
    found = parse(text)
    if found.faults:
        raise BadInput(*(f"{path}: {fault}" for fault in found.faults))
    if not found.totals and not found.blocks:
        raise BadInput(f"{path}: nothing that can be compared was found; {FORMS}")
    if len(found.sides) < 2:
        raise BadInput(f"{path}: two sides are needed, only {found.sides[0]!r} was found; put a heading such as '# main' above each")
    return found


def parse(text: str) -> Paste:
    """What a text holds; lines that are neither are passed over."""
    text = _ESCAPES.sub("", text)
    lines = [raw.strip() for raw in text.splitlines()]
    reader = _Reader(convention=_convention(lines))
    for line in lines:
        reader.take(line)
    reader.end_table()
    blocks = reader.blocks if reader.blocks or reader.totals or reader.faults else _said(text)
    left = tuple(dict.fromkeys(reader.left_out))
    return Paste(totals=tuple(reader.totals), blocks=tuple(blocks), faults=tuple(reader.faults), left_out=left)


def _convention(lines: Sequence[str]) -> numerals.Convention:
    """What decimals the numbers of all tables and blocks have."""
    cells = [cell.strip() for line in lines if line.startswith("|") for cell in line.strip("|").split("|")]
    found = [*(_CELL.match(cell) for cell in cells), *(_VALUE.match(line) for line in lines)]
    return numerals.convention([match["value"] for match in found if match])


def _said(text: str) -> list[Printed]:
    """What its sentences say, as two sides."""
    found = changes(text)
    sides = (
        ("before", {f"{one.metric} ({one.unit})": one.before for one in found}),
        ("after", {f"{one.metric} ({one.unit})": one.after for one in found}),
    )
    return [Printed(side=side, values=values) for side, values in sides] if found else []


@dataclass(slots=True, kw_only=True)
class _Reader:
    """What was read so far: the heading that holds, and the block or table that is open."""

    convention: numerals.Convention
    totals: list[Total] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    blocks: list[Printed] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    side: str = ""
    level: int = 0
    columns: list[str] = field(default_factory=list)
    task: str = ""
    values: dict[str, float] | None = None
    rows: list[list[str]] = field(default_factory=list)
    ruled: bool = False
    tables: int = 0
    unnamed: dict[str, int] = field(default_factory=lambda: {"table": 0, "block": 0})
    told: bool = False
    table: str = ""

    def take(self, line: str) -> None:
        """One line more."""
        if self.values is not None:
            self._in_block(line, self.values)
        elif "Serving Benchmark Result" in line and _RULE.match(line):
            self.end_table()
            self.values = {}
        elif line.startswith("|"):
            self._row([cell.strip() for cell in line.strip("|").split("|")], rule=set(line) <= set("|-: "))
        else:
            self.end_table()
            self._words(line)

    def end_table(self) -> None:
        """Takes over the table of before and after that was open, if one was."""
        found = _compared(self.rows, self.ruled, self.convention)
        again = {label for block in self.blocks for label in block.values} & {label for block in found.blocks for label in block.values}
        self.tables += bool(found.blocks)
        self.blocks += [_renamed(block, self.tables) for block in found.blocks] if again else found.blocks
        self.faults += found.faults
        self.left_out += found.left_out
        self.rows, self.ruled = [], False

    def _in_block(self, line: str, values: dict[str, float]) -> None:
        begins = "Serving Benchmark Result" in line or bool(re.match(r"#+\s", line))
        if _RULE.match(line) or begins:
            self.blocks.append(Printed(side=self._unused("block"), values=values))
            self.values, self.told = None, True
            if begins:
                self.take(line)
        elif (matched := _VALUE.match(line)) and numerals.is_number(matched["value"]):
            values[matched["name"].strip()] = numerals.value(matched["value"], self.convention)

    def _row(self, cells: list[str], *, rule: bool) -> None:
        if "Metric" in cells and "Value" in cells:
            self.end_table()
            self.columns, self.task = cells, ""
            self.table = self._named("table")
        elif self.columns and not rule and any(_NUMBER.match(cell) for cell in cells):
            found = _total(cells, self.columns, self.table, self.task, self.convention)
            self.totals += [found] if isinstance(found, Total) else []
            self.left_out += [found] if isinstance(found, str) and found else []
            row = dict(zip(self.columns, cells, strict=False))
            self.task = row.get("Tasks") or row.get("Groups") or self.task
            self.told = True
        elif rule:
            self.ruled = self.ruled or len(self.rows) == 1
        else:
            self.columns = []
            self.rows.append(cells)

    def _words(self, line: str) -> None:
        """A line of words: a heading, or a sentence; after a sentence that names no side, what comes next has none."""
        plain = line.strip("#*:` \t")
        if not re.search(r"\w", plain) or line.startswith(("```", "-", "=", "$")) or re.search(r"--\w", line):
            return
        level = len(line) - len(line.lstrip("#"))
        if heading := _heading(line, plain):
            if not self._holds(heading, level):
                self.side, self.level, self.columns, self.told = heading, level, [], False
        elif self.told:
            self.side, self.columns = "", []

    def _holds(self, heading: str, level: int) -> bool:
        """Whether the side that was named still holds below a heading that names none: until something was read, and for its own parts."""
        return bool(role(self.side)) and not role(heading) and (not self.told or bool(self.level and level > self.level))

    def _named(self, kind: str) -> str:
        """The side that holds; without one, "first", "second" by the tables or blocks that had none."""
        if self.side:
            return self.side
        self.unnamed[kind] += 1
        return _ordinal(self.unnamed[kind])

    def _unused(self, kind: str) -> str:
        """The same; where two blocks stand under one heading, they are told apart by number."""
        name, used = self._named(kind), [block.side for block in self.blocks]
        return name if name not in used else f"{name} ({sum(one == name or one.startswith(f'{name} (') for one in used) + 1})"


def _total(cells: list[str], columns: list[str], side: str, task: str, by: numerals.Convention) -> Total | str:
    """A row of lm_eval's table, or what was left out of it, in words.

    An arrow that a paste lost moves cells, so the value is the first number after the metric.
    """
    row = dict(zip(columns, cells, strict=False))
    name = (row.get("Tasks") or row.get("Groups") or task).lstrip("- ")
    metric = row.get("Metric", "")
    place = columns.index("Metric") + 1
    numbers = [cell for cell in cells[place:] if _NUMBER.match(cell)]
    if not name or not metric or not numbers:
        return ""
    if len(numbers) < 2:
        return f"{name}, {metric}: {numbers[0]} without a standard error"
    value, error = (numerals.value(number, by) for number in numbers[:2])
    asked = {what: row[column] for column, what in ASKED.items() if row.get(column)}
    better = direction(metric, next((ARROWS[cell] for cell in cells[place:] if cell in ARROWS), None))
    return Total(
        side=side, task=name, filter=row.get("Filter") or "none", metric=metric, value=value, error=error, better=better, asked=asked
    )


def _renamed(block: Printed, number: int) -> Printed:
    """A table's numbers, told apart from those of one above it that have the same labels."""
    return Printed(side=block.side, values={f"{label} (table {number})": value for label, value in block.values.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """What a table of sides and metrics holds."""

    blocks: list[Printed] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def _compared(rows: Sequence[Sequence[str]], ruled: bool, convention: numerals.Convention) -> _Table:
    """A table whose columns are sides and whose rows are metrics, or the other way round, and what of it can't be compared; nothing for any
    other table. `ruled` says that a rule stands below the first row, which is a head then."""
    headed = bool(rows) and (ruled or not any(_CELL.match(cell) for cell in rows[0][1:]))
    head, body = (rows[0], rows[1:]) if headed else ([], rows)
    numbers = [(label, [_cell(cell) for cell in row[1:]]) for label, row in zip(_labels(body), body, strict=True) if row]
    width = max((len(cells) for _, cells in numbers), default=0)
    names = [cell.strip("*_`") for cell in head[1:]] or [_ordinal(place) for place in range(1, width + 1)]
    named = any(role(name) for name in names)
    turned = any(role(name) == "baseline" for name, _ in numbers) and not named
    if not turned and any(_METRIC.search(_LAST_UNIT.sub("", name) if named else name) for name in names):
        return _Table()
    lines: dict[int, _Line] = {}
    left: list[str] = []
    for row, (label, cells) in enumerate(numbers):
        for column, (name, cell) in enumerate(zip(names, cells, strict=False)):
            side, metric = (label, name) if turned else (name, label)
            if isinstance(cell, str):
                left += [side if headed and describes(side) else f"{metric}: {cell}"] if _NUMBERED.match(cell) else []
                continue
            if _tells(metric):
                left.append(metric)
                continue
            if headed and describes(side):
                left += [side] if side else []
            elif not _is_change(cell):
                lines.setdefault(column if turned else row, _Line(metric=metric, cells=[], convention=convention)).cells.append(
                    (side, cell)
                )
    return _sided(lines, left, "column" if turned else "row", headed)


def _labels(rows: Sequence[Sequence[str]]) -> list[str]:
    """What each row is of: its first cell; where several rows share that, with what their other words say ("TTFT, 8")."""
    first = [row[0].strip("*_`") if row else "" for row in rows]
    return [
        ", ".join([*(cell.strip("*_`") for cell in row[1:] if re.match(r"[^\W\d_]", cell) and isinstance(_cell(cell), str)), label])
        if first.count(label) > 1
        else label
        for label, row in zip(first, rows, strict=True)
    ]


def _sided(lines: Mapping[int, _Line], left: list[str], kind: str, headed: bool) -> _Table:
    if len({side for line in lines.values() for side, _ in line.cells if side}) < 2:
        return _Table()
    sides: dict[str, dict[str, float]] = {}
    for line in lines.values():
        if not headed and len(line.without_changes()) > 2:
            line.fault = "has more than two numbers, and no head says whose they are"
            continue
        for side, label, value in line.told():
            if label in sides.setdefault(side, {}):
                line.fault = "is there twice: name its numbers apart"
            sides[side][label] = value
    found = [Printed(side=side, values=values) for side, values in sides.items() if side]
    return _Table(blocks=found, faults=[f"the {kind} {line.metric!r} {line.fault}" for line in lines.values() if line.fault], left_out=left)


def _cell(text: str) -> re.Match[str] | str:
    """A cell that is a number, with its unit if it has one; any other as it is."""
    found = _CELL.match(text)
    return found if found and numerals.is_number(found["value"]) else text


def _unit_of(cell: re.Match[str]) -> str:
    return cell["own"] or cell["late"] or ""


def _tells(label: str) -> bool:
    """Whether a row is no metric but of what is told about the sides: "runs", "p-value", "speedup"."""
    words = [word for word in label.split() if word.lower() not in metric_directions.STATISTICS]
    return metric_directions.better(label) is None and bool(re.search(r"[^\W\d_]", " ".join(words))) and describes(" ".join(words))


def _ordinal(number: int) -> str:
    return ORDINALS[number - 1] if number <= len(ORDINALS) else f"number {number}"


@dataclass(slots=True, kw_only=True)
class _Line:
    """The cells of one metric with their sides, and why they can't be compared, "" where they can."""

    metric: str
    cells: list[tuple[str, re.Match[str]]]
    convention: numerals.Convention
    fault: str = ""

    def told(self) -> list[tuple[str, str, float]]:
        """Each side with the metric and its value, all in one unit: that of the metric's name, else of the first cell which has one."""
        cells = self.without_changes()
        self.fault = self._doubt([cell["value"] for _, cell in cells])
        if self.fault:
            return []
        units = [_unit_of(cell) or _unit_in(side) for side, cell in cells]
        named = _unit_in(self.metric)
        unit = named if any(units) and any(converted(1.0, each, named) for each in units if each) else next(filter(None, units), "")
        found = []
        for (side, cell), own in zip(cells, units, strict=True):
            value = converted(numerals.value(cell["value"], self.convention), own or (named if unit == named else ""), unit)
            if value is None:
                fits = next(
                    _shown(other, each) for (_, other), each in zip(cells, units, strict=True) if each and converted(1.0, each, unit)
                )
                self.fault = f"compares {fits} with {_shown(cell, own)}: write both in one unit"
                return []
            found.append((side, self.metric if unit in ("", named) else f"{self.metric} ({unit})", value))
        return found

    def without_changes(self) -> list[tuple[str, re.Match[str]]]:
        """The cells but for per cent beside at least two other values, which tell how these differ."""
        plain = [(side, cell) for side, cell in self.cells if _unit_of(cell) != "%"]
        return plain if len(plain) > 1 else self.cells

    def _doubt(self, texts: Sequence[str]) -> str:
        """Why a comma among these numbers can't be read, "" where it can or there is none."""
        if self.convention == "mixed" and (odd := next((text for text in texts if numerals.convention([text]) == "comma"), "")):
            return f"has the decimal comma of {odd}, and other numbers have decimal points: write all in one way"
        if not self.convention and (odd := numerals.doubtful(texts)):
            return f"has {odd}, whose comma may be of thousands or of decimals: write {odd.replace(',', '')} or {odd.replace(',', '.')}"
        return ""


def _unit_in(name: str) -> str:
    """The unit at the end of a name, "" where none is surely one: "before (us)", but not "arm (B)"."""
    found = _LAST_UNIT.search(name)
    return found["unit"] if found and found["unit"] != "B" and known(found["unit"]) else ""


def _shown(cell: re.Match[str], unit: str) -> str:
    """A cell with its unit: "12.3 us", "9.8 without a unit"."""
    return f"{cell['value']} {unit or 'without a unit'}"


def _is_change(cell: re.Match[str]) -> bool:
    """Whether a cell without a head holds a change, "1.26x" or "-4.3 %", rather than a value."""
    return _unit_of(cell) == "x" or (_unit_of(cell) == "%" and cell["value"].startswith("-"))


def _heading(line: str, words: str) -> str:
    """The side that a line names: itself where it is short, the one word for a side that a sentence has, "" otherwise."""
    if len(words) <= LONGEST_HEADING and (line.startswith(("#", "**")) or len(words.split()) <= HEADING_WORDS):
        return words
    if MIXING.search(words):
        return ""
    base, other = ([word for word in named if _says(words, [word])] for named in SENTENCES)
    first = next((word for word in (*base, *other) if words.lower().startswith(word)), "")
    return first or ("" if bool(base) == bool(other) else (base or other)[0])


def _says(text: str, words: Iterable[str]) -> bool:
    lowered = text.lower()
    return any(re.search(rf"\b{re.escape(word)}\b", lowered) for word in words)
