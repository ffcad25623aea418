"""Lines in which tools print a time behind other words: timeit, pyperf, perf stat; told as `name: value unit`."""

from __future__ import annotations

import re

from perfproof.importers.pasted_text.cells import DIGITS
from perfproof.model.base.quantities import known
from perfproof.model.scenarios.side_names import role

_TIME = rf"{DIGITS}\s?(?:nsec|usec|msec|sec|ns|us|µs|μs|ms|s)"
_SPREAD = rf"(?:\s?(?:±|\+-|\+/-)\s?{_TIME})?"
_LOOPS = re.compile(rf"[0-9][0-9,]* loops?, best of (?P<runs>[0-9]+): (?P<time>{_TIME}) per loop")
_PER_LOOP = re.compile(rf"(?P<time>{_TIME}{_SPREAD}) per loop(?P<rest> \(.*\))?")
_CHANGED = re.compile(
    rf"^(?P<name>.*?Mean \+- std dev|.*?Median \+- MAD): \[(?P<one>[^\]]+)\] (?P<before>{_TIME})(?: \+- {_TIME})? -> \[(?P<other>[^\]]+)\] "
    rf"(?P<after>{_TIME})(?: \+- {_TIME})?(?P<claim>: .*)?$"
)
_EVENTS = (
    r"instructions(?::\w)?|cycles(?::\w)?|cache-misses|branch-misses|branches|page-faults|context-switches|cpu-migrations|task-clock"
    r"|L1-dcache-load-misses|LLC-load-misses|dTLB-load-misses|(?:seconds|msec) (?:time elapsed|user|sys)"
)
_EVENT = re.compile(
    rf"^(?P<digits>{DIGITS})\s+(?:\+-\s*{DIGITS}\s+)?(?:(?P<unit>msec)\s+)?(?P<name>{_EVENTS})(?P<rest>\s+#.*|\s+\(.*|\s*[+±].*)?$"
)


_TOOK = re.compile(
    rf"^(?P<name>[A-Za-z][^:="
    rf"|;]{{2,80}}? (?:took"
    rf"|takes)):? (?P<digits>{DIGITS})\s?(?P<unit>[A-Za-zµ]+)(?: and (?P<more>{DIGITS})\s?(?P<other>[A-Za-zµ]+))?(?: in total)?\.?$"
)
"""What servers say of their start: "Model loading took 27.5 GiB and 50.1 seconds"."""
_EXPOSED = re.compile(
    rf"^(?P<name>[a-z]\w*:\w+|[a-z]\w*_(?:total|sum|count|seconds|bytes))(?P<labels>\{{[^{{}}]*\}})?\s+(?P<digits>{DIGITS})$"
)
"""A line that a server shows to Prometheus."""
_UNIT_FIRST = re.compile(rf"^(?P<name>[A-Za-z][\w ().,/%+#-]*?)\s{{2,}}(?P<unit>%|[A-Za-z][\w./]*)\s{{2,}}(?P<digits>{DIGITS})$")
_COUNTED = re.compile(r"(?i)^(?:cycles?|inst|blocks?|warps?|threads?|registers?|[kmgt]?bytes?|[nmu]seconds?|[kmg]?hz|\w+/\w+)$")
"""What profilers give beside a value."""


def told(text: str) -> str:
    """A line of a tool as a name and its value; any other line as it is."""
    if (found := _TOOK.match(text)) and known(found["unit"]) and (not found["other"] or known(found["other"])):
        more = f", {found['more']} {found['other']}" if found["more"] else ""
        return f"{found['name']}: {found['digits']} {found['unit']}{more}"
    if (found := _UNIT_FIRST.match(text)) and (known(found["unit"]) or _COUNTED.match(found["unit"])):
        return f"{found['name']}: {found['digits']} {found['unit']}"
    if found := _EXPOSED.match(text):
        return f"{found['name'].replace(':', '_')}{found['labels'] or ''}: {found['digits']}".replace("=", " ")
    if found := _EVENT.match(text):
        unit, _, name = found["name"].partition(" ") if " " in found["name"] else (found["unit"] or "", "", found["name"])
        return f"{name}: {found['digits']} {unit}".strip()
    if found := _CHANGED.match(text):
        if not role(found["one"]) or not role(found["other"]):
            return f"{found['name']}: {found['before']} -> {found['after']}"
        return f"{found['name']}: {found['before']} ({found['one']}), {found['after']} ({found['other']})"
    if "per loop" in text:
        text = _LOOPS.sub(r"time per loop: \g<time> (best of \g<runs>)", text)
        return _PER_LOOP.sub(lambda found: f"time per loop: {found['time']}{found['rest'] or ''}", text)
    return text
