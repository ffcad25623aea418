"""Bare numbers that a call printed which times another: seconds of `timeit.timeit`, milliseconds of Triton's `do_bench`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from perfproof.importers.pasted_text.lines.text_lines import Line

_CALLS = ((re.compile(r"\btimeit\.timeit\(|^\W{0,4}timeit\("), "s"), (re.compile(r"\bdo_bench(?:_cudagraph)?\("), "ms"))
_NUMBER = re.compile(r"^(?:Out\[[0-9]+\]:\s*)?(?P<digits>[0-9]+\.[0-9]+(?:e-?[0-9]+)?)$")
_PROMPT = re.compile(r"^(?:>>>|In \[[0-9]{1,4}\]:)\s")


def told(lines: Sequence[Line]) -> list[Line]:
    """The lines; a bare number right below such a call as its time, in the unit that the call gives."""
    found: list[Line] = []
    unit = ""
    for line in lines:
        printed = _NUMBER.match(line.text) if unit else None
        found.append(replace(line, text=f"time: {printed['digits']} {unit}") if printed else line)
        unit = next((own for call, own in _CALLS if _PROMPT.match(line.text) and call.search(line.text)), unit if line.empty else "")
    return found
