"""What was counted: a Count of one build holds Cells, a feature with so many requests; a Cell holds the work of each of its phases.

Counts are exact: a number is the same in every step of its kind and in every process, or it is named as odd and left out of verdicts.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

HostMetric = Literal["python_instructions", "python_calls", "c_calls", "torch_operators", "torch_bytes"]
DeviceMetric = Literal[
    "kernel_launches",
    "host_to_device_copies",
    "host_to_device_bytes",
    "device_to_host_copies",
    "device_to_host_bytes",
    "synchronisations",
    "graph_replays",
    "device_allocations",
    "device_peak_bytes",
]
Metric = HostMetric | DeviceMetric
METRICS: Mapping[Metric, tuple[str, str]] = {
    "python_instructions": ("Python instructions", "instructions"),
    "python_calls": ("Python calls", "calls"),
    "c_calls": ("C calls", "calls"),
    "torch_operators": ("torch operators", "operators"),
    "torch_bytes": ("bytes of torch results", "bytes"),
    "kernel_launches": ("kernels", "kernels"),
    "host_to_device_copies": ("copies to the device", "copies"),
    "host_to_device_bytes": ("bytes copied to the device", "bytes"),
    "device_to_host_copies": ("copies to the host", "copies"),
    "device_to_host_bytes": ("bytes copied to the host", "bytes"),
    "synchronisations": ("waits for the device", "waits"),
    "graph_replays": ("CUDA graphs replayed", "graphs"),
    "device_allocations": ("requests to the device's allocator", "requests"),
    "device_peak_bytes": ("peak bytes of the device's allocator", "bytes"),
}
"""What a metric is called, and its unit."""
DEVICE: Mapping[Metric, tuple[str, Literal["calls", "bytes"]]] = {
    "kernel_launches": (r"kernel: ", "calls"),
    "host_to_device_copies": (r"copy: .*HtoD", "calls"),
    "host_to_device_bytes": (r"copy: .*HtoD", "bytes"),
    "device_to_host_copies": (r"copy: .*DtoH", "calls"),
    "device_to_host_bytes": (r"copy: .*DtoH", "bytes"),
    "synchronisations": (r"call: .*Synchronize", "calls"),
    "graph_replays": (r"call: cudaGraphLaunch", "calls"),
    "device_allocations": (r"allocator: ", "calls"),
    "device_peak_bytes": (r"allocator: ", "bytes"),
}
"""Metrics of a GPU: which of the names that were counted there, and which of a name's two numbers."""


Lines = Mapping[str, Sequence[int]]
"""Lines by function or by file."""
Imported = Mapping[str, Sequence[int] | None]
"""The lines of modules that ran on import, by module; None where they are unknown."""


_INSIDE = re.compile(r"(?:\.<locals>\.<(?:listcomp|dictcomp|setcomp|genexpr)>)+$")


def of_requests(requests: int) -> str:
    """How many requests a feature had, behind its name: `, 32 requests`; "" for the engine's start, which has none."""
    return f", {requests} requests" if requests else ""


def outermost(name: str) -> str:
    """The function of a module or class that a local function lies in; any other is its own."""
    return name.partition(".<locals>.")[0]


def short_name(name: str) -> str:
    """A function without its module; a C call or an operator (`aten::add`) as it is."""
    module, _, function = name.partition(":")
    return name if not function or function.startswith(":") or not module else function


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionWork:
    """What one function (`module:Qual.name`) did: its own instructions, its calls, the instructions of it and of all that it calls, the
    C calls that it makes. `line` is where it begins."""

    instructions: int
    calls: int
    inclusive: int
    c_calls: int
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorWork:
    """How often an operator of PyTorch ran, or something on a device, and the bytes of its results."""

    calls: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseWork:
    """What a phase did, in `steps` steps of the engine (none on admission).

    `lines` has the instructions by line of the functions that were looked at closely. `waiting` is what threads did while they waited for
    one another, which is in no other number; `missed` are threads that were not counted, `odd` names on which no two of the `waves` agree.
    """

    functions: Mapping[str, FunctionWork]
    c_calls: Mapping[str, int]
    operators: Mapping[str, OperatorWork]
    lines: Mapping[str, Mapping[int, int]]
    waiting: Mapping[str, int]
    missed: tuple[str, ...]
    odd: tuple[str, ...]
    steps: int
    waves: int
    device: Mapping[str, OperatorWork] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A feature with so many requests. `outputs` are the tokens of each output of each request; `seconds` those of a step of each
    phase in a wave that was not counted: rough, on a machine that may be busy. `runner` is the model runner that ran, "" if unknown.
    `outside` has of a phase the seconds of a step that went by in C functions, by name, "" being all others: rough, too. `took` are the
    seconds that counting it took, 0 if unknown."""

    feature: str
    requests: int
    phases: Mapping[str, PhaseWork]
    outputs: tuple[tuple[tuple[int, ...], ...], ...]
    seconds: Mapping[str, float]
    runner: str = ""
    outside: Mapping[str, Mapping[str, float]] = dataclasses.field(default_factory=dict)
    took: float = 0.0

    @property
    def key(self) -> tuple[str, int]:
        return self.feature, self.requests


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A feature that was not counted: `unknown` to this release or platform, or a `fault` of it. `requests` is None for all its sizes."""

    feature: str
    requests: int | None
    kind: Literal["unknown", "fault"]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """What was counted of one build in one process. `refused` says why vLLM could not even be imported, "" if it could; `importing` are the
    seconds that importing it took, 0 if unknown. `imported` are the modules of interest that were imported, with those of their own lines
    that ran then; None where those are unknown."""

    vllm: str
    python: str
    cells: tuple[Cell, ...]
    left_out: tuple[LeftOut, ...]
    refused: str
    importing: float = 0.0
    imported: Imported = dataclasses.field(default_factory=dict)

    def cell(self, key: tuple[str, int]) -> Cell | None:
        return next((cell for cell in self.cells if cell.key == key), None)

    def only(self, cells: Mapping[str, Sequence[int]]) -> Count:
        """What was counted of these features with these requests alone."""
        kept = tuple(cell for cell in self.cells if cell.requests in cells.get(cell.feature, ()))
        gone = tuple(one for one in self.left_out if one.feature in cells and (one.requests is None or one.requests in cells[one.feature]))
        return dataclasses.replace(self, cells=kept, left_out=gone)

    def plus(self, other: Count) -> Count:
        """This and what was counted of the same build besides."""
        return dataclasses.replace(
            self,
            cells=(*self.cells, *other.cells),
            left_out=(*self.left_out, *other.left_out),
            imported=together(self.imported, other.imported),
        )

    def has(self, feature: str, requests: int) -> bool:
        """Whether it is known what there is to know of it: a fault may not come again."""
        gone = any(one.feature == feature and one.requests in (None, requests) and one.kind == "unknown" for one in self.left_out)
        return gone or self.cell((feature, requests)) is not None

    def holds(self, cells: Mapping[str, Sequence[int]]) -> bool:
        """Whether it is known of all these features what there is to know."""
        return all(self.has(feature, requests) for feature, sizes in cells.items() for requests in sizes)


def together(one: Imported, other: Imported) -> Imported:
    """What two processes of a build imported: the lines that ran in either; None where one does not know them."""
    found = dict(one)
    for name, lines in other.items():
        there = found.get(name, ())
        found[name] = None if lines is None or there is None else sorted({*there, *lines})
    return found


def function_of(name: str) -> str:
    """The function whose text a comprehension or generator expression is a part of: its work is the function's own, as it is in Python
    3.12, which runs comprehensions in place."""
    return _INSIDE.sub("", name)


def numbers_of(phase: PhaseWork, metric: Metric) -> Mapping[str, int]:
    """A metric's numbers by name: of functions, of C calls, of operators, or of what a GPU was asked."""
    if metric in ("python_instructions", "python_calls"):
        found: Counter[str] = Counter()
        for name, one in phase.functions.items():
            found[function_of(name)] += one.instructions if metric == "python_instructions" else one.calls
        return found
    if metric == "c_calls":
        return phase.c_calls
    if metric in DEVICE:
        pattern, field = DEVICE[metric]
        return {name: getattr(one, field) for name, one in phase.device.items() if re.match(pattern, name)}
    return {name: one.calls if metric == "torch_operators" else one.bytes for name, one in phase.operators.items()}
