"""What people paste into pull requests: lm_eval's markdown tables, the blocks of `vllm bench serve`, and tables of before and after.

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

from suite.model.errors import BadInput
from suite.model.items import Total

LARGEST_FILE = 10_000_000
BASELINES = ("main", "master", "before", "baseline", "base", "as released", "upstream", "old", "without", "off")
"""Words of a heading that make its side the baseline, whichever side comes first."""
SENTENCES = (("main", "master", "before", "baseline", "as released", "upstream", "without"), ("after", "this pr", "patched", "candidate"))
"""Words of a sentence that name a side: the baseline's, and the other's."""
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
several runs a side can be judged: as a CSV with the columns block,arm,value, by `perfproof judge`"""
"""What a paste may look like, for whoever pasted something else."""
_RULE = re.compile(r"^=+(?: [\w ().-]+ )?=+$")
_DIGITS = r"-?[0-9][0-9,]{0,30}(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,2})?"
_VALUE = re.compile(rf"^(?P<name>[A-Za-z][^:]*):\s+(?P<value>{_DIGITS})\s*$")
_NUMBER = re.compile(r"^-?[0-9]{1,30}(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,2})?$")
_CELL = re.compile(rf"^[*_`]*(?P<value>{_DIGITS})\s*(?P<unit>[A-Za-zµμ%][\w/µμ%]*)?[*_`]*$")
_CHANGES = re.compile(r"(?i)change|delta|diff|speed-?up|ratio|gain|improvement|[Δ±]|^%$|^[×x]$")
_HIGHER = re.compile(r"(?i)throughput|goodput|/s\b|per.second|\bacc(uracy|eptance)?\b|hit.rate|exact.match|bandwidth|flops|\b[rqt]ps\b")
_LOWER = re.compile(
    r"(?i)latency|duration|time|\bttft\b|\btpot\b|\bitl\b|\be2el?\b|memory|error|failed|loss|perplexity|overhead|\((ns|us|µs|μs|ms|s|sec|[kmg]i?b)\)"
)
_WORK = re.compile(r"(?i)^(successful requests|total (input|generated) tokens|maximum request concurrency|request rate configured.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """One side's numbers as they were printed (milliseconds, tokens per second), by their labels."""

    side: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paste:
    """Everything found in a paste, in its order."""

    totals: tuple[Total, ...]
    blocks: tuple[Printed, ...]

    @property
    def named(self) -> bool:
        """Whether a heading says which side is the baseline."""
        return bool(self.sides) and _says(self.sides[0], BASELINES)

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides, the baseline first: the one whose heading says so, else the first."""
        found = list(dict.fromkeys([*(total.side for total in self.totals), *(block.side for block in self.blocks)]))
        base = next((side for side in found if _says(side, BASELINES)), found[0] if found else "")
        return tuple(sorted(found, key=lambda side: side != base))


def better(label: str) -> Literal["lower", "higher"] | None:
    """Which direction of a printed number is better, as far as its label says."""
    if _WORK.match(label):
        return None
    return "higher" if _HIGHER.search(label) else "lower" if _LOWER.search(label) else None


def is_work(label: str) -> bool:
    """Whether a number says what was asked of a run, not how it fared."""
    return bool(_WORK.match(label))


def read(path: Path) -> Paste:
    """The tables and blocks of a file. Raises `BadInput` where it can't be read, has none, or names fewer than two sides."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise BadInput(f"{path}: larger than {LARGEST_FILE // 1_000_000} MB")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadInput(f"{path}: can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not a text in UTF-8: {error}") from error
    found = parse(text)
    if not found.totals and not found.blocks:
        raise BadInput(f"{path}: nothing that can be compared was found; {FORMS}")
    if len(found.sides) < 2:
        raise BadInput(f"{path}: two sides are needed, only {found.sides[0]!r} was found; put a heading such as '# main' above each")
    return found


def parse(text: str) -> Paste:
    """What a text holds; lines that are neither are passed over."""
    reader = _Reader()
    for raw in text.splitlines():
        reader.take(raw.strip())
    reader.end_table()
    return Paste(totals=tuple(reader.totals), blocks=tuple(reader.blocks))


@dataclass(slots=True, kw_only=True)
class _Reader:
    """What was read so far: the heading that holds, and the block or table that is open."""

    totals: list[Total] = field(default_factory=list)
    blocks: list[Printed] = field(default_factory=list)
    side: str = ""
    columns: list[str] = field(default_factory=list)
    task: str = ""
    values: dict[str, float] | None = None
    rows: list[list[str]] = field(default_factory=list)
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
        self.blocks += _compared(self.rows)
        self.rows = []

    def _in_block(self, line: str, values: dict[str, float]) -> None:
        if _RULE.match(line):
            self.blocks.append(Printed(side=self._unused("block"), values=values))
            self.values, self.told = None, True
        elif matched := _VALUE.match(line):
            values[matched["name"].strip()] = _number(matched["value"])

    def _row(self, cells: list[str], *, rule: bool) -> None:
        if "Metric" in cells and "Value" in cells:
            self.end_table()
            self.columns, self.task = cells, ""
            self.table = self._named("table")
        elif self.columns and not rule and any(_NUMBER.match(cell) for cell in cells):
            total = _total(cells, self.columns, self.table, self.task)
            self.task = total.task if total else self.task
            self.totals += [total] if total else []
            self.told = True
        elif not rule:
            self.columns = []
            self.rows.append(cells)

    def _words(self, line: str) -> None:
        """A line of words: a heading, or a sentence; after a sentence that names no side, what comes next has none."""
        plain = line.strip("#*:` \t")
        if not re.search(r"\w", plain) or line.startswith(("```", "-", "=", "$")) or re.search(r"--\w", line):
            return
        if heading := _heading(line, plain):
            self.side, self.columns, self.told = heading, [], False
        elif self.told:
            self.side, self.columns = "", []

    def _named(self, kind: str) -> str:
        """The side that holds; without one, "first", "second" by the tables or blocks that had none."""
        if self.side:
            return self.side
        self.unnamed[kind] += 1
        number = self.unnamed[kind]
        return ORDINALS[number - 1] if number <= len(ORDINALS) else f"number {number}"

    def _unused(self, kind: str) -> str:
        """The same; where two blocks stand under one heading, they are told apart by number."""
        name, used = self._named(kind), [block.side for block in self.blocks]
        return name if name not in used else f"{name} ({sum(one == name or one.startswith(f'{name} (') for one in used) + 1})"


def _total(cells: list[str], columns: list[str], side: str, task: str) -> Total | None:
    """A row of lm_eval's table. An arrow that a paste lost moves cells, so the value is the first number after the metric."""
    row = dict(zip(columns, cells, strict=False))
    name = row.get("Tasks") or task
    metric = row.get("Metric", "")
    place = columns.index("Metric") + 1
    numbers = [cell for cell in cells[place:] if _NUMBER.match(cell)]
    if not name or not metric or len(numbers) < 2:
        return None
    value, error = float(numbers[0]), float(numbers[1])
    return Total(side=side, task=name, filter=row.get("Filter") or "none", metric=metric, value=value, error=error)


def _compared(rows: Sequence[Sequence[str]]) -> list[Printed]:
    """A table whose columns are sides and whose rows are metrics, or the other way round; [] for any other table."""
    head, body = (rows[0], rows[1:]) if rows and not any(_CELL.match(cell) for cell in rows[0][1:]) else ([], rows)
    numbers = [(row[0].strip("*_`"), [_CELL.match(cell) for cell in row[1:]]) for row in body if row]
    width = max((len(cells) for _, cells in numbers), default=0)
    names = [cell.strip("*_`") for cell in head[1:]] or list(ORDINALS[:width])
    turned = any(_says(name, BASELINES) for name, _ in numbers) and not any(_says(name, BASELINES) for name in names)
    if not turned and any(better(name) for name in names):
        return []
    sides: dict[str, dict[str, float]] = {}
    for label, cells in numbers:
        for name, cell in zip(names, cells, strict=False):
            if cell and not _CHANGES.search(name) and not _is_change(cell):
                side, metric = (label, name) if turned else (name, label)
                unit = "" if cell["unit"] is None else f" ({cell['unit']})"
                sides.setdefault(side, {})[metric + unit] = _number(cell["value"])
    found = [Printed(side=side, values=values) for side, values in sides.items() if side]
    return found if len(found) > 1 else []


def _is_change(cell: re.Match[str]) -> bool:
    """Whether a cell without a head holds a change, "1.26x" or "-4.3 %", rather than a value."""
    return cell["unit"] == "x" or (cell["unit"] == "%" and cell["value"].startswith("-"))


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _heading(line: str, words: str) -> str:
    """The side that a line names: itself where it is short, the one word for a side that a sentence has, "" otherwise."""
    if len(words) <= LONGEST_HEADING and (line.startswith(("#", "**")) or len(words.split()) <= HEADING_WORDS):
        return words
    base, other = ([word for word in named if _says(words, [word])] for named in SENTENCES)
    first = next((word for word in (*base, *other) if words.lower().startswith(word)), "")
    return first or ("" if bool(base) == bool(other) else (base or other)[0])


def _says(text: str, words: Iterable[str]) -> bool:
    lowered = text.lower()
    return any(re.search(rf"\b{re.escape(word)}\b", lowered) for word in words)
