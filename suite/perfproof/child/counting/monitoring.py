"""Counting from Python 3.12 on: `sys.monitoring`, which tells of all threads at once.

Its events are those that a trace and a profile function would be told of, so that the numbers mean the same: an instruction before it runs
(the one that begins a function or goes on with a generator is the call itself), a function's beginning and end, a call of a C function.

Python 3.12 and 3.13 lose instructions where the events of another tool change meanwhile (a trace or profile function is a tool, too): there
is no count of a program that does so, nor of one in which a function was called and ran nothing.
"""

from __future__ import annotations

import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FrameType, MethodDescriptorType
from typing import Any

from perfproof.child.counting.work import CODE, FUNCTION, OURS, FunctionWork, ThreadWork, name_of

NAME = "perfproof counter"
"""What other tools see of us."""
TOOLS = (3, 4, 1, 2, 0, 5)
"""Places that a tool can take, those first that are meant for nothing else."""
SETTERS = ("settrace", "setprofile", "_settraceallthreads", "_setprofileallthreads")
"""What changes the events of another tool, in `sys`."""


class Monitoring:
    """The hooks of one counter. `made` makes the record of a function that is met for the first time in a thread; `closely` says whether
    the lines of any are asked for."""

    def __init__(self, made: Callable[[FrameType], FunctionWork], closely: bool) -> None:
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        self._tool: int | None = None
        self._works: dict[int, ThreadWork] = {}
        self._counts: dict[int, int] = defaultdict(int)
        self._ours = 0
        self._beside: tuple[Any, Any] = (None, None)
        self._changed: list[str] = []
        self._callbacks = self._made_callbacks(made, closely)

    def install(self) -> None:
        """Nothing to prepare: threads need no hooks of their own."""

    def remove(self) -> None:
        """Nothing is left when nothing is counted."""

    def start(self) -> None:
        """Takes a tool's place. Raises `RuntimeError` where others have them all."""
        tool = self._tool = self._place()
        self._works.clear()
        self._counts.clear()
        self._ours = threading.get_ident()
        self._changed.clear()
        self._beside = sys.gettrace(), sys.getprofile()
        self._monitoring.use_tool_id(tool, NAME)
        for event, callback in self._callbacks.items():
            self._monitoring.register_callback(tool, event, callback)
        self._monitoring.set_events(tool, self._events)

    def _place(self) -> int:
        free = [place for place in TOOLS if self._monitoring.get_tool(place) is None]
        if not free:
            names = ", ".join(str(self._monitoring.get_tool(place)) for place in sorted(TOOLS))
            raise RuntimeError(f"every place for a tool of sys.monitoring is taken ({names}); count without one of these")
        return free[0]

    def suspend(self) -> bool:
        """No thread is counted any longer: the events are those of all. Whether any was."""
        away = self._has_its_place() and self._monitoring.get_events(self._tool) == self._events
        if away:
            self._monitoring.set_events(self._tool, 0)
        return away

    def resume(self, away: Any) -> None:
        """All threads are counted again, if they were. What others had under way counts as far as it came: its end was not seen."""
        if not away:
            return
        for ident, work in list(self._works.items()):
            if ident != threading.get_ident():
                work.settle(self._counts[ident])
        self._monitoring.set_events(self._tool, self._events)

    def abandon(self) -> None:
        """No thread is counted any longer."""
        self.suspend()

    def pause(self) -> str:
        """Why what was counted is not to be believed, "" where it is. What this thread does from here on is nobody's."""
        if not self._has_its_place() or self._monitoring.get_events(self._tool) != self._events:
            return "what was counted takes the counter's place in sys.monitoring away, so that nothing can be counted in it"
        if self._changed or (sys.gettrace(), sys.getprofile()) != self._beside:
            how = f" ({self._changed[0]})" if self._changed else ""
            return f"what was counted sets a trace or profile function of its own{how}, so that nothing can be counted in it"
        return ""

    def _has_its_place(self) -> bool:
        return self._tool is not None and self._monitoring.get_tool(self._tool) == NAME

    def others(self) -> list[int]:
        """How many instructions each other thread has run."""
        return [count for ident, count in list(self._counts.items()) if ident != self._ours]

    def stop(self) -> list[ThreadWork]:
        """No thread is counted any longer, and the tool's place is free; what each thread did."""
        if self._has_its_place():
            self._monitoring.set_events(self._tool, 0)
            for event in self._callbacks:
                self._monitoring.register_callback(self._tool, event, None)
            self._monitoring.free_tool_id(self._tool)
        self._tool = None
        for ident, work in list(self._works.items()):
            work.settle(self._counts[ident])
        return list(self._works.values())

    def lost(self, works: list[ThreadWork]) -> str:
        """Why what was counted is not to be believed after all, "" where it is."""
        silent = next((one.name for work in works for one in work.functions.values() if one.silent), "")
        return (
            f"the interpreter tells of no instructions of {silent}, which ran: another tool of sys.monitoring is in the way"
            if silent
            else ""
        )

    def missed(self) -> list[str]:
        """No thread is."""
        return []

    @property
    def _events(self) -> int:
        return sum(self._callbacks)

    def _made_callbacks(self, made: Callable[[FrameType], FunctionWork], closely: bool) -> dict[int, Any]:
        counts, works, changed, ident, frame_of = self._counts, self._works, self._changed, threading.get_ident, sys._getframe
        setters = {getattr(sys, name, None) for name in SETTERS} | {self._monitoring.set_events, self._monitoring.set_local_events}

        def instruction(code: CodeType, offset: int) -> None:
            counts[ident()] += 1

        def instruction_of_lines(code: CodeType, offset: int) -> None:
            me = ident()
            counts[me] += 1
            work = works.get(me)
            if work is not None and work.stack and work.stack[-1][CODE] is code:
                offsets = work.stack[-1][FUNCTION].offsets
                if offsets is not None:
                    offsets[offset] = offsets.get(offset, 0) + 1

        def began(code: CodeType, offset: int, thrown: object = None) -> None:
            me = ident()
            work = works.get(me)
            if work is None:
                work = works[me] = ThreadWork()
            function = work.functions.get(id(code))
            if function is None:
                function = work.functions[id(code)] = made(frame_of(1))
            work.enter(function, code, counts[me])
            function.thrown += thrown is not None

        def ended(code: CodeType, *_: Any) -> None:
            me = ident()
            work = works.get(me)
            if work is not None and work.stack and work.stack[-1][CODE] is code:
                counts[me] -= work.leave(counts[me])

        def called(code: CodeType, offset: int, what: Any, first: Any) -> None:
            kind = type(what)
            if kind is MethodDescriptorType:
                name = f"{(first if issubclass(type(first), type) else type(first)).__qualname__}.{what.__name__}"
            elif issubclass(kind, BuiltinFunctionType):
                name = ""
            else:
                return
            if what in setters and not code.co_filename.startswith(OURS):
                changed.append(name_of(what))
            work = works.get(ident())
            if work is not None and work.stack and work.stack[-1][CODE] is code:
                calls, name = work.stack[-1][FUNCTION].c_calls, name or name_of(what)
                calls[name] = calls.get(name, 0) + 1

        events = self._monitoring.events
        begins = dict.fromkeys((events.PY_START, events.PY_RESUME, events.PY_THROW), began)
        ends = dict.fromkeys((events.PY_RETURN, events.PY_YIELD, events.PY_UNWIND), ended)
        return {**begins, **ends, events.CALL: called, events.INSTRUCTION: instruction_of_lines if closely else instruction}
