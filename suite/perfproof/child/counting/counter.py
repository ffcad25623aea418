"""The counter itself: `sys.settrace` for instructions and calls, `sys.setprofile` for C calls.

The interpreter tells the trace function of every instruction before it runs it, and of a function's beginning and end. So one number a
thread is enough: a function's instructions are what that number grew by while it ran, less what it grew by in the functions that it
called. Frames that ran before `start` are not followed: what lies between `start` and `stop` is what was called there.

Every thread has a trace function of its own. From Python 3.12 all threads are given one; before, only those that start after `install`,
and the tally names the others. A program that sets its own trace function takes ours away, which is told.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from perfproof.child.counting.tally import Tally, lines_of, waits

_CHILD = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OURS = (_CHILD, os.path.join(os.path.dirname(_CHILD), "bench", ""), os.path.join(os.path.dirname(_CHILD), "patches", "guard.py"))
"""What runs from files of this room, from benchmarks and from what attests calls is our own work, and not counted; what it calls is."""
SETTLED = 3
"""Looks without a change after which another thread has come to rest."""
LOOK = 0.01
"""Seconds between two looks."""
LONGEST = 2.0
"""Seconds in which other threads must come to rest."""


class NotCounting(RuntimeError):
    """The counter was not on, or was taken away: what it says is not to be believed."""


class _Function:
    """What one code object did in one thread. `depth` is how often it is under way just now."""

    __slots__ = ("calls", "code", "depth", "inclusive", "name", "offsets", "own")

    def __init__(self, code: CodeType, name: str, closely: bool) -> None:
        self.code, self.name = code, name
        self.own = self.calls = self.inclusive = self.depth = 0
        self.offsets: dict[int, int] | None = {} if closely else None


class _Thread:
    """The trace and the profile function of one thread, and what they have seen."""

    def __init__(self, counter: Counter) -> None:
        self.ident = threading.get_ident()
        self.functions: dict[CodeType, _Function] = {}
        self.c_calls: dict[tuple[CodeType, str], int] = {}
        self._stack: list[list[Any]] = []
        self.trace, self.profile, self.seen, self._forget = self._hooks(counter)

    def _hooks(self, counter: Counter) -> tuple[Any, Any, Callable[[], int], Callable[[], None]]:
        count, stack, functions, c_calls = 0, self._stack, self.functions, self.c_calls

        def instruction(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal count
            if event == "opcode":
                count += 1
            elif event == "return":
                ended(frame)
            return instruction

        def closely(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal count
            if event == "opcode":
                count += 1
                if stack and stack[-1][0] is frame:
                    offsets = stack[-1][1].offsets
                    offsets[frame.f_lasti] = offsets.get(frame.f_lasti, 0) + 1
            elif event == "return":
                ended(frame)
            return closely

        def called(frame: FrameType, event: str, arg: Any) -> Any:
            if not counter.on:
                return None
            code = frame.f_code
            function = functions.get(code)
            if function is None:
                if code.co_filename.startswith(OURS):
                    return None
                function = functions[code] = counter.function(frame)
            function.calls += 1
            function.depth += 1
            stack.append([frame, function, count, 0])
            frame.f_trace_lines = False
            frame.f_trace_opcodes = True
            return instruction if function.offsets is None else closely

        def ended(frame: FrameType) -> None:
            if stack and stack[-1][0] is frame:
                _leave(stack, count)

        def profile(frame: FrameType, event: str, arg: Any) -> None:
            if event == "c_call" and counter.on and not frame.f_code.co_filename.startswith(OURS):
                key = (frame.f_code, _name_of(arg))
                c_calls[key] = c_calls.get(key, 0) + 1

        def forget() -> None:
            nonlocal count
            count = 0
            stack.clear()
            functions.clear()
            c_calls.clear()

        return called, profile, lambda: count, forget

    def forget(self) -> None:
        self._forget()

    def settle(self) -> None:
        """What is still under way counts as far as it came."""
        while self._stack:
            _leave(self._stack, self.seen())

    def tell(self, found: Tally) -> None:
        """Adds what was seen to a tally."""
        made: dict[CodeType, int] = {}
        for (caller, name), count in self.c_calls.items():
            if caller in self.functions and not waits(self.functions[caller].name):
                found.c_calls[name] = found.c_calls.get(name, 0) + count
                made[caller] = made.get(caller, 0) + count
        for code, one in self.functions.items():
            if waits(one.name):
                found.waiting[one.name] = found.waiting.get(one.name, 0) + one.own
                continue
            found.add(one.name, [one.own, one.calls, one.inclusive, made.get(code, 0), code.co_firstlineno])
            there = found.lines.setdefault(one.name, {}) if one.offsets else {}
            for line, count in lines_of(code, one.offsets or {}).items():
                there[line] = there.get(line, 0) + count


def _leave(stack: list[list[Any]], count: int) -> None:
    """The function on top ends, at that count of its thread: what it did goes to it, and all of it to what is below its caller."""
    _, function, began, below = stack.pop()
    whole = count - began
    function.own += whole - below
    function.depth -= 1
    if not function.depth:
        function.inclusive += whole
    if stack:
        stack[-1][3] += whole


def _name_of(called: Any) -> str:
    """What a C function is called: `len`, `list.append`, `math.sqrt`, `torch._C._nn.silu`."""
    name = getattr(called, "__qualname__", None) or type(called).__qualname__
    module = getattr(called, "__module__", None)
    return name if not isinstance(module, str) or module == "builtins" else f"{module}.{name}"


class Counter:
    """Counts what runs between `start` and `stop`. `closely` are functions (`module:Qual.name`) whose lines are counted as well, those
    inside them too."""

    def __init__(self, closely: tuple[str, ...] = ()) -> None:
        self.on = False
        self._closely = closely
        self._threads: dict[int, _Thread] = {}
        self._ours: _Thread | None = None

    def install(self) -> None:
        """From now on new threads can be counted; from Python 3.12 those that run already, too."""
        if hasattr(threading, "settrace_all_threads"):
            threading.settrace_all_threads(self._traced)
            threading.setprofile_all_threads(self._profiled)
        else:
            threading.settrace(self._traced)
            threading.setprofile(self._profiled)
        sys.settrace(None)
        sys.setprofile(None)

    def remove(self) -> None:
        """New threads are left alone again."""
        threading.settrace(None)  # type: ignore[arg-type]
        threading.setprofile(None)

    def start(self) -> None:
        for thread in self._threads.values():
            thread.forget()
        self._ours = self._thread()
        self.on = True
        _see_opcodes()
        sys.setprofile(self._ours.profile)
        sys.settrace(self._ours.trace)

    def stop(self) -> Tally:
        """What was counted since `start`. Raises `NotCounting` where something has set another trace function."""
        ours = self._ours
        ok = ours is not None and sys.gettrace() is ours.trace and sys.getprofile() is ours.profile
        sys.settrace(None)
        sys.setprofile(None)
        self._rest()
        self.on = False
        if not ok:
            raise NotCounting("what was counted sets a trace or profile function of its own, so that nothing can be counted in it")
        return self._tally()

    def function(self, frame: FrameType) -> _Function:
        """A function met for the first time."""
        name = f"{frame.f_globals.get('__name__', '?')}:{frame.f_code.co_qualname}"
        return _Function(frame.f_code, name, any(name == one or name.startswith(f"{one}.<locals>.") for one in self._closely))

    def _thread(self) -> _Thread:
        ident = threading.get_ident()
        found = self._threads.get(ident)
        if found is None:
            found = self._threads[ident] = _Thread(self)
        return found

    def _traced(self, frame: FrameType, event: str, arg: Any) -> Any:
        """The first call in another thread: from here on its own function sees the calls."""
        thread = self._thread()
        sys.settrace(thread.trace)
        return thread.trace(frame, event, arg)

    def _profiled(self, frame: FrameType, event: str, arg: Any) -> None:
        thread = self._thread()
        sys.setprofile(thread.profile)
        thread.profile(frame, event, arg)

    def _rest(self) -> None:
        """Waits until other threads that did something have come to rest: one that gave its answer is not at its end yet."""
        others = [thread for thread in list(self._threads.values()) if thread is not self._ours]
        seen, still, began = [thread.seen() for thread in others], 0, time.monotonic()
        if not any(seen):
            return
        while still < SETTLED and time.monotonic() - began < LONGEST:
            time.sleep(LOOK)
            now = [thread.seen() for thread in others]
            still, seen = (still + 1 if now == seen else 0), now

    def _tally(self) -> Tally:
        found = Tally(missed=self._missed())
        for thread in list(self._threads.values()):
            thread.settle()
            thread.tell(found)
        return found

    def _missed(self) -> list[str]:
        """The names of threads that run Python and are not counted."""
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        return sorted(names.get(ident, "a thread without a name") for ident in sys._current_frames() if ident not in self._threads)


def _see_opcodes() -> None:
    """From Python 3.12 on, the interpreter looks whether any frame wants to see its instructions only when a trace function is set."""
    sys._getframe().f_trace_opcodes = True
    sys._getframe().f_trace_opcodes = False


_KNOWN = "def known(turns):\n    total = 0\n    for turn in range(turns):\n        total += turn\n    return total\n"


def prove(counter: Counter) -> None:
    """Sees that the counter counts: a known loop, so many turns longer, takes so many turns' instructions more. Raises `NotCounting`."""
    scope: dict[str, Any] = {"__name__": "known"}
    exec(compile(_KNOWN, "known", "exec"), scope)  # noqa: S102 (our own text; it must not lie in this folder, whose work is not counted)
    for _ in range(2):
        counts = [_counted(counter, scope["known"], turns) for turns in (10, 20, 30)]
        if counts[0] and counts[2] - counts[1] == counts[1] - counts[0] > 10:
            return
    raise NotCounting(f"the interpreter tells the counter of no instructions, or of others than it runs: a known loop gave {counts}")


def _counted(counter: Counter, function: Callable[[int], object], turns: int) -> int:
    counter.start()
    function(turns)
    return counter.stop().total()
