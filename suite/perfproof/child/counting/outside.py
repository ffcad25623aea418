"""Where the time of a step goes that is not Python: seconds within C functions, by name, in a round of its own.

It is rough: one look, on a machine that may be busy, by the standard library's profiler. What operators and slices do in C (`a + b`,
`x[:n]`) is within an instruction, and not among it.
"""

from __future__ import annotations

import cProfile
import re

from perfproof.child.counting.tally import Tally

_METHOD = re.compile(r"<method '(.+)' of '(.+)' objects>")
_FUNCTION = re.compile(r"<built-in method (.+)>")


class Outside:
    """Measures seconds in C functions between `start` and `stop`, in the calling thread, less what they call back into Python."""

    def __init__(self) -> None:
        self._profile = cProfile.Profile()

    def start(self) -> None:
        self._profile.clear()
        self._profile.enable()

    def stop(self) -> Tally:
        self._profile.disable()
        found: dict[str, float] = {}
        for entry in self._profile.getstats():
            if isinstance(entry.code, str) and (name := readable(entry.code)):
                found[name] = found.get(name, 0.0) + entry.inlinetime
        return Tally(outside=found)


def readable(said: str) -> str:
    """`list.append` of `<method 'append' of 'list' objects>`; "" for the profiler itself."""
    if "_lsprof.Profiler" in said:
        return ""
    if method := _METHOD.fullmatch(said):
        return f"{method[2]}.{method[1]}"
    function = _FUNCTION.fullmatch(said)
    return function[1].removeprefix("builtins.") if function else said
