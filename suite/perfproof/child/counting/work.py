"""What one thread did while it was counted, function by function: kept by the hooks, told to a tally.

The hooks keep one number a thread: the instructions that it ran. A function's own are what that number grew by while the function ran, less
what it grew by in the functions that it called.
"""

from __future__ import annotations

import os
from types import CodeType
from typing import Any

from perfproof.child.counting.tally import Tally, lines_of, waits

_CHILD = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OURS = (_CHILD, os.path.join(os.path.dirname(_CHILD), "bench", ""), os.path.join(os.path.dirname(_CHILD), "patches", "guard.py"))
"""What runs from files of this room, from benchmarks and from what attests calls is our own work, and not counted; what it calls is."""
CODE, FUNCTION, BEGAN, BELOW = range(4)
"""The places of an entry on a thread's stack: what tells its frame from others, the function, the thread's number when it began, and how
much of what came since was done by functions that it called."""


class FunctionWork:
    """What one code object did in one thread.

    `depth` is how often it is under way just now, `thrown` how often a generator went on with an exception; `ours` are functions of the
    counter's own side, whose work is nobody's; `offsets` counts instructions by their place in the code, where lines are asked for.
    """

    __slots__ = ("c_calls", "calls", "code", "depth", "inclusive", "name", "offsets", "ours", "own", "thrown")

    def __init__(self, code: CodeType, name: str, closely: bool, ours: bool) -> None:
        self.code, self.name, self.ours = code, name, ours
        self.own = self.calls = self.inclusive = self.depth = self.thrown = 0
        self.c_calls: dict[str, int] = {}
        self.offsets: dict[int, int] | None = {} if closely else None

    @property
    def silent(self) -> bool:
        """Whether it ran, and no instruction of it was told of."""
        return not self.own and not self.depth and self.calls > self.thrown and not self.ours


class ThreadWork:
    """The functions of one thread by the identity of their code (a code's own hash reads all of its constants), and what is under way."""

    __slots__ = ("functions", "stack")

    def __init__(self) -> None:
        self.functions: dict[int, FunctionWork] = {}
        self.stack: list[list[Any]] = []

    def clear(self) -> None:
        self.functions.clear()
        self.stack.clear()

    def enter(self, function: FunctionWork, mark: object, count: int) -> None:
        function.calls += 1
        function.depth += 1
        self.stack.append([mark, function, count, 0])

    def leave(self, count: int) -> int:
        """The function on top ends, at that number of its thread: what it did goes to it, and all of it to what is below its caller. What
        is to be taken off the thread's number: the work of a function that is ours."""
        _, function, began, below = self.stack.pop()
        whole = count - began
        own = whole - below
        function.own += own
        function.depth -= 1
        if not function.depth:
            function.inclusive += whole
        taken = own if function.ours else 0
        if self.stack:
            self.stack[-1][BELOW] += whole - taken
        return taken

    def settle(self, count: int) -> None:
        """What is still under way counts as far as it came."""
        while self.stack:
            count -= self.leave(count)

    def tell(self, found: Tally) -> None:
        """Adds what was seen to a tally."""
        for one in self.functions.values():
            if one.ours:
                continue
            if waits(one.name):
                found.waiting[one.name] = found.waiting.get(one.name, 0) + one.own
                continue
            for name, count in one.c_calls.items():
                found.c_calls[name] = found.c_calls.get(name, 0) + count
            found.add(one.name, [one.own, one.calls, one.inclusive, sum(one.c_calls.values()), one.code.co_firstlineno])
            there = found.lines.setdefault(one.name, {}) if one.offsets else {}
            for line, count in lines_of(one.code, one.offsets or {}).items():
                there[line] = there.get(line, 0) + count


def name_of(called: Any) -> str:
    """What a C function is called: `len`, `list.append`, `math.sqrt`, `torch._C._nn.silu`."""
    name = getattr(called, "__qualname__", None) or type(called).__qualname__
    module = getattr(called, "__module__", None)
    return name if not isinstance(module, str) or module == "builtins" else f"{module}.{name}"
