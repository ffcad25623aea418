"""Counting before Python 3.12: `sys.settrace` for instructions and calls, `sys.setprofile` for C calls.

The interpreter tells a thread's trace function of every instruction before it runs it, and of a function's beginning and end. Every thread
has a trace function of its own: only those that start after `install` can be given one, and the others are named.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from perfproof.child.counting.work import CODE, FUNCTION, FunctionWork, ThreadWork, name_of

MakeFunction = Callable[[FrameType], FunctionWork]

TAKEN = (
    "what was counted sets a trace or profile function of its own, so that nothing can be counted in it: leave that out of what is counted "
    "(sys.settrace, sys.setprofile, a debugger, coverage)"
)


class _Thread:
    """The trace and the profile function of one thread, and what they have seen."""

    def __init__(self, hooks: Tracing) -> None:
        self.work = ThreadWork()
        self.trace, self.profile, self.seen, self._forget = self._hooks(hooks, self.work)

    def _hooks(self, hooks: Tracing, work: ThreadWork) -> tuple[Any, Any, Callable[[], int], Callable[[], None]]:
        count, stack, functions = 0, work.stack, work.functions

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
                if stack and stack[-1][CODE] is frame:
                    offsets = stack[-1][FUNCTION].offsets
                    offsets[frame.f_lasti] = offsets.get(frame.f_lasti, 0) + 1
            elif event == "return":
                ended(frame)
            return closely

        def called(frame: FrameType, event: str, arg: Any) -> Any:
            if not hooks.on:
                return None
            code = frame.f_code
            function = functions.get(id(code))
            if function is None:
                function = functions[id(code)] = hooks.made(frame)
            if function.ours:
                return None
            work.enter(function, frame, count)
            frame.f_trace_lines = False
            frame.f_trace_opcodes = True
            return instruction if function.offsets is None else closely

        def ended(frame: FrameType) -> None:
            if stack and stack[-1][CODE] is frame:
                work.leave(count)

        def profile(frame: FrameType, event: str, arg: Any) -> None:
            if event == "c_call" and stack and stack[-1][CODE] is frame and hooks.on:
                calls, name = stack[-1][FUNCTION].c_calls, name_of(arg)
                calls[name] = calls.get(name, 0) + 1

        def forget() -> None:
            nonlocal count
            count = 0
            work.clear()

        return called, profile, lambda: count, forget

    def forget(self) -> None:
        self._forget()


class Tracing:
    """The hooks of one counter. `made` makes the record of a function that is met for the first time in a thread."""

    def __init__(self, made: MakeFunction) -> None:
        self.made = made
        self.on = False
        self._threads: dict[int, _Thread] = {}
        self._ours: _Thread | None = None
        self._there: set[str] = set()

    def install(self) -> None:
        """From now on new threads can be counted."""
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
        self._there = self._unseen()
        self.on = True
        sys.setprofile(self._ours.profile)
        sys.settrace(self._ours.trace)

    def suspend(self) -> tuple[Any, Any]:
        """This thread is counted no longer; the functions that were set."""
        away = sys.gettrace(), sys.getprofile()
        sys.settrace(None)
        sys.setprofile(None)
        return away

    def resume(self, away: Any) -> None:
        """This thread is counted again, if it was."""
        trace, profile = away
        sys.setprofile(profile)
        sys.settrace(trace)

    def abandon(self) -> None:
        """No thread is counted any longer."""
        self.on = False
        self.suspend()
        self.remove()

    def pause(self) -> str:
        """This thread is counted no longer, the others are; why what was counted is not to be believed, "" where it is."""
        ours = self._ours
        ok = ours is not None and sys.gettrace() is ours.trace and sys.getprofile() is ours.profile
        sys.settrace(None)
        sys.setprofile(None)
        return "" if ok else TAKEN

    def others(self) -> list[int]:
        """How many instructions each other thread has run."""
        return [thread.seen() for thread in list(self._threads.values()) if thread is not self._ours]

    def stop(self) -> list[ThreadWork]:
        """No thread is counted any longer; what each did."""
        self.on = False
        for thread in list(self._threads.values()):
            thread.work.settle(thread.seen())
        return [thread.work for thread in list(self._threads.values())]

    def lost(self, works: list[ThreadWork]) -> str:
        """A trace function that is there is told of every instruction."""
        return ""

    def missed(self) -> list[str]:
        """The names of threads that run Python and are not counted, or did when the count began."""
        return sorted(self._there | self._unseen())

    def _unseen(self) -> set[str]:
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        return {names.get(ident, "a thread without a name") for ident in sys._current_frames() if ident not in self._threads}

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
