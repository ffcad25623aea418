"""What one count holds, function by function."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

INSTRUCTIONS, CALLS, INCLUSIVE, C_CALLS, LINE = range(5)
"""The places of a function's numbers: its own instructions, its calls (a generator's resumptions too), the instructions of it and of all
that it calls, the C calls that it makes, its first line (the least of functions that share a name)."""
WAITING = ("threading", "queue", "selectors", "concurrent.futures._base", "concurrent.futures.thread", "asyncio")
"""Modules in which threads wait for one another."""


@dataclass(slots=True)
class Tally:
    """One count: `functions` maps `module:Qual.name` to five numbers (see above), `c_calls` names to calls, `lines` the functions that
    were to be looked at closely to the instructions of each of their lines. `waiting` are instructions of what waits for threads
    (`WAITING`): how many those are depends on who is faster. `missed` are threads that ran and were not counted. `outside` are seconds in C
    functions, by name: no count, and from a round of its own."""

    functions: dict[str, list[int]] = field(default_factory=dict)
    c_calls: dict[str, int] = field(default_factory=dict)
    operators: dict[str, list[int]] = field(default_factory=dict)
    device: dict[str, list[int]] = field(default_factory=dict)
    lines: dict[str, dict[int, int]] = field(default_factory=dict)
    waiting: dict[str, int] = field(default_factory=dict)
    missed: list[str] = field(default_factory=list)
    outside: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, numbers: list[int]) -> None:
        """Adds a function's numbers to those of its name: functions that share a name are one."""
        there = self.functions.get(name)
        if there is None:
            self.functions[name] = list(numbers)
            return
        for place in (INSTRUCTIONS, CALLS, INCLUSIVE, C_CALLS):
            there[place] += numbers[place]
        there[LINE] = min(there[LINE], numbers[LINE])

    def total(self, place: int = INSTRUCTIONS) -> int:
        return sum(numbers[place] for numbers in self.functions.values())

    def plus(self, other: Tally) -> Tally:
        """Both together."""
        whole = Tally(missed=sorted({*self.missed, *other.missed}))
        for each in (self, other):
            for name, numbers in each.functions.items():
                whole.add(name, numbers)
            for mine, whole_of_it in ((each.operators, whole.operators), (each.device, whole.device)):
                for name, (calls, size) in mine.items():
                    there = whole_of_it.setdefault(name, [0, 0])
                    there[0] += calls
                    there[1] += size
            for name, lines in each.lines.items():
                total = Counter(whole.lines.get(name, {}))
                total.update(lines)
                whole.lines[name] = dict(total)
        whole.c_calls = dict(Counter(self.c_calls) + Counter(other.c_calls))
        whole.outside = {name: self.outside.get(name, 0.0) + other.outside.get(name, 0.0) for name in {**self.outside, **other.outside}}
        whole.waiting = dict(Counter(self.waiting) + Counter(other.waiting))
        return whole

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "functions": self.functions,
            "c_calls": self.c_calls,
            "operators": self.operators,
            "device": self.device,
            "lines": {name: {str(line): count for line, count in sorted(lines.items())} for name, lines in self.lines.items()},
            "waiting": self.waiting,
            "missed": self.missed,
        }


def equal(one: Tally, other: Tally) -> bool:
    """Whether two counts are the same to the last instruction, call and byte."""
    return not unsteady(one, other)


def unsteady(one: Tally, other: Tally) -> list[str]:
    """The names of functions, C calls, operators and device work in which two counts differ. What a function's callees did is theirs."""
    found = [name for name in {**one.functions, **other.functions} if _own(one, name) != _own(other, name)]
    found += [name for name in {**one.c_calls, **other.c_calls} if one.c_calls.get(name) != other.c_calls.get(name)]
    for mine, theirs in ((one.operators, other.operators), (one.device, other.device)):
        found += [name for name in {**mine, **theirs} if mine.get(name) != theirs.get(name)]
    return sorted(found)


def _own(tally: Tally, name: str) -> list[int]:
    numbers = tally.functions.get(name, [0, 0, 0, 0, 0])
    return [numbers[INSTRUCTIONS], numbers[CALLS], numbers[C_CALLS]]


def waits(name: str) -> bool:
    """Whether a function is of a module in which threads wait for one another."""
    module = name.partition(":")[0]
    return module in WAITING or module.startswith("asyncio.")


def lines_of(code: CodeType, offsets: dict[int, int]) -> dict[int, int]:
    """Instructions by line, of counts by their place in the code; what has no line counts to the function's first."""
    starts: dict[int, int] = {}
    for begin, end, line in code.co_lines():
        for place in range(begin, end, 2):
            starts[place] = line if line is not None else code.co_firstlineno
    found: Counter[int] = Counter()
    for place, count in offsets.items():
        found[starts.get(place, code.co_firstlineno)] += count
    return dict(found)
