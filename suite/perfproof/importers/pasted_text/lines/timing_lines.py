"""Lines in which tools print a time behind other words: timeit, pyperf, perf stat; told as `name: value unit`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perfproof.importers.pasted_text.words.cells import DIGITS
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
    rf"|;]{{2,80}}? (?:took|takes|(?:finished|completed|done|ready) (?:in|after))):? (?P<digits>{DIGITS})\s?(?P<unit>[A-Za-zµ]+)"
    rf"(?:(?: memory)?(?: and|, took|,) (?P<more>{DIGITS})\s?(?P<other>[A-Za-zµ]+))?(?: in total)?\.?$"
)
"""What servers say of their start: "Model loading took 27.5 GiB and 50.1 seconds"."""
_EXPOSED = re.compile(
    rf"^(?P<name>[a-z]\w*:\w+|[a-z]\w*_(?:total|sum|count|seconds|bytes))(?P<labels>\{{[^{{}}]*\}})?\s+(?P<digits>{DIGITS})$"
)
"""A line that a server shows to Prometheus."""
_QUERY = re.compile(
    r"^(?P<name>(?:sum|avg|max|min|count|i?rate|increase|delta|quantile|histogram_quantile|[a-z]+_over_time)\s?\("
    r".{3,160}?\)(?: by \(\w+\))?)"
    rf"(?:\s{{2,}}|\t|\s*(?::|=|=>|->)\s+)(?P<value>{DIGITS}\s?\S*)$"
)
"""A query of Prometheus and what it gave."""
_UNIT_FIRST = re.compile(rf"^(?P<name>[A-Za-z][\w ().,/%+#-]*?)\s{{2,}}(?P<unit>%|[A-Za-z][\w./]*)\s{{2,}}(?P<digits>{DIGITS})$")
_COUNTED = re.compile(r"(?i)^(?:cycles?|inst|blocks?|warps?|threads?|registers?|[kmgt]?bytes?|[nmu]seconds?|[kmg]?hz|\w+/\w+)$")
"""What profilers give beside a value."""


_COUNTED_RATE = re.compile(rf"^(?P<name>[A-Za-z][\w ]{{1,40}}?)\.*\s*:\s+(?P<count>[0-9]+)\s+(?P<rate>{DIGITS})/s$")
"""A count and how many a second these were, as k6 prints them."""
_PROCESSED = re.compile(rf"est\. speed input: (?P<input>{DIGITS}) toks/s, output: (?P<output>{DIGITS}) toks/s\]?$")
"""How fast vLLM's progress bar says that prompts are processed."""
_TIMES = re.compile(rf"^(?P<name>Max(?:imum)? concurrency for [0-9,]+ tokens per request): (?P<digits>{DIGITS})x$")
"""How many requests fit a cache, which servers say of it."""


_SLOWEST = re.compile(r"^(?P<digits>[0-9]+\.[0-9]+)s\s+(?P<phase>call|setup|teardown)\s+(?:\S*?::)*(?P<name>[^\s:]\S*)$")
"""A line of pytest's slowest durations: "48.12s call tests/test_a.py::test_b"."""


def progress(plain: Sequence[str]) -> list[str]:
    """The lines; where no line sums a run up, vLLM's bars of progress as the speeds that they end with."""
    if any(raw.lstrip("> ").startswith("Throughput:") for raw in plain):
        return list(plain)
    ways = [_PROCESSED.search(raw) if "est. speed" in raw else None for raw in plain]
    return [
        f"input speed: {found['input']} tok/s, output speed: {found['output']} tok/s" if found else raw
        for raw, found in zip(plain, ways, strict=True)
    ]


def told(text: str) -> str:
    """A line of a tool as a name and its value; any other line as it is."""
    if found := _SLOWEST.match(text):
        phase = "" if found["phase"] == "call" else f" {found['phase']}"
        return f"{found['name'].replace('=', '-')}{phase}: {found['digits']} s"
    if found := _TIMES.match(text):
        return f"{found['name']}: {found['digits']}"
    if found := _QUERY.match(text):
        return f"{re.sub(r'[:=]', '_', found['name'])}: {found['value']}"
    if found := _COUNTED_RATE.match(text):
        return f"{found['name']}: {found['rate']} {found['name'].split('_')[-1].split()[-1]}/s (of {found['count']})"
    if (found := _TOOK.match(text)) and known(found["unit"]) and (not found["other"] or known(found["other"])):
        more = f", {found['more']} {found['other']}" if found["more"] else ""
        name = re.sub(r"\w+ (?:in|after)$", "took", found["name"]) if more else found["name"]
        return f"{name}: {found['digits']} {found['unit']}{more}"
    if (found := _UNIT_FIRST.match(text)) and (known(found["unit"]) or _COUNTED.match(found["unit"])):
        return f"{found['name']}: {found['digits']} {found['unit']}"
    if found := _EXPOSED.match(text):
        return f"{found['name'].replace(':', '_')}{found['labels'] or ''}: {found['digits']}".replace("=", " ")
    if found := _EVENT.match(text):
        unit, _, name = found["name"].partition(" ") if " " in found["name"] else (found["unit"] or "", "", found["name"])
        return f"{name}: {found['digits']} {unit}".strip()
    if found := _CHANGED.match(text):
        if not role(found["one"]) and not role(found["other"]):
            return f"{found['name']}: {found['before']} -> {found['after']}"
        return f"{found['name']}: {found['before']} ({found['one']}), {found['after']} ({found['other']})"
    if "per loop" in text:
        text = _LOOPS.sub(r"time per loop: \g<time> (best of \g<runs>)", text)
        return _PER_LOOP.sub(lambda found: f"time per loop: {found['time']}{found['rest'] or ''}", text)
    return text
