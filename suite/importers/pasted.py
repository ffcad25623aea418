"""What people paste into pull requests: lm_eval's markdown tables and the blocks of `vllm bench serve`, under headings that name a side.

A heading is the last line of plain words before a table or block ("# main", "This PR", "Before:"). Such a paste is one run a side: it
has no error bars of its own, and what it could not have seen is told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from suite.model.errors import BadInput
from suite.model.items import Total

LARGEST_FILE = 10_000_000
BASELINES = ("main", "master", "before", "baseline", "base", "as released", "upstream", "old", "without", "off")
"""Words of a heading that make its side the baseline, whichever side comes first."""
_RULE = re.compile(r"^=+(?: [\w ().-]+ )?=+$")
_VALUE = re.compile(r"^(?P<name>[A-Za-z][^:]*):\s+(?P<value>-?[0-9][0-9,]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,2})?)\s*$")
_NUMBER = re.compile(r"^-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,2})?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeBlock:
    """One printed result of `vllm bench serve`: its numbers as printed (milliseconds, tokens per second), by their labels."""

    side: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paste:
    """Everything found in a paste, in its order."""

    totals: tuple[Total, ...]
    blocks: tuple[ServeBlock, ...]

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides, the baseline first: the one whose heading says so, else the first."""
        found = list(dict.fromkeys([*(total.side for total in self.totals), *(block.side for block in self.blocks)]))
        base = next((side for side in found if _is_baseline(side)), found[0] if found else "")
        return tuple(sorted(found, key=lambda side: side != base))


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
        raise BadInput(f"{path}: neither an lm_eval table nor a block of `vllm bench serve` was found")
    if len(found.sides) < 2:
        raise BadInput(f"{path}: two sides are needed, only {found.sides[0]!r} was found; put a heading such as '# main' above each")
    return found


def parse(text: str) -> Paste:
    """What a text holds; lines that are neither are passed over."""
    totals: list[Total] = []
    blocks: list[ServeBlock] = []
    side, columns, task = "", list[str](), ""
    values: dict[str, float] | None = None
    for line in (raw.strip() for raw in text.splitlines()):
        if values is not None:
            if _RULE.match(line):
                blocks.append(ServeBlock(side=_unused(side, [block.side for block in blocks]), values=values))
                values = None
            elif matched := _VALUE.match(line):
                values[matched["name"].strip()] = float(matched["value"].replace(",", ""))
        elif "Serving Benchmark Result" in line and _RULE.match(line):
            values = {}
        elif line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if "Metric" in cells and "Value" in cells:
                columns, task = cells, ""
            elif columns and not set(line) <= set("|-: "):
                total = _total(cells, columns, side, task)
                task = total.task if total else task
                totals += [total] if total else []
        elif heading := _heading(line):
            side, columns = heading, []
    return Paste(totals=tuple(totals), blocks=tuple(blocks))


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
    return Total(side=side or "first", task=name, filter=row.get("Filter") or "none", metric=metric, value=value, error=error)


def _heading(line: str) -> str:
    """A short line of words, without its marks; "" for anything else."""
    words = line.strip("#*:` \t")
    plain = words and len(words) <= 60 and not line.startswith(("```", "-", "=", "|", "$")) and not re.search(r"--\w", line)
    return words if plain else ""


def _unused(side: str, used: list[str]) -> str:
    """A side's name; where two blocks stand under one heading or none, they are told apart by number."""
    name = side or f"block {len(used) + 1}"
    return name if name not in used else f"{name} ({used.count(name) + 1})"


def _is_baseline(side: str) -> bool:
    lowered = side.lower()
    return any(re.search(rf"\b{re.escape(word)}\b", lowered) for word in BASELINES)
